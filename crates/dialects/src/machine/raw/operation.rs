//! Operations: work of built-in plugins in the original, mapped to effects of runners.

use branchpoint_core::effect::PathKey;
use branchpoint_expr::{Field, Kind, Located, Shape};

use super::Text;
use super::tables::{HTTP_REQUEST, NOTIFICATION, OPERATION, STATE, TYPE};
use crate::fields::{Access, Check, Path, Table, Unknown, integer};

/// An operation with its inputs.
#[derive(Debug)]
pub(in crate::machine) struct Operation {
    pub(in crate::machine) kind: OperationKind,
    /// In document order; texts are templates.
    pub(in crate::machine) inputs: Vec<Field>,
    /// The time limit of one request, in milliseconds.
    pub(in crate::machine) limit_ms: u64,
}

#[derive(Debug)]
pub(in crate::machine) enum OperationKind {
    /// An HTTP request, and the statuses that are failures.
    Http { retryable: Vec<u16> },
    /// A notification on the desktop.
    Desktop,
    /// A notification as an HTTP request.
    Webhook,
}

/// The timeouts of an HTTP request, a webhook, and a notification on the desktop.
const HTTP_MS: u64 = 30_000;
const WEBHOOK_MS: u64 = 10_000;
const DESKTOP_MS: u64 = 5_000;

impl Operation {
    /// Checks the state and reads its operation; none if the operation is not supported, which is reported.
    pub(super) fn read(path: Path<'_>, state: &Located, check: &mut Check<'_>) -> Option<Self> {
        let tables: &[Table] = &[TYPE, STATE, OPERATION];
        let Some(name) = state.filled("operation") else {
            check.object(path, state, tables);
            return None;
        };
        let table = match &**name.text() {
            "http.request" => HTTP_REQUEST,
            "notify.send" => NOTIFICATION,
            other => {
                let message = format!("the operation `{other}` is not supported");
                let help = "use `http.request`, `notify.send`, a command, an agent or a workflow of its own";
                check.error(Kind::Unsupported, name.span(), message, help);
                // Its plugin may have its own fields.
                check.style.unknown = Unknown::None;
                check.object(path, state, tables);
                return None;
            }
        };
        check.object(path, state, tables);
        let none = Located { shape: Shape::Object(Vec::new()), span: state.span };
        let inputs = state.given("inputs").unwrap_or(&none);
        let path = Path::Key(&path, "inputs");
        check.object(path, inputs, &[table]);
        if inputs.word("backend") == "webhook" && inputs.filled("webhook_url").is_none() {
            check.missing(
                inputs,
                &format!("{path}.webhook_url"),
                None,
                "add the address that the notification is sent to",
            );
        }
        Self::of(&name, inputs)
    }

    fn of(name: &Text, inputs: &Located) -> Option<Self> {
        let (kind, limit_ms) = match (&**name.text(), &*inputs.word("backend")) {
            ("http.request", _) => {
                let codes = inputs.list("retryable_status_codes").iter().filter_map(integer);
                let retryable = codes.filter_map(|code| u16::try_from(code).ok()).collect();
                let seconds = inputs.int("timeout").and_then(|seconds| u64::try_from(seconds).ok());
                (OperationKind::Http { retryable }, seconds.map_or(HTTP_MS, |seconds| seconds.saturating_mul(1000)))
            }
            (_, "desktop") => (OperationKind::Desktop, DESKTOP_MS),
            (_, "webhook") => (OperationKind::Webhook, WEBHOOK_MS),
            _ => return None,
        };
        Some(Self { kind, inputs: inputs.fields().to_vec(), limit_ms })
    }

    /// The path in the request of an input that may name secrets.
    pub(in crate::machine) fn secret_path(&self, input: &str) -> Option<Vec<PathKey>> {
        Some(match (&self.kind, input) {
            (OperationKind::Http { .. }, "url" | "body" | "headers") => vec![input.into()],
            (OperationKind::Webhook, "webhook_url") => vec!["url".into()],
            (OperationKind::Webhook, "title" | "message") => vec!["body".into(), input.into()],
            _ => return None,
        })
    }
}
