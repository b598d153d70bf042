//! The keys of approvals that every dialect with approvals shares: groups, vetoes, escalation, the form, and what is shown.

use branchpoint_core::ApprovalForm;
use branchpoint_expr::{Diagnostic, Form, Kind, Located, Object, Shape, Span, Value};
use serde_json::json;

use crate::DocumentKinds as _;
use crate::fields::Type::{Any, Duration, Entries, Filled, Flag, Int, List, Map, Own, Ref};
use crate::fields::{Access, Table, field};
use crate::lowering::{located_object, object};

/// The keys.
pub(crate) const RULES: Table = &[
    field("need", Map(&Int(1, 1_000)), "How many votes of each group a choice needs, by group.").kind(Kind::HitlNeed),
    field("veto", List(&Filled), "The groups and users whose vote for a choice that means no decides at once.")
        .kind(Kind::HitlVeto),
    field("self_approval", Flag, "Whether the user who started the run may vote.").or("true"),
    field("escalate_after", Duration, "After which time `escalate_to` may vote, too.").kind(Kind::HitlEscalation),
    field("escalate_to", Entries(&Filled), "The groups and users who may vote after that time.")
        .kind(Kind::HitlEscalation),
    field(
        "form",
        Own(&Ref("approval_form")),
        "The fields that a vote carries, as a JSON Schema. Defaults are templates.",
    )
    .kind(Kind::HitlForm),
    field("show", Any, "What people see beside the prompt: a template, or a value with templates in it."),
];

/// The key that only step trees have.
pub(crate) const END_EARLY: Table =
    &[field("end_early", Flag, "Whether the approval ends as soon as no choice can have enough votes.").or("false")];

/// The rules of one approval in a document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ApprovalRules<'d> {
    located: &'d Located,
}

impl<'d> ApprovalRules<'d> {
    /// The rules of an approval; none if it uses none of the keys.
    pub(crate) fn of(located: &'d Located) -> Option<Self> {
        let keys = RULES.iter().chain(END_EARLY).map(|field| field.name);
        keys.into_iter().any(|key| located.given(key).is_some()).then_some(Self { located })
    }

    /// Reports what no single field shows.
    pub(crate) fn check(self, choices: &[&str], timeout_ms: Option<u64>, findings: &mut Vec<Diagnostic>) {
        let mut report = |kind: Kind, span: Span, message: &str, help: &str| {
            findings.push(Diagnostic::error(kind, span, message.to_owned()).with_help(help));
        };
        if let Some(need) = self.located.given("need") {
            if need.fields().is_empty() && need.is_object() {
                report(Kind::HitlNeed, need.span, "`need` names no group", "write a group and a number of votes");
            }
            for other in ["required_approvals", "recipient_distribution", "recipient_user_ids"] {
                if let Some(other_value) = self.located.given(other) {
                    let message = format!("`need` and `{other}` cannot be used together");
                    report(
                        Kind::HitlNeed,
                        other_value.span,
                        &message,
                        "`need` says who may vote, and how many votes are needed",
                    );
                }
            }
        }
        if let Some(veto) = self.located.given("veto")
            && !choices.iter().any(|choice| branchpoint_core::means_no(choice))
        {
            let help = "add a choice such as `deny` or `reject`";
            report(Kind::HitlVeto, veto.span, "no choice means no, so the veto could never be used", help);
        }
        self.check_escalation(timeout_ms, &mut report);
        if let Some(form) = self.located.given("form")
            && let Err(error) = ApprovalForm::parse(&without_defaults(form))
        {
            let place = error.path.iter().fold((form, form.span), |(within, _), key| {
                let field = within.fields().iter().find(|field| field.key == *key);
                field.map_or((within, within.span), |field| (&field.value, field.value.span))
            });
            report(Kind::HitlForm, place.1, &error.message, "docs/spec/house.md lists what a form can have");
        }
    }

    fn check_escalation(self, timeout_ms: Option<u64>, report: &mut impl FnMut(Kind, Span, &str, &str)) {
        let (after, to) = (self.located.given("escalate_after"), self.located.given("escalate_to"));
        match (after, to) {
            (Some(after), None) => {
                let message = "an escalation needs people";
                report(Kind::HitlEscalation, after.span, message, "list groups or users in `escalate_to`");
            }
            (None, Some(to)) => {
                let message = "an escalation needs a time";
                report(Kind::HitlEscalation, to.span, message, "add `escalate_after`, such as `4h`");
            }
            (Some(after), Some(_)) => {
                let after_ms = crate::steps::duration_ms(after);
                if after_ms.zip(timeout_ms).is_some_and(|(after, timeout)| after >= timeout) {
                    let message = "the escalation would come after the deadline";
                    report(Kind::HitlEscalation, after.span, message, "use a time before the end of the timeout");
                }
            }
            (None, None) => {}
        }
    }

