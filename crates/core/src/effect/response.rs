//! How a raw answer becomes the value of a step.

use std::fmt;
use std::sync::Arc;

use branchpoint_expr::Value;
use serde::{Deserialize, Serialize};

use super::ProcessRequest;

macro_rules! response {
    ($($(#[$about:meta])* $field:ident: $of:ty,)*) => {
        /// How a raw answer becomes the value of a step, or its error. The default takes answers as they are.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Response {
            $($(#[$about])* pub $field: $of,)*
        }

        /// The fields that are set, for people.
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
    /// Model: a blank text is a failed attempt.
    non_empty: bool,
    /// How a text is read.
    format: Format,
    /// HTTP: inclusive ranges of the statuses that are a success; none: 200 to 299.
    expected_status: Option<Vec<(u16, u16)>>,
    /// HTTP: inclusive ranges of the statuses after which no attempt follows.
    final_status: Vec<(u16, u16)>,
    /// Process: bytes of each stream that are kept; none: the runner's default.
    max_output: Option<u64>,
    /// Process: output above the limit is cut, and the attempt does not fail.
    truncate: bool,
    /// A JSON Schema: text is parsed, and a value that does not match is a failed attempt.
    output_schema: Option<Value>,
    /// The answer is a score from 0 to 1, which passes from here on.
    pass_threshold: Option<f64>,
    /// Every answer is a value with an `error`, failures of the attempt with this number included: an earlier failure that may be
    /// repeated is a failed attempt.
    report: Option<u32>,
    /// Process, with `report`: the exit codes that may be repeated; none listed: every one.
    retry_exit_codes: Vec<i64>,
    /// The kind under which failures are reported, except those of [`ProcessRequest::OWN_FAILURES`] and, with `report`, timeouts
    /// and exit codes; none: that of the failure itself.
    failure_kind: Option<Arc<str>>,
    /// The kind of error if no runner can perform the call; none: `no_runner`.
    missing_runner_kind: Option<Arc<str>>,
    /// Run: the result is read by its `status`, and its `output` is the value.
    child: bool,
    /// The value is `{output, content_type}`, with `status` and `headers`, or `exit_code` and `stderr`.
    envelope: bool,
}

/// How a text is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// As it is.
    #[default]
    Text,
    /// Model: the `text` of a reply `{text, toolCalls, usage}`.
    Reply,
    /// Model: JSON; other text is a failed attempt.
    Json,
    /// Model, with `report`: JSON, or a text with a fenced block of JSON; other text is a failed attempt.
    JsonBlock,
    /// Process: the part between `<output>` and `</output>`, as JSON if it is JSON; without tags everything, trimmed.
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
        assert_eq!(named.reported_kind("output_limit"), "output_limit", "the document has to change, not the command");
        let judged = Response { report: Some(2), ..named };
        assert_eq!(judged.reported_kind("timeout"), "timeout", "the failure has its kind already");
        assert_eq!(Response::default().reported_kind("timeout"), "timeout");
    }
}
