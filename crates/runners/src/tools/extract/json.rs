//! Paths in JSON: `a.b[0]`, `$.a.b`, `/a/b/0`.
//!
//! Beside keys and positions, `*` and `[*]` select all parts of a value, and `..key` selects a key at any depth. A key with special
//! characters is written in brackets and quotes; a negative position counts from the end.
//!
//! `serde_json_path` and `jsonpath-rust` support neither `a.b[0]` nor `/a/b/0`, report a value once for every path to it without a limit,
//! and need a copy of the value, which duplicates its shared parts.

use std::collections::HashSet;
use std::collections::hash_map::{Entry, HashMap};

use branchpoint_expr::{Object, Value};

use super::Work;

/// The most values that a path visits. Values share parts, so a small one may contain an enormous number of values.
const MAX_VISITED_VALUES: usize = 1_000_000;

/// A parsed path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Path(Vec<Step>);

#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// A key of an object, or a position in a list.
    Key(String),
    /// A position in a list; negative positions count from the end.
    At(i64),
    /// All parts of an object or a list.
    All,
    /// Applies the next step to the value and to everything below it.
    Anywhere,
}

impl Path {
    /// Parses a path. The error names the part that is invalid.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Some(pointer) = text.strip_prefix('/') {
            let key = |key: &str| Step::Key(key.replace("~1", "/").replace("~0", "~"));
            return Ok(Self(pointer.split('/').map(key).collect()));
        }
        let mut steps = Vec::new();
        let mut rest = text.strip_prefix('$').unwrap_or(text);
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix("..") {
                steps.push(Step::Anywhere);
                rest = after;
                if rest.is_empty() || rest.starts_with('.') {
                    return Err(invalid_path(text, ".."));
                }
            }
            let (step, after) = match rest.strip_prefix('[') {
                Some(inside) => in_brackets(inside).ok_or_else(|| invalid_path(text, rest))?,
                None => key(rest.strip_prefix('.').unwrap_or(rest)).ok_or_else(|| invalid_path(text, rest))?,
            };
            steps.push(step);
            rest = after;
        }
        Ok(Self(steps))
    }

    /// Finds the values at the path, each once, outer ones first.
    pub(super) fn find(&self, value: &Value, work: &mut Work) -> Result<Vec<Value>, String> {
        let mut walk = Walk { places: HashMap::new(), work };
        let mut nodes = vec![Node { value, number: 0 }];
        let mut deep = false;
        for step in &self.0 {
            if *step == Step::Anywhere {
                deep = true;
                continue;
            }
            let all = if deep { walk.everywhere(&nodes)? } else { nodes };
            nodes = Vec::new();
            for node in &all {
                nodes.extend(walk.parts(node, step)?);
            }
            deep = false;
        }
        // A single value is not larger than the source, but several may contain each other.
        if nodes.len() > 1 {
            let bytes = nodes.iter().fold(0_u64, |sum, node| sum.saturating_add(node.value.size().bytes));
            walk.work.spend(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        }
        Ok(nodes.into_iter().map(|node| node.value.clone()).collect())
    }
}

/// A value at a place. Equal values at different places, and a shared value, are different nodes.
#[derive(Clone, Copy)]
struct Node<'v> {
    value: &'v Value,
    /// The number of its place.
    number: usize,
}

/// The walk of one path through a value.
struct Walk<'w> {
    /// The numbers of visited places, by the number of the parent and the position in it.
    places: HashMap<(usize, usize), usize>,
    work: &'w mut Work,
}