    /// The rules that are known when the document is loaded.
    pub(crate) fn fixed(self) -> Value {
        let given = |key: &str| self.located.given(key).map_or(Value::Null, Located::to_value);
        let flag = |key: &str, default: bool| match self.located.given(key).map(|value| &value.shape) {
            Some(Shape::Bool(flag)) => Value::Bool(*flag),
            _ => Value::Bool(default),
        };
        let after_ms = self.located.given("escalate_after").and_then(crate::steps::duration_ms);
        let after_ms = after_ms.and_then(|ms| i64::try_from(ms).ok()).map_or(Value::Null, Value::Int);
        object([
            ("need", given("need")),
            ("veto", given("veto")),
            ("self_approval", flag("self_approval", true)),
            ("escalate_ms", after_ms),
            ("escalate_to", given("escalate_to")),
            ("end_early", flag("end_early", false)),
            ("form", self.located.given("form").map_or(Value::Null, without_defaults)),
        ])
    }

    /// What is computed when the approval opens, and once more when it is settled: `show` and the defaults of the form.
    pub(crate) fn computed(self) -> [(std::sync::Arc<str>, Form, Located); 2] {
        let span = self.located.span;
        let null = || Located { shape: Shape::Null, span };
        let show = self.located.given("show").cloned().unwrap_or_else(null);
        let fields =
            self.located.given("form").and_then(|form| form.get("properties")).map_or(&[][..], Located::fields);
        let defaults = fields.iter().filter_map(|field| Some((&*field.key, field.value.get("default")?.clone())));
        [("show".into(), Form::Value, show), ("defaults".into(), Form::Value, located_object(span, defaults))]
    }

    /// Whether the recipients are the members of groups.
    pub(crate) fn has_groups(self) -> bool {
        self.located.given("need").is_some()
    }

    /// Whether anything that is shown can change while the approval is open.
    pub(crate) fn can_change(self) -> bool {
        let [(.., show), (.., defaults)] = self.computed();
        !show.is_null() || !defaults.fields().is_empty()
    }
}

/// A form as the core reads it. The defaults are templates, and their values are passed beside the form.
fn without_defaults(form: &Located) -> Value {
    let mut form = form.to_value();
    if let Value::Object(form) = &mut form {
        form.edit(|form| {
            let Some(Value::Object(properties)) = form.get_mut("properties") else { return };
            properties.edit(|properties: &mut Object| {
                for field in properties.values_mut() {
                    if let Value::Object(field) = field {
                        field.edit(|field| field.shift_remove("default"));
                    }
                }
            });
        });
    }
    form
}

/// The JSON Schema of `approval_form`.
pub(crate) fn form_schema() -> serde_json::Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    let count = |about: &str| json!({"type": "integer", "minimum": 0, "description": about});
    let number = |about: &str| json!({"type": "number", "description": about});
    let items = json!({
        "type": "object",
        "description": "The items of a list.",
        "required": ["type"],
        "properties": {
            "type": {"const": "string", "description": "Only lists of texts are supported."},
            "enum": {"type": "array", "description": "The only accepted items."},
        },
    });
    let field = json!({
        "type": "object",
        "description": "A field.",
        "required": ["type"],
        "properties": {
            "type": {"enum": ["string", "number", "integer", "boolean", "array"], "description": "The type of its values."},
            "title": text("The name for people."),
            "description": text("An explanation for people."),
            "default": {"description": "The proposed value. A template."},
            "enum": {"type": "array", "minItems": 1, "maxItems": 200, "description": "The only accepted values."},
            "minimum": number("The least number."),
            "maximum": number("The greatest number."),
            "minLength": count("The least number of characters."),
            "maxLength": count("The greatest number of characters."),
            "minItems": count("The least number of items."),
            "maxItems": count("The greatest number of items."),
            "items": items,
        },
        "additionalProperties": false,
    });
    let fields = json!({
        "type": "object",
        "description": "The fields, by name.",
        "minProperties": 1,
        "maxProperties": 50,
        "additionalProperties": field,
    });
    json!({
        "type": "object",
        "required": ["type", "properties"],
        "properties": {
            "type": {"const": "object", "description": "A form is an object."},
            "title": text("The name of the form."),
            "description": text("An explanation for people."),
            "properties": fields,
            "required": {"type": "array", "items": {"type": "string"}, "description": "The fields that a vote must have."},
        },
        "additionalProperties": false,
    })
}
