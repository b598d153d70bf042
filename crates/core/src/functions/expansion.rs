//! Expansion of text that is known only in a run: items and limits of loops, templates, and elapsed time.

use branchpoint_expr::function::{Outcome, Work, fault, preview};
use branchpoint_expr::{Dialect, Expression, Kind, Options, Value, View};

/// `itemsOf(text)`: the elements of a JSON array; for other text, the trimmed parts between commas. Blank text has no items.
pub(super) fn items_of<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    if let View::List(_) = arguments[0] {
        return Ok(arguments[0]);
    }
    let written = work.text_form(arguments[0])?;
    if written.trim().is_empty() {
        return work.list(&[]);
    }
    if written.trim_start().starts_with('[')
        && let Ok(list @ View::List(_)) = work.json(written)?
    {
        return Ok(list);
    }
    let parts: Vec<_> = written.split(',').map(|part| View::Str(part.trim())).collect();
    work.spend(parts.len())?;
    work.list(&parts)
}

/// `integerOf(text)`: a decimal integer, or the value of an expression over numbers such as `2 + 1`. The expression cannot read names.
pub(super) fn integer_of<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let written = work.text_form(arguments[0])?.trim();
    if let Ok(int) = written.parse() {
        return Ok(View::Int(int));
    }
    work.scan(written.len())?;
    let rejected = || fault(Kind::BadArgument, format!("{} is not a whole number", preview(View::Str(written))));
    let Ok(expression) = Expression::compile(written, Options::dialect(Dialect::Session)) else { return rejected() };
    let value = work.evaluate(&expression, &Value::Null);
    match value.and_then(|value| value.view().expect_integer("integerOf()")) {
        Ok(int) => Ok(View::Int(int)),
        Err(limit) if limit.kind == Kind::StepLimit => Err(limit),
        Err(_) => rejected(),
    }
}

/// `expandTemplate(text, names)`: expands a text with placeholders that the run has loaded. Its names are the keys of the object.
pub(super) fn expand_template<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let written = arguments[0].expect_text("expandTemplate()")?;
    work.spend(1)?;
    work.scan(written.len())?;
    let names = work.value(arguments[1])?;
    let template = match Expression::text(written, Options::dialect(Dialect::Machine)) {
        Ok(template) => template,
        Err(problems) => return fault(Kind::BadTemplate, problems.first().message.clone()),
    };
    work.text(&work.evaluate(&template, &names)?.to_string())
}

/// `environmentNames(text)`: the environment variables that a text with placeholders reads. An invalid text has none; the expansion
/// that follows reports the error.
pub(super) fn environment_names<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let written = arguments[0].expect_text("environmentNames()")?;
    work.spend(1)?;
    work.scan(written.len())?;
    let template = Expression::text(written, Options::dialect(Dialect::Machine));
    let references = template.map(|template| template.references()).unwrap_or_default();
    let mut names = Vec::new();
    for reference in references {
        if let [root, name, ..] = &reference.parts[..]
            && &**root == "env"
        {
            names.push(work.text(name)?);
        }
    }
    work.list(&names)
}

/// `elapsedText(from_ms, to_ms)`: `12ms`, `1.5s`, `5m0s`, `1h2m3s`.
pub(super) fn elapsed_text<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let [from, to] = [0, 1].map(|index| arguments[index].expect_integer("elapsedText()"));
    work.text(&elapsed(to?.saturating_sub(from?).max(0)))
}

fn elapsed(ms: i64) -> String {
    if ms < 1_000 {
        return if ms == 0 { "0s".to_owned() } else { format!("{ms}ms") };
    }
    let (hours, minutes) = (ms / 3_600_000, ms / 60_000 % 60);
    let (seconds, rest) = (ms / 1_000 % 60, ms % 1_000);
    let fraction = format!(".{rest:03}");
    let seconds = format!("{seconds}{}s", fraction.trim_end_matches('0').trim_end_matches('.'));
    match (hours, minutes) {
        (0, 0) => seconds,
        (0, minutes) => format!("{minutes}m{seconds}"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}"),
    }
}

#[cfg(test)]
mod tests {
    use super::elapsed;

    #[test]
    fn elapsed_time_is_written_as_a_duration() {
        let cases = [(0, "0s"), (12, "12ms"), (1_500, "1.5s"), (300_000, "5m0s"), (3_723_000, "1h2m3s")];
        for (ms, expect) in cases {
            assert_eq!(elapsed(ms), expect);
        }
    }
}
