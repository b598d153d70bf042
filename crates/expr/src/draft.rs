//! A program that is being compiled: the tables grow, and a program that is finished shares them.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::condition::clause::Clause;
use crate::diagnostic::Span;
use crate::pattern::Pattern;
use crate::program::{
    Access, Code, Compare, FIRST_HOST_FUNCTION, Id, Ids, LiteralSet, Name, Node, Path, Program, Shortcut, WrittenText,
};
use crate::value::Value;

/// A program during compilation.
pub(crate) type Draft = Program<OwnedCode>;

/// Code that is not shared yet.
#[derive(Debug)]
pub(crate) struct OwnedCode(Code);

impl Default for OwnedCode {
    /// Has capacity for most conditions.
    fn default() -> Self {
        let (nodes, spans) = (Vec::with_capacity(8), Vec::with_capacity(8));
        Self(Code { nodes, spans, ..Code::default() })
    }
}

impl Deref for OwnedCode {
    type Target = Code;

    fn deref(&self) -> &Code {
        &self.0
    }
}

impl DerefMut for Draft {
    fn deref_mut(&mut self) -> &mut Code {
        &mut self.code.0
    }
}

impl Draft {
    pub(crate) fn emit(&mut self, node: Node, span: Span) -> Id {
        self.nodes.push(node);
        self.spans.push(span);
        index(self.nodes.len() - 1)
    }

    pub(crate) fn constant(&mut self, value: Value, span: Span) -> Id {
        self.constants.push(value);
        self.emit(Node::Constant(index(self.constants.len() - 1)), span)
    }

    pub(crate) fn path(&mut self, mut path: Path, span: Span) -> Id {
        path.parent = self.parent(&path);
        self.paths.push(path);
        self.emit(Node::Path(index(self.paths.len() - 1)), span)
    }

    /// The number of the object that a path ends in. Only the latest paths are searched, which finds most repetitions.
    fn parent(&self, path: &Path) -> u32 {
        const BACK: usize = 8;
        let before = |path: &Path| path.keys.len().saturating_sub(1);
        let recent = self.paths.iter().rev().take(BACK);
        let same = recent.into_iter().find(|known| {
            known.root == path.root
                && known.coerce == path.coerce
                && known.keys[..before(known)] == path.keys[..before(path)]
        });
        same.map_or_else(|| index(self.paths.len()), |known| known.parent)
    }

    /// Adds the content of a file, which the host reads.
    pub(crate) fn file(&mut self, name: Id, span: Span, slot: impl FnOnce(&str) -> Option<u32>) -> Id {
        let text: Arc<str> = format!("file:{}", self.files.len()).into();
        let root = Name { slot: slot(&text), text };
        self.files.push(name);
        self.path(Path { root, keys: Arc::default(), access: Access::Required, coerce: false, parent: 0 }, span)
    }

    pub(crate) fn clause(&mut self, clause: Clause, span: Span) -> Id {
        self.clauses.push(clause);
        self.emit(Node::Clause(index(self.clauses.len() - 1)), span)
    }

    pub(crate) fn pattern(&mut self, pattern: Pattern) -> u32 {
        self.patterns.push(pattern);
        index(self.patterns.len() - 1)
    }

    /// The number of a host function in calls.
    pub(crate) fn host_function(&mut self, name: &str) -> u16 {
        let known = self.host_functions.iter().position(|known| &**known == name);
        let position = known.unwrap_or_else(|| {
            self.host_functions.push(name.into());
            self.host_functions.len() - 1
        });
        FIRST_HOST_FUNCTION + u16::try_from(position).expect("the limit on nodes keeps the list short")
    }

    pub(crate) fn set(&mut self, set: LiteralSet) -> u32 {
        self.sets.push(set);
        index(self.sets.len() - 1)
    }

    pub(crate) fn ids(&mut self, ids: &[Id]) -> Ids {
        let start = index(self.lists.len());
        self.lists.extend_from_slice(ids);
        Ids { start, len: index(ids.len()) }
    }

    /// Stores the text of the expression whose nodes begin at `first`.
    pub(crate) fn store_text(&mut self, first: usize, start: Option<u32>, text: &str) {
        let nodes = index(first)..index(self.nodes.len());
        self.written.push(WrittenText { nodes, start, text: text.into() });
    }

    /// Sets the text of a node of a structured condition.
    pub(crate) fn name_node(&mut self, id: Id, text: &str) {
        self.written.push(WrittenText { nodes: id..id + 1, start: None, text: text.into() });
    }

    /// Finishes the program, whose result is the value of a node.
    pub(crate) fn finish(mut self, root: Id) -> Program {
        self.fuse();
        let shortcut = match self.nodes[root as usize] {
            Node::Compare(0) => Shortcut::All(1),
            Node::And(ids) if self.are_first_compares(ids) => Shortcut::All(ids.len),
            Node::Or(ids) if self.are_first_compares(ids) => Shortcut::Any(ids.len),
            _ => Shortcut::None,
        };
        let Self { code, constants, paths, compares, .. } = self;
        Program { code: Arc::new(code.0), constants, paths, compares, shortcut, root }
    }

    fn are_first_compares(&self, ids: Ids) -> bool {
        let nodes = self.list(ids).iter().map(|id| self.nodes[*id as usize]);
        (0..).zip(nodes).all(|(position, node)| matches!(node, Node::Compare(compare) if compare == position))
    }

    /// Fuses comparisons of a path with a constant into one node.
    fn fuse(&mut self) {
        for id in 0..self.nodes.len() {
            if let Node::Binary(operator, left, right) = self.nodes[id]
                && operator.is_test()
                && let (Node::Path(path), Node::Constant(constant)) =
                    (self.nodes[left as usize], self.nodes[right as usize])
            {
                let (path, constant) = (self.paths[path as usize].clone(), self.constants[constant as usize].clone());
                self.compares.push(Compare { operator, path, constant, left, right });
                self.nodes[id] = Node::Compare(index(self.compares.len() - 1));
            }
        }
    }
}

/// Converts a table position, which the limit on nodes keeps below 32 bits.
fn index(position: usize) -> u32 {
    u32::try_from(position).expect("the limit on nodes keeps every table below 32 bits")
}
