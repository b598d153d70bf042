//! The tools that an agent may use, selected by patterns of names and by the position in a sequence.

use branchpoint_expr::function::{Outcome, Work, wrong_kind};
use branchpoint_expr::{ListView, ObjectView, View};

/// `offeredTools(tools, {allowed, denied, sequence}, index)`: the tools that match a pattern of `allowed` (an empty list allows all)
/// and no pattern of `denied`, and are allowed at the current position of an unfinished sequence. Without a rule: all tools.
pub(super) fn offered_tools<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let tools = list(work, arguments[0])?;
    let View::Object(rule) = arguments[1] else { return Ok(arguments[0]) };
    let part = |key: &str| work.field(rule, key).map(|found| found.unwrap_or(View::Null));
    let (allowed, denied) = (list(work, part("allowed")?)?, list(work, part("denied")?)?);
    let position = usize::try_from(arguments[2].expect_integer("offeredTools()")?).ok();
    let position = match (part("sequence")?, position) {
        (View::List(sequence), Some(index)) => sequence.get(index).map(|fitting| list(work, fitting)).transpose()?,
        _ => None,
    };
    let mut offered = Vec::new();
    for tool in tools.into_iter().flat_map(ListView::iter) {
        let name = tool.expect_text("offeredTools()")?;
        let fits = match position {
            Some(fitting) => any(work, fitting, name, |written, name| written == name)?,
            None => true,
        };
        let everything = allowed.is_none_or(ListView::is_empty);
        if fits && (everything || any(work, allowed, name, matches_name)?) && !any(work, denied, name, matches_name)? {
            offered.push(tool);
        }
    }
    work.list(&offered)
}

/// `toolStates(tools, rules, active, index)`: for each tool `{name, offered, reason}` under the rule of the active step. `rules` has the
/// rules of all steps by name, because a reason names the steps that list a tool. Offered tools are those of `offeredTools`.
pub(super) fn tool_states<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let tools = list(work, arguments[0])?;
    let View::Object(rules) = arguments[1] else { return wrong_kind("toolStates()", "objects", arguments[1]) };
    let active = match arguments[2] {
        View::Null => None,
        active => Some(active.expect_text("toolStates()")?),
    };
    let rule = active.map(|active| work.field(rules, active)).transpose()?.flatten().unwrap_or(View::Null);
    let offered = offered_tools(work, &[arguments[0], rule, arguments[3]])?;
    let mut states = Vec::new();
    for tool in tools.into_iter().flat_map(ListView::iter) {
        let name = tool.expect_text("toolStates()")?;
        let is_offered = any(work, list(work, offered)?, name, |written, name| written == name)?;
        let reason = match (active, rule) {
            (Some(active), View::Object(rule)) => reason(work, rules, (active, rule), name, is_offered)?,
            _ => "no step is active, so every tool is offered".to_owned(),
        };
        let state = [("name", tool), ("offered", View::Bool(is_offered)), ("reason", work.text(&reason)?)];
        states.push(work.object(&state)?);
    }
    work.list(&states)
}

/// Why the active step offers a tool or not.
fn reason<'a>(
    work: &Work<'a>,
    rules: ObjectView<'a>,
    (active, rule): (&str, ObjectView<'a>),
    name: &str,
    is_offered: bool,
) -> Outcome<String> {
    if is_offered {
        return Ok(format!("allowed by {active}"));
    }
    let part = |rule, key: &str| list(work, work.field(rule, key)?.unwrap_or(View::Null));
    for pattern in part(rule, "denied")?.into_iter().flat_map(ListView::iter) {
        let pattern = pattern.expect_text("toolStates()")?;
        if matches_name(pattern, name) {
            return Ok(format!("denied by {pattern} in {active}"));
        }
    }
    let allowed = part(rule, "allowed")?;
    if allowed.is_none_or(ListView::is_empty) || any(work, allowed, name, matches_name)? {
        return Ok(format!("not next in the sequence of {active}"));
    }
    let mut others = Vec::new();
    for (step, rule) in rules.iter() {
        let View::Object(rule) = rule else { continue };
        if step != active && any(work, part(rule, "allowed")?, name, matches_name)? {
            others.push(step);
        }
    }
    let elsewhere = if others.is_empty() { String::new() } else { format!("; listed in {}", others.join(", ")) };
    Ok(format!("not listed in {active}{elsewhere}"))
}

/// Whether any text of a list matches a name. The work of the comparison counts against the limit of the evaluation.
fn any<'a>(
    work: &Work<'a>,
    list: Option<ListView<'a>>,
    name: &str,
    matches: impl Fn(&str, &str) -> bool,
) -> Outcome<bool> {
    for written in list.into_iter().flat_map(ListView::iter) {
        let written = written.expect_text("offeredTools()")?;
        work.spend(1)?;
        work.scan(written.len().saturating_mul(name.len()))?;
        if matches(written, name) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn list<'a>(work: &Work<'a>, view: View<'a>) -> Outcome<Option<ListView<'a>>> {
    match view {
        View::List(list) => work.spend(list.len()).map(|()| Some(list)),
        View::Null => Ok(None),
        other => wrong_kind("offeredTools()", "lists", other),
    }
}

/// Whether a pattern matches a name: `*` matches any number of characters, and all other characters match themselves.
///
/// ```
/// use branchpoint_core::functions::matches_name;
///
/// assert!(matches_name("web_*", "web_search") && matches_name("*", ""));
/// assert!(!matches_name("web_*", "Web_search"));
/// ```
pub fn matches_name(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    // Each part between two stars is matched at its first occurrence, which leaves the longest rest for the next parts.
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches_name;

    #[track_caller]
    fn check(pattern: &str, matching: &[&str], others: &[&str]) {
        for name in matching {
            assert!(matches_name(pattern, name), "{pattern} should match {name}");
        }
        for name in others {
            assert!(!matches_name(pattern, name), "{pattern} should not match {name}");
        }
    }

    #[test]
    fn a_star_matches_any_characters_and_all_others_match_themselves() {
        check("search", &["search"], &["Search", "searches", "research", ""]);
        check("*", &["", "anything"], &[]);
        check("web_*", &["web_", "web_search"], &["web", "my_web_search"]);
        check("*_search", &["_search", "web_search"], &["web_search_all"]);
        check("a*b*c", &["abc", "a-b-c", "abbc", "abcbc"], &["ab", "acb"]);
        check("a*a", &["aa", "aba"], &["a"]);
        check("**", &["", "x"], &[]);
        check("a.c", &["a.c"], &["abc"]);
        check("ü*", &["über"], &["uber"]);
    }
}
