//! Moments of a run in what it asks with: they are others when it is played again, and must not make another call of it.

use std::borrow::Cow;
use std::sync::Arc;

use branchpoint_expr::{Object, Value, instant_ms};

/// What stands in the place of a moment.
const MOMENT: &str = "<moment>";

/// A moment may be told to the minute.
const TOLERANCE_MS: i64 = 60_000;

/// Where it is not said, a time may be that of any zone.
const ZONES_MS: i64 = 14 * 60 * 60 * 1000;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// From when to when runs went, in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times(pub(crate) i64, pub(crate) i64);

impl Times {
    fn holds(self, from_ms: i64, until_ms: i64, tolerance_ms: i64) -> bool {
        from_ms <= self.1.saturating_add(tolerance_ms) && until_ms >= self.0.saturating_sub(tolerance_ms)
    }
}

/// The value without the moments that lie in these times.
pub(super) fn without_moments(value: &Value, times: &[Times]) -> Value {
    match value {
        Value::Str(text) => match in_text(text, times) {
            Cow::Borrowed(_) => value.clone(),
            Cow::Owned(text) => Value::from(text),
        },
        Value::Int(_) if is_moment(&value.to_string(), times) => Value::from(MOMENT),
        Value::List(items) => Value::from(items.iter().map(|item| without_moments(item, times)).collect::<Vec<_>>()),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (Arc::clone(key), without_moments(value, times)));
            Value::from(fields.collect::<Object>())
        }
        _ => value.clone(),
    }
}

fn in_text<'t>(text: &'t str, times: &[Times]) -> Cow<'t, str> {
    let bytes = text.as_bytes();
    let (mut blanked, mut told, mut at) = (String::new(), 0, 0);
    while at < bytes.len() {
        // A number begins here: all of it is looked at, or none.
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let end = at + token(&bytes[at..]);
        if is_moment(&text[at..end], times) {
            blanked.push_str(&text[told..at]);
            blanked.push_str(MOMENT);
            told = end;
        }
        at = end;
    }
    if told == 0 {
        return Cow::Borrowed(text);
    }
    blanked.push_str(&text[told..]);
    Cow::Owned(blanked)
}

/// How long a moment is that may begin here; else, a run of digits.
fn token(bytes: &[u8]) -> usize {
    let fits = |at: usize, pattern: &str| {
        bytes.len() >= at + pattern.len()
            && pattern.bytes().zip(&bytes[at..]).all(|(wanted, byte)| match wanted {
                b'd' => byte.is_ascii_digit(),
                wanted => wanted == *byte,
            })
    };
    let digits = |at: usize| bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !fits(0, "dddd-dd-dd") || fits(10, "d") {
        return digits(0);
    }
    if !(fits(10, "Tdd:dd") || fits(10, " dd:dd")) {
        return 10;
    }
    let mut end = 16;
    if fits(end, ":dd") {
        end += 3;
        if fits(end, ".d") {
            end += 1 + digits(end + 1);
        }
    }
    let zones = [("Z", 1), ("+dd:dd", 6), ("-dd:dd", 6)];
    end + zones.iter().find(|(zone, _)| fits(end, zone)).map_or(0, |(_, length)| *length)
}

fn is_moment(token: &str, times: &[Times]) -> bool {
    let number = || token.parse::<i64>().ok();
    let (from_ms, until_ms, tolerance_ms) = match token.len() {
        10 if token.contains('-') => match instant_ms(&format!("{token}T00:00:00Z")) {
            Some(day_ms) => (day_ms, day_ms.saturating_add(DAY_MS), ZONES_MS),
            None => return false,
        },
        10 | 13 if !token.contains('-') => match number() {
            Some(number) => {
                let ms = if token.len() == 10 { number.saturating_mul(1000) } else { number };
                (ms, ms, TOLERANCE_MS)
            }
            None => return false,
        },
        16.. => {
            let zoned = token.ends_with('Z') || token[11..].contains(['+', '-']);
            let seconds = if token.len() == 16 { ":00" } else { "" };
            match instant_ms(&format!("{}T{}{seconds}", &token[..10], &token[11..])) {
                Some(ms) => (ms, ms, if zoned { TOLERANCE_MS } else { ZONES_MS }),
                None => return false,
            }
        }
        _ => return false,
    };
    times.iter().any(|times| times.holds(from_ms, until_ms, tolerance_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a run on 2026-11-15 at noon.
    const NOON_MS: i64 = 1_794_744_000_000;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let times = [Times(NOON_MS, NOON_MS + 5_000)];
        assert_eq!(without_moments(&Value::from(text), &times), Value::from(expect));
    }

    #[test]
    fn moments_of_the_run_are_left_out() {
        check("at 2026-11-15T12:00:01.5Z, at 2026-11-15T12:00:02Z.", "at <moment>, at <moment>.");
        check("2026-11-15T13:00:01+01:00", "<moment>");
        check("2026-11-15 12:00 und 2026-11-15", "<moment> und <moment>");
        check("t=1794744001 t=1794744001234", "t=<moment> t=<moment>");
    }

    #[test]
    fn other_times_and_numbers_stay() {
        for text in [
            "2026-11-15T14:00:01Z",
            "2026-11-13 2026-13-45 2026-11-155",
            "1794700001 17947440012 1794744001234567890",
            "order 4711, 10:30, v1.2.3",
            "",
        ] {
            check(text, text);
        }
    }
}
