//! Why a call to a provider failed, and what to do about it.

use std::error::Error;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;
use tokio_util::codec::LinesCodecError;

use super::json_limit::MAX_JSON_VALUES;
use super::sse::MAX_EVENT_BYTES;
use crate::network::retry_after;
use crate::network::{causes, refusal};
use crate::secrets::Secrets;

/// The most characters of a message.
const MAX_MESSAGE: usize = 500;

/// The failure of one try.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    /// One sentence, not truncated, with secrets that the provider may quote: see [`Fault::message`].
    message: String,
    pub(super) remedy: Remedy,
    /// Whether the provider has responded.
    pub(super) answered: bool,
}

/// What the caller can do about a failure.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Remedy {
    /// Repeat the request later, after the wait that the provider asks for, if it does.
    Later(Option<Duration>),
    /// Nothing: the provider would respond the same way.
    None,
    /// Use another model: the provider does not have this one.
    Name,
    /// Repeat the request without a schema.
    NoSchema,
    /// Nothing: the time limit of the call is exceeded.
    TimedOut,
}

impl Fault {
    fn answered(message: impl Into<String>, remedy: Remedy) -> Self {
        Self { message: message.into(), remedy, answered: true }
    }

    /// The provider has not responded completely.
    fn unanswered(message: impl Into<String>, remedy: Remedy) -> Self {
        Self { message: message.into(), remedy, answered: false }
    }

    /// A response that is incomplete.
    pub(super) fn cut() -> Self {
        Self::unanswered("the model's reply ended early", Remedy::Later(None))
    }

    pub(super) fn timed_out() -> Self {
        Self::unanswered("the model did not respond in time", Remedy::TimedOut)
    }

    /// A request that cannot be built.
    pub(super) fn not_sent(why: String) -> Self {
        Self::unanswered(why, Remedy::None)
    }

