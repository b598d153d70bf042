//! How long others may make us wait: what `Retry-After` says, and where our patience ends.

use std::time::Duration;

use branchpoint_core::Again;
use jiff::fmt::rfc2822;

/// The longest wait that somebody else can impose.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

/// Whether another attempt makes sense after a refusal with these headers: it does, and not before the time they name.
pub(crate) fn again<'h>(header: impl Fn(&str) -> Option<&'h str>) -> Again {
    retry_after(header).map_or(Again::Soon, after)
}

/// Another attempt after that time, or when our patience ends.
pub(crate) fn after(wait: Duration) -> Again {
    Again::After(u64::try_from(wait.min(PATIENCE).as_millis()).unwrap_or(u64::MAX))
}

/// `Retry-After` in seconds or as a date, or the header in milliseconds that OpenAI sends. A date is compared with that of the answer
/// itself: so the clocks of two machines need not agree, and whoever reads the answer again reads the same.
pub(crate) fn retry_after<'h>(header: impl Fn(&str) -> Option<&'h str>) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    let date = |text: &str| rfc2822::parse(text.trim()).ok().map(|date| date.timestamp());
    if let Some(ms) = header("retry-after-ms").and_then(number) {
        return Duration::try_from_secs_f64(ms / 1_000.0).ok();
    }
    let written = header("retry-after")?;
    if let Some(seconds) = number(written) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let (at, now) = (date(written)?, date(header("date")?)?);
    Some(Duration::try_from(at.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_in_each_of_its_forms_and_has_an_end() {
        let wait = |name: &str, value: &str| {
            let date = "Mon, 01 Jan 2001 00:00:00 GMT";
            let headers = [(name, value), ("date", date)];
            again(|asked| headers.iter().find(|(known, _)| *known == asked).map(|(_, value)| *value))
        };
        for (name, value, expected) in [
            ("retry-after", "7", Again::After(7_000)),
            ("retry-after-ms", "1500", Again::After(1_500)),
            ("retry-after", "Mon, 01 Jan 2001 00:00:09 GMT", Again::After(9_000)),
            ("retry-after", "Mon, 01 Jan 1990 00:00:00 GMT", Again::After(0)),
            ("retry-after", "86400", Again::After(300_000)),
            ("retry-after", "soon", Again::Soon),
            ("retry-after", "-1", Again::Soon),
            ("other", "7", Again::Soon),
        ] {
            assert_eq!(wait(name, value), expected, "{name}: {value}");
        }
        let undated = retry_after(|name| (name == "retry-after").then_some("Mon, 01 Jan 2001 00:00:09 GMT"));
        assert_eq!(undated, None, "a date says nothing without another");
    }
}
