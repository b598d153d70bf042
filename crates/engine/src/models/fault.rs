//! Why a provider gave no answer, and what to do about it.

use std::error::Error;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::network::{causes, refusal};
use crate::patience::retry_after;

/// How much of what a provider says about an error is told.
const TOLD: usize = 500;

/// One call that failed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    /// One sentence for people, without anything secret.
    pub(super) message: String,
    pub(super) cure: Cure,
    /// Whether the provider has answered at all.
    pub(super) answered: bool,
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
}

impl Fault {
    /// An answer that ended before its end.
    pub(super) fn cut() -> Self {
        Self { message: "the model's answer broke off".to_owned(), cure: Cure::Later(None), answered: false }
    }

    pub(super) fn of(error: &genai::Error) -> Self {
        match error {
            genai::Error::WebStream { error, .. } => match error.downcast_ref::<genai::Error>() {
                Some(inner) => Self::of(inner),
                None => lost(error.as_ref()),
            },
            genai::Error::HttpError { status, body, headers, .. } => answered(*status, body, Some(headers)),
            genai::Error::WebModelCall { webc_error, .. } | genai::Error::WebAdapterCall { webc_error, .. } => {
                match webc_error {
                    genai::webc::Error::ResponseFailedStatus { status, body, headers } => {
                        answered(*status, body, Some(headers))
                    }
                    genai::webc::Error::Reqwest(error) => lost(error),
                    other => unreadable(&other.to_string()),
                }
            }
            genai::Error::ChatResponse { body, .. } => in_stream(body),
            other => unreadable(&other.to_string()),
        }
    }
}

/// Nothing came, or it did not come whole; or it was not sent, because documents do not reach that address.
fn lost(error: &(dyn Error + 'static)) -> Fault {
    if let Some(refused) = refusal(error) {
        return Fault { message: refused.to_string(), cure: Cure::None, answered: false };
    }
    let told = causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ");
    let message = format!("the provider cannot be reached, or the connection broke: {}", short(&told));
    Fault { message, cure: Cure::Later(None), answered: false }
}

/// Something came that is no answer of this kind of provider.
fn unreadable(cause: &str) -> Fault {
    let message = format!("the provider's answer cannot be read: {}", short(cause));
    Fault { message, cure: Cure::Later(None), answered: true }
}

/// An error in the middle of an answer has no status, only a type.
fn in_stream(body: &Value) -> Fault {
    let (said, kind) = (said(body), code(body));
    let passing = ["overloaded", "rate_limit", "api_error", "server_error", "internal", "timeout", "unavailable"];
    let cure =
        if kind.is_empty() || passing.iter().any(|word| kind.contains(word)) { Cure::Later(None) } else { Cure::None };
    Fault { message: format!("the model stopped in the middle of its answer: {said}"), cure, answered: true }
}

fn answered(status: StatusCode, body: &str, headers: Option<&HeaderMap>) -> Fault {
    let body: Value = serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned()));
    let (said, code) = (said(&body), code(&body));
    let about_model = {
        let lower = said.to_lowercase();
        lower.contains("model")
            && ["not exist", "not found", "not supported", "invalid model", "unknown"]
                .iter()
                .any(|words| lower.contains(words))
    };
    let about_shape =
        ["response_format", "json_schema", "output_config", "output_format"].iter().any(|word| said.contains(word));
    let (message, cure) = match status.as_u16() {
        401 | 403 => (format!("the provider refused the key ({status}): {said}"), Cure::None),
        404 if code == "model_not_found" || said.to_lowercase().contains("model") => (said.clone(), Cure::Name),
        404 => (format!("the provider knows no such call; is its address right? ({status}): {said}"), Cure::None),
        400 | 422 if code == "model_not_found" || about_model => (said.clone(), Cure::Name),
        400 | 422 if about_shape => (said.clone(), Cure::NoSchema),
        429 if code == "insufficient_quota" => (format!("the account has nothing left ({status}): {said}"), Cure::None),
        408 | 409 | 425 | 429 | 500..=599 => {
            let header = |name: &str| headers?.get(name)?.to_str().ok();
            (format!("the provider is busy or broken ({status}): {said}"), Cure::Later(retry_after(header)))
        }
        _ => (format!("the provider refused the call ({status}): {said}"), Cure::None),
    };
    Fault { message, cure, answered: true }
}

/// What the provider says, wherever it stands.
fn said(body: &Value) -> String {
    let places = ["/error/message", "/message", "/error", "/detail"];
    let text = places.iter().find_map(|place| body.pointer(place)?.as_str());
    short(text.map_or_else(|| body.to_string(), str::to_owned).trim())
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
        assert!(fault(400, &"x".repeat(5_000)).message.chars().count() < 700);
    }
}
