//! The phrases of the type `relative_time`: what is written apart from the instant it means at a given moment.

use super::{Instant, NANOS_PER_DAY, NANOS_PER_SECOND};

/// A phrase that names an instant relative to the moment at which a step runs. Days and weeks are those of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RelativeTime {
    /// `now`, and `N minutes ago` or `N hours from now`: this many nanoseconds away, keeping the time of day.
    Shifted(i128),
    /// `today`, `yesterday`: the start of the day that lies this many days back.
    DayStart { days_back: u8 },
    /// `this week`, `last week`: the start of the Monday of the week that lies this many weeks back.
    WeekStart { weeks_back: u8 },
}

impl RelativeTime {
    /// Reads a phrase. Case is ignored, and any run of blanks counts as one.
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

    /// The instant the phrase means at `now`; none if it lies outside the calendar.
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

/// A count and a unit in nanoseconds. The count is a whole number of ASCII digits, so neither `+1` nor `1.5` is one.
fn span(count: &str, unit: &str) -> Option<i128> {
    if !count.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // A 64-bit count of weeks stays far below the range of `i128`, so the product cannot overflow.
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
