//! Triggers: their fields depend on their type.

use branchpoint_expr::{Diagnostic, Kind, Located};

use super::Check;
use crate::DocumentKinds as _;
use crate::fields::{Access, names};
use crate::steps::lower::is_zone;
use crate::steps::types::{TRIGGER, trigger_fields};

/// The shortest time between two scheduled runs.
const SHORTEST_MS: u64 = 60_000;

impl Check<'_, '_> {
    pub(super) fn trigger(&mut self) {
        let Some(trigger) = self.document.located.given("trigger").filter(|trigger| trigger.is_object()) else {
            return;
        };
        let kind = trigger.str("type").map_or("dynamic_input", |kind| &**kind);
        let known = trigger_fields(kind);
        let given = trigger.fields().iter().filter(|field| !field.value.is_null() && *field.key != *"type");
        for field in given.filter(|field| names(&[TRIGGER]).any(|name| name == &*field.key)) {
            if !known.contains(&&*field.key) {
                let message = format!("`trigger.{}` has no effect with the trigger `{kind}`", field.key);
                let finding = Diagnostic::warning(Kind::UnknownKey, field.key_span, message);
                self.findings.push(finding.with_help("remove it, or change the type of the trigger"));
            }
        }
        if kind == "schedule" {
            self.schedule(trigger);
        }
    }

    fn schedule(&mut self, trigger: &Located) {
        if let Some(zone) = trigger.given("timezone")
            && let Some(name) = zone.text().filter(|name| !is_zone(name))
        {
            let message = format!("`{name}` is not a known time zone");
            self.error(Kind::BadSchedule, zone.span, message, "write an IANA name, such as `Europe/Berlin`");
        }
        if let Some(every) = trigger.given("every")
            && trigger.duration_ms("every").is_some_and(|ms| ms < SHORTEST_MS)
        {
            let message = "a schedule starts at most one run a minute";
            self.error(Kind::BadSchedule, every.span, message, "write at least `1m`");
        }
    }
}
