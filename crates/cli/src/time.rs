//! Times and durations in input and output.

use std::fmt::Write;

use anyhow::{Context, Result, bail};
use branchpoint_backend::Run;
use branchpoint_core::ir::Status;
use branchpoint_expr::Value;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The time.
pub(crate) fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

/// A moment in the time of this machine.
pub(crate) fn local(ms: i64) -> String {
    let Ok(moment) = Timestamp::from_millisecond(ms) else { return format!("{ms} ms") };
    moment.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// A moment for readers in any time zone.
pub(crate) fn utc(ms: i64) -> String {
    Timestamp::from_millisecond(ms)
        .map_or_else(|_| format!("{ms} ms"), |at| at.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

/// The same for machines: ISO 8601 in UTC.
pub(crate) fn to_iso(ms: i64) -> Value {
    Timestamp::from_millisecond(ms).map_or(Value::Null, |moment| Value::from(moment.to_string()))
}

/// How long a run has worked: the time since its start, without the time in which it waited for people.
pub(crate) fn active_ms(run: &Run, status: Status) -> i64 {
    let is_at_rest = status.is_final() || status == Status::WaitingPeople;
    let until_ms = if is_at_rest { run.updated_ms } else { now_ms().max(run.updated_ms) };
    until_ms - run.started_ms - run.waited_ms
}

/// The same in words, with the time in which it waited.
pub(crate) fn active_duration(run: &Run, status: Status) -> String {
    let waiting = (status == Status::WaitingPeople).then(|| now_ms() - run.updated_ms);
    let waited_ms = run.waited_ms + waiting.unwrap_or_default().max(0);
    let worked = duration(active_ms(run, status));
    if waited_ms > 0 { format!("{worked} (and {} of waiting for people)", duration(waited_ms)) } else { worked }
}

/// How long something took or takes, in the two largest units.
pub(crate) fn duration(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    if seconds == 0 {
        return format!("{} ms", ms.max(0));
    }
    let units = [("d", seconds / 86_400), ("h", seconds / 3_600 % 24), ("min", seconds / 60 % 60), ("s", seconds % 60)];
    let mut text = String::new();
    for (unit, count) in units.into_iter().skip_while(|(_, count)| *count == 0).take(2).filter(|(_, count)| *count > 0)
    {
        let space = if text.is_empty() { "" } else { " " };
        // Writing into a text cannot fail.
        let _ = write!(text, "{space}{count} {unit}");
    }
    text
}

/// Reads a length of time such as `90s`, `2h` or `30d`.
pub(crate) fn parse_duration_ms(typed: &str) -> Result<i64> {
    let help = "write a number and a unit, such as 90s, 15m, 2h or 30d";
    let digits = typed.chars().take_while(char::is_ascii_digit).count();
    let (number, unit) = typed.split_at(digits);
    let number: i64 = number.parse().with_context(|| format!("`{typed}` is not a duration; {help}"))?;
    let unit_ms = match unit.trim() {
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 7 * 86_400_000,
        _ => bail!("`{typed}` is not a duration; {help}"),
    };
    number.checked_mul(unit_ms).with_context(|| format!("`{typed}` is longer than any time; {help}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_and_formatted() {
        assert_eq!(parse_duration_ms("2h").expect("this is a length"), 7_200_000);
        assert_eq!(parse_duration_ms("30d").expect("this is a length"), 2_592_000_000);
        for wrong in ["", "h", "2", "2 years", "-2h", "99999999999999999999d", "9223372036854775807d"] {
            assert!(parse_duration_ms(wrong).is_err(), "{wrong}");
        }
        assert_eq!([duration(-5), duration(12), duration(61_000)], ["0 ms", "12 ms", "1 min 1 s"]);
        assert_eq!([duration(3_600_000), duration(90_061_000)], ["1 h", "1 d 1 h"]);
    }
}
