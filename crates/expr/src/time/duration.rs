//! Durations as documents write them: `500ms`, `30s`, `1m30s`, `2h`, `1d`.

/// Parses a duration of numbers with units into milliseconds.
///
/// ```
/// assert_eq!(branchpoint_expr::duration_ms("1m30s"), Some(90_000));
/// assert_eq!(branchpoint_expr::duration_ms("soon"), None);
/// ```
pub fn duration_ms(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    let mut total = 0_u64;
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, unit_on) = rest.split_at(unit_at);
        let unit_end = unit_on.find(|c: char| c.is_ascii_digit()).unwrap_or(unit_on.len());
        let (unit, after) = unit_on.split_at(unit_end);
        let unit_ms = match unit.trim() {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        total = total.checked_add(times(number, unit_ms)?)?;
        rest = after;
    }
    Some(total)
}

/// Formats milliseconds as a duration.
///
/// ```
/// assert_eq!(branchpoint_expr::duration_text(90_000), "1m30s");
/// assert_eq!(branchpoint_expr::duration_text(250), "250ms");
/// ```
pub fn duration_text(ms: u64) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
    let mut rest = ms;
    let parts = units.into_iter().map(|(unit_ms, unit)| {
        let count = rest / unit_ms;
        rest %= unit_ms;
        if count > 0 { format!("{count}{unit}") } else { String::new() }
    });
    let text: String = parts.collect();
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// Converts seconds to milliseconds; `None` if they are negative or too large.
///
/// ```
/// # use branchpoint_expr::*;
/// assert_eq!((seconds_ms(1.5), seconds_ms(-1.0)), (Some(1_500), None));
/// ```
pub fn seconds_ms(seconds: f64) -> Option<u64> {
    const LONGEST_S: f64 = 1e12;
    let sane = seconds.is_finite() && (0.0..=LONGEST_S).contains(&seconds);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked just before")]
    sane.then(|| (seconds * 1000.0).round() as u64)
}

fn times(number: &str, unit_ms: u32) -> Option<u64> {
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(u64::from(unit_ms));
    }
    seconds_ms(number.parse::<f64>().ok()? * f64::from(unit_ms) / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::duration_ms;

    #[track_caller]
    fn check(text: &str, expect: Option<u64>) {
        assert_eq!(duration_ms(text), expect, "{text}");
    }

    #[test]
    fn units_add_up() {
        check("500ms", Some(500));
        check("30s", Some(30_000));
        check("1m30s", Some(90_000));
        check(" 2h ", Some(7_200_000));
        check("1d", Some(86_400_000));
        check("1.5s", Some(1_500));
        check("0s", Some(0));
    }

    #[test]
    fn other_text_is_not_a_duration() {
        for text in ["", "5", "s", "-1s", "1y", "1s 2", "1..5s", "99999999999999999999s", "1e3s"] {
            check(text, None);
        }
    }
}
