//! The compiled form: a flat table of nodes that refer to each other by number. Every node has a span in the source.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use crate::builtins::{self, Fold};
use crate::condition::clause::Clause;
use crate::diagnostic::Span;
use crate::environment::Environment;
use crate::pattern::Pattern;
use crate::syntax::ast::Binary;
use crate::value::{Value, View};

/// The number of a node.
pub(crate) type Id = u32;

/// A range of node numbers in [`Code::lists`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Ids {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// One operation.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Node {
    Constant(u32),
    Path(u32),
    Local(u16),
    /// A field or an index with a computed key.
    Member {
        object: Id,
        key: Id,
        access: Access,
    },
    /// The rest of a path for every element of a list; elements without it are skipped.
    Project {
        list: Id,
        rest: Id,
        local: u16,
        access: Access,
    },
    Slice {
        object: Id,
        from: Option<Id>,
        to: Option<Id>,
    },
    /// An object whose top-level texts are coerced.
    Coerced(Id),
    Not(Id),
    Negate(Id),
    Plus(Id),
    Binary(Binary, Id, Id),
    /// A comparison of a path with a constant, stored in one place because most conditions consist of these.
    Compare(u32),
    /// Membership in a list of literal texts.
    InSet {
        needle: Id,
        set: u32,
    },
    /// A search with a constant pattern.
    Matches {
        text: Id,
        pattern: u32,
    },
    /// Stops at the first false.
    And(Ids),
    /// Stops at the first true.
    Or(Ids),
    /// Whether all hold. All are evaluated, and the first error is the result.
    Every(Ids),
    /// Whether one holds. All are evaluated, and the first error is the result.
    Some(Ids),
    /// `a && b` on any values: a when it is empty or false, else b.
    Both(Id, Id),
    /// `a || b` on any values: b when a is empty or false, else a.
    Either(Id, Id),
    Coalesce(Id, Id),
    Conditional(Id, Id, Id),
    Elvis(Id, Id),
    Let {
        local: u16,
        value: Id,
        body: Id,
    },
    Sequence(Id, Id),
    List(Ids),
    /// Alternating keys and values.
    Object(Ids),
    Call {
        builtin: u16,
        arguments: Ids,
    },
    /// `local` is the element, `local + 1` its index, `local + 2` the accumulator.
    Fold {
        fold: Fold,
        list: Id,
        body: Option<Id>,
        extra: Option<Id>,
        local: u16,
    },
    /// A text with the matches of a pattern replaced.
    Replace {
        text: Id,
        replacement: u32,
    },
    /// The joined text forms of the parts.
    Template(Ids),
    /// A clause of a typed group or a target list.
    Clause(u32),
    /// Whether a value is not empty: not nil, false, zero, or an empty text, list or object.
    Filled(Id),
    /// Assigns a value to a local. The result is empty text.
    Assign {
        local: u16,
        value: Id,
    },
    /// The joined texts of the body for every element. `local` is the element, `local + 1` its index or key.
    Range {
        over: Id,
        body: Id,
        otherwise: Id,
        local: u16,
    },
    /// Leaves the current round of a range, or the whole range.
    Leave {
        all: bool,
    },
    /// The text of a template with blocks, which has its own limit.
    Bounded(Id),
}

impl Node {
    /// Whether the result is always a boolean.
    pub(crate) fn is_test(self) -> bool {
        match self {
            Self::Binary(operator, ..) => operator.is_test(),
            Self::And(_)
            | Self::Or(_)
            | Self::Not(_)
            | Self::Every(_)
            | Self::Some(_)
            | Self::Compare(_)
            | Self::InSet { .. }
            | Self::Matches { .. }
            | Self::Filled(_)
            | Self::Clause(_) => true,
            _ => false,
        }
    }
}

/// The dialect's rules for looking up fields and indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Access {
    /// A missing field is nil; a field of text or of a number is an error.
    Nil,
    /// A missing field is an error, and so is a field of text or of a number.
    Required,
    /// A missing field is nil, and so is a field of text or of a number.
    Absent,
    /// A missing field is nil; a field of text is a field of the JSON in the text; lists accept positions as keys.
    JsonText,
    /// Like `JsonText`, but a missing field is empty text, for templates.
    Blank,
}

/// A path of literal keys from a name of the context.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Path {
    pub(crate) root: Name,
    pub(crate) keys: Arc<[Key]>,
    pub(crate) access: Access,
    /// Whether the value of the first key is coerced.
    pub(crate) coerce: bool,
    /// Paths with the same number are fields of the same object.
    pub(crate) parent: u32,
}

