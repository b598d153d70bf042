//! Reads `Retry-After` and limits the wait. Attempts never start earlier than the server asks for: the call itself waits for a short time,
//! and the run waits for a longer one if its retry policy has another attempt.

use std::time::Duration;

use branchpoint_core::RetryHint;
use jiff::fmt::rfc2822;

/// The longest wait within a call.
pub(crate) const MAX_CALL_WAIT: Duration = Duration::from_mins(5);

/// The longest wait of a run. A longer one is a mistake of the server, such as a timestamp instead of seconds.
const MAX_RUN_WAIT: Duration = Duration::from_hours(24);

/// The hint for the next attempt: not before the time that the server asks for.
pub(crate) fn retry_hint(wanted: Option<Duration>) -> RetryHint {
    let ms = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    wanted.map_or(RetryHint::Soon, |wait| RetryHint::After(ms(wait)))
}

/// The wait for the end of a message, because people must wait if the run has no further attempt.
pub(crate) fn wait_clause(wanted: Option<Duration>) -> String {
    let wait = wanted.filter(|wait| !wait.is_zero());
    wait.map_or_else(String::new, |wait| format!(" and asks to wait {wait:?}"))
}

/// The wait of `Retry-After`, in seconds or as a date, or of OpenAI's header in milliseconds. A date is compared with the `Date` of the
/// response, so that the clocks of the machines need not agree and a replay gives the same wait.
pub(crate) fn retry_after<'h>(header: impl Fn(&str) -> Option<&'h str>) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    // Timestamps end one day before the year 9999 does. The day of the week would contradict another year.
    let date = |text: &str| {
        let text = text.trim().split_once(", ").map_or(text, |(_, date)| date).replace(" 9999 ", " 9998 ");
        rfc2822::parse(&text).ok().map(|date| date.timestamp())
    };
    // A number of seconds that a duration cannot hold is longer than any limit.
    let wait = |seconds: f64| Some(Duration::try_from_secs_f64(seconds).unwrap_or(MAX_RUN_WAIT).min(MAX_RUN_WAIT));
    if let Some(ms) = header("retry-after-ms").and_then(number) {
        return wait(ms / 1_000.0);
    }
    let written = header("retry-after")?;
    if let Some(seconds) = number(written) {
        return wait(seconds);
    }
    let (at, now) = (date(written)?, date(header("date")?)?);
    Some(Duration::try_from(at.duration_since(now)).unwrap_or_default().min(MAX_RUN_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_in_each_form_and_limited() {
        let wait = |name: &str, value: &str| {
            let date = "Mon, 01 Jan 2001 00:00:00 GMT";
            let headers = [(name, value), ("date", date)];
            let find = |wanted: &str| headers.iter().find(|(known, _)| *known == wanted).map(|(_, value)| *value);
            retry_hint(retry_after(find))
        };
        for (name, value, expected) in [
            ("retry-after", "7", RetryHint::After(7_000)),
            ("retry-after-ms", "1500", RetryHint::After(1_500)),
            ("retry-after", "Mon, 01 Jan 2001 00:00:09 GMT", RetryHint::After(9_000)),
            ("retry-after", "Mon, 01 Jan 1990 00:00:00 GMT", RetryHint::After(0)),
            ("retry-after", "86400", RetryHint::After(86_400_000)),
            ("retry-after", "1e18", RetryHint::After(86_400_000)),
            ("retry-after", "18446744073709551615", RetryHint::After(86_400_000)),
            ("retry-after-ms", "1e300", RetryHint::After(86_400_000)),
            ("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT", RetryHint::After(86_400_000)),
            ("retry-after", "soon", RetryHint::Soon),
            ("retry-after", "-1", RetryHint::Soon),
            ("other", "7", RetryHint::Soon),
        ] {
            assert_eq!(wait(name, value), expected, "{name}: {value}");
        }
        assert_eq!(wait_clause(Some(Duration::from_hours(1))), " and asks to wait 3600s");
        assert_eq!((wait_clause(None), wait_clause(Some(Duration::ZERO))), (String::new(), String::new()));
        let undated = retry_after(|name| (name == "retry-after").then_some("Mon, 01 Jan 2001 00:00:09 GMT"));
        assert_eq!(undated, None, "a date needs the `Date` of the response");
    }
}
