//! Attachments of manifests, and the selection of attachments by rules.

use branchpoint_expr::function::{Outcome, Work};
use branchpoint_expr::{ListView, View};

/// The keys of an attachment.
const KEYS: [&str; 3] = ["storage_key", "mime", "name"];

/// The prefix of the keys of files in the store of a host.
const STORED: &str = "sha256:";

/// `attachmentsIn(value)`: the attachments of a manifest `{text, attachments: [{storage_key, …}]}`, or a list of the value if it is an
/// attachment; nil for any other value. Text never counts as a manifest, because a model could have written it.
pub(super) fn attachments_in<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let value = arguments[0];
    if is_attachment(value) && value.get("mime").is_some() && value.get("name").is_some() {
        return work.list(&[value]);
    }
    let Some(listed @ View::List(_)) = value.get("attachments") else { return Ok(View::Null) };
    for attachment in elements(listed) {
        work.spend(1)?;
        if !is_attachment(attachment) {
            return Ok(View::Null);
        }
    }
    Ok(listed)
}

/// `storedAttachments(value)`: the attachments of a manifest that are in the store of the host; nil if there are none.
pub(super) fn stored<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let mut entries = Vec::new();
    for attachment in elements(attachments_in(work, arguments)?) {
        work.spend(1)?;
        if attachment.get("storage_key").and_then(View::as_str).is_some_and(|key| key.starts_with(STORED)) {
            entries.push(attachment);
        }
    }
    if entries.is_empty() { Ok(View::Null) } else { work.list(&entries) }
}

/// `joinAttachments(lists)`: the attachments of all lists without duplicates; nil if there are none.
pub(super) fn join<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let mut selection = Selection::default();
    for attachment in elements(arguments[0]).flat_map(elements) {
        selection.add(work, attachment)?;
    }
    if selection.attachments.is_empty() { Ok(View::Null) } else { work.list(&selection.attachments) }
}

fn is_attachment(value: View<'_>) -> bool {
    value.get("storage_key").and_then(View::as_str).is_some()
}

/// Selected attachments without duplicates. The key and the name identify an attachment.
#[derive(Default)]
struct Selection<'a> {
    attachments: Vec<View<'a>>,
    seen: Vec<(&'a str, &'a str)>,
}

impl<'a> Selection<'a> {
    fn add(&mut self, work: &Work<'a>, attachment: View<'a>) -> Outcome<()> {
        work.spend(1 + self.seen.len())?;
        let key = work.json_form(attachment.get("storage_key").unwrap_or(attachment))?;
        let name = attachment.get("name").and_then(View::as_str).unwrap_or_default();
        if !self.seen.contains(&(key, name)) {
            self.seen.push((key, name));
            let entries = KEYS.map(|key| (key, attachment.get(key).unwrap_or(View::Null)));
            self.attachments.push(work.object(&entries)?);
        }
        Ok(())
    }
}

/// `pickAttachments(rules, sources)`: the attachments that rules select from lists by source, in the order of the rules, without
/// duplicates.
///
/// A rule is `{source, kind, pattern | name | index}`. A source without a list has no attachments.
pub(super) fn pick<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let mut selection = Selection::default();
    for rule in elements(arguments[0]) {
        let Some(source) = rule.get("source").and_then(View::as_str) else { continue };
        for (position, attachment) in elements(arguments[1].get(source).unwrap_or(View::Null)).enumerate() {
            let name = attachment.get("name").and_then(View::as_str).unwrap_or_default();
            work.spend(1)?;
            if selects(work, rule, position, name)? {
                selection.add(work, attachment)?;
            }
        }
    }
    work.list(&selection.attachments)
}

fn elements(view: View<'_>) -> impl Iterator<Item = View<'_>> {
    let list = match view {
        View::List(list) => Some(list),
        _ => None,
    };
    list.into_iter().flat_map(ListView::iter)
}

fn selects(work: &Work<'_>, rule: View<'_>, position: usize, name: &str) -> Outcome<bool> {
    let text = |key: &str| rule.get(key).and_then(View::as_str).unwrap_or_default();
    Ok(match text("kind") {
        "all" => true,
        "name" => text("name") == name,
        "index" => matches!(rule.get("index"), Some(View::Int(index)) if usize::try_from(index) == Ok(position)),
        "pattern" => {
            let (pattern, name): (Vec<char>, Vec<char>) = (text("pattern").chars().collect(), name.chars().collect());
            work.spend((pattern.len() + 1).saturating_mul(name.len() + 1))?;
            matches(&pattern, &name)
        }
        _ => false,
    })
}

/// Whether a pattern of `*`, `?` and `[…]` matches a whole name. The search retries each star at most once per character.
fn matches(pattern: &[char], name: &[char]) -> bool {
    let (mut at, mut letter) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while letter < name.len() {
        if pattern.get(at) == Some(&'*') {
            star = Some((at, letter));
            at += 1;
        } else if let Some(used) = one(&pattern[at..], name[letter]) {
            (at, letter) = (at + used, letter + 1);
        } else if let Some((star_at, from)) = star {
            star = Some((star_at, from + 1));
            (at, letter) = (star_at + 1, from + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

/// The length of the part of the pattern that matches one character; none if the pattern does not match.
fn one(pattern: &[char], letter: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => match pattern.iter().skip(2).position(|c| *c == ']') {
            Some(close) => class(&pattern[1..close + 2], letter).then_some(close + 3),
            None => (letter == '[').then_some(1),
        },
        c => (*c == letter).then_some(1),
    }
}

/// Whether a character class matches: characters and ranges, negated by `!`.
fn class(members: &[char], letter: char) -> bool {
    let (negated, members) = match members {
        ['!', rest @ ..] if !rest.is_empty() => (true, rest),
        members => (false, members),
    };
    let mut at = 0;
    let mut contains = false;
    while at < members.len() {
        if let [low, '-', high, ..] = members[at..] {
            contains |= (low..=high).contains(&letter);
            at += 3;
        } else {
            contains |= members[at] == letter;
            at += 1;
        }
    }
    contains != negated
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[track_caller]
    fn check(pattern: &str, name: &str, expect: bool) {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        assert_eq!(matches(&chars(pattern), &chars(name)), expect, "{pattern} {name}");
    }

    #[test]
    fn a_pattern_matches_the_whole_name_case_sensitively() {
        check("*.pdf", "a.pdf", true);
        check("*.pdf", "a.PDF", false);
        check("*.pdf", "a.pdf.txt", false);
        check("a?c", "abc", true);
        check("a?c", "ac", false);
        check("[ab]*", "b1", true);
        check("[a-c]1", "d1", false);
        check("[!a]1", "b1", true);
        check("*a*b*", "xxayyb", true);
        check("[", "[", true);
        check("", "", true);
    }
}
