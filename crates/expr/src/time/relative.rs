//! The phrases of the type `relative_time`, such as `3 days ago`.

use super::{Instant, NANOS_PER_DAY, NANOS_PER_SECOND};

/// A phrase that names an instant relative to the current time. Days and weeks are in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RelativeTime {
    /// `now`, `N minutes ago` or `N hours from now`: an offset in nanoseconds.
    Shifted(i128),
    /// `today` or `yesterday`: the start of the day this many days ago.
    DayStart { days_back: u8 },
    /// `this week` or `last week`: the start of the Monday this many weeks ago.
    WeekStart { weeks_back: u8 },
}

impl RelativeTime {
    /// Parses a phrase, ignoring case and repeated blanks.
    pub(crate) fn parse(text: &str) -> Option<RelativeTime> {
        let lower = text.to_ascii_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        Some(match words.as_slice() {
            ["now"] => RelativeTime::Shifted(0),
            ["today"] => RelativeTime::DayStart { days_back: 0 },
            ["yesterday"] => RelativeTime::DayStart { days_back: 1 },
            ["this", "week"] => RelativeTime::WeekStart { weeks_back: 0 },
            ["last", "week"] => RelativeTime::WeekStart { weeks_back: 1 },
            [count, unit, "ago"] => RelativeTime::Shifted(-span(count, unit)?),
            [count, unit, "from", "now"] => RelativeTime::Shifted(span(count, unit)?),
            _ => return None,
        })
    }

    /// The instant of the phrase at `now`; `None` if it is outside the calendar.
    pub(crate) fn resolve(self, now: Instant) -> Option<Instant> {
        let today = now.start_of_day();
        match self {
            RelativeTime::Shifted(nanos) => now.checked_add_nanos(nanos),
            RelativeTime::DayStart { days_back } => today.checked_add_nanos(-i128::from(days_back) * NANOS_PER_DAY),
            RelativeTime::WeekStart { weeks_back } => {
                let since_monday = i128::from(now.date().weekday().to_monday_zero_offset());
                today.checked_add_nanos(-(since_monday + 7 * i128::from(weeks_back)) * NANOS_PER_DAY)
            }
        }
    }
}

/// Converts a count and a unit to nanoseconds. The count has only ASCII digits, so `+1` and `1.5` are invalid.
fn span(count: &str, unit: &str) -> Option<i128> {
    if !count.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // A 64-bit count of weeks in nanoseconds fits in `i128`.
    let count = i128::from(count.parse::<u64>().ok()?);
    let seconds = match unit {
        "minute" | "minutes" => 60,
        "hour" | "hours" => 3600,
        "day" | "days" => 86_400,
        "week" | "weeks" => 7 * 86_400,
        _ => return None,
    };
    Some(count * seconds * NANOS_PER_SECOND)
}
