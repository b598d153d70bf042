//! Validates stored code, because the evaluator trusts its indexes and stored bytes may come from anywhere.

use crate::builtins;
use crate::child_nodes::MAX_NODE_DEPTH;
use crate::compiled::Compiled;
use crate::program::{FIRST_HOST_FUNCTION, Id, Ids, Node, Program, Shortcut};

impl Compiled {
    /// Whether every index in the stored form is valid, so that an evaluation cannot panic or loop. Compiled code is always
    /// well-formed; code from untrusted bytes must be checked before it is evaluated.
    ///
    /// ```
    /// use branchpoint_expr::Condition;
    ///
    /// assert!(Condition::compile("any(orders, .total > 10) || len(name) > 3")?.is_well_formed());
    /// # Ok::<(), branchpoint_expr::Problems>(())
    /// ```
    pub fn is_well_formed(&self) -> bool {
        self.program.is_well_formed()
    }
}

impl Program {
    fn is_well_formed(&self) -> bool {
        let count = self.nodes.len();
        let is_node = |id: &Id| (*id as usize) < count;
        let comparisons = match self.shortcut {
            Shortcut::None => 0,
            Shortcut::All(count) | Shortcut::Any(count) => count as usize,
        };
        count > 0
            && self.spans.len() == count
            && is_node(&self.root)
            && comparisons <= self.compares.len()
            && self.files.iter().all(is_node)
            && self.lists.iter().all(is_node)
            && self.nodes.iter().enumerate().all(|(at, node)| self.is_well_formed_node(at, *node))
            && self.stored_depth() <= MAX_NODE_DEPTH
    }

    /// Whether a node refers only to earlier nodes and to existing entries of tables.
    fn is_well_formed_node(&self, at: usize, node: Node) -> bool {
        let list = |ids: Ids| ids.start.checked_add(ids.len).is_some_and(|end| end as usize <= self.lists.len());
        let in_tables = match node {
            Node::Constant(constant) => (constant as usize) < self.constants.len(),
            Node::Path(path) => (path as usize) < self.paths.len(),
            Node::Compare(compare) => (compare as usize) < self.compares.len(),
            Node::InSet { set, .. } => (set as usize) < self.sets.len(),
            Node::Matches { pattern, .. } => (pattern as usize) < self.patterns.len(),
            Node::Replace { replacement, .. } => (replacement as usize) < self.replacements.len(),
            Node::Clause(test) => (test as usize) < self.clauses.len(),
            Node::And(ids)
            | Node::Or(ids)
            | Node::Every(ids)
            | Node::Some(ids)
            | Node::List(ids)
            | Node::Object(ids)
            | Node::Template(ids) => list(ids),
            Node::Call { builtin, arguments } => list(arguments) && self.is_well_formed_call(builtin, arguments.len),
            _ => true,
        };
        in_tables
            && highest_local(node).is_none_or(|local| local < usize::from(self.locals))
            && self.children(self.unfuse(node)).into_iter().all(|child| (child as usize) < at)
    }

    fn is_well_formed_call(&self, function: u16, given: u32) -> bool {
        match function.checked_sub(FIRST_HOST_FUNCTION) {
            // The number of arguments is checked when the function is called.
            Some(position) => usize::from(position) < self.host_functions.len(),
            None => builtins::TABLE
                .get(usize::from(function))
                .is_some_and(|function| (u32::from(function.least)..=u32::from(function.most)).contains(&given)),
        }
    }

    /// A comparison before fusion.
    fn unfuse(&self, node: Node) -> Node {
        match node {
            Node::Compare(compare) => {
                let compare = &self.compares[compare as usize];
                Node::Binary(compare.operator, compare.left, compare.right)
            }
            node => node,
        }
    }

    fn stored_depth(&self) -> u16 {
        self.depth_of(|node| self.unfuse(node))
    }
}

/// The highest local that a node uses.
fn highest_local(node: Node) -> Option<usize> {
    match node {
        Node::Local(local) | Node::Project { local, .. } | Node::Let { local, .. } | Node::Assign { local, .. } => {
            Some(usize::from(local))
        }
        Node::Range { local, .. } => Some(usize::from(local) + 1),
        Node::Fold { local, .. } => Some(usize::from(local) + 2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use crate::{Condition, Expression, Options};

    /// Compiled expressions with every kind of node, as JSON.
    fn stored() -> Vec<Json> {
        let conditions = [
            "a == 1 && b matches 'x' && c in ['p', 'q']",
            "any(list, # > 1) || reduce(list, #acc + #, 0) > 3",
            "let x = len(a); x > 1 ? x in 1..3 : a?.b[x] == nil",
        ];
        let texts = [
            "a {{if inputs.x}}{{inputs.y | default \"z\"}}{{end}}",
            "{{range $i, $x := inputs.l}}{{printf \"%d\" $i}}{{break}}{{end}}",
        ];
        let condition = |text: &&str| serde_json::to_value(Condition::compile(text).unwrap()).unwrap();
        let text = |text: &&str| serde_json::to_value(Expression::text(text, Options::default()).unwrap()).unwrap();
        conditions.iter().map(condition).chain(texts.iter().map(text)).collect()
    }

    /// The JSON pointers of all numbers in a value.
    fn numbers(value: &Json, pointer: String, all: &mut Vec<String>) {
        match value {
            Json::Number(_) => all.push(pointer),
            Json::Array(items) => {
                items.iter().enumerate().for_each(|(at, item)| numbers(item, format!("{pointer}/{at}"), all));
            }
            Json::Object(fields) => fields.iter().for_each(|(key, item)| {
                numbers(item, format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")), all);
            }),
            _ => {}
        }
    }

    #[test]
    fn a_changed_number_is_rejected_or_harmless() {
        let contexts = [json!({}), json!({"a": [1, 2], "list": [1, 2], "inputs": {"x": 1, "l": [1, 2]}})];
        let mut rejected = 0;
        for stored in stored() {
            let mut pointers = Vec::new();
            numbers(&stored, String::new(), &mut pointers);
            for pointer in pointers {
                for number in [0_u64, 1, 3, 7, 40, 65_535, 4_294_967_295] {
                    let mut changed = stored.clone();
                    *changed.pointer_mut(&pointer).unwrap() = json!(number);
                    let Ok(expression) = serde_json::from_value::<Expression>(changed) else { continue };
                    if !expression.is_well_formed() {
                        rejected += 1;
                        continue;
                    }
                    // Any result is fine, but the evaluation must end.
                    for context in &contexts {
                        let _ = expression.value(context);
                    }
                }
            }
        }
        assert!(rejected > 100, "only {rejected} changes were rejected");
    }

    #[test]
    fn compiled_code_is_well_formed() {
        for stored in stored() {
            assert!(serde_json::from_value::<Expression>(stored).unwrap().is_well_formed());
        }
    }
}
