//! The values that a condition reads, recorded so that it can be evaluated again with changed values.

use std::sync::Arc;

use bumpalo::Bump;

use crate::context::Context;
use crate::eval;
use crate::program::{Key, Name, Program};
use crate::value::{Object, Source, Value};

/// A path that a condition reads, with its value.
///
/// ```
/// # use branchpoint_expr::*;
/// let condition = Condition::compile("a > 1")?;
/// let reads = condition.reads(&serde_json::json!({"a": 5}));
/// assert_eq!(reads[0].value, Some(Value::Int(5)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// The path as written.
    pub path: Arc<str>,
    /// The value; `None` if it was missing or too large.
    pub value: Option<Value>,
    root: Name,
    keys: Arc<[Key]>,
}

/// A context that is built from recorded reads.
///
/// ```
/// # use branchpoint_expr::*;
/// let condition = Condition::compile("a > 1")?;
/// let reads = condition.reads(&serde_json::json!({"a": 5}));
/// assert!(condition.evaluate(&RecordedContext::of(&reads))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RecordedContext(Vec<(Name, Value)>);

/// Reads every path of a program once.
pub(crate) fn reads<C: Context + ?Sized>(program: &Program, context: &C) -> Vec<Read> {
    let bump = Bump::new();
    let mut reads: Vec<Read> = Vec::new();
    for path in &program.paths {
        if reads.iter().any(|read| read.root == path.root && read.keys == path.keys) {
            continue;
        }
        let value = eval::read_path(program, path, context, &bump).ok();
        reads.push(Read { path: path.to_string().into(), value, root: path.root.clone(), keys: path.keys.clone() });
    }
    reads
}

/// Changes the values of the reads that depend on a path. Returns whether there are any.
///
/// ```
/// use branchpoint_expr::{Condition, RecordedContext, Value, change};
/// use serde_json::json;
///
/// let condition = Condition::compile("inputs.count > 10")?;
/// let mut reads = condition.reads(&json!({"inputs": {"count": 3}}));
/// assert!(change(&mut reads, "inputs.count", &Value::Int(11)));
/// assert!(condition.evaluate(&RecordedContext::of(&reads))?);
/// assert!(!change(&mut reads, "inputs.other", &Value::Int(1)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn change(reads: &mut [Read], path: &str, value: &Value) -> bool {
    let mut changed = false;
    for read in reads {
        if let Some(below) = keys_below(&read.path, path) {
            read.value = below.iter().try_fold(value, |value, key| step(value, key)).cloned();
            changed = true;
        } else if let Some(below) = keys_below(path, &read.path)
            && let Some(inner) = replace_at(read.value.clone().unwrap_or_default(), &below, value)
        {
            read.value = Some(inner);
            changed = true;
        }
    }
    changed
}

/// The keys of a path after a prefix; `None` if it does not have that prefix.
fn keys_below(path: &str, beginning: &str) -> Option<Vec<Key>> {
    let mut rest = path.strip_prefix(beginning)?;
    let mut keys = Vec::new();
    while !rest.is_empty() {
        let (key, after) = next_key(rest)?;
        keys.push(key);
        rest = after;
    }
    Some(keys)
}

/// Parses `.name`, `[0]` or `["any text"]` and returns the rest.
fn next_key(text: &str) -> Option<(Key, &str)> {
    if let Some(text) = text.strip_prefix('.') {
        let end = text.find(['.', '[']).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        return (!name.is_empty()).then(|| (Key::Field(name.into()), rest));
    }
    let inside = text.strip_prefix('[')?;
    if inside.starts_with('"') {
        let mut parts = serde_json::Deserializer::from_str(inside).into_iter::<String>();
        let name = parts.next()?.ok()?;
        let rest = inside[parts.byte_offset()..].strip_prefix(']')?;
        return Some((Key::Field(name.into()), rest));
    }
    let (index, rest) = inside.split_once(']')?;
    Some((Key::Index(index.parse().ok()?), rest))
}

