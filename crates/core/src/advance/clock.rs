//! The time of an event in expressions. Texts are formatted on first use, because most events do not need them.

use std::cell::OnceCell;

use branchpoint_expr::{Value, iso_at, iso_date_at, iso_utc};

use crate::event::Stamp;
use crate::ir::Program;

/// The time of one event, in UTC and in the zones of the program.
#[derive(Default)]
pub(crate) struct Clock {
    now_ms: i64,
    /// The offsets of the zones of the program from UTC.
    offsets_s: Vec<i32>,
    now: OnceCell<Value>,
    /// The texts of each zone: date and time, and the date.
    zoned: Vec<[OnceCell<Value>; 2]>,
}

impl Clock {
    pub(crate) fn new(program: &Program, stamp: &Stamp) -> Self {
        let zoned = program.zones.iter().map(|_| Default::default()).collect();
        Self { now_ms: stamp.now_ms, offsets_s: stamp.offsets_s.clone(), now: OnceCell::new(), zoned }
    }

    /// A clock without zones.
    pub(crate) fn at(now_ms: i64) -> Self {
        Self { now_ms, ..Self::default() }
    }

    /// The time in UTC, ISO 8601.
    pub(crate) fn now(&self) -> &Value {
        self.now.get_or_init(|| iso_utc(self.now_ms).map_or(Value::Null, Value::from))
    }

    /// The time in a zone, ISO 8601 with offset, or the date in the zone.
    pub(crate) fn zoned(&self, zone: u32, date: bool) -> Option<&Value> {
        let offset_s = *self.offsets_s.get(zone as usize)?;
        let text = &self.zoned.get(zone as usize)?[usize::from(date)];
        let show = if date { iso_date_at } else { iso_at };
        Some(text.get_or_init(|| show(self.now_ms, offset_s).map_or(Value::Null, Value::from)))
    }
}
