//! Formats compiled expressions as text, for the output of lowered programs. Rules of dialects are not shown.

use std::fmt::{self, Display, Formatter, Write};

use crate::builtins::FOLDS;
use crate::condition::Condition;
use crate::expression::Expression;
use crate::program::{Id, Ids, Node, Program};
use crate::value::View;

/// Formats as an expression on one line, with names as in the document.
impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.program.show(f)
    }
}

/// Formats as an expression on one line, with names as in the document.
impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.program.show(f)
    }
}

impl Program {
    /// Formats one node.
    pub(crate) fn compiled_text(&self, id: Id) -> String {
        NodeDisplay { program: self, id, inner: false }.to_string()
    }

    fn show(&self, f: &mut Formatter<'_>) -> fmt::Result {
        NodeDisplay { program: self, id: self.root, inner: false }.fmt(f)
    }
}

/// Formats a node. `inner` ones get parentheses where needed.
struct NodeDisplay<'p> {
    program: &'p Program,
    id: Id,
    inner: bool,
}

impl NodeDisplay<'_> {
    fn part(&self, id: Id) -> NodeDisplay<'_> {
        NodeDisplay { program: self.program, id, inner: true }
    }

    fn whole(&self, id: Id) -> NodeDisplay<'_> {
        NodeDisplay { program: self.program, id, inner: false }
    }

    fn list(&self, f: &mut Formatter<'_>, ids: Ids, between: &str, inner: bool) -> fmt::Result {
        for (index, id) in self.program.list(ids).iter().enumerate() {
            f.write_str(if index == 0 { "" } else { between })?;
            NodeDisplay { program: self.program, id: *id, inner }.fmt(f)?;
        }
        Ok(())
    }

    fn object(&self, f: &mut Formatter<'_>, ids: Ids) -> fmt::Result {
        for (index, pair) in self.program.list(ids).chunks(2).enumerate() {
            f.write_str(if index == 0 { "{" } else { ", " })?;
            let [key, value] = pair else { return Err(fmt::Error) };
            write!(f, "{}: {}", self.whole(*key), self.whole(*value))?;
        }
        f.write_str(if ids.len == 0 { "{}" } else { "}" })
    }

    fn infix(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.program.node(self.id) {
            Node::Binary(operator, left, right) => {
                write!(f, "{} {} {}", self.part(left), operator.quoted().trim_matches('`'), self.part(right))
            }
            Node::And(ids) | Node::Every(ids) => self.list(f, ids, " && ", true),
            Node::Or(ids) | Node::Some(ids) => self.list(f, ids, " || ", true),
            Node::Both(left, right) => write!(f, "{} && {}", self.part(left), self.part(right)),
            Node::Either(left, right) => write!(f, "{} || {}", self.part(left), self.part(right)),
            Node::Coalesce(left, right) => write!(f, "{} ?? {}", self.part(left), self.part(right)),
            Node::Elvis(left, right) => write!(f, "{} ?: {}", self.part(left), self.part(right)),
            Node::Conditional(condition, then, otherwise) => {
                write!(f, "{} ? {} : {}", self.part(condition), self.part(then), self.part(otherwise))
            }
            Node::Let { local, value, body } => write!(f, "let ${local} = {}; {}", self.part(value), self.whole(body)),
            Node::Sequence(first, rest) => write!(f, "{}; {}", self.part(first), self.whole(rest)),
            Node::InSet { needle, set } => {
                let items: Vec<_> = self.program.sets[set as usize].iter().map(|item| View::Str(item)).collect();
                write!(f, "{} in {items:?}", self.part(needle))
            }
            Node::Matches { text, pattern } => {
                let pattern = self.program.patterns[pattern as usize].as_str();
                write!(f, "{} matches {:?}", self.part(text), View::Str(pattern))
            }
            Node::Clause(test) => {
                let test = &self.program.clauses[test as usize];
                write!(f, "{} {}", self.part(test.left), test.operator())?;
                test.right.map_or(Ok(()), |right| write!(f, " {}", self.part(right)))
            }
            _ => Err(fmt::Error),
        }
    }
}

impl Display for NodeDisplay<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.program.node(self.id) {
            Node::Constant(constant) => write!(f, "{:?}", self.program.constants[constant as usize]),
            Node::Path(path) => write!(f, "{}", self.program.paths[path as usize]),
            Node::Local(local) => write!(f, "${local}"),
            Node::Member { object, key, .. } => write!(f, "{}[{}]", self.part(object), self.whole(key)),
            Node::Project { list, rest, local, .. } => {
                write!(f, "project({}, ${local} => {})", self.whole(list), self.whole(rest))
            }
            Node::Slice { object, from, to } => {
                write!(f, "{}[", self.part(object))?;
                from.map_or(Ok(()), |from| self.part(from).fmt(f))?;
                f.write_char(':')?;
                to.map_or(Ok(()), |to| self.part(to).fmt(f))?;
                f.write_char(']')
            }
            Node::Coerced(object) => write!(f, "coerced({})", self.whole(object)),
            Node::Not(operand) => write!(f, "!{}", self.part(operand)),
            Node::Negate(operand) => write!(f, "-{}", self.part(operand)),
            Node::Plus(operand) => write!(f, "+{}", self.part(operand)),
            Node::List(ids) => {
                f.write_char('[')?;
                self.list(f, ids, ", ", false)?;
                f.write_char(']')
            }
            Node::Object(ids) => self.object(f, ids),
            Node::Call { builtin, arguments } => {
                write!(f, "{}(", self.program.function_name(builtin))?;
                self.list(f, arguments, ", ", false)?;
                f.write_char(')')
            }
            Node::Fold { fold, list, body, extra, local } => {
                let name = FOLDS.iter().find(|(_, known)| *known == fold).map_or("fold", |(name, _)| name);
                write!(f, "{name}({}", self.whole(list))?;
                body.map_or(Ok(()), |body| write!(f, ", ${local} => {}", self.whole(body)))?;
                extra.map_or(Ok(()), |extra| write!(f, ", {}", self.whole(extra)))?;
                f.write_char(')')
            }
            Node::Replace { text, replacement } => {
                let (pattern, by) = &self.program.replacements[replacement as usize];
                let (pattern, by) = (View::Str(pattern.as_str()), View::Str(by));
                write!(f, "replace({}, {pattern:?}, {by:?})", self.whole(text))
            }
            Node::Template(ids) => {
                f.write_str("text(")?;
                self.list(f, ids, ", ", false)?;
                f.write_char(')')
            }
            _ if self.inner => {
                f.write_char('(')?;
                self.infix(f)?;
                f.write_char(')')
            }
            _ => self.infix(f),
        }
    }
}
