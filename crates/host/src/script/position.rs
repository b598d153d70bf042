//! Which answers of a script are used, so that another process continues a run with the same ones.

use std::collections::BTreeSet;

use branchpoint_expr::{Object, Value};

use super::list::List;
use super::{Lines, Script};

impl Script {
    /// The used entries: for each step the list of their indexes, or an object of such lists by place.
    pub fn position(&self) -> Value {
        let steps = self.steps.iter().filter_map(|(step, lines)| {
            let used = match lines {
                Lines::One(list) => indexes(list.used())?,
                Lines::ByPath(places) => {
                    let places = places.iter().filter_map(|(place, list)| Some((place.clone(), indexes(list.used())?)));
                    Value::from(Some(places.collect::<Object>()).filter(|places| !places.is_empty())?)
                }
            };
            Some((step.clone(), used))
        });
        Value::from(steps.collect::<Object>())
    }

    /// Marks the entries of a position as used. Returns false if the position belongs to another script.
    pub fn seek(&mut self, position: &Value) -> bool {
        let Some(steps) = position.as_object() else { return false };
        steps.iter().all(|(step, used)| match (self.steps.get_mut(step), used) {
            (Some(Lines::One(list)), used) => mark(list, used),
            (Some(Lines::ByPath(lists)), Value::Object(places)) => {
                places.iter().all(|(place, used)| lists.get_mut(place).is_some_and(|list| mark(list, used)))
            }
            _ => false,
        })
    }

    /// Makes an entry of a step available again.
    pub(crate) fn give_back(&mut self, step: &str, path: &[u32], entry: usize) {
        if let Some(list) = self.steps.get_mut(step).and_then(|lines| lines.at(path)) {
            list.give_back(entry);
        }
    }
}

fn indexes(used: &BTreeSet<usize>) -> Option<Value> {
    let indexes = used.iter().map(|at| Value::Int(i64::try_from(*at).unwrap_or(i64::MAX)));
    (!used.is_empty()).then(|| Value::from(indexes.collect::<Vec<_>>()))
}

fn mark(list: &mut List, used: &Value) -> bool {
    let Some(used) = used.as_list() else { return false };
    used.iter().all(|at| match at {
        Value::Int(at) => usize::try_from(*at).is_ok_and(|at| list.mark_used(at)),
        _ => false,
    })
}
