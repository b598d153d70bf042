//! How the result of a runner becomes the value of a step.

use std::fmt;
use std::sync::Arc;

use branchpoint_expr::Value;
use serde::{Deserialize, Serialize};

use super::ProcessRequest;

macro_rules! response {
    ($($(#[$about:meta])* $field:ident: $of:ty,)*) => {
        /// How the result of a runner becomes the value of a step, or its error. The default uses the result unchanged.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Response {
            $($(#[$about])* pub $field: $of,)*
        }

        /// Writes the fields that differ from the default.
        impl fmt::Display for Response {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                let default = Self::default();
                $(if self.$field != default.$field {
                    write!(out, " {}={:?}", stringify!($field), self.$field)?;
                })*
                Ok(())
            }
        }
    };
}

response! {
    /// Model: whether blank text is a failed attempt.
    non_empty: bool,
    /// How a text is read.
    format: Format,
    /// HTTP: inclusive ranges of successful statuses; none: 200 to 299.
    expected_status: Option<Vec<(u16, u16)>>,
    /// HTTP: inclusive ranges of statuses that are not retried.
    final_status: Vec<(u16, u16)>,
    /// Process: the output limit of each stream in bytes; none: the runner's default.
    max_output: Option<u64>,
    /// Process: whether to truncate output above the limit instead of failing the attempt.
    truncate: bool,
    /// A JSON Schema: text is parsed, and a value that does not match is a failed attempt.
    output_schema: Option<Value>,
    /// The minimum score, from 0 to 1, that passes. The result must be a score.
    pass_threshold: Option<f64>,
    /// Converts failures to values with an `error`, from the attempt with this number on. An earlier failure that may be retried is a
    /// failed attempt.
    report: Option<u32>,
    /// Process, with `report`: the exit codes that may be retried; empty: all.
    retry_exit_codes: Vec<i64>,
    /// The kind under which failures are reported, except for [`ProcessRequest::OWN_FAILURES`] and, with `report`, timeouts and exit codes;
    /// none: the kind of the failure itself.
    failure_kind: Option<Arc<str>>,
    /// The kind of error if no runner is configured for the call; none: `no_runner`.
    missing_runner_kind: Option<Arc<str>>,
    /// Run: whether to evaluate the `status` of the result and return its `output`.
    child: bool,
    /// Whether to return `{output, content_type}` with `status` and `headers`, or with `exit_code` and `stderr`.
    envelope: bool,
}

/// How a text is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Unchanged.
    #[default]
    Text,
    /// Model: the `text` of a reply `{text, toolCalls, usage}`.
    Reply,
    /// Model: JSON; other text is a failed attempt.
    Json,
    /// Model, with `report`: JSON, or a text with a fenced block of JSON; other text is a failed attempt.
    JsonBlock,
    /// Process: the part between `<output>` and `</output>`, parsed if it is JSON; without tags, the whole text, trimmed.
    Tagged,
}

impl Response {
    /// The kind under which a failed attempt is reported. With `report`, the failure has that kind already.
    pub(crate) fn reported_kind<'k>(&'k self, own: &'k str) -> &'k str {
        let keeps = self.report.is_some() || ProcessRequest::OWN_FAILURES.iter().any(|kind| kind.as_str() == own);
        self.failure_kind.as_deref().filter(|_| !keeps).unwrap_or(own)
    }
}

#[cfg(test)]
mod tests {
    use super::Response;

    #[test]
    fn failures_are_reported_under_the_kind_that_the_call_names() {
        let named = Response { failure_kind: Some("effect_failed".into()), ..Response::default() };
        assert_eq!(named.reported_kind("timeout"), "effect_failed");
        assert_eq!(named.reported_kind("output_limit"), "output_limit", "this failure keeps its own kind");
        let judged = Response { report: Some(2), ..named };
        assert_eq!(judged.reported_kind("timeout"), "timeout", "a reported failure has its kind already");
        assert_eq!(Response::default().reported_kind("timeout"), "timeout");
    }
}