    /// A connection that failed, or that the network guard refused.
    pub(super) fn lost(at: &str, error: &(dyn Error + 'static)) -> Self {
        if let Some(refused) = refusal(error) {
            return Self::unanswered(refused.to_string(), Remedy::None);
        }
        let message =
            format!("the provider at {at} cannot be reached, or the connection was lost: {}", with_causes(error));
        Self::unanswered(message, Remedy::Later(None))
    }

    pub(super) fn empty() -> Self {
        Self::answered("the model's reply is empty", Remedy::Later(None))
    }

    /// The model or its provider declined to reply, and would decline again.
    pub(super) fn declined(word: &str, words: &str) -> Self {
        let words = if words.trim().is_empty() { String::new() } else { format!(": {}", words.trim()) };
        Self::answered(format!("the model declined to reply (`{word}`){words}"), Remedy::None)
    }

    /// A response that exceeds a limit.
    fn exceeds(what: &str, limit: &str, remedy: &str) -> Self {
        Self::answered(format!("{what} exceeds the limit of {limit}; {remedy}"), Remedy::None)
    }

    pub(super) fn too_long(max_bytes: u64) -> Self {
        let limit = format!("{max_bytes} bytes");
        Self::exceeds("the provider's response", &limit, "raise `max_response_bytes` in `[models]`")
    }

    pub(super) fn too_many_values() -> Self {
        let limit = format!("{MAX_JSON_VALUES} JSON values");
        Self::exceeds("the provider's response", &limit, "ask for less at once")
    }

    pub(super) fn too_many_calls(max: usize) -> Self {
        Self::exceeds("the model's reply", &format!("{max} tool calls"), "offer fewer tools, or ask for less at once")
    }

    /// An event of a stream that is too long, or not text.
    pub(super) fn invalid_event(error: &LinesCodecError) -> Self {
        match error {
            LinesCodecError::MaxLineLengthExceeded => {
                let limit = format!("{MAX_EVENT_BYTES} bytes");
                Self::exceeds("a line of the provider's stream", &limit, "set `stream = false` in `[models]`")
            }
            LinesCodecError::Io(error) => {
                Self::answered(format!("the provider's stream cannot be read: {error}"), Remedy::Later(None))
            }
        }
    }

    /// A response that is not from a model API, such as a login page.
    pub(super) fn not_a_model(content_type: &str, beginning: &str) -> Self {
        let message = format!(
            "the response is not from a model API: its type is `{content_type}`, not JSON; check the address of the provider. \
             The response begins: {}",
            beginning.trim()
        );
        Self::answered(message, Remedy::None)
    }

    /// A response that cannot be parsed.
    pub(super) fn unreadable(error: &serde_json::Error) -> Self {
        Self::answered(format!("the provider's response cannot be parsed: {error}"), Remedy::Later(None))
    }

    /// An error instead of a reply, or in the middle of one, which has no status.
    pub(super) fn reported(body: &Value) -> Self {
        let (message, kind) = (message(body), code(body));
        let passing = ["overloaded", "rate_limit", "api_error", "server_error", "internal", "timeout", "unavailable"];
        let is_passing = kind.is_empty() || passing.iter().any(|word| kind.contains(word));
        let remedy = if is_passing { Remedy::Later(None) } else { Remedy::None };
        Self::answered(format!("the model stopped in the middle of its reply: {message}"), remedy)
    }

    /// A response with a status other than success.
    pub(super) fn refused(status: StatusCode, body: &[u8], headers: &HeaderMap) -> Self {
        let body: Value =
            serde_json::from_slice(body).unwrap_or_else(|_| String::from_utf8_lossy(body).into_owned().into());
        let (text, code) = (message(&body), code(&body));
        let (message, remedy) = match status.as_u16() {
            401 | 403 => (format!("the provider rejected the API key ({status}): {text}"), Remedy::None),
            404 if code == "model_not_found" || text.to_lowercase().contains("model") => (text, Remedy::Name),
            404 => (format!("the provider has no such endpoint; check its address ({status}): {text}"), Remedy::None),
            // An unsupported feature is checked first, because such messages name the model too.
            400 | 422 if is_about_schema(&body, &text) => (text, Remedy::NoSchema),
            400 | 422 if is_about_model(&body, &code, &text) => (text, Remedy::Name),
            429 if code == "insufficient_quota" => {
                (format!("the account's quota is used up ({status}): {text}"), Remedy::None)
            }
            408 | 409 | 425 | 429 | 500..=599 => {
                let header = |name: &str| headers.get(name)?.to_str().ok();
                let wait = retry_after::retry_after(header).or_else(|| retry_delay(&body));
                let pause = retry_after::wait_clause(wait);
                (format!("the provider is overloaded or unavailable ({status}){pause}: {text}"), Remedy::Later(wait))
            }
            _ => (format!("the provider rejected the request ({status}): {text}"), Remedy::None),
        };
        Self::answered(message, remedy)
    }

    /// The message for people. Secrets are redacted before it is truncated, because a part of a secret would not be found.
    pub(super) fn message(&self, secrets: &Secrets) -> String {
        let message = secrets.mask(&self.message);
        let mut short: String = message.chars().take(MAX_MESSAGE).collect();
        if short.len() < message.len() {
            short.push('…');
        }
        short
    }
}

/// The messages of an error and its causes.
fn with_causes(error: &(dyn Error + 'static)) -> String {
    causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Whether an error is about the requested schema.
fn is_about_schema(body: &Value, text: &str) -> bool {
    let words = ["response_format", "json_schema", "output_config", "output_format", "text.format"];
    words.iter().any(|word| text.contains(word)) || param(body).is_some_and(|param| words.contains(&param))
}

/// Whether an error is about the name of the model. The text is used only if the provider sends no error code: "not supported with this
/// model" is about something else.
fn is_about_model(body: &Value, code: &str, text: &str) -> bool {
    if ["model_not_found", "unknown_model", "invalid_model"].contains(&code) || param(body) == Some("model") {
        return true;
    }
    let has_code = body.pointer("/error/code").is_some_and(Value::is_string);
    if has_code && code != "invalid_request_error" || param(body).is_some() {
        return false;
    }
    let lower = text.to_lowercase();
    let words = ["not exist", "not found", "invalid model", "unknown model", "not a valid model"];
    lower.contains("model") && words.iter().any(|words| lower.contains(words))
}

/// The field of the request that the provider names.
fn param(body: &Value) -> Option<&str> {
    body.pointer("/error/param")?.as_str()
}

/// The wait that Google sends in the body: `{error: {details: [{retryDelay: "4s"}]}}`.
fn retry_delay(body: &Value) -> Option<Duration> {
    let details = body.pointer("/error/details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds = delay.strip_suffix('s')?;
    retry_after::retry_after(|name| (name == "retry-after").then_some(seconds))
}

/// The provider's own message.
fn message(body: &Value) -> String {
    let places = ["/error/message", "/message", "/error", "/detail"];
    let text = places.iter().find_map(|place| body.pointer(place)?.as_str());
    text.map_or_else(|| body.to_string(), str::to_owned).trim().to_owned()
}

fn code(body: &Value) -> String {
    let places = ["/error/code", "/error/type", "/code", "/type"];
    places.iter().find_map(|place| body.pointer(place)?.as_str()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(status: u16, body: &str) -> Fault {
        let status = StatusCode::from_u16(status).expect("this is a status");
        Fault::refused(status, body.as_bytes(), &HeaderMap::new())
    }

    #[test]
    fn the_remedy_depends_on_the_response_of_the_provider() {
        let openai = r#"{"error": {"message": "The model `gpt-9` does not exist", "code": "model_not_found"}}"#;
        let full = r#"{"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}"#;
        let shape = r#"{"error": {"message": "'response_format' of type 'json_schema' is not supported"}}"#;
        for (status, body, remedy) in [
            (404, openai, Remedy::Name),
            (404, "no such page", Remedy::None),
            (400, openai, Remedy::Name),
            (400, shape, Remedy::NoSchema),
            (400, "no JSON", Remedy::None),
            (401, "{}", Remedy::None),
            (429, "{}", Remedy::Later(None)),
            (429, full, Remedy::None),
            (529, "{}", Remedy::Later(None)),
        ] {
            assert_eq!(fault(status, body).remedy, remedy, "{status} {body}");
        }
    }

    #[test]
    fn an_unsupported_feature_is_not_reported_as_a_missing_model() {
        let schema = r#"{"error": {"message": "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
            "type": "invalid_request_error", "param": null, "code": null}}"#;
        let tokens = r#"{"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model.",
            "type": "invalid_request_error", "param": "max_tokens", "code": "unsupported_parameter"}}"#;
        let length = r#"{"error": {"message": "This model's maximum context length was not found to be enough", "code": "context_length_exceeded"}}"#;
        for (body, remedy) in [
            (schema, Remedy::NoSchema),
            (tokens, Remedy::None),
            (length, Remedy::None),
            (r#"{"error": {"message": "No.", "param": "model"}}"#, Remedy::Name),
            (r#"{"error": {"message": "Model Not Exist", "code": "invalid_request_error"}}"#, Remedy::Name),
            (r#"{"message": "Invalid model: mistral-hge", "type": "invalid_model"}"#, Remedy::Name),
        ] {
            assert_eq!(fault(400, body).remedy, remedy, "{body}");
        }
    }

    #[test]
    fn a_wait_in_the_body_is_used() {
        let body = r#"{"error": {"message": "full", "details": [{"@type": "x"}, {"retryDelay": "4.5s"}]}}"#;
        assert_eq!(fault(429, body).remedy, Remedy::Later(Some(Duration::from_millis(4_500))));
    }

    #[test]
    fn a_key_is_masked_before_the_message_is_truncated() {
        let key = "sk-0123456789abcdef";
        let secrets = Secrets::from_values([key.to_owned()]);
        for filler in 440..520 {
            let body = format!(r#"{{"error": {{"message": "{} {key}"}}}}"#, "x".repeat(filler));
            let message = fault(401, &body).message(&secrets);
            assert!(!message.contains("sk-0") && message.chars().count() <= MAX_MESSAGE + 1, "{message}");
        }
    }
}
