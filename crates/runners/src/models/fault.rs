//! Why a provider gave no answer, and what to do about it.

use std::error::Error;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::price::Tokens;
use crate::network::retry_after;
use crate::network::{causes, refusal};
use crate::secrets::Secrets;

/// How much of what a provider says about an error is told.
const TOLD: usize = 500;

/// One call that failed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    /// One sentence, as long as it is, with whatever the provider quotes: see [`Fault::told`].
    message: String,
    pub(super) cure: Cure,
    /// Whether the provider has answered at all.
    pub(super) answered: bool,
    /// What it used up all the same.
    pub(super) tokens: Tokens,
}

/// What may help.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cure {
    /// The same call a little later; the provider may have said when.
    Later(Option<Duration>),
    /// Nothing: the provider would say the same again.
    None,
    /// Another name: it does not know the model.
    Name,
    /// The same call without a schema: it does not know what one is.
    NoSchema,
    /// The same call without a stream: it does not know what one is.
    NoStream,
}

impl Fault {
    /// The provider has said something.
    fn heard(message: String, cure: Cure) -> Self {
        Self { message, cure, answered: true, tokens: Tokens::default() }
    }

    /// The provider has said nothing, or nobody knows what.
    fn unheard(message: String, cure: Cure) -> Self {
        Self { answered: false, ..Self::heard(message, cure) }
    }

    /// The same, after something was used up.
    pub(super) fn after(self, tokens: Tokens) -> Self {
        Self { tokens, ..self }
    }

    /// An answer that ended before its end.
    pub(super) fn cut() -> Self {
        Self::unheard("the model's answer broke off".to_owned(), Cure::Later(None))
    }

    /// What is wrong lies between us and the way out of this machine; the provider has nothing to do with it.
    pub(super) fn within(why: &str) -> Self {
        let message = format!("no connection could be made within this machine, or it broke: {why}");
        Self::unheard(message, Cure::Later(None))
    }

    /// Nothing went out, because it would not have been what was asked for.
    pub(super) fn not_sent(why: String) -> Self {
        Self::unheard(why, Cure::None)
    }

