//! Ways through JSON: `a.b[0]`, `$.a.b`, `/a/b/0`.
//!
//! Beside keys and positions there are `*` or `[*]` for everything in a value, and `..key` for a key at any depth. A key that holds
//! other signs is written in brackets and quotes; a position below zero counts from the end.
//!
//! `serde_json_path` and `jsonpath-rust` know neither `a.b[0]` nor `/a/b/0`, find a value once for every way to it without a limit, and
//! need a copy of the value, which unfolds the parts that it shares.

use std::collections::HashSet;
use std::collections::hash_map::{Entry, HashMap};

use branchpoint_expr::{Object, Value};

use super::Work;

/// How many values may be looked at. Values share their parts, so one that is small may hold more than can be counted.
const MOST_VALUES: usize = 1_000_000;

/// A way through a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Path(Vec<Step>);

#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// A key of an object, or a position in a list.
    Key(String),
    /// A position in a list; below zero, from its end.
    At(i64),
    /// Everything in an object or a list.
    All,
    /// Whatever the steps after it find, in the value or anywhere below it.
    Anywhere,
}

impl Path {
    /// Reads a way; what is not understood is named.
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
                    return Err(unclear(text, ".."));
                }
            }
            let (step, after) = match rest.strip_prefix('[') {
                Some(inside) => in_brackets(inside).ok_or_else(|| unclear(text, rest))?,
                None => key(rest.strip_prefix('.').unwrap_or(rest)).ok_or_else(|| unclear(text, rest))?,
            };
            steps.push(step);
            rest = after;
        }
        Ok(Self(steps))
    }

    /// What the way leads to, each value once, the outer ones first.
    pub(super) fn find(&self, value: &Value, work: &mut Work) -> Result<Vec<Value>, String> {
        let mut walk = Walk { places: HashMap::new(), work };
        let mut found = vec![Node { value, number: 0 }];
        let mut deep = false;
        for step in &self.0 {
            if *step == Step::Anywhere {
                deep = true;
                continue;
            }
            let all = if deep { walk.everywhere(&found)? } else { found };
            found = Vec::new();
            for node in &all {
                found.extend(walk.parts(node, step)?);
            }
            deep = false;
        }
        // One value is no larger than the source; several may contain each other.
        if found.len() > 1 {
            let bytes = found.iter().fold(0_u64, |sum, node| sum.saturating_add(node.value.size().bytes));
            walk.work.spend(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        }
        Ok(found.into_iter().map(|node| node.value.clone()).collect())
    }
}

/// A value at its place. Equal values, and one value that stands in two places, are two.
#[derive(Clone, Copy)]
struct Node<'v> {
    value: &'v Value,
    /// The number of its place.
    number: usize,
}

/// The walk of one path through a value.
struct Walk<'w> {
    /// The numbers of the places that were visited, by the number of the value around and the position in it.
    places: HashMap<(usize, usize), usize>,
    work: &'w mut Work,
}

impl Walk<'_> {
    /// What a step leads to from a node, in order.
    fn parts<'v>(&mut self, node: &Node<'v>, step: &Step) -> Result<Vec<Node<'v>>, String> {
        let parts = step.from(node.value);
        self.work.spend(1 + parts.len())?;
        parts.into_iter().map(|(at, value)| Ok(Node { value, number: self.number(node, at)? })).collect()
    }

    fn number(&mut self, around: &Node<'_>, at: usize) -> Result<usize, String> {
        let known = self.places.len();
        match self.places.entry((around.number, at)) {
            Entry::Occupied(place) => Ok(*place.get()),
            Entry::Vacant(place) if known < MOST_VALUES => Ok(*place.insert(known + 1)),
            Entry::Vacant(_) => Err(format!(
                "the path leads through more than {MOST_VALUES} values, and no more are looked at; make it more exact"
            )),
        }
    }

    /// These nodes and all that stands in them, each once, the outer ones first.
    fn everywhere<'v>(&mut self, found: &[Node<'v>]) -> Result<Vec<Node<'v>>, String> {
        let (mut all, mut seen) = (Vec::new(), HashSet::new());
        let mut open: Vec<Node<'v>> = found.iter().rev().copied().collect();
        while let Some(node) = open.pop() {
            // Whatever stands in a node was seen with it.
            if seen.insert(node.number) {
                open.extend(self.parts(&node, &Step::All)?.into_iter().rev());
                all.push(node);
            }
        }
        Ok(all)
    }
}

impl Step {
    /// What it leads to from a value, with the positions there.
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
    let is_clear = !key.is_empty() && !key.contains([']', '(', ')', '"', '\'', '?', '@']);
    is_clear.then(|| (if key == "*" { Step::All } else { Step::Key(key.to_owned()) }, rest))
}

/// What stands in brackets: a position, a key in quotes, or `*`.
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
        // A key without quotes has always been taken.
        Err(_) => is_name.then(|| (Step::Key(inside.to_owned()), rest)),
    }
}

fn unclear(path: &str, part: &str) -> String {
    format!(
        "`{part}` in the path `{path}` is not understood; a path of JSON has keys (a.b, [\"a b\"]), positions ([0], [-1]), \
         [*] and ..key"
    )
}
