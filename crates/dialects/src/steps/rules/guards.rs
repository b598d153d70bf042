//! `timeout`, `retry`, `on_error`, `output_schema`: what stands around a step's own work.

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Kind, Located, Shape};
use branchpoint_schema::{JsonSchema, SchemaError};

use super::{Check, given};
use crate::DocumentKinds as _;
use crate::steps::guard;
use crate::steps::tree::Step;

const POLICY_KEYS: [&str; 4] = ["max_attempts", "delay", "backoff", "max_delay"];

impl Check<'_, '_> {
    pub(super) fn guards(&mut self, step: &Step<'_>) {
        let takes = |name: &str| step.kind.guards().contains(&name);
        if let Some(timeout) = given(step.located, "timeout").filter(|_| takes("timeout")) {
            self.duration(timeout);
        }
        if let Some(policy) = given(step.located, "retry").filter(|_| takes("retry")) {
            self.policy(policy);
        }
        if let Some(schema) = given(step.located, "output_schema").filter(|_| takes("output_schema")) {
            self.schema(schema);
        }
        if let Some(on_error) = given(step.located, "on_error") {
            if takes("on_error") {
                self.on_error(on_error);
            } else {
                let message = format!("a {} step has no `on_error`: an error must not pick a branch", step.kind.name);
                let help = "put it on the step that can fail";
                self.error(Kind::OnErrorNotAllowed, on_error.span, message, help);
            }
        }
    }

    pub(super) fn duration(&mut self, value: &Located) {
        if guard::duration_ms(value).is_none() {
            let message = "this is no duration";
            let help = "give a number of seconds, or text such as `500ms`, `30s`, `1m30s`, `2h`, `1d`";
            self.error(Kind::BadDuration, value.span, message, help);
        }
    }

    fn policy(&mut self, policy: &Located) {
        let help = "write `retry: {max_attempts: 3, delay: 2s, backoff: 2}`";
        if !policy.is_object() {
            let message = format!("a retry policy is an object, and this is {}", policy.describe());
            return self.error(Kind::BadRetryPolicy, policy.span, message, help);
        }
        self.unknown_keys(policy, &POLICY_KEYS, "a retry policy");
        let attempts = given(policy, "max_attempts");
        if !attempts.is_some_and(|attempts| matches!(attempts.shape, Shape::Int(1..=20))) {
            let span = attempts.map_or(policy.span, |attempts| attempts.span);
            self.error(Kind::BadRetryPolicy, span, "`max_attempts` is a whole number from 1 to 20", help);
        }
        if let Some(backoff) = given(policy, "backoff") {
            let grows = match backoff.shape {
                Shape::Int(int) => int >= 1,
                Shape::Float(float) => float >= 1.0,
                _ => false,
            };
            if !grows {
                self.error(Kind::BadRetryPolicy, backoff.span, "`backoff` is a number from 1", help);
            }
        }
        for key in ["delay", "max_delay"] {
            if let Some(value) = given(policy, key) {
                self.duration(value);
            }
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
                let message = format!("this is no JSON Schema: {problem}");
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
