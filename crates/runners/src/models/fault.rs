//! Why a call to a provider failed, and what may help.

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

/// A try that failed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    /// One sentence in full length, with secrets that the provider quotes: see [`Fault::message`].
    message: String,
    pub(super) cure: Cure,
    /// Whether the provider has responded.
    pub(super) answered: bool,
}

/// What may help.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cure {
    /// The same request later; the provider may have said when.
    Later(Option<Duration>),
    /// Nothing: the provider would respond the same.
    None,
    /// Another model: the provider does not have this one.
    Name,
    /// The same request without a schema.
    NoSchema,
    /// Nothing: the time of the call is over.
    TimedOut,
}

impl Fault {
    fn answered(message: impl Into<String>, cure: Cure) -> Self {
        Self { message: message.into(), cure, answered: true }
    }

    /// The provider has not responded, or not completely.
    fn unanswered(message: impl Into<String>, cure: Cure) -> Self {
        Self { message: message.into(), cure, answered: false }
    }

    /// A response that ended before its end.
    pub(super) fn cut() -> Self {
        Self::unanswered("the model's answer broke off", Cure::Later(None))
    }

    pub(super) fn timed_out() -> Self {
        Self::unanswered("the model gave no answer in time", Cure::TimedOut)
    }

    /// A request that cannot be written.
    pub(super) fn not_sent(why: String) -> Self {
        Self::unanswered(why, Cure::None)
    }

