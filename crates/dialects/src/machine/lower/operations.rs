//! Operations: HTTP requests and notifications, whose `Response` is data.

use branchpoint_core::RunKinds as _;
use branchpoint_core::effect::{Kind, PathKey, SecretText};
use branchpoint_core::ir::{Effect, PlaceId};
use branchpoint_expr::{Field, Located, Shape, Span, Value};

use super::Lower;
use super::commands::report;
use super::state::{CurrentState, Outcomes};
use super::templates::effect_of;
use crate::machine::raw::{Operation, OperationKind};
use crate::secrets;

/// Shows a notification: the urgency, the title and the message are arguments, so no shell reads them.
const SHOW: &str = r#"if [ "$(uname)" = Darwin ]; then
    exec osascript -e 'on run argv' -e 'display notification (item 2 of argv) with title (item 1 of argv)' -e 'end run' "$2" "$3"
fi
exec notify-send -u "$1" -- "$2" "$3""#;

/// The header names of a response in the spelling of documents: `Content-Type`.
const HEADERS: &str = r#"fromPairs(map(toPairs(answer.headers ?? {}),
    {[join(map(split(#[0], "-"), {upper(#[0:1]) + lower(#[1:])}), "-"), #[1]]}))"#;

impl<'d> Lower<'d> {
    pub(super) fn operation(
        &mut self,
        current: CurrentState<'d>,
        operation: &'d Operation,
        outcomes: Outcomes,
    ) -> PlaceId {
        let (effect, input, response) = match &operation.kind {
            OperationKind::Http { retryable } => (
                http(current, operation, retryable),
                r#"{"method": upper(request.method), "url": request.url, "headers": request.headers ?? {},
                    "body": request.body, "body_type": "raw", "follow_redirects": true}"#,
                format!(
                    r#"{{"status_code": answer.status, "body": string(answer.output ?? ""), "headers": {HEADERS},
                        "body_truncated": false}}"#
                ),
            ),
            OperationKind::Webhook => (
                http(current, operation, &[]),
                r#"{"method": "POST", "url": request.webhook_url, "body_type": "json",
                    "body": {"title": request.title ?? TITLE, "message": request.message,
                        "priority": request.priority ?? "default"}}"#,
                r#"{"backend": "webhook", "status": answer.status, "response": string(answer.output ?? "")}"#
                    .to_owned(),
            ),
            OperationKind::Desktop => (
                effect_of(current, Kind::Process, report(current.state, branchpoint_expr::Kind::Operation.as_str())),
                r#"{"argv": ["/bin/sh", "-c", SHOW, "notify", {"low": "low", "high": "critical"}[request.priority ?? ""] ?? "normal",
                    request.title ?? TITLE, request.message]}"#,
                r#"{"backend": "desktop", "status": 0, "response": trim(answer.output ?? "")}"#.to_owned(),
            ),
        };
        let outcomes = self.response(&response, outcomes);
        let constants = [("SHOW", Value::from(SHOW)), ("TITLE", Value::from("Workflow"))];
        let input = self.formula_with(input, &[], &constants);
        let limit = current.state.timeout_ms.map_or(operation.limit_ms, |limit| limit.min(operation.limit_ms));
        let call = self.call_within(current, effect, input, Some(limit), outcomes);
        self.expand(self.scope(current.context), &template(operation), self.slots["request"], call, outcomes.unexpanded)
    }

    /// The result of an operation as data and as JSON text. A failure before the response has none.
    fn response(&mut self, response: &str, outcomes: Outcomes) -> Outcomes {
        let [ok, bad] = [outcomes.ok, outcomes.bad].map(|next| {
            let response = self.store("answer", &format!(r#"putPath(answer, ["response"], {response})"#));
            let output = self.store("answer", r#"putPath(answer, ["output"], toJSON(answer.response))"#);
            self.b.set([response, output], next, None)
        });
        let responded = self.test("answer.status != nil || answer.stderr != nil");
        let bad = self.b.decide([(responded, bad)], outcomes.bad, None);
        Outcomes { ok, bad, ..outcomes }
    }
}

/// A request over HTTP. Every status is a success except those in `retryable`; a notification accepts 200 to 299.
fn http(current: CurrentState<'_>, operation: &Operation, retryable: &[u16]) -> Effect {
    let mut response = report(current.state, branchpoint_expr::Kind::Operation.as_str());
    if matches!(operation.kind, OperationKind::Http { .. }) {
        response.expected_status = Some(all_but(retryable));
    }
    Effect { secrets: secret_texts(operation), ..effect_of(current, Kind::Http, response) }
}

/// The texts of the request that name secrets.
fn secret_texts(operation: &Operation) -> Vec<SecretText> {
    let mut located = Vec::new();
    for input in &operation.inputs {
        let Some(path) = operation.secret_path(&input.key) else { continue };
        if secrets::split(&input.value).is_some() {
            located.push(SecretText::plain(path.clone()));
        }
        for field in input.value.fields().iter().filter(|field| secrets::split(&field.value).is_some()) {
            located.push(SecretText::plain([path.clone(), vec![PathKey::Field(field.key.clone())]].concat()));
        }
    }
    located
}

/// Ranges of all statuses except some.
fn all_but(excluded: &[u16]) -> Vec<(u16, u16)> {
    const LAST: u16 = 999;
    let mut excluded = excluded.to_vec();
    excluded.sort_unstable();
    let mut ranges = Vec::new();
    let mut from = 0;
    for status in excluded {
        if status > from {
            ranges.push((from, status - 1));
        }
        from = from.max(status.saturating_add(1));
    }
    ranges.push((from, LAST.max(from)));
    ranges
}

/// The inputs as a template in which every text that names secrets is a list of parts.
fn template(operation: &Operation) -> Located {
    let part = |value: &Located| secrets::split(value).unwrap_or_else(|| value.clone());
    let inputs = operation.inputs.iter().map(|input| {
        let value = match &input.value.shape {
            _ if operation.secret_path(&input.key).is_none() => input.value.clone(),
            Shape::Object(fields) => {
                let fields = fields.iter().map(|field| Field { value: part(&field.value), ..field.clone() });
                Located { shape: Shape::Object(fields.collect()), span: input.value.span }
            }
            _ => part(&input.value),
        };
        Field { value, ..input.clone() }
    });
    Located { shape: Shape::Object(inputs.collect()), span: Span::default() }
}

#[cfg(test)]
mod tests {
    use super::all_but;

    #[test]
    fn ranges_leave_out_single_statuses() {
        assert_eq!(all_but(&[]), [(0, 999)]);
        assert_eq!(all_but(&[503, 429, 502, 429]), [(0, 428), (430, 501), (504, 999)]);
        assert_eq!(all_but(&[0]), [(1, 999)]);
    }
}