    /// Nothing came, or it did not come whole; or it was not sent, because documents do not reach that address.
    pub(super) fn lost(at: &str, error: &(dyn Error + 'static)) -> Self {
        if let Some(refused) = refusal(error) {
            return Self::unheard(refused.to_string(), Cure::None);
        }
        let message = format!("the provider at {at} cannot be reached, or the connection broke: {}", in_full(error));
        Self::unheard(message, Cure::Later(None))
    }

    /// An answer in which nothing stands.
    pub(super) fn empty() -> Self {
        Self::heard("the model's answer is empty".to_owned(), Cure::Later(None))
    }

    /// An answer that came, and not as a stream.
    pub(super) fn not_streamed() -> Self {
        let message = "the provider's answer is no stream; set `stream = false` in `[models]`".to_owned();
        Self::heard(message, Cure::NoStream)
    }

    /// No answer, because the model or its provider does not want to give one: it would not want to the next time either.
    pub(super) fn declined(word: &str, words: &str) -> Self {
        let words = if words.trim().is_empty() { String::new() } else { format!(": {}", words.trim()) };
        Self::heard(format!("the model gave no answer (`{word}`){words}"), Cure::None)
    }

    /// An answer of which more came than is read.
    pub(super) fn too_long(max_bytes: u64) -> Self {
        let message = format!(
            "the provider's answer has more than the {max_bytes} bytes that are read; raise `max_response_bytes` in `[models]`"
        );
        Self::heard(message, Cure::None)
    }

    /// A stream with a line that nobody can mean.
    pub(super) fn too_long_a_line(max_bytes: usize) -> Self {
        let message = format!(
            "a line of the provider's answer has more than the {max_bytes} bytes that are read of one; with `stream = false` in \
             `[models]` there is no such limit"
        );
        Self::heard(message, Cure::None)
    }

    /// What is told of it. Secrets are masked before it is cut, because half of one would not be found.
    pub(super) fn told(&self, secrets: &Secrets) -> String {
        short(&secrets.mask(&self.message))
    }

    /// What the library says. It talks to the relay, which tells by itself what is wrong with the way to the provider; so a
    /// connection that fails here is the one within this machine.
    pub(super) fn of(error: &genai::Error) -> Self {
        use genai::webc::Error as Web;
        match error {
            genai::Error::WebStream { error, .. } => match error.downcast_ref::<genai::Error>() {
                Some(inner) => Self::of(inner),
                None if error.is::<reqwest::Error>() => Self::within(&in_full(error.as_ref())),
                None => unreadable(&in_full(error.as_ref())),
            },
            genai::Error::HttpError { status, body, headers, .. } => answered(*status, body, Some(headers)),
            genai::Error::WebModelCall { webc_error, .. } | genai::Error::WebAdapterCall { webc_error, .. } => {
                match webc_error {
                    Web::ResponseFailedStatus { status, body, headers } => answered(*status, body, Some(headers)),
                    Web::ResponseFailedNotJson { content_type, body } => elsewhere(content_type, body),
                    Web::Reqwest(error) => Self::within(&in_full(error)),
                    other => unreadable(&other.to_string()),
                }
            }
            genai::Error::ChatResponse { body, .. } => in_stream(body),
            // It would tell the whole request too.
            genai::Error::ChatResponseGeneration { cause, .. } => unreadable(cause),
            other => unreadable(&other.to_string()),
        }
    }
}

/// An error with everything that led to it.
fn in_full(error: &(dyn Error + 'static)) -> String {
    causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// What came is no answer of a model at all, such as the page of a portal.
fn elsewhere(content_type: &str, body: &str) -> Fault {
    let message = format!(
        "what answers is no model: it says `{content_type}` and not JSON; is the address of the provider right? It begins: {}",
        body.trim()
    );
    Fault::heard(message, Cure::None)
}

/// Something came that is no answer of this kind of provider.
fn unreadable(cause: &str) -> Fault {
    let message = format!("the provider's answer cannot be read: {cause}");
    Fault::heard(message, Cure::Later(None))
}

/// An error in the middle of an answer has no status, only a type.
fn in_stream(body: &Value) -> Fault {
    let (said, kind) = (said(body), code(body));
    let passing = ["overloaded", "rate_limit", "api_error", "server_error", "internal", "timeout", "unavailable"];
    let cure =
        if kind.is_empty() || passing.iter().any(|word| kind.contains(word)) { Cure::Later(None) } else { Cure::None };
    Fault::heard(format!("the model stopped in the middle of its answer: {said}"), cure)
}

fn answered(status: StatusCode, body: &str, headers: Option<&HeaderMap>) -> Fault {
    let body: Value = serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned()));
    let (said, code) = (said(&body), code(&body));
    let (message, cure) = match status.as_u16() {
        401 | 403 => (format!("the provider refused the key ({status}): {said}"), Cure::None),
        404 if code == "model_not_found" || said.to_lowercase().contains("model") => (said.clone(), Cure::Name),
        404 => (format!("the provider knows no such call; is its address right? ({status}): {said}"), Cure::None),
        // A model that cannot do something is known, so what it cannot do comes first.
        400 | 422 if is_about_shape(&body, &said) => (said.clone(), Cure::NoSchema),
        400 | 422 if is_about_model(&body, &code, &said) => (said.clone(), Cure::Name),
        429 if code == "insufficient_quota" => (format!("the account has nothing left ({status}): {said}"), Cure::None),
        408 | 409 | 425 | 429 | 500..=599 => {
            let header = |name: &str| headers?.get(name)?.to_str().ok();
            let wanted = retry_after::retry_after(header).or_else(|| retry_delay(&body));
            let pause = retry_after::told(wanted);
            (format!("the provider is busy or broken ({status}){pause}: {said}"), Cure::Later(wanted))
        }
        _ => (format!("the provider refused the call ({status}): {said}"), Cure::None),
    };
    Fault::heard(message, cure)
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

/// How long Google wants us to wait, which stands in the body: `{error: {details: [{retryDelay: "4s"}]}}`.
fn retry_delay(body: &Value) -> Option<Duration> {
    let details = body.pointer("/error/details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// What the provider says, wherever it stands.
fn said(body: &Value) -> String {
    let places = ["/error/message", "/message", "/error", "/detail"];
    let text = places.iter().find_map(|place| body.pointer(place)?.as_str());
    text.map_or_else(|| body.to_string(), str::to_owned).trim().to_owned()
}

fn code(body: &Value) -> String {
    let places = ["/error/code", "/error/type", "/code", "/type"];
    places.iter().find_map(|place| body.pointer(place)?.as_str()).unwrap_or_default().to_owned()
}

fn short(text: &str) -> String {
    let mut short: String = text.chars().take(TOLD).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(status: u16, body: &str) -> Fault {
        answered(StatusCode::from_u16(status).expect("this is a status"), body, None)
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
    fn a_key_is_masked_before_what_is_told_is_cut() {
        let key = "sk-0123456789abcdef";
        let secrets = Secrets::from_values([key.to_owned()]);
        for filler in 440..520 {
            let said = format!(r#"{{"error": {{"message": "{} {key}"}}}}"#, "x".repeat(filler));
            let told = fault(401, &said).told(&secrets);
            assert!(!told.contains("sk-0") && told.chars().count() <= TOLD + 1, "{told}");
        }
    }
}
