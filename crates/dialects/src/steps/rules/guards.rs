//! `timeout`, `retry`, `on_error`, `output_schema`: the guards of a step's own work.

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Kind, Located, Shape};
use branchpoint_schema::{JsonSchema, SchemaError};

use super::Check;
use crate::DocumentKinds as _;
use crate::fields::Access;
use crate::steps::guard;
use crate::steps::tree::Step;

impl Check<'_, '_> {
    pub(super) fn guards(&mut self, step: &Step<'_>) {
        let has_schema = step.kind.is_effect() && !step.is("wait");
        if let Some(schema) = step.located.given("output_schema").filter(|_| has_schema) {
            self.schema(schema);
        }
        if let Some(on_error) = step.located.given("on_error") {
            if step.kind.refuses_on_error() {
                let message = format!("a {} step has no `on_error`: an error must not pick a branch", step.kind.name);
                let help = "put it on the step that can fail";
                self.error(Kind::OnErrorNotAllowed, on_error.span, message, help);
            } else {
                self.on_error(on_error);
            }
        }
    }

    pub(super) fn duration(&mut self, value: &Located) {
        if guard::duration_ms(value).is_none() {
            let message = format!("`{}` is not a duration", value.to_value());
            let help = "write a number of seconds, or text such as `500ms`, `30s`, `1m30s`, `2h`, `1d`";
            self.error(Kind::BadDuration, value.span, message, help);
        }
    }

    fn schema(&mut self, schema: &Located) {
        let compiled = match schema.shape {
            Shape::Object(_) | Shape::Bool(_) => JsonSchema::compile(&schema.to_value()).map(drop),
            _ => Err(SchemaError::Invalid(format!("a schema is an object, and this is {}", schema.describe()))),
        };
        match compiled {
            Ok(()) => {}
            Err(SchemaError::Invalid(problem)) => {
                let message = format!("this is not a JSON Schema: {problem}");
                self.error(Kind::BadSchema, schema.span, message, "see https://json-schema.org, draft 2020-12");
            }
            Err(SchemaError::Limit(problem)) => {
                let help = "check the shape with fewer subschemas, and the content in a later step";
                self.error(Kind::SchemaLimit, schema.span, problem, help);
            }
        }
    }

    fn on_error(&mut self, on_error: &Located) {
        let known = match &on_error.shape {
            Shape::Str { text, .. } => ["fail", "continue"].contains(&&**text),
            Shape::List(steps) => !steps.is_empty(),
            _ => false,
        };
        if !known {
            let message = "`on_error` is `fail`, `continue` or a list of steps";
            self.error(Kind::OnErrorValue, on_error.span, message, "without it, an error fails the step");
        }
    }
}
