//! Reads requests: JSON bodies, queries and path parameters, whose errors are problem responses.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse as _;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::data_errors::DataError;
use crate::problem::{Problem, ProblemKind};

/// A JSON body.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        if !is_json(request.headers()) {
            let detail = "The body must be JSON. Send it with `Content-Type: application/json`.";
            return Err(Problem::new(ProblemKind::UnsupportedMedia, detail));
        }
        let bytes = Bytes::from_request(request, app).await.map_err(|rejection| unread(&rejection, app))?;
        parse(&bytes).map(Self)
    }
}

/// A JSON body that may be missing.
pub(crate) struct OptionalBody<T>(pub(crate) T);

impl<T: DeserializeOwned + Default> FromRequest<App> for OptionalBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let is_json = is_json(request.headers());
        let bytes = Bytes::from_request(request, app).await.map_err(|rejection| unread(&rejection, app))?;
        match bytes.is_empty() {
            true => Ok(Self(T::default())),
            false if is_json => parse(&bytes).map(Self),
            false => {
                let detail = "The body must be JSON. Send it with `Content-Type: application/json`.";
                Err(Problem::new(ProblemKind::UnsupportedMedia, detail))
            }
        }
    }
}

/// Parses a JSON text of a request.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        unparsed(&path, error.inner())
    })?;
    reader.end().map_err(|error| unparsed("", &error))?;
    Ok(value)
}

fn unparsed(path: &str, error: &serde_json::Error) -> Problem {
    if error.is_data() {
        Problem::invalid_input(sentence("The body is invalid", &DataError::new(path, &error.to_string())))
    } else {
        Problem::bad_request(format!("The body is not valid JSON: {error}."))
    }
}

/// A problem in data of a request, as sentences.
fn sentence(what: &str, error: &DataError) -> String {
    let help = error.help.as_ref().map(|help| {
        let end = if help.ends_with('?') { "" } else { "." };
        format!(" {}{end}", capitalized(help))
    });
    format!("{what}: {}.{}", error.problem, help.unwrap_or_default())
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn unread(rejection: &BytesRejection, app: &App) -> Problem {
    if rejection.status() == axum::http::StatusCode::PAYLOAD_TOO_LARGE {
        return too_large(app.settings.body_bytes);
    }
    Problem::bad_request("The body could not be read.")
}

/// A body that exceeds a limit.
pub(crate) fn too_large(limit: usize) -> Problem {
    Problem::new(ProblemKind::TooLarge, format!("The body exceeds {limit} bytes.")).with("limit", limit)
}

/// Whether a request declares a JSON body.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    media_type(headers).is_some_and(|media| media == "application/json" || media.ends_with("+json"))
}

/// The media type of a request body without its parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

/// The parameters of a query.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<App> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let query = axum::extract::Query::<T>::from_request_parts(parts, app).await;
        Ok(Self(query.map_err(|rejection| Problem::bad_request(invalid_query(&rejection.body_text())))?.0))
    }
}

/// Rewords a rejection of a query: `Failed to deserialize query string: limit: invalid digit found in string`.
fn invalid_query(message: &str) -> String {
    let message = message.strip_prefix("Failed to deserialize query string: ").unwrap_or(message);
    let (parameter, message) = message.split_once(": ").unwrap_or(("", message));
    let numbers = ["invalid digit found in string", "cannot parse integer from empty string"];
    if numbers.contains(&message) {
        return format!("The query is invalid: `{parameter}` must be a whole number.");
    }
    // A message without a parameter contains `: ` itself.
    let (path, message) =
        if parameter.contains(' ') { ("", format!("{parameter}: {message}")) } else { (parameter, message.to_owned()) };
    sentence("The query is invalid", &DataError::new(path, &message))
}

/// The parameters of a path.
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let path = axum::extract::Path::<T>::from_request_parts(parts, app).await;
        let path = path.map_err(|rejection| {
            if rejection.into_response().status().is_client_error() {
                Problem::bad_request("The path has an invalid parameter.")
            } else {
                Problem::new(ProblemKind::Internal, "The path could not be read.")
            }
        })?;
        Ok(Self(path.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Start {
        #[serde(rename = "workflow")]
        _workflow: String,
        #[serde(rename = "tags", default)]
        _tags: Vec<String>,
    }

    #[track_caller]
    fn check(body: &str, expect: &str) {
        let problem = parse::<Start>(body.as_bytes()).expect_err("the body is invalid");
        assert_eq!(problem.detail(), expect, "{body}");
    }

    #[test]
    fn invalid_bodies_name_the_field_and_the_remedy() {
        check(r#"{"worklow": "a"}"#, "The body is invalid: unknown field `worklow`. Did you mean `workflow`?");
        check(r#"{"x": "a"}"#, "The body is invalid: unknown field `x`. The fields are `workflow`, `tags`.");
        check(r#"{"workflow": "a", "tags": "b"}"#, "The body is invalid: `tags` must be a list, but is \"b\".");
        check(r#"{"workflow": "a", "tags": [1]}"#, "The body is invalid: `tags[0]` must be text, but is 1.");
        check("[]", "The body is invalid: the data must be an object, but is a list of length 0.");
        check("{}", "The body is invalid: `workflow` is missing.");
        check("{", "The body is not valid JSON: EOF while parsing an object at line 1 column 1.");
        check(r#"{"workflow": "a"} x"#, "The body is not valid JSON: trailing characters at line 1 column 19.");
    }

    #[test]
    fn invalid_queries_name_the_parameter() {
        let message = "Failed to deserialize query string: limit: invalid digit found in string";
        assert_eq!(invalid_query(message), "The query is invalid: `limit` must be a whole number.");
        let message = "Failed to deserialize query string: missing field `signed`";
        assert_eq!(invalid_query(message), "The query is invalid: `signed` is missing.");
    }
}
