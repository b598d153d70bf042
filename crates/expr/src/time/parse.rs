//! Parses ISO 8601 text, by one grammar for all dialects.
//!
//! ```text
//! text   = date | date ("T" | " ") time offset?
//! date   = YYYY-MM-DD | YYYYMMDD
//! time   = hh:mm | hh:mm:ss fraction? | hhmm | hhmmss fraction?
//! offset = "Z" | ("+" | "-") (hh | hhmm | hh:mm)
//! ```
//!
//! Date, time and offset can each have the short or the long form. Week dates, ordinal dates, hour 24 and second 60 are not in
//! the grammar. No library is used, because libraries accept different texts beyond the grammar.

use jiff::civil::Date;

use super::{Instant, NANOS_PER_DAY, NANOS_PER_SECOND, days_since_epoch, fraction_nanos};

/// Parses datetime text of the `flow` dialect. Blanks around it are ignored; text without an offset is UTC.
pub(crate) fn parse_strict(text: &str) -> Option<Instant> {
    parse(text.trim(), Case::Upper)
}

/// Parses datetime text of the `steps` dialect, which also accepts the lower-case `t` and `z` of RFC 3339.
pub(crate) fn parse_iso(text: &str) -> Option<Instant> {
    parse(text.trim(), Case::Any)
}

/// Whether the text is a valid date `YYYY-MM-DD`, without blanks.
pub(crate) fn is_date_format(text: &str) -> bool {
    text.len() == "YYYY-MM-DD".len() && parse(text, Case::Upper).is_some()
}

/// Whether `parse_iso` accepts the text, which may be a date alone, without blanks.
///
/// Such texts are compared literally, so a value with blanks around it would never match.
pub(crate) fn is_datetime_format(text: &str) -> bool {
    parse(text, Case::Any).is_some()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Upper,
    Any,
}

fn parse(text: &str, case: Case) -> Option<Instant> {
    let mut rest = Rest { text, case };
    let date = rest.date()?;
    let mut nanos = days_since_epoch(date) * NANOS_PER_DAY;
    if !rest.text.is_empty() {
        if !rest.eat_letter('T') && !rest.eat(' ') {
            return None;
        }
        nanos += rest.time()?;
        nanos -= rest.offset()?;
    }
    if rest.text.is_empty() { Instant::from_unix_nanos(nanos) } else { None }
}

/// The text that is not parsed yet.
struct Rest<'t> {
    text: &'t str,
    case: Case,
}

impl Rest<'_> {
    fn date(&mut self) -> Option<Date> {
        let year = self.number(4)?;
        let long = self.eat('-');
        let month = self.number(2)?;
        if long && !self.eat('-') {
            return None;
        }
        let day = self.number(2)?;
        if year == 0 {
            return None;
        }
        Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
    }

    /// Parses the time of day, in nanoseconds.
    fn time(&mut self) -> Option<i128> {
        let hour = self.number_below(24)?;
        let long = self.eat(':');
        let minute = self.number_below(60)?;
        let mut nanos = i128::from(hour * 3600 + minute * 60) * NANOS_PER_SECOND;
        let seconds_follow = if long { self.eat(':') } else { self.at_digit() };
        if seconds_follow {
            nanos += i128::from(self.number_below(60)?) * NANOS_PER_SECOND;
            if self.eat('.') || self.eat(',') {
                nanos += fraction_nanos(self.digits(1)?);
            }
        }
        Some(nanos)
    }

    /// Parses the offset from UTC, in nanoseconds. A missing offset is UTC.
    fn offset(&mut self) -> Option<i128> {
        if self.text.is_empty() || self.eat_letter('Z') {
            return Some(0);
        }
        let sign = if self.eat('+') {
            1
        } else if self.eat('-') {
            -1
        } else {
            return None;
        };
        let hours = self.number_below(24)?;
        let minutes = if self.eat(':') || self.at_digit() { self.number_below(60)? } else { 0 };
        Some(sign * i128::from(hours * 3600 + minutes * 60) * NANOS_PER_SECOND)
    }

    fn number_below(&mut self, limit: u32) -> Option<u32> {
        self.number(2).filter(|number| *number < limit)
    }

    /// Parses a number of exactly this many ASCII digits.
    fn number(&mut self, width: usize) -> Option<u32> {
        let (digits, rest) = self.text.split_at_checked(width)?;
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        self.text = rest;
        digits.parse().ok()
    }

    /// Reads all ASCII digits, which must be at least `least`.
    fn digits(&mut self, least: usize) -> Option<&str> {
        let end = self.text.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.text.split_at_checked(end)?;
        self.text = rest;
        (digits.len() >= least).then_some(digits)
    }

    fn at_digit(&self) -> bool {
        self.text.starts_with(|c: char| c.is_ascii_digit())
    }

    fn eat_letter(&mut self, upper: char) -> bool {
        self.eat(upper) || (self.case == Case::Any && self.eat(upper.to_ascii_lowercase()))
    }

    fn eat(&mut self, wanted: char) -> bool {
        let Some(rest) = self.text.strip_prefix(wanted) else { return false };
        self.text = rest;
        true
    }
}
