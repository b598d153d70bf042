//! Offsets of time zones for stamps. They are stored with the event, so that a later edition of the time zone database does not change a
//! replay.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The offset of each zone from UTC at a time, in seconds. An unknown zone counts as UTC; front-ends report unknown zones when a
/// document is loaded.
///
/// ```
/// assert_eq!(branchpoint_runners::offsets_s(&["UTC".into()], 0), [0]);
/// ```
pub fn offsets_s(zones: &[Arc<str>], now_ms: i64) -> Vec<i32> {
    let Ok(now) = Timestamp::from_millisecond(now_ms) else { return vec![0; zones.len()] };
    let offset = |zone: &Arc<str>| TimeZone::get(zone).map_or(0, |zone| zone.to_offset(now).seconds());
    zones.iter().map(offset).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_that_of_the_zone_at_the_time() {
        let zones: [Arc<str>; 3] = ["Europe/Berlin".into(), "Asia/Kolkata".into(), "UTC".into()];
        let (winter, summer) = (1_771_416_000_000, 1_784_116_800_000);
        assert_eq!(offsets_s(&zones, winter), [3_600, 19_800, 0]);
        assert_eq!(offsets_s(&zones, summer), [7_200, 19_800, 0]);
    }
}