fn step<'v>(value: &'v Value, key: &Key) -> Option<&'v Value> {
    match key {
        Key::Field(field) => value.get(field),
        Key::Index(index) => {
            let items = value.as_list()?;
            items.get(position(items.len(), *index)?)
        }
    }
}

fn position(length: usize, index: i64) -> Option<usize> {
    if index < 0 {
        length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)
    } else {
        usize::try_from(index).ok().filter(|at| *at < length)
    }
}

/// Replaces the value at the keys; `None` if there is no such position.
fn replace_at(into: Value, keys: &[Key], value: &Value) -> Option<Value> {
    let Some((key, rest)) = keys.split_first() else { return Some(value.clone()) };
    // Some dialects read fields of JSON inside a text.
    let into = match &into {
        Value::Str(text) => serde_json::from_str(text).ok()?,
        _ => into,
    };
    match (into, key) {
        (Value::Null, Key::Field(field)) => {
            let inner = replace_at(Value::Null, rest, value)?;
            Some(Value::from([(Arc::clone(field), inner)].into_iter().collect::<Object>()))
        }
        (Value::Object(object), Key::Field(field)) => {
            let mut object = object.into_parts();
            let inner = replace_at(object.get(field).cloned().unwrap_or_default(), rest, value)?;
            object.insert(Arc::clone(field), inner);
            Some(Value::from(object))
        }
        (Value::List(items), Key::Index(index)) => {
            let mut items = items.into_parts();
            let at = position(items.len(), *index)?;
            items[at] = replace_at(std::mem::take(&mut items[at]), rest, value)?;
            Some(Value::from(items))
        }
        _ => None,
    }
}

impl RecordedContext {
    /// Builds a context with the values of the reads.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let condition = Condition::compile("a > 1")?;
    /// let reads = condition.reads(&serde_json::json!({"a": 5}));
    /// assert_eq!(condition.evaluate(&RecordedContext::of(&reads)), Ok(true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(reads: &[Read]) -> Self {
        // The value of a shorter path contains those of longer ones.
        let mut ordered: Vec<&Read> = reads.iter().collect();
        ordered.sort_by_key(|read| read.keys.len());
        let mut roots: Vec<(Name, Value)> = Vec::new();
        for read in ordered {
            let Some(value) = &read.value else { continue };
            let known = roots.iter().position(|(name, _)| *name == read.root);
            let at = known.unwrap_or_else(|| {
                roots.push((read.root.clone(), Value::Null));
                roots.len() - 1
            });
            grow(&mut roots[at].1, &read.keys, value);
        }
        Self(roots)
    }
}

/// The longest list that is built for one element. Elements beyond it are missing.
const LONGEST_LIST: u64 = 100_000;

/// Builds the objects and lists that are needed for a value at the keys.
fn grow(into: &mut Value, keys: &[Key], value: &Value) {
    let Some((key, rest)) = keys.split_first() else {
        *into = value.clone();
        return;
    };
    match key {
        Key::Field(field) => {
            if *into == Value::Null {
                *into = Value::from(Object::default());
            }
            // Any other value was read as a whole and already contains this one.
            if let Value::Object(object) = into {
                object.edit(|object| grow(object.entry(Arc::clone(field)).or_default(), rest, value));
            }
        }
        Key::Index(index) => {
            if *into == Value::Null {
                *into = Value::from(Vec::new());
            }
            let Value::List(items) = into else { return };
            let needed = if *index < 0 { index.unsigned_abs() } else { index.unsigned_abs().saturating_add(1) };
            // A list with a value at a position is at least that long.
            items.edit(|items| {
                if *value != Value::Null && (items.len() as u64) < needed && needed <= LONGEST_LIST {
                    items.resize(usize::try_from(needed).unwrap_or(0), Value::Null);
                }
                if let Some(at) = position(items.len(), *index) {
                    grow(&mut items[at], rest, value);
                }
            });
        }
    }
}

impl Context for RecordedContext {
    fn read(&self, name: &Name) -> Option<Source<'_>> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| Source::Value(value))
    }
}
