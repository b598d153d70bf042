//! The fields of the table: is each of its type, is what must be there there, is nothing there that nobody reads.

use branchpoint_expr::{Kind, Located, Shape};

use super::{Check, given};
use crate::DocumentKinds as _;
use crate::steps::tree::Step;
use crate::steps::types::{COMMON, Field, is_fixed};

/// Keys that only some steps have. On others they have no meaning, which is worth more than "unknown".
const GUARDS: [&str; 4] = ["timeout", "retry", "on_error", "output_schema"];

impl Check<'_, '_> {
    pub(super) fn keys(&mut self, step: &Step<'_>) {
        let own = step.kind.fields.iter().map(|(name, _)| *name);
        let known: Vec<&str> = COMMON.into_iter().chain(step.kind.guards().iter().copied()).chain(own).collect();
        let what = format!("a {} step", step.kind.name);
        for field in step.located.fields() {
            let name = &*field.key;
            // `on_error` where it is not allowed is refused by a rule of its own.
            if known.contains(&name) || name == "on_error" && step.kind.refuses_on_error() {
                continue;
            }
            // Runners may know more fields than we do; only what looks misspelt is told.
            let meant = GUARDS.contains(&name) || is_near(name, &known);
            if !step.kind.is_effect() || meant {
                self.unknown_key(field, &known, &what);
            }
        }
        for name in ["name", "purpose"] {
            if let Some(value) = given(step.located, name) {
                self.is_text(value, name);
            }
        }
    }

    pub(super) fn fields(&mut self, step: &Step<'_>) {
        for (name, field) in step.kind.fields {
            match given(step.located, name) {
                Some(value) => self.field(step, name, *field, value),
                None if matches!(field, Field::Required) => self.missing(step, name),
                None => {}
            }
        }
        let present = |name: &str| step.get(name).is_some();
        match step.kind.name {
            "call_workflow" if !present("workflow") => self.missing(step, "workflow"),
            "command" if !present("command") && !present("argv") => self.missing_one_of(step, ["command", "argv"]),
            "command" if present("command") && present("argv") => {
                let span = step.get("argv").map_or(step.span(), |argv| argv.span);
                self.error(Kind::BadField, span, "both `command` and `argv` are given", "keep one of them");
            }
            "wait" if !present("duration") && !present("until") => self.missing_one_of(step, ["duration", "until"]),
            "wait" if present("duration") && present("until") => {
                let span = step.get("until").map_or(step.span(), |until| until.span);
                self.error(Kind::BadField, span, "both `duration` and `until` are given", "keep one of them");
            }
            _ => {}
        }
    }

    fn missing(&mut self, step: &Step<'_>, name: &str) {
        let message = format!("a {} step needs `{name}`", step.kind.name);
        self.error(Kind::MissingField, step.span(), message, &format!("give it `{name}`"));
    }

    fn missing_one_of(&mut self, step: &Step<'_>, [one, other]: [&str; 2]) {
        let message = format!("a {} step needs `{one}` or `{other}`", step.kind.name);
        self.error(Kind::MissingField, step.span(), message, &format!("give it one of `{one}` and `{other}`"));
    }

    fn field(&mut self, step: &Step<'_>, name: &str, field: Field, value: &Located) {
        // A field of a request may be computed; the step checks the result.
        let is_template = step.kind.is_effect() && value.text().is_some_and(|text| text.contains("{{"));
        let computed = is_template && !is_fixed(name);
        let wanted = match field {
            Field::Text | Field::Required | Field::Plain | Field::Command => {
                self.is_text(value, name);
                return;
            }
            Field::List if value.items().is_none() => "a list".to_owned(),
            Field::Object if !value.is_object() => "an object".to_owned(),
            Field::Boolean if !matches!(value.shape, Shape::Bool(_)) => "true or false".to_owned(),
            Field::Number if !matches!(value.shape, Shape::Int(_) | Shape::Float(_)) => "a number".to_owned(),
            Field::Integer(least, most) => match value.shape {
                Shape::Int(int) if (least..=most).contains(&int) => return,
                _ if most > 1_000_000 => format!("a whole number from {least}"),
                _ => format!("a whole number from {least} to {most}"),
            },
            Field::Alias(newer) => {
                if step.located.get(newer).is_some_and(|other| !other.is_null()) {
                    let message = format!("`{name}` and `{newer}` are two names of one field");
                    self.error(Kind::BadField, value.span, message, &format!("keep `{newer}`"));
                }
                if let Some(field) = step.kind.field(newer) {
                    self.field(step, name, field, value);
                }
                return;
            }
            _ => return,
        };
        if is_template && !computed {
            let message = format!("`{name}` must be {wanted}, and cannot have a placeholder");
            self.error(Kind::BadField, value.span, message, "write the value into the document");
        } else if !computed {
            let message = format!("`{name}` is {wanted}, and this is {}", shown(value));
            self.error(Kind::BadField, value.span, message, "see section 3 of docs/spec/steps.md");
        }
    }
}

fn shown(value: &Located) -> String {
    match value.shape {
        Shape::Int(_) | Shape::Float(_) => value.to_value().to_string(),
        _ => value.describe().to_owned(),
    }
}

/// Whether a key is so near to a known one that it may be a misspelling.
fn is_near(name: &str, known: &[&str]) -> bool {
    use branchpoint_expr::{Diagnostic, Span};
    let probe = Diagnostic::warning(Kind::UnknownKey, Span::new(0, 0), "").suggest(name, known.iter().copied());
    probe.help.is_some()
}