impl Path {
    fn reference(&self, span: Span) -> Reference {
        let keys = self.keys.iter().map(|key| match key {
            Key::Field(field) => Arc::clone(field),
            Key::Index(index) => index.to_string().into(),
        });
        Reference { parts: std::iter::once(Arc::clone(&self.root.text)).chain(keys).collect(), span }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Key {
    Field(Arc<str>),
    Index(i64),
}

/// The path as written.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.root.text)?;
        // The slot of all unbound names has no name.
        let unnamed = self.root.text.is_empty();
        for (position, key) in self.keys.iter().enumerate() {
            match key {
                Key::Field(field) if unnamed && position == 0 => f.write_str(field)?,
                Key::Field(field) if field.chars().all(|c| c.is_alphanumeric() || c == '_') => write!(f, ".{field}")?,
                Key::Field(field) => write!(f, "[{:?}]", View::Str(field))?,
                Key::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// A name of the context, with its slot if the host bound it.
///
/// ```
/// # use branchpoint_expr::*;
/// let name = Name { text: "inputs".into(), slot: None };
/// assert_eq!(&*name.text, "inputs");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    /// The name as the document writes it.
    pub text: Arc<str>,
    /// The slot it was bound to.
    pub slot: Option<u32>,
}

/// A name that a condition or template reads, with its literal keys.
///
/// ```
/// # use branchpoint_expr::*;
/// let references = Condition::compile("a.b[0] == 1")?.references();
/// assert_eq!(references[0].parts.join("/"), "a/b/0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Its parts: the root, then keys and positions.
    pub parts: Vec<Arc<str>>,
    /// Its span in the source.
    pub span: Span,
}

/// A comparison of a path with a constant. The nodes of both sides are kept for full evaluation and for explanations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Compare {
    pub(crate) operator: Binary,
    pub(crate) path: Path,
    pub(crate) constant: Value,
    pub(crate) left: Id,
    pub(crate) right: Id,
}

/// The text of an expression, so that explanations need no document.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WrittenText {
    /// The nodes of the expression.
    pub(crate) nodes: Range<u32>,
    /// The position of the text in the document; `None` if the document does not contain it verbatim (escapes, folded lines), so
    /// that only the whole text has a span.
    pub(crate) start: Option<u32>,
    pub(crate) text: Arc<str>,
}

/// Calls with this number or above are calls of host functions.
pub(crate) const FIRST_HOST_FUNCTION: u16 = 1 << 15;

/// A set of literal texts.
pub(crate) type LiteralSet = indexmap::IndexSet<Arc<str>, foldhash::fast::RandomState>;

/// A compiled condition or template. Clones share the code, so a formula that is filled a thousand times stores it once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Program<C = Arc<Code>> {
    pub(crate) code: C,
    pub(crate) constants: Vec<Value>,
    pub(crate) paths: Vec<Path>,
    pub(crate) compares: Vec<Compare>,
    pub(crate) shortcut: Shortcut,
    pub(crate) root: Id,
}

/// The part of a program that does not depend on values and slots.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Code {
    pub(crate) nodes: Vec<Node>,
    pub(crate) spans: Vec<Span>,
    pub(crate) lists: Vec<Id>,
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) replacements: Vec<(Pattern, Arc<str>)>,
    pub(crate) sets: Vec<LiteralSet>,
    pub(crate) clauses: Vec<Clause>,
    /// The names of the called host functions. Calls from [`FIRST_HOST_FUNCTION`] on are positions in this list.
    pub(crate) host_functions: Vec<Arc<str>>,
    /// The names of files that the host reads before the evaluation. Their content is the name `file:<n>`.
    pub(crate) files: Vec<Id>,
    /// The texts of written expressions. The other nodes come from structured conditions, whose source text does not read like an
    /// expression.
    pub(crate) written: Vec<WrittenText>,
    pub(crate) locals: u16,
}

/// Marks a condition that consists of the first comparisons of the table, of which all or one must hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Shortcut {
    #[default]
    None,
    All(u32),
    Any(u32),
}

impl Code {
    fn leaf(node: Node) -> Self {
        Self { nodes: vec![node], spans: vec![Span::default()], ..Self::default() }
    }

    #[inline]
    pub(crate) fn list(&self, ids: Ids) -> &[Id] {
        &self.lists[ids.start as usize..(ids.start + ids.len) as usize]
    }
}

impl<C: Deref<Target = Code>> Deref for Program<C> {
    type Target = Code;

    #[inline(always)]
    fn deref(&self) -> &Code {
        &self.code
    }
}

impl Program {
    /// A program whose result is a constant.
    pub(crate) fn of_constant(value: Value) -> Self {
        static CODE: LazyLock<Arc<Code>> = LazyLock::new(|| Arc::new(Code::leaf(Node::Constant(0))));
        let (constants, code) = (vec![value], Arc::clone(&CODE));
        Self { code, constants, paths: Vec::new(), compares: Vec::new(), shortcut: Shortcut::None, root: 0 }
    }

    /// A program that reads a path.
    pub(crate) fn of_path(path: Path) -> Self {
        static CODE: LazyLock<Arc<Code>> = LazyLock::new(|| Arc::new(Code::leaf(Node::Path(0))));
        let (paths, code) = (vec![path], Arc::clone(&CODE));
        Self { code, constants: Vec::new(), paths, compares: Vec::new(), shortcut: Shortcut::None, root: 0 }
    }

