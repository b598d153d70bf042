//! The differences between two values, as paths with the value before and after.

use branchpoint_expr::Value;

/// The largest lists whose entries are aligned; longer ones are compared position by position.
const ALIGNED: usize = 400;

/// A difference: its path, and the values before and after.
pub(super) type Difference = (String, Option<Value>, Option<Value>);

/// Fields that identify an entry of a list.
const KEYS: [&str; 4] = ["name", "id", "key", "path"];

/// All differences between two values at a path.
pub(super) fn differences(path: &str, old: Option<&Value>, new: Option<&Value>) -> Vec<Difference> {
    let mut differences = Vec::new();
    add(path, old, new, &mut differences);
    differences
}

fn add(path: &str, old: Option<&Value>, new: Option<&Value>, differences: &mut Vec<Difference>) {
    let (Some(before), Some(after)) = (old, new) else {
        if old != new {
            differences.push((path.to_owned(), old.cloned(), new.cloned()));
        }
        return;
    };
    if before == after {
        return;
    }
    match (before.as_object(), after.as_object(), before.as_list(), after.as_list()) {
        (Some(before), Some(after), ..) => {
            let added = after.keys().filter(|key| !before.contains_key(*key));
            for key in before.keys().chain(added) {
                add(&format!("{path}.{key}"), before.get(key), after.get(key), differences);
            }
        }
        (_, _, Some(before), Some(after)) => list(path, before, after, differences),
        _ => differences.push((path.to_owned(), old.cloned(), new.cloned())),
    }
}

fn list(path: &str, before: &[Value], after: &[Value], differences: &mut Vec<Difference>) {
    if let Some(key) = KEYS.iter().find(|key| is_key(before, key) && is_key(after, key)) {
        let of = |value: &Value| value.get(key).map(ToString::to_string).unwrap_or_default();
        let find = |list: &'_ [Value], name: &str| list.iter().position(|value| of(value) == name);
        let added = after.iter().filter(|value| find(before, &of(value)).is_none());
        for value in before.iter().chain(added) {
            let name = of(value);
            let (old, new) = (find(before, &name).map(|at| &before[at]), find(after, &name).map(|at| &after[at]));
            add(&format!("{path}.{name}"), old, new, differences);
        }
        let common = |list: &[Value], other: &[Value]| -> Vec<String> {
            list.iter().map(of).filter(|name| find(other, name).is_some()).collect()
        };
        let (old, new) = (common(before, after), common(after, before));
        if old != new {
            let order = |names: Vec<String>| Some(Value::from(names.into_iter().map(Value::from).collect::<Vec<_>>()));
            differences.push((format!("{path} (order)"), order(old), order(new)));
        }
        return;
    }
    let mut at = (0, 0);
    for (old, new) in anchors(before, after).into_iter().chain([(before.len(), after.len())]) {
        between(path, before, after, (at.0, old), (at.1, new), differences);
        at = (old + 1, new + 1);
    }
}

/// Whether all entries are objects with different values of a field.
fn is_key(list: &[Value], key: &str) -> bool {
    let names: Vec<String> = list.iter().filter_map(|value| value.get(key)).map(ToString::to_string).collect();
    let unique: std::collections::BTreeSet<&String> = names.iter().collect();
    !list.is_empty() && list.len() <= ALIGNED && names.len() == list.len() && unique.len() == names.len()
}

/// Compares the entries between two equal ones: pairs in order, then entries that only one list has.
fn between(
    path: &str,
    before: &[Value],
    after: &[Value],
    (old, old_end): (usize, usize),
    (new, new_end): (usize, usize),
    differences: &mut Vec<Difference>,
) {
    for at in 0..(old_end - old).max(new_end - new) {
        let entry = |list: &'_ [Value], at: usize, end: usize| (at < end).then(|| list[at].clone());
        let position = if new + at < new_end { new + at } else { old + at };
        let (left, right) = (entry(before, old + at, old_end), entry(after, new + at, new_end));
        add(&format!("{path}[{position}]"), left.as_ref(), right.as_ref(), differences);
    }
}

/// The positions of equal entries: a longest common subsequence.
fn anchors(before: &[Value], after: &[Value]) -> Vec<(usize, usize)> {
    if before.len().max(after.len()) > ALIGNED {
        let same = before.iter().zip(after).enumerate().filter(|(_, (old, new))| old == new);
        return same.map(|(at, _)| (at, at)).collect();
    }
    common(before.len(), after.len(), |old, new| before[old] == after[new])
}

/// A longest common subsequence of two lists, as pairs of positions.
pub(super) fn common(old: usize, new: usize, is_equal: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
    let mut longest = vec![vec![0_u32; new + 1]; old + 1];
    for left in (0..old).rev() {
        for right in (0..new).rev() {
            longest[left][right] = if is_equal(left, right) {
                longest[left + 1][right + 1] + 1
            } else {
                longest[left + 1][right].max(longest[left][right + 1])
            };
        }
    }
    let (mut left, mut right, mut pairs) = (0, 0, Vec::new());
    while left < old && right < new {
        if is_equal(left, right) && longest[left][right] == longest[left + 1][right + 1] + 1 {
            pairs.push((left, right));
            (left, right) = (left + 1, right + 1);
        } else if longest[left + 1][right] >= longest[left][right + 1] {
            left += 1;
        } else {
            right += 1;
        }
    }
    pairs
}