    /// A connection that failed, or that the network guard refused.
    pub(super) fn lost(at: &str, error: &(dyn Error + 'static)) -> Self {
        if let Some(refused) = refusal(error) {
            return Self::unanswered(refused.to_string(), Cure::None);
        }
        let message = format!("the provider at {at} cannot be reached, or the connection broke: {}", in_full(error));
        Self::unanswered(message, Cure::Later(None))
    }

    pub(super) fn empty() -> Self {
        Self::answered("the model's answer is empty", Cure::Later(None))
    }

    /// The model or its provider declined, and would decline again.
    pub(super) fn declined(word: &str, words: &str) -> Self {
        let words = if words.trim().is_empty() { String::new() } else { format!(": {}", words.trim()) };
        Self::answered(format!("the model gave no answer (`{word}`){words}"), Cure::None)
    }

    /// A response that exceeds a limit.
    fn exceeds(what: &str, limit: &str, remedy: &str) -> Self {
        Self::answered(format!("{what} exceeds the limit of {limit}; {remedy}"), Cure::None)
    }

    pub(super) fn too_long(max_bytes: u64) -> Self {
        let limit = format!("{max_bytes} bytes");
        Self::exceeds("the provider's answer", &limit, "raise `max_response_bytes` in `[models]`")
    }

    pub(super) fn too_many_values() -> Self {
        let limit = format!("{MAX_JSON_VALUES} JSON values");
        Self::exceeds("the provider's answer", &limit, "ask for less at once")
    }

    pub(super) fn too_many_calls(max: usize) -> Self {
        Self::exceeds("the model's answer", &format!("{max} tool calls"), "offer fewer tools, or ask for less at once")
    }

    /// An event of a stream that is too long, or not text.
    pub(super) fn invalid_event(error: &LinesCodecError) -> Self {
        match error {
            LinesCodecError::MaxLineLengthExceeded => {
                let limit = format!("{MAX_EVENT_BYTES} bytes");
                Self::exceeds("a line of the provider's stream", &limit, "set `stream = false` in `[models]`")
            }
            LinesCodecError::Io(error) => {
                Self::answered(format!("the provider's stream cannot be read: {error}"), Cure::Later(None))
            }
        }
    }

    /// A response that is not one of a model, such as the page of a portal.
    pub(super) fn elsewhere(content_type: &str, beginning: &str) -> Self {
        let message = format!(
            "the response is not one of a model: its type is `{content_type}` and not JSON; is the address of the provider \
             right? It begins: {}",
            beginning.trim()
        );
        Self::answered(message, Cure::None)
    }

    /// A response that cannot be parsed.
    pub(super) fn unreadable(error: &serde_json::Error) -> Self {
        Self::answered(format!("the provider's answer cannot be read: {error}"), Cure::Later(None))
    }

    /// An error instead of a reply, or in the middle of one, which has no status.
    pub(super) fn reported(body: &Value) -> Self {
        let (message, kind) = (message(body), code(body));
        let passing = ["overloaded", "rate_limit", "api_error", "server_error", "internal", "timeout", "unavailable"];
        let is_passing = kind.is_empty() || passing.iter().any(|word| kind.contains(word));
        let cure = if is_passing { Cure::Later(None) } else { Cure::None };
        Self::answered(format!("the model stopped in the middle of its answer: {message}"), cure)
    }

    /// A response with a status other than success.
    pub(super) fn refused(status: StatusCode, body: &[u8], headers: &HeaderMap) -> Self {
        let body: Value =
            serde_json::from_slice(body).unwrap_or_else(|_| String::from_utf8_lossy(body).into_owned().into());
        let (said, code) = (message(&body), code(&body));
        let (message, cure) = match status.as_u16() {
            401 | 403 => (format!("the provider refused the key ({status}): {said}"), Cure::None),
            404 if code == "model_not_found" || said.to_lowercase().contains("model") => (said, Cure::Name),
            404 => (
                format!("the provider does not know the request; is its address right? ({status}): {said}"),
                Cure::None,
            ),
            // A model that cannot do something is known, so what it cannot do comes first.
            400 | 422 if is_about_shape(&body, &said) => (said, Cure::NoSchema),
            400 | 422 if is_about_model(&body, &code, &said) => (said, Cure::Name),
            429 if code == "insufficient_quota" => {
                (format!("the account has nothing left ({status}): {said}"), Cure::None)
            }
            408 | 409 | 425 | 429 | 500..=599 => {
                let header = |name: &str| headers.get(name)?.to_str().ok();
                let wait = retry_after::retry_after(header).or_else(|| retry_delay(&body));
                let pause = retry_after::in_words(wait);
                (format!("the provider is busy or broken ({status}){pause}: {said}"), Cure::Later(wait))
            }
            _ => (format!("the provider refused the call ({status}): {said}"), Cure::None),
        };
        Self::answered(message, cure)
    }

    /// The message as people see it. Secrets are redacted before it is cut, because a part of one would not be found.
    pub(super) fn message(&self, secrets: &Secrets) -> String {
        let message = secrets.mask(&self.message);
        let mut short: String = message.chars().take(MAX_MESSAGE).collect();
        if short.len() < message.len() {
            short.push('…');
        }
        short
    }
}

/// An error with its causes.
fn in_full(error: &(dyn Error + 'static)) -> String {
    causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Whether a refusal is about the shape that was asked for.
fn is_about_shape(body: &Value, said: &str) -> bool {
    let words = ["response_format", "json_schema", "output_config", "output_format", "text.format"];
    words.iter().any(|word| said.contains(word)) || param(body).is_some_and(|param| words.contains(&param))
}

/// Whether a refusal is about the name of the model. Where the provider says in a field of its own what is wrong, words do not
/// count: "not supported with this model" is about something else.
fn is_about_model(body: &Value, code: &str, said: &str) -> bool {
    if ["model_not_found", "unknown_model", "invalid_model"].contains(&code) || param(body) == Some("model") {
        return true;
    }
    let has_code = body.pointer("/error/code").is_some_and(Value::is_string);
    if has_code && code != "invalid_request_error" || param(body).is_some() {
        return false;
    }
    let lower = said.to_lowercase();
    let words = ["not exist", "not found", "invalid model", "unknown model", "not a valid model"];
    lower.contains("model") && words.iter().any(|words| lower.contains(words))
}

/// The field of the request that the provider names.
fn param(body: &Value) -> Option<&str> {
    body.pointer("/error/param")?.as_str()
}

/// The wait that Google names in the body: `{error: {details: [{retryDelay: "4s"}]}}`.
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
    fn what_helps_depends_on_what_the_provider_says() {
        let openai = r#"{"error": {"message": "The model `gpt-9` does not exist", "code": "model_not_found"}}"#;
        let full = r#"{"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}"#;
        let shape = r#"{"error": {"message": "'response_format' of type 'json_schema' is not supported"}}"#;
        for (status, body, cure) in [
            (404, openai, Cure::Name),
            (404, "no such page", Cure::None),
            (400, openai, Cure::Name),
            (400, shape, Cure::NoSchema),
            (400, "no JSON", Cure::None),
            (401, "{}", Cure::None),
            (429, "{}", Cure::Later(None)),
            (429, full, Cure::None),
            (529, "{}", Cure::Later(None)),
        ] {
            assert_eq!(fault(status, body).cure, cure, "{status} {body}");
        }
    }

    #[test]
    fn what_a_model_cannot_do_is_not_taken_for_a_model_that_is_not_there() {
        let schema = r#"{"error": {"message": "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
            "type": "invalid_request_error", "param": null, "code": null}}"#;
        let tokens = r#"{"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model.",
            "type": "invalid_request_error", "param": "max_tokens", "code": "unsupported_parameter"}}"#;
        let length = r#"{"error": {"message": "This model's maximum context length was not found to be enough", "code": "context_length_exceeded"}}"#;
        for (body, cure) in [
            (schema, Cure::NoSchema),
            (tokens, Cure::None),
            (length, Cure::None),
            (r#"{"error": {"message": "No.", "param": "model"}}"#, Cure::Name),
            (r#"{"error": {"message": "Model Not Exist", "code": "invalid_request_error"}}"#, Cure::Name),
            (r#"{"message": "Invalid model: mistral-hge", "type": "invalid_model"}"#, Cure::Name),
        ] {
            assert_eq!(fault(400, body).cure, cure, "{body}");
        }
    }

    #[test]
    fn a_wait_that_stands_in_the_body_is_kept() {
        let body = r#"{"error": {"message": "full", "details": [{"@type": "x"}, {"retryDelay": "4.5s"}]}}"#;
        assert_eq!(fault(429, body).cure, Cure::Later(Some(Duration::from_millis(4_500))));
    }

    #[test]
    fn a_key_is_masked_before_the_message_is_cut() {
        let key = "sk-0123456789abcdef";
        let secrets = Secrets::from_values([key.to_owned()]);
        for filler in 440..520 {
            let said = format!(r#"{{"error": {{"message": "{} {key}"}}}}"#, "x".repeat(filler));
            let message = fault(401, &said).message(&secrets);
            assert!(!message.contains("sk-0") && message.chars().count() <= MAX_MESSAGE + 1, "{message}");
        }
    }
}