    /// Replaces the slots that it reads.
    pub(crate) fn map_slots(&mut self, mut map: impl FnMut(u32) -> u32) {
        let compared = self.compares.iter_mut().map(|compare| &mut compare.path);
        for path in self.paths.iter_mut().chain(compared) {
            path.root.slot = path.root.slot.map(&mut map);
        }
    }

    /// Removes the positions and texts of the source, which have no influence on results.
    pub(crate) fn forget_source(&mut self) {
        let code = Arc::make_mut(&mut self.code);
        code.spans.fill(Span::default());
        code.written.clear();
    }

    /// The approximate size in bytes when it is stored: nodes, constants, names, patterns and texts.
    pub(crate) fn size_bytes(&self) -> u64 {
        const NODE_BYTES: u64 = 16;
        let nodes = (self.nodes.len() + self.lists.len() + self.clauses.len()) as u64 * NODE_BYTES;
        let constants: u64 = self.constants.iter().map(|constant| constant.size().bytes).sum();
        let path = |path: &Path| NODE_BYTES + path.root.text.len() as u64 + path.keys.len() as u64 * NODE_BYTES;
        let patterns: u64 = self.patterns.iter().map(|pattern| pattern.as_str().len() as u64).sum();
        let written: u64 = self.written.iter().map(|written| written.text.len() as u64).sum();
        nodes + constants + self.paths.iter().map(path).sum::<u64>() + patterns + written
    }

    /// The slots that it reads, without duplicates, in ascending order.
    pub(crate) fn slots(&self) -> Vec<u32> {
        let mut slots: Vec<_> = self.paths.iter().filter_map(|path| path.root.slot).collect();
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// Calls `visit` for every read of a slot, duplicates included.
    pub(crate) fn each_slot(&self, visit: impl FnMut(u32)) {
        self.paths.iter().filter_map(|path| path.root.slot).for_each(visit);
    }

    /// The names that it reads, with their spans in the source.
    pub(crate) fn references(&self) -> Vec<Reference> {
        self.references_in(0..self.nodes.len())
    }

    /// The names that a range of nodes reads. The nodes must refer only to each other.
    pub(crate) fn references_in(&self, nodes: std::ops::Range<usize>) -> Vec<Reference> {
        let first = nodes.start;
        let mut references: Vec<Option<Reference>> = vec![None; nodes.len()];
        for at in nodes {
            references[at - first] = match self.nodes[at] {
                Node::Path(path) => Some(self.paths[path as usize].reference(self.spans[at])),
                // A literal key is part of the reference in every spelling.
                Node::Member { object, key, .. } => self.literal_key(key).and_then(|key| {
                    let mut reference = references[(object as usize).checked_sub(first)?].take()?;
                    reference.parts.push(key);
                    Some(reference)
                }),
                _ => None,
            };
        }
        references.into_iter().flatten().collect()
    }

    fn literal_key(&self, key: Id) -> Option<Arc<str>> {
        match self.nodes[key as usize] {
            Node::Constant(value) => Some(self.constants[value as usize].to_string().into()),
            _ => None,
        }
    }

    /// The name of a called function.
    pub(crate) fn function_name(&self, number: u16) -> &str {
        match number.checked_sub(FIRST_HOST_FUNCTION) {
            Some(position) => &self.host_functions[usize::from(position)],
            None => &builtins::TABLE[usize::from(number)].name,
        }
    }

    /// Whether all called host functions are registered as pure.
    pub(crate) fn is_pure(&self, environment: &Environment) -> bool {
        self.host_functions.iter().all(|name| environment.functions.get(name).is_some_and(|function| function.pure))
    }

    /// The text that was set for a node of a structured condition.
    pub(crate) fn node_name(&self, id: Id) -> Option<&str> {
        let named = self.written.iter().find(|written| written.nodes == (id..id + 1) && written.start.is_none())?;
        Some(&named.text)
    }

    /// The text of a node as its author wrote it, on one line; `None` for nodes of structured conditions.
    pub(crate) fn written_text(&self, id: Id) -> Option<String> {
        let written = self.written.iter().find(|written| written.nodes.contains(&id))?;
        let text = match written.start {
            Some(start) => {
                let span = self.spans[id as usize];
                written.text.get(span.start.checked_sub(start)? as usize..span.end.checked_sub(start)? as usize)?
            }
            // The root of an expression is its last node, because nodes refer only to earlier ones.
            None if id + 1 == written.nodes.end => &written.text,
            None => return None,
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// A node before comparisons were fused.
    pub(crate) fn node(&self, id: Id) -> Node {
        match self.nodes[id as usize] {
            Node::Compare(compare) => {
                let compare = &self.compares[compare as usize];
                Node::Binary(compare.operator, compare.left, compare.right)
            }
            node => node,
        }
    }
}