impl Walk<'_> {
    /// The nodes to which a step leads from a node, in order.
    fn parts<'v>(&mut self, node: &Node<'v>, step: &Step) -> Result<Vec<Node<'v>>, String> {
        let parts = step.from(node.value);
        self.work.spend(1 + parts.len())?;
        parts.into_iter().map(|(at, value)| Ok(Node { value, number: self.number(node, at)? })).collect()
    }

    fn number(&mut self, parent: &Node<'_>, at: usize) -> Result<usize, String> {
        let known = self.places.len();
        match self.places.entry((parent.number, at)) {
            Entry::Occupied(place) => Ok(*place.get()),
            Entry::Vacant(place) if known < MAX_VISITED_VALUES => Ok(*place.insert(known + 1)),
            Entry::Vacant(_) => {
                Err(format!("the path visits more than {MAX_VISITED_VALUES} values; make it more specific"))
            }
        }
    }

    /// These nodes and all nodes below them, each once, outer ones first.
    fn everywhere<'v>(&mut self, roots: &[Node<'v>]) -> Result<Vec<Node<'v>>, String> {
        let (mut all, mut seen) = (Vec::new(), HashSet::new());
        let mut open: Vec<Node<'v>> = roots.iter().rev().copied().collect();
        while let Some(node) = open.pop() {
            // The nodes below a visited node were visited with it.
            if seen.insert(node.number) {
                open.extend(self.parts(&node, &Step::All)?.into_iter().rev());
                all.push(node);
            }
        }
        Ok(all)
    }
}

impl Step {
    /// The parts of a value that it selects, with their positions.
    fn from<'v>(&self, value: &'v Value) -> Vec<(usize, &'v Value)> {
        let at = |at: i64, items: &'v [Value]| {
            let at = if at < 0 { i64::try_from(items.len()).ok()? + at } else { at };
            let at = usize::try_from(at).ok()?;
            Some((at, items.get(at)?))
        };
        let field = |key: &str, fields: &'v Object| fields.get_full(key).map(|(at, _, value)| (at, value));
        match (self, value) {
            (Self::Key(key), Value::Object(fields)) => field(key, fields).into_iter().collect(),
            (Self::Key(key), Value::List(items)) => key.parse().ok().and_then(|n| at(n, items)).into_iter().collect(),
            (Self::At(n), Value::List(items)) => at(*n, items).into_iter().collect(),
            (Self::At(n), Value::Object(fields)) => field(&n.to_string(), fields).into_iter().collect(),
            (Self::All, Value::Object(fields)) => fields.values().enumerate().collect(),
            (Self::All, Value::List(items)) => items.iter().enumerate().collect(),
            _ => Vec::new(),
        }
    }
}

/// A key up to the next dot or bracket.
fn key(text: &str) -> Option<(Step, &str)> {
    let (key, rest) = text.split_at(text.find(['.', '[']).unwrap_or(text.len()));
    let is_valid = !key.is_empty() && !key.contains([']', '(', ')', '"', '\'', '?', '@']);
    is_valid.then(|| (if key == "*" { Step::All } else { Step::Key(key.to_owned()) }, rest))
}

/// The content of brackets: a position, a quoted key, or `*`.
fn in_brackets(text: &str) -> Option<(Step, &str)> {
    let text = text.trim_start();
    if let Some(quote) = text.chars().next().filter(|sign| ['"', '\''].contains(sign)) {
        let (key, rest) = text[1..].split_once(quote)?;
        return Some((Step::Key(key.to_owned()), rest.trim_start().strip_prefix(']')?));
    }
    let (inside, rest) = text.split_once(']')?;
    let inside = inside.trim();
    let is_name = !inside.is_empty() && inside.chars().all(|sign| sign.is_alphanumeric() || sign == '_' || sign == '-');
    match inside.parse() {
        Ok(at) => Some((Step::At(at), rest)),
        Err(_) if inside == "*" => Some((Step::All, rest)),
        // Keys without quotes are accepted for compatibility.
        Err(_) => is_name.then(|| (Step::Key(inside.to_owned()), rest)),
    }
}

fn invalid_path(path: &str, part: &str) -> String {
    format!(
        "`{part}` in the path `{path}` is invalid; a JSON path has keys (a.b, [\"a b\"]), positions ([0], [-1]), \
         [*] and ..key"
    )
}
