//! The HTTP client of an MCP server with a URL: it limits responses, and explains responses that are not messages.
//!
//! The client of `rmcp` opens the event stream and ends sessions. It does not send messages, because it reads JSON and error responses
//! without a limit and reports them in full length.

use std::collections::HashMap;
use std::error::Error;
use std::future::ready;
use std::mem;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION};
use reqwest::{Body, Client, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use tokio_util::bytes::Bytes;

use super::super::wire::reason;
use super::server::Config;
use super::server_error::ServerError;
use crate::network::Source;
use crate::secrets::Secrets;

/// The code of the error that replaces a response that is too long. The protocol reserves such codes for implementations.
pub(super) const TOO_LONG: ErrorCode = ErrorCode(-32_099);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Headers that the protocol sets itself.
pub(super) const RESERVED: [HeaderName; 4] = [ACCEPT, CONTENT_TYPE, SESSION, HeaderName::from_static("last-event-id")];

const EVENT_STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";

/// The characters of an unexpected body that are shown.
const SHOWN_CHARS: usize = 200;

type Failure = StreamableHttpError<ServerError>;

/// The client of one server.
#[derive(Clone, Debug)]
pub(super) struct HttpClient {
    client: Client,
    server: Arc<str>,
    /// Secrets of the server, which it may repeat.
    secrets: Secrets,
    max_bytes: usize,
}

impl HttpClient {
    pub(super) fn new(config: &Config) -> Result<Self, ServerError> {
        let server = Arc::clone(&config.name);
        let client = config
            .clients
            .client(Source::Operator)
            .map_err(|why| ServerError::Unanswered(format!("the MCP server `{server}` cannot be reached: {why}")))?;
        let max_bytes = config.settings.max_response_bytes;
        Ok(Self { client: client.clone(), server, secrets: config.secrets(), max_bytes })
    }

    /// The body of a response, which fails where it exceeds the limit. It is counted after decompression.
    fn body(&self, response: Response) -> UnsyncBoxBody<Bytes, ServerError> {
        let (server, max_bytes) = (Arc::clone(&self.server), self.max_bytes);
        let limited = Limited::new(Body::from(response), max_bytes).map_err(move |error| {
            if error.is::<LengthLimitError>() {
                ServerError::too_long(&server, max_bytes)
            } else {
                lost(&server, &*error)
            }
        });
        limited.boxed_unsync()
    }

    async fn read(&self, response: Response) -> Result<Bytes, ServerError> {
        Ok(self.body(response).collect().await?.to_bytes())
    }

    /// The events of a response. If they exceed the limit, the request that waits for one of them gets an error.
    fn events(&self, response: Response, awaited: Option<RequestId>) -> BoxStream<'static, Result<Sse, SseError>> {
        let events = SseStream::new(self.body(response)).scan(false, move |has_failed, event| {
            if mem::replace(has_failed, event.is_err()) {
                return ready(None);
            }
            ready(Some(match (event, &awaited) {
                (Err(SseError::Body(error)), Some(id)) => match error.downcast_ref() {
                    Some(ServerError::Permanent(why)) => Ok(error_event(why, id)),
                    _ => Err(SseError::Body(error)),
                },
                (event, _) => event,
            }))
        });
        events.boxed()
    }

    /// Explains a response whose status is not a success. An error of the protocol stays one.
    async fn refusal(
        &self,
        response: Response,
        session: Option<String>,
    ) -> Result<StreamableHttpPostResponse, ServerError> {
        let (status, to) = (response.status(), header(&response, LOCATION));
        let body = self.read(response).await.unwrap_or_default();
        let is_unauthorized = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(message @ ServerJsonRpcMessage::Error(_)) if !is_unauthorized => {
                return Ok(StreamableHttpPostResponse::Json(message, session));
            }
            _ => {}
        }
        let (server, start) = (&self.server, self.start_of(&body));
        let is_transient = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
        let remedy = match to.filter(|_| status.is_redirection()) {
            Some(to) => {
                format!(
                    ", a redirect to `{to}`, which is not followed; if that is the right address, set it as url of [mcp.{server}]"
                )
            }
            None if is_unauthorized => format!("{start}; check headers_from of [mcp.{server}] in the settings"),
            None if is_transient => start,
            None => format!("{start}; check the url of [mcp.{server}] in the settings"),
        };
        let message = format!("the MCP server `{server}` responded with {status}{remedy}");
        Err(if is_transient { ServerError::Transient(message) } else { ServerError::Permanent(message) })
    }

    /// Explains a successful response that is not a message.
    fn not_a_message(&self, kind: &str, body: &[u8]) -> Failure {
        let (server, start) = (&self.server, self.start_of(body));
        let kind = if kind.is_empty() { "something" } else { kind };
        StreamableHttpError::Client(ServerError::Permanent(format!(
            "the MCP server `{server}` responded with {kind} that is not an MCP message{start}; check the url of \
             [mcp.{server}] in the settings"
        )))
    }

    /// The start of a body on one line, for a message. Secrets are masked before it is truncated, because a part of one would not be recognised.
    fn start_of(&self, body: &[u8]) -> String {
        let text = String::from_utf8_lossy(body);
        let text = self.secrets.mask(&text);
        let line = text.split_whitespace().take(SHOWN_CHARS).collect::<Vec<_>>().join(" ");
        let start: String = line.chars().take(SHOWN_CHARS).collect();
        if start.is_empty() { start } else { format!(" (it begins with `{start}`)") }
    }

    /// Explains a failure of the client of `rmcp`.
    fn explain(&self, error: StreamableHttpError<reqwest::Error>) -> Failure {
        match error {
            StreamableHttpError::ServerDoesNotSupportSse => StreamableHttpError::ServerDoesNotSupportSse,
            // A secret may be part of the address.
            StreamableHttpError::Client(error) => StreamableHttpError::Client(lost(&self.server, &error.without_url())),
            error => StreamableHttpError::Client(lost(&self.server, &error)),
        }
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = ServerError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let awaited = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let mut request = self.client.post(&*uri).headers(headers.into_iter().collect());
        if let Some(session) = &session_id {
            request = request.header(SESSION, &**session);
        }
        let sent = request.header(ACCEPT, format!("{EVENT_STREAM}, {JSON}")).json(&message).send().await;
        let response = sent.map_err(|error| self.explain(StreamableHttpError::Client(error)))?;
        let session = header(&response, SESSION);
        let kind = header(&response, CONTENT_TYPE).unwrap_or_default();
        match response.status() {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => return Ok(StreamableHttpPostResponse::Accepted),
            StatusCode::NOT_FOUND if session_id.is_some() => return Err(StreamableHttpError::SessionExpired),
            status if !status.is_success() => return self.refusal(response, session).await.map_err(Failure::Client),
            _ if kind.starts_with(EVENT_STREAM) => {
                return Ok(StreamableHttpPostResponse::Sse(self.events(response, awaited), session));
            }
            _ => {}
        }
        let body = self.read(response).await.map_err(Failure::Client)?;
        match serde_json::from_slice(&body) {
            Ok(message) if kind.starts_with(JSON) => Ok(StreamableHttpPostResponse::Json(message, session)),
            // No request waits for this body.
            _ if awaited.is_none() => Ok(StreamableHttpPostResponse::Accepted),
            _ => Err(self.not_a_message(&kind, &body)),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        self.client.delete_session(uri, session_id, token, headers).await.map_err(|error| self.explain(error))
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let max_bytes = self.max_bytes;
        let opened = self
            .client
            .get_stream_with_max_sse_event_size(uri, session_id, last_event_id, token, headers, max_bytes)
            .await;
        opened.map_err(|error| self.explain(error))
    }
}

/// The event that fails a request.
fn error_event(why: &str, id: &RequestId) -> Sse {
    let error = ErrorData::new(TOO_LONG, why.to_owned(), None);
    let message = ServerJsonRpcMessage::error(error, Some(id.clone()));
    Sse::default().data(serde_json::to_string(&message).unwrap_or_default())
}

fn header(response: &Response, name: HeaderName) -> Option<String> {
    response.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn lost(server: &str, error: &(dyn Error + 'static)) -> ServerError {
    ServerError::Unanswered(format!(
        "the MCP server `{server}` cannot be reached, or the connection was lost: {}",
        reason(error)
    ))
}
