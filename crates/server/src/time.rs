//! Times in responses.

use jiff::Timestamp;

/// The current time in milliseconds.
pub(crate) fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

/// A time as RFC 3339 in UTC with milliseconds. Times beyond the year 9999 are the last one before.
pub(crate) fn rfc3339(ms: i64) -> String {
    let time = Timestamp::from_millisecond(ms).unwrap_or(if ms < 0 { Timestamp::MIN } else { Timestamp::MAX });
    format!("{time:.3}")
}
