//! Templates and conditions: do they compile, and does what they name exist.

use branchpoint_expr::{
    Condition, Diagnostic, Dialect, Expression, Form, Kind, Located, Options, Problems, Reference, Shape,
};

use super::Check;
use crate::environment::check_names;
use crate::output;
use crate::steps::condition;
use crate::steps::lower::is_zone;
use crate::steps::raw::is_id;
use crate::steps::request::Request;
use crate::steps::tree::Step;
use crate::steps::types::Field;
use crate::substitution::check_arguments;

impl Check<'_, '_> {
    /// The text fields of a step that asks nobody.
    pub(super) fn templates(&mut self, step: &Step<'_>) {
        for (name, field) in step.kind.fields {
            let is_template = match field {
                Field::Text => true,
                Field::Alias(newer) => matches!(step.kind.field(newer), Some(Field::Text)),
                _ => false,
            };
            // The discriminator of a switch is compiled with its cases.
            if is_template
                && *name != "discriminator"
                && let Some(value) = step.located.get(name).filter(|value| value.text().is_some())
            {
                self.template(value);
            }
        }
    }

    pub(super) fn template(&mut self, value: &Located) {
        let compiled = Expression::formed(value, Form::Text, options());
        self.compiled(compiled.map(|compiled| (compiled.warnings().to_vec(), compiled.references())));
    }

    /// The fields that an effect is asked with.
    pub(super) fn effect(&mut self, step: &Step<'_>) {
        let request = Request::of(step, branchpoint_core::effect::Kind::Scripted);
        let compiled = Expression::fields(&request.fields, options());
        self.compiled(compiled.map(|compiled| (compiled.warnings().to_vec(), compiled.references())));
        if let Some(written) = step.get("stop_when") {
            self.condition(&condition::under(written));
        }
        if let Some(target) = step.get("target_step_id")
            && let Some(id) = target.text()
        {
            if !is_id(id) {
                let message = format!("`{id}` is no id of a step");
                self.error(
                    Kind::BadField,
                    target.span,
                    message,
                    "name a step of this document as it is, without braces",
                );
            } else if self.document.find(id).is_none() {
                self.unknown_step(id, target.span, format!("there is no step `{id}`"));
            }
        }
        if let Some(expected) =
            step.get("expect_status").filter(|expected| super::super::effect::statuses(expected).is_none())
        {
            let message = "`expect_status` is a status, a range such as `200-299`, or a list of them";
            self.error(Kind::BadField, expected.span, message, "without it, 200 to 299 are expected");
        }
        self.output_limit(step);
        self.findings.extend(check_names(step.get("env").filter(|_| step.is("command"))));
        let words: Vec<&Located> = step.get("argv").and_then(Located::items).unwrap_or_default().iter().collect();
        self.findings.extend(check_arguments(&words, Dialect::Steps, is_number).filter(|_| step.is("command")));
        self.formats(step);
    }

    fn output_limit(&mut self, step: &Step<'_>) {
        if !step.is("command") {
            return;
        }
        let is_size = |bytes: &Located| matches!(bytes.shape, Shape::Int(bytes) if output::BYTES.contains(&bytes));
        if let Some(bytes) = step.get("max_output").filter(|bytes| !is_size(bytes)) {
            let message = format!("`max_output` must be a number of bytes from 1 to {}", output::BYTES.end());
            self.error(Kind::BadField, bytes.span, message, "write the number; placeholders are not allowed here");
        }
        if let Some(flag) = step.get("truncate").filter(|flag| !matches!(flag.shape, Shape::Bool(_))) {
            self.error(Kind::BadField, flag.span, "`truncate` must be true or false", "write true or false");
        }
    }

    fn formats(&mut self, step: &Step<'_>) {
        let one_of: &[(&str, &str, &[&str])] = &[
            ("extract_data", "expected_format", &["html", "json", "xml"]),
            ("extract_content", "expected_format", &["html", "json", "xml"]),
            ("webhook_call", "method", &["POST", "PUT"]),
            ("add_chat_turn", "role", &["user", "assistant", "system"]),
        ];
        for (kind, name, known) in one_of {
            let Some(value) = step.get(name).filter(|_| step.is(kind)) else { continue };
            if value.text().is_some_and(|text| !text.contains("{{") && !known.contains(&&**text)) {
                let message = format!("`{name}` is {}", known.join(", "));
                self.error(Kind::BadField, value.span, message, "take one of these");
            }
        }
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

    /// What compiling found, and whether the steps that are named exist.
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
