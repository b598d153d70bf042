//! Templates and conditions: whether they compile, and whether the names in them exist.

use branchpoint_expr::{Condition, Diagnostic, Dialect, Expression, Form, Kind, Located, Options, Problems, Reference};

use super::Check;
use crate::environment::check_names;
use crate::fields::Type;
use crate::steps::condition;
use crate::steps::lower::is_zone;
use crate::steps::raw::is_id;
use crate::steps::request::Request;
use crate::steps::tree::Step;
use crate::substitution::check_arguments;

impl Check<'_, '_> {
    /// The text fields of a step without an effect.
    pub(super) fn templates(&mut self, step: &Step<'_>) {
        for field in step.kind.fields.iter().flat_map(|table| table.iter()) {
            // The discriminator of a switch is compiled with its cases.
            if matches!(field.ty, Type::Text | Type::Filled)
                && field.name != "discriminator"
                && let Some(value) = step.located.get(field.name).filter(|value| value.text().is_some())
            {
                self.template(value);
            }
        }
    }

    pub(super) fn template(&mut self, value: &Located) {
        let compiled = Expression::with_form(value, Form::Text, options());
        self.compiled(compiled.map(|compiled| (compiled.warnings().to_vec(), compiled.references())));
    }

    /// The fields of an effect's request.
    pub(super) fn effect(&mut self, step: &Step<'_>) {
        let request = Request::of(step, branchpoint_core::effect::Kind::Scripted);
        let compiled = Expression::fields(&request.fields, options());
        self.compiled(compiled.map(|compiled| (compiled.warnings().to_vec(), compiled.references())));
        if let Some(written) = step.get("stop_when") {
            self.condition(&condition::at_key(written));
        }
        if let Some(target) = step.get("target_step_id")
            && let Some(id) = target.text()
        {
            self.refers(id, target.span);
        }
        if let Some(target) = step.get("target_step_id")
            && let Some(id) = target.text().filter(|id| is_id(id) && self.document.find(id).is_none())
        {
            self.unknown_step(id, target.span, format!("there is no step `{id}`"));
        }
        if let Some(expected) = step.get("expect_status").filter(|_| step.is("http"))
            && super::super::effect::statuses(expected).is_none()
        {
            let message = "`expect_status` must be a status, a range such as `200-299`, or a list of them";
            self.error(Kind::BadField, expected.span, message, "remove it to expect 200 to 299");
        }
        self.findings.extend(check_names(step.get("env").filter(|_| step.is("command"))));
        let words: Vec<&Located> = step.get("argv").and_then(Located::items).unwrap_or_default().iter().collect();
        self.findings.extend(check_arguments(&words, Dialect::Steps, is_number).filter(|_| step.is("command")));
    }

    pub(super) fn condition(&mut self, holder: &Located) {
        let compiled = Condition::targets(holder, options());
        self.compiled(compiled.map(|compiled| (compiled.warnings().to_vec(), compiled.references())));
    }

    pub(super) fn replacements(&mut self, step: &Step<'_>) {
        if let Some(rules) = step.get("rules") {
            let compiled = Expression::replacements(rules, options());
            self.compiled(compiled.map(|compiled| (compiled.warnings().to_vec(), compiled.references())));
        }
    }

    /// Reports compile problems and unknown steps.
    pub(super) fn compiled(&mut self, compiled: Result<(Vec<Diagnostic>, Vec<Reference>), Problems>) {
        match compiled {
            Err(problems) => self.findings.extend(problems.0),
            Ok((warnings, references)) => {
                self.findings.extend(warnings);
                for reference in references {
                    self.reference(&reference);
                }
            }
        }
    }

    fn reference(&mut self, reference: &Reference) {
        if let [name] = &reference.parts[..]
            && let Some(("datetime" | "date", zone)) = name.split_once(' ')
            && !is_zone(zone)
        {
            let message = format!("there is no time zone `{zone}`, so this is always empty");
            let finding = Diagnostic::warning(Kind::UnknownReference, reference.span, message);
            self.findings.push(finding.with_help("write a zone such as `Europe/Berlin` or `UTC`"));
        }
        let [root, id, ..] = &reference.parts[..] else { return };
        self.meter_reference(reference, id, reference.span);
        if &**root == "step" {
            self.refers(id, reference.span);
        }
        if &**root != "step" || self.document.find(id).is_some() {
            return;
        }
        self.unknown_step(id, reference.span, format!("there is no step `{id}`, so this is always empty"));
    }
}

pub(super) fn options() -> Options<'static> {
    Options::dialect(Dialect::Steps)
}

/// Whether the value of a reference is always a number.
fn is_number(reference: &Reference) -> bool {
    let parts: Vec<&str> = reference.parts.iter().map(|part| &**part).collect();
    matches!(parts[..], ["step", _, "item_index" | "iteration" | "exit_code" | "status"])
}
