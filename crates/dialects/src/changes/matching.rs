//! Finds the steps of one document in another: by id, then by content, then by position.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_expr::{Dialect, Object, Value};

use super::parts::{Layout, Part};
use super::values::common;

/// The largest numbers of steps without a match that are compared with each other.
const COMPARED: usize = 300;

/// Which step of the old document is which step of the new one.
#[derive(Debug, Default)]
pub(super) struct Matching {
    new_of: Vec<Option<usize>>,
    old_of: Vec<Option<usize>>,
    /// Old ids of renamed steps, with the new ones.
    renamed: BTreeMap<Arc<str>, Arc<str>>,
    renamed_steps: Vec<bool>,
    moves: BTreeMap<usize, Move>,
}

/// A step that is at another position: both positions in words.
#[derive(Debug)]
pub(super) struct Move {
    pub(super) from: String,
    pub(super) to: String,
}

impl Matching {
    pub(super) fn new(old: &[Part<'_>], new: &[Part<'_>], dialect: Dialect) -> Self {
        let mut matching = Self {
            new_of: vec![None; old.len()],
            old_of: vec![None; new.len()],
            renamed_steps: vec![false; old.len()],
            ..Self::default()
        };
        let ids: BTreeMap<&str, usize> =
            new.iter().enumerate().rev().filter(|(_, part)| part.is_named).map(|(at, part)| (&*part.id, at)).collect();
        for (at, part) in old.iter().enumerate().filter(|(_, part)| part.is_named) {
            if let Some(found) = ids.get(&*part.id).filter(|found| matching.old_of[**found].is_none()) {
                matching.pair(at, *found);
            }
        }
        matching.unnamed(old, new);
        matching.rename(old, new);
        if Layout::of(dialect).is_ordered {
            matching.find_moves(old, new);
        }
        matching
    }

    pub(super) fn old_of(&self, new: usize) -> Option<usize> {
        self.old_of.get(new).copied().flatten()
    }

    pub(super) fn new_of(&self, old: usize) -> Option<usize> {
        self.new_of.get(old).copied().flatten()
    }

    pub(super) fn is_renamed(&self, old: usize) -> bool {
        self.renamed_steps[old]
    }

    pub(super) fn moved(&self, old: usize) -> Option<&Move> {
        self.moves.get(&old)
    }

    /// A value of the old document in which texts name renamed steps by their new ids.
    pub(super) fn renamed_value(&self, value: &Value) -> Value {
        if self.renamed.is_empty() { value.clone() } else { with_ids(value, &self.renamed) }
    }

    fn pair(&mut self, old: usize, new: usize) {
        (self.new_of[old], self.old_of[new]) = (Some(new), Some(old));
    }

    /// The steps without a match in both documents; none if there are too many to compare.
    fn unmatched(&self) -> (Vec<usize>, Vec<usize>) {
        let without = |list: &[Option<usize>]| -> Vec<usize> {
            list.iter().enumerate().filter(|(_, other)| other.is_none()).map(|(at, _)| at).collect()
        };
        let (old, new) = (without(&self.new_of), without(&self.old_of));
        if old.len().max(new.len()) > COMPARED { (Vec::new(), Vec::new()) } else { (old, new) }
    }

    /// Matches steps without an id: those with the same content, then those of the same type in the same list.
    fn unnamed(&mut self, old: &[Part<'_>], new: &[Part<'_>]) {
        for is_exact in [true, false] {
            let (left, right) = self.unmatched();
            for at in left {
                let fits = |other: &usize| {
                    let (part, other_part) = (&old[at], &new[*other]);
                    let is_unnamed = !part.is_named && !other_part.is_named && part.kind == other_part.kind;
                    let is_same = if is_exact {
                        fields(part) == fields(other_part)
                    } else {
                        part.list == other_part.list && self.parent_of(part) == other_part.parent
                    };
                    is_unnamed && self.old_of[*other].is_none() && is_same
                };
                if let Some(found) = right.iter().copied().find(fits) {
                    self.pair(at, found);
                }
            }
        }
    }

