//! How long others may make us wait: what `Retry-After` says, and where our patience ends. Nobody comes back before the time that was
//! named: a short one is waited out where the call is made, any other by the run, if its policy has another attempt.

use std::time::Duration;

use branchpoint_core::RetryHint;
use jiff::fmt::rfc2822;

/// The longest wait that somebody else can impose on a call.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

/// The longest wait that somebody else can impose on a run: who names a later time has made a mistake, such as a date in seconds.
const LONGEST: Duration = Duration::from_hours(24);

/// When another attempt makes sense: not before the time that was named.
pub(crate) fn again(wanted: Option<Duration>) -> RetryHint {
    let ms = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    wanted.map_or(RetryHint::Soon, |wait| RetryHint::After(ms(wait)))
}

/// The end of a clause that names the wait: a run without another attempt leaves it to people.
pub(crate) fn in_words(wanted: Option<Duration>) -> String {
    let wait = wanted.filter(|wait| !wait.is_zero());
    wait.map_or_else(String::new, |wait| format!(" and asks to wait {wait:?}"))
}

/// `Retry-After` in seconds or as a date, or the header in milliseconds that OpenAI sends. A date is compared with that of the response
/// itself: so the clocks of two machines need not agree, and reading the response again gives the same wait.
pub(crate) fn retry_after<'h>(header: impl Fn(&str) -> Option<&'h str>) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    // Timestamps end one day before the year 9999 does. The day of the week would contradict another year.
    let date = |text: &str| {
        let text = text.trim().split_once(", ").map_or(text, |(_, date)| date).replace(" 9999 ", " 9998 ");
        rfc2822::parse(&text).ok().map(|date| date.timestamp())
    };
    // A number of seconds that a duration cannot hold is longer than any limit.
    let wait = |seconds: f64| Some(Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST).min(LONGEST));
    if let Some(ms) = header("retry-after-ms").and_then(number) {
        return wait(ms / 1_000.0);
    }
    let written = header("retry-after")?;
    if let Some(seconds) = number(written) {
        return wait(seconds);
    }
    let (at, now) = (date(written)?, date(header("date")?)?);
    Some(Duration::try_from(at.duration_since(now)).unwrap_or_default().min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_in_each_of_its_forms_and_honoured_however_long_it_is() {
        let wait = |name: &str, value: &str| {
            let date = "Mon, 01 Jan 2001 00:00:00 GMT";
            let headers = [(name, value), ("date", date)];
            let find = |asked: &str| headers.iter().find(|(known, _)| *known == asked).map(|(_, value)| *value);
            again(retry_after(find))
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
        assert_eq!(in_words(Some(Duration::from_hours(1))), " and asks to wait 3600s");
        assert_eq!((in_words(None), in_words(Some(Duration::ZERO))), (String::new(), String::new()));
        let undated = retry_after(|name| (name == "retry-after").then_some("Mon, 01 Jan 2001 00:00:09 GMT"));
        assert_eq!(undated, None, "a date says nothing without another");
    }
}
