//! Warns about triggers that are not served.

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Diagnostic, Dialect, Kind, Located};

use crate::recognise::recognise;
use crate::{export, read};

/// The triggers without a listener: a person starts the run.
const BY_HAND: [&str; 2] = ["dynamic_input", "template_input"];

/// Warns that a workflow of steps has a trigger that nothing listens to yet.
///
/// ```
/// use branchpoint_dialects::unserved_trigger;
///
/// let finding = unserved_trigger("trigger: {type: schedule}\nsteps:\n  - {id: a, step_type: text}\n");
/// assert_eq!(finding.unwrap().cause().as_str(), "trigger_not_served");
/// ```
pub fn unserved_trigger(source: &str) -> Option<Diagnostic> {
    let document = read(source).ok().filter(|document| recognise(document) == Ok(Dialect::Steps))?;
    let document = export::definition(&document).unwrap_or(document);
    let kind = document.get("trigger").and_then(|trigger| trigger.get("type"))?;
    let name = kind.text().filter(|name| !BY_HAND.contains(&&***name))?;
    Some(finding(kind, name))
}

fn finding(kind: &Located, name: &str) -> Diagnostic {
    let message = format!("nothing listens to the trigger `{name}` yet, so no run starts by itself");
    let help = "start runs by hand, with the input that the trigger would have given";
    Diagnostic::warning(Kind::TriggerNotServed, kind.span, message).with_help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expect: Option<&str>) {
        let span = unserved_trigger(source).map(|finding| finding.span.text(source).to_owned());
        assert_eq!(span.as_deref(), expect, "{source}");
    }

    #[test]
    fn only_triggers_with_a_listener_are_reported() {
        check("trigger: {type: schedule}\nsteps: []", Some("schedule"));
        check("trigger: {type: dynamic_input}\nsteps: []", None);
        check("steps: []", None);
        check("trigger: {type: schedule}\nnodes: []", None);
    }
}
