//! Reads requests: JSON bodies, queries and path parameters, whose errors are problem responses.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse as _;
use serde::de::DeserializeOwned;

use crate::app::App;
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
    serde_json::from_slice(bytes).map_err(|error| {
        if error.is_data() {
            Problem::invalid_input(format!("The body has an unexpected form: {error}."))
        } else {
            Problem::bad_request(format!("The body is not valid JSON: {error}."))
        }
    })
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
        let query = query.map_err(|rejection| Problem::bad_request(format!("{}.", rejection.body_text())))?;
        Ok(Self(query.0))
    }
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
