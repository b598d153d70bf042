//! The time of an event as expressions read it. A text is made when the first expression asks for it, because most never do.

use std::cell::OnceCell;

use branchpoint_expr::{Value, iso_at, iso_date_at, iso_utc};

use crate::event::Stamp;
use crate::ir::Program;

/// The clocks of one event.
#[derive(Default)]
pub(crate) struct Clock {
    now_ms: i64,
    /// How far the zones that the program names are ahead of UTC.
    offsets_s: Vec<i32>,
    now: OnceCell<Value>,
    /// By zone: date and time, date alone.
    zoned: Vec<[OnceCell<Value>; 2]>,
}

impl Clock {
    pub(crate) fn new(program: &Program, stamp: &Stamp) -> Self {
        let zoned = program.zones.iter().map(|_| Default::default()).collect();
        Self { now_ms: stamp.now_ms, offsets_s: stamp.offsets_s.clone(), now: OnceCell::new(), zoned }
    }

    /// ISO 8601 in UTC.
    pub(crate) fn now(&self) -> &Value {
        self.now.get_or_init(|| iso_utc(self.now_ms).map_or(Value::Null, Value::from))
    }

    /// ISO 8601 with the offset of a zone, or the date there.
    pub(crate) fn zoned(&self, zone: u32, date: bool) -> Option<&Value> {
        let offset_s = *self.offsets_s.get(zone as usize)?;
        let text = &self.zoned.get(zone as usize)?[usize::from(date)];
        let show = if date { iso_date_at } else { iso_at };
        Some(text.get_or_init(|| show(self.now_ms, offset_s).map_or(Value::Null, Value::from)))
    }
}
