//! Cron expressions of five fields: minute, hour, day of month, month, day of week.

/// The lowest and the highest value of each field. Both 0 and 7 are Sunday.
const BOUNDS: [(u32, u32); 5] = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)];
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Whether a text is a cron expression.
pub(super) fn is_cron(text: &str) -> bool {
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    fields.len() == BOUNDS.len() && fields.iter().enumerate().all(|(at, field)| is_field(at, field))
}

fn is_field(at: usize, field: &str) -> bool {
    field.split(',').all(|part| is_part(at, part))
}

/// `*`, a value or a range, each with an optional step: `*/15`, `5`, `mon-fri`, `10-40/10`.
fn is_part(at: usize, part: &str) -> bool {
    let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
    let has_step = step.is_none_or(|step| number(step).is_some_and(|step| (1..=BOUNDS[at].1).contains(&step)));
    let is_range = range == "*"
        || match range.split_once('-') {
            Some((low, high)) => value(at, low).zip(value(at, high)).is_some_and(|(low, high)| low <= high),
            None => value(at, range).is_some() && step.is_none(),
        };
    has_step && is_range
}

fn value(at: usize, text: &str) -> Option<u32> {
    let names: (&[&str], u32) = match at {
        3 => (&MONTHS, 1),
        4 => (&DAYS, 0),
        _ => (&[], 0),
    };
    let named = names.0.iter().position(|name| name.eq_ignore_ascii_case(text));
    let named = named.and_then(|at| u32::try_from(at).ok()).map(|at| at + names.1);
    named.or_else(|| number(text)).filter(|value| (BOUNDS[at].0..=BOUNDS[at].1).contains(value))
}

fn number(text: &str) -> Option<u32> {
    let is_number = text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cron_expressions_have_five_fields_within_their_bounds() {
        for text in ["* * * * *", "0 8 * * mon-fri", "*/15 0-6/2 1,15 JAN,dec 7", " 5  4 31 12 0 "] {
            assert!(is_cron(text), "{text}");
        }
        let wrong = [
            "",
            "* * * *",
            "* * * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 8",
            "5-1 * * * *",
            "*/0 * * * *",
            "*/61 * * * *",
            "5/2 * * * *",
            "a * * * *",
            "1, * * * *",
            "-1 * * * *",
            "+1 * * * *",
            "* * mon * *",
            "@daily",
        ];
        for text in wrong {
            assert!(!is_cron(text), "{text}");
        }
    }
}