    /// Matches steps that differ in their ids only.
    fn rename(&mut self, old: &[Part<'_>], new: &[Part<'_>]) {
        let (left, right) = self.unmatched();
        for at in left {
            let part = &old[at];
            let fits = |other: &usize| {
                let candidate = &new[*other];
                let renamed = BTreeMap::from([(part.id.clone(), candidate.id.clone())]);
                let (before, after) = (Value::from(fields(part)), Value::from(fields(candidate)));
                let same = || before == after || with_ids(&before, &renamed) == after;
                self.old_of[*other].is_none() && part.kind == candidate.kind && candidate.is_named && same()
            };
            if let Some(found) = right.iter().copied().find(fits) {
                self.pair(at, found);
                self.renamed_steps[at] = true;
                self.renamed.insert(part.id.clone(), new[found].id.clone());
            }
        }
    }

    /// The step of the new document that encloses a step of the old one.
    fn parent_of(&self, part: &Part<'_>) -> Option<usize> {
        part.parent.and_then(|parent| self.new_of(parent))
    }

    fn find_moves(&mut self, old: &[Part<'_>], new: &[Part<'_>]) {
        let mut lists: BTreeMap<(Option<usize>, &str), Vec<usize>> = BTreeMap::new();
        let mut moved = Vec::new();
        for (at, part) in old.iter().enumerate() {
            let Some(found) = self.new_of(at) else { continue };
            let is_same_list = new[found].list == part.list
                && match (part.parent, new[found].parent) {
                    (None, None) => true,
                    (Some(_), Some(parent)) => self.parent_of(part) == Some(parent),
                    _ => false,
                };
            if is_same_list {
                lists.entry((part.parent, &part.list)).or_default().push(at);
            } else {
                moved.push(at);
            }
        }
        for steps in lists.into_values() {
            let mut order = steps.clone();
            order.sort_by_key(|at| self.new_of[*at]);
            if order == steps {
                continue;
            }
            let common = if steps.len() > COMPARED {
                Vec::new()
            } else {
                common(steps.len(), order.len(), |left, right| steps[left] == order[right])
            };
            let is_kept = |at: &usize| common.iter().any(|(left, _)| left == at);
            moved.extend((0..steps.len()).filter(|at| !is_kept(at)).map(|at| steps[at]));
        }
        for at in moved {
            let Some(found) = self.new_of(at) else { continue };
            self.moves.insert(at, Move { from: position(old, at), to: position(new, found) });
        }
    }
}

/// The fields of a step as an object, for comparisons.
fn fields(part: &Part<'_>) -> Object {
    part.fields.iter().map(|field| (field.name.clone(), field.value.clone())).collect()
}

/// The position of a step in words.
fn position(parts: &[Part<'_>], at: usize) -> String {
    let part = &parts[at];
    let before = parts[..at].iter().rev().find(|other| other.parent == part.parent && other.list == part.list);
    let place = before.map_or_else(|| "first".to_owned(), |before| format!("after `{}`", before.id));
    match part.parent {
        None => place,
        Some(parent) => format!("{place} in `{}` of `{}`", part.list, parts[parent].id),
    }
}

/// A value with other ids in its texts. An id is replaced where it is a whole word.
fn with_ids(value: &Value, ids: &BTreeMap<Arc<str>, Arc<str>>) -> Value {
    match value {
        Value::Str(text) => Value::from(replace_words(text, ids)),
        Value::List(_) => {
            let items = value.as_list().unwrap_or_default();
            Value::from(items.iter().map(|item| with_ids(item, ids)).collect::<Vec<_>>())
        }
        Value::Object(_) => {
            let fields = value.as_object().into_iter().flatten();
            Value::from(fields.map(|(key, value)| (key.clone(), with_ids(value, ids))).collect::<Object>())
        }
        other => other.clone(),
    }
}

fn replace_words(text: &str, ids: &BTreeMap<Arc<str>, Arc<str>>) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        out.push_str(ids.get(word).map_or(word, |id| id));
        rest = after;
    }
    out
}
