//! Answers to approvals, events of agent calls, and defaults of nested values.

use branchpoint_expr::function::{Outcome, Work};
use branchpoint_expr::{ListView, ObjectView, View};

/// Words that approve.
const APPROVE: [&str; 5] = ["approve", "approved", "yes", "ok", "true"];

/// Words that reject.
const REJECT: [&str; 6] = ["reject", "rejected", "deny", "denied", "no", "false"];

/// `approvalAnswer(input)`: `{decision, note}`, or nil for input without a decision. Unknown input never counts as consent.
pub(super) fn approval_answer<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let input = arguments[0];
    let approves = match input {
        View::Bool(approves) => Some(approves),
        View::Object(input) => of_object(work, input)?,
        other => other.as_str().and_then(approval_decision),
    };
    let Some(approves) = approves else { return Ok(View::Null) };
    let note = match input {
        View::Object(input) => work.field(input, "note")?.filter(|note| note.as_str().is_some()),
        _ => None,
    };
    let decision = View::Str(if approves { "approve" } else { "reject" });
    work.object(&[("decision", decision), ("note", note.unwrap_or(View::Str("")))])
}

/// The decision of the fields `decision` and `approved`. Each given field must be valid, and both must agree.
fn of_object<'a>(work: &Work<'a>, input: ObjectView<'a>) -> Outcome<Option<bool>> {
    let decision = work.field(input, "decision")?.map(|decision| decision.as_str().and_then(approval_decision));
    let approved = work.field(input, "approved")?.map(|approved| match approved {
        View::Bool(approved) => Some(approved),
        _ => None,
    });
    Ok(match (decision, approved) {
        (Some(decision), Some(approved)) => decision.filter(|decision| approved == Some(*decision)),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => None,
    })
}

/// Whether a word approves (`yes`, `approve`, …) or rejects, ignoring case; none for all other words.
pub(crate) fn approval_decision(word: &str) -> Option<bool> {
    let word = word.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}').to_lowercase();
    let approves = APPROVE.contains(&&*word);
    (approves || REJECT.contains(&&*word)).then_some(approves)
}

/// The maximum number of listed changes.
const LISTED: usize = 100;

/// `approvalChanges(before, after)`: what has changed in what an approval shows, as `[{path, before, after}]`. Both are
/// `{show, defaults}`. If the changes are too many to list, `show` and the fields of the form are listed as a whole.
pub(super) fn approval_changes<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let compare = |depths: [u16; 2]| -> Outcome<Vec<View<'a>>> {
        let mut changes = Vec::new();
        for ((key, path), depth) in [("show", "show"), ("defaults", "form")].into_iter().zip(depths) {
            let part = |of: View<'a>| of.get(key).unwrap_or(View::Null);
            collect_changes(work, path, part(arguments[0]), part(arguments[1]), depth, &mut changes)?;
        }
        Ok(changes)
    };
    let changes = compare([u16::MAX, u16::MAX])?;
    // A form has fewer fields than can be listed.
    if changes.len() <= LISTED { work.list(&changes) } else { work.list(&compare([0, 1])?) }
}

fn collect_changes<'a>(
    work: &Work<'a>,
    path: &str,
    before: View<'a>,
    after: View<'a>,
    depth: u16,
    changes: &mut Vec<View<'a>>,
) -> Outcome<()> {
    work.spend(1)?;
    if changes.len() > LISTED || work.equal(&before, &after)? {
        return Ok(());
    }
    let (View::Object(old), View::Object(new)) = (before, after) else {
        return note_change(work, path, before, after, changes);
    };
    if depth == 0 {
        return note_change(work, path, before, after, changes);
    }
    let added = new.iter().filter(|(key, _)| before.get(key).is_none());
    let keys: Vec<&str> = old.iter().map(|(key, _)| key).chain(added.map(|(key, _)| key)).collect();
    for key in keys {
        let part = |of: View<'a>| of.get(key).unwrap_or(View::Null);
        collect_changes(work, &format!("{path}.{key}"), part(before), part(after), depth.saturating_sub(1), changes)?;
    }
    Ok(())
}

fn note_change<'a>(
    work: &Work<'a>,
    path: &str,
    before: View<'a>,
    after: View<'a>,
    changes: &mut Vec<View<'a>>,
) -> Outcome<()> {
    let change = work.object(&[("path", work.text(path)?), ("before", before), ("after", after)])?;
    changes.push(change);
    Ok(())
}

/// `callFailed(event, message)`: the event of a failed call, made from the event of its start.
pub(super) fn call_failed<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let event = arguments[0].expect_object("callFailed()")?;
    work.spend(event.len())?;
    let mut entries: Vec<_> = event.iter().filter(|(key, _)| !matches!(*key, "type" | "message")).collect();
    entries.push(("type", View::Str("subagent_call_error")));
    entries.push(("message", View::Str(arguments[1].expect_text("callFailed()")?)));
    work.object(&entries)
}

/// `filledIn(value, defaults)`: the value with the defaults for keys that are null, at any depth.
pub(super) fn filled_in<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    fill(work, arguments[0], arguments[1].expect_object("filledIn()")?, 0)
}

fn fill<'a>(work: &Work<'a>, value: View<'a>, defaults: ObjectView<'a>, depth: u16) -> Outcome<View<'a>> {
    work.check_depth(depth)?;
    match value {
        View::List(list) => fill_list(work, list, defaults, depth),
        View::Object(object) => {
            work.spend(object.len())?;
            let entries: Outcome<Vec<_>> = object
                .iter()
                .map(|(key, value)| match value {
                    View::Null => Ok((key, work.field(defaults, key)?.unwrap_or(View::Null))),
                    value => Ok((key, fill(work, value, defaults, depth + 1)?)),
                })
                .collect();
            work.object(&entries?)
        }
        other => Ok(other),
    }
}

fn fill_list<'a>(work: &Work<'a>, list: ListView<'a>, defaults: ObjectView<'a>, depth: u16) -> Outcome<View<'a>> {
    work.spend(list.len())?;
    let items: Outcome<Vec<_>> = list.iter().map(|item| fill(work, item, defaults, depth + 1)).collect();
    work.list(&items?)
}
