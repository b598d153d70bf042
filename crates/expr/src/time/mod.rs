//! Instants, their text forms, relative times and durations.
//!
//! Nothing here reads a clock: the host passes the time. All calendars are UTC.

mod duration;
mod parse;
mod relative;
#[cfg(test)]
mod tests;

use std::fmt;

use jiff::SignedDuration;
use jiff::civil::Date;

pub use duration::{duration_ms, duration_text, seconds_ms};
pub(crate) use parse::{is_date_format, is_datetime_format, parse_iso, parse_strict};
pub(crate) use relative::RelativeTime;

/// A moment in UTC, in nanoseconds since the Unix epoch.
///
/// Invariant, which every constructor checks: it lies in the years 0001 to 9999, so it has a calendar date and a text form.
/// `jiff::Timestamp` is not used, because it ends a day before the end of the year 9999.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Instant(i128);

const EPOCH: Date = Date::constant(1970, 1, 1);
const NANOS_PER_SECOND: i128 = 1_000_000_000;
const NANOS_PER_DAY: i128 = 86_400 * NANOS_PER_SECOND;
/// The start of 0001-01-01 and the end of 9999-12-31.
const CALENDAR: std::ops::Range<i128> = -62_135_596_800 * NANOS_PER_SECOND..253_402_300_800 * NANOS_PER_SECOND;

impl Instant {
    pub(crate) fn from_unix_nanos(nanos: i128) -> Option<Instant> {
        CALENDAR.contains(&nanos).then_some(Instant(nanos))
    }

    pub(crate) fn from_unix_seconds_int(seconds: i64) -> Option<Instant> {
        Instant::from_unix_nanos(i128::from(seconds) * NANOS_PER_SECOND)
    }

    /// Converts the shortest decimal digits of the number, truncated to nanoseconds.
    ///
    /// The digits are what the author wrote, so `1714521600.1` is the same instant as the text `2024-05-01T00:00:00.1Z`. The exact
    /// binary value is 95 nanoseconds less.
    pub(crate) fn from_unix_seconds_float(seconds: f64) -> Option<Instant> {
        // Larger values are outside the calendar. The test also rejects infinities and NaN.
        if seconds.is_nan() || seconds.abs() > 1e12 {
            return None;
        }
        let digits = seconds.abs().to_string();
        let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
        let nanos = whole.parse::<i128>().ok()? * NANOS_PER_SECOND + fraction_nanos(fraction);
        Instant::from_unix_nanos(if seconds < 0.0 { -nanos } else { nanos })
    }

    /// The milliseconds since the Unix epoch, rounded down.
    pub(crate) fn unix_ms(self) -> i64 {
        i64::try_from(self.0.div_euclid(1_000_000)).expect("the calendar has fewer than 2^63 milliseconds")
    }

    /// The calendar date in UTC, by which values of type `date` are compared.
    pub(crate) fn date(self) -> Date {
        let days = self.0.div_euclid(NANOS_PER_DAY);
        let hours = i64::try_from(days * 24).expect("the calendar has fewer than 2^63 hours");
        EPOCH.checked_add(SignedDuration::from_hours(hours)).expect("an instant lies in the years 0001 to 9999")
    }

    fn start_of_day(self) -> Instant {
        // The range begins at midnight, so the result is in the range.
        Instant(self.0.div_euclid(NANOS_PER_DAY) * NANOS_PER_DAY)
    }

    fn checked_add_nanos(self, nanos: i128) -> Option<Instant> {
        Instant::from_unix_nanos(self.0.checked_add(nanos)?)
    }
}

/// Formats a time as ISO 8601 in UTC with `Z`; `None` outside the years 0001 to 9999.
///
/// ```
/// assert_eq!(branchpoint_expr::iso_utc(1_771_416_000_500).as_deref(), Some("2026-02-18T12:00:00.5Z"));
/// ```
pub fn iso_utc(unix_ms: i64) -> Option<String> {
    Instant::from_unix_nanos(i128::from(unix_ms) * 1_000_000).map(|instant| instant.to_string())
}

/// Formats a time as ISO 8601 with an offset from UTC in seconds; `None` outside the years 1 to 9999.
///
/// ```
/// assert_eq!(branchpoint_expr::iso_at(1_771_416_000_000, 5_400).as_deref(), Some("2026-02-18T13:30:00+01:30"));
/// ```
pub fn iso_at(unix_ms: i64, offset_s: i32) -> Option<String> {
    let local = iso_utc(unix_ms.checked_add(i64::from(offset_s) * 1_000)?)?;
    let (sign, minutes) = (if offset_s < 0 { '-' } else { '+' }, offset_s.unsigned_abs() / 60);
    Some(format!("{}{sign}{:02}:{:02}", local.trim_end_matches('Z'), minutes / 60, minutes % 60))
}

/// The date of a time with an offset from UTC in seconds.
pub fn iso_date_at(unix_ms: i64, offset_s: i32) -> Option<String> {
    iso_at(unix_ms, offset_s)?.split_once('T').map(|(date, _)| date.to_owned())
}

/// Parses ISO 8601 text into milliseconds since the Unix epoch. Text without an offset is UTC.
pub fn instant_ms(text: &str) -> Option<i64> {
    parse_iso(text).map(Instant::unix_ms)
}

/// ISO 8601 in UTC with `Z` and the shortest fraction.
impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_day = self.0.rem_euclid(NANOS_PER_DAY);
        let (seconds, nanos) = (in_day / NANOS_PER_SECOND, in_day % NANOS_PER_SECOND);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(f, "{}T{hour:02}:{minute:02}:{second:02}", self.date())?;
        if nanos != 0 {
            write!(f, ".{}", format!("{nanos:09}").trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Instant({self})")
    }
}

fn days_since_epoch(date: Date) -> i128 {
    i128::from(date.duration_since(EPOCH).as_hours() / 24)
}

/// The nanoseconds of the decimal digits after the point, truncated after the ninth digit.
fn fraction_nanos(digits: &str) -> i128 {
    let nine = digits.bytes().chain(std::iter::repeat(b'0')).take(9);
    nine.fold(0, |nanos, digit| nanos * 10 + i128::from(digit - b'0'))
}
