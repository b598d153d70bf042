//! A server at an address: its messages, none longer than the settings say, and what came instead of one, told plainly.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::{BoxStream, try_unfold};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Method, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use super::super::wire::reason;
use super::measure::{Ends, Measure};
use super::trouble::Trouble;
use crate::network::Source;
use crate::network::clients::Clients;
use crate::secrets::Secrets;

/// The code of an error that is no server's: its answer was too long. It is one that the protocol leaves to those who use it.
pub(super) const TOO_LONG: ErrorCode = ErrorCode(-32_099);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// What the protocol sets itself.
pub(super) const OURS: [HeaderName; 4] = [ACCEPT, CONTENT_TYPE, SESSION, LAST_EVENT];

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// How much of an answer that is no message is told.
const TOLD_CHARS: usize = 200;

type Failure = StreamableHttpError<Trouble>;

/// What speaks to a server at an address.
#[derive(Clone, Debug)]
pub(super) struct Address {
    client: Client,
    server: Arc<str>,
    /// What the server was given, and may repeat.
    secrets: Secrets,
    max_bytes: u64,
}

impl Address {
    pub(super) fn new(
        server: &Arc<str>,
        clients: &Clients,
        secrets: &Secrets,
        max_bytes: u64,
    ) -> Result<Self, Trouble> {
        let client = clients
            .client(Source::Operator)
            .map_err(|why| Trouble::Unheard(format!("the MCP server `{server}` cannot be reached: {why}")))?;
        Ok(Self { client: client.clone(), server: Arc::clone(server), secrets: secrets.clone(), max_bytes })
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        headers: HashMap<HeaderName, HeaderValue>,
        ours: [(HeaderName, Option<&str>); 2],
        body: Option<Vec<u8>>,
    ) -> Result<Response, Trouble> {
        let mut headers: HeaderMap = headers.into_iter().collect();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        for (name, value) in ours {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        }
        let mut request = self.client.request(method, url);
        if let Some(body) = body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
            request = request.body(body);
        }
        let sent = request.headers(headers).send().await;
        // A secret may stand in the address.
        sent.map_err(|error| unreached(&self.server, &error.without_url()))
    }

    fn measure(&self, ends: Ends) -> Measure {
        Measure::new(&self.server, self.max_bytes, ends)
    }

    /// An answer, read whole.
    async fn whole(&self, mut response: Response) -> Result<Vec<u8>, Trouble> {
        let mut measure = self.measure(Ends::Never);
        if response.content_length().is_some_and(|length| length > self.max_bytes) {
            return Err(measure.too_long());
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| unreached(&self.server, &error.without_url()))? {
            measure.add(&chunk)?;
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    /// An answer that comes in events. Whoever waits for it is told when it is too long.
    fn events(
        &self,
        response: Response,
        ends: Ends,
        awaited: Option<RequestId>,
    ) -> BoxStream<'static, Result<Sse, SseError>> {
        let (measure, server) = (self.measure(ends), Arc::clone(&self.server));
        let bytes = try_unfold((response, measure), move |(mut response, mut measure)| {
            let server = Arc::clone(&server);
            async move {
                let chunk = response.chunk().await.map_err(|error| unreached(&server, &error.without_url()))?;
                let Some(chunk) = chunk else { return Ok::<_, Trouble>(None) };
                measure.add(&chunk)?;
                Ok(Some((chunk, (response, measure))))
            }
        });
        let events = SseStream::from_bytes_stream(bytes).map(move |event| match (event, &awaited) {
            (Err(SseError::Body(error)), Some(id)) => match error.downcast_ref::<Trouble>() {
                Some(Trouble::Lasting(why)) => Ok(gave_up(why, id)),
                _ => Err(SseError::Body(error)),
            },
            (event, _) => event,
        });
        events.boxed()
    }

    /// What came with a status that is no success. An error of the protocol is one all the same.
    async fn refusal(
        &self,
        response: Response,
        session: Option<String>,
    ) -> Result<StreamableHttpPostResponse, Trouble> {
        let (status, to) = (response.status(), header(&response, LOCATION));
        let body = self.whole(response).await.unwrap_or_default();
        let is_barred = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(message @ ServerJsonRpcMessage::Error(_)) if !is_barred => {
                return Ok(StreamableHttpPostResponse::Json(message, session));
            }
            _ => {}
        }
        let (server, said) = (&self.server, first_words(&body, &self.secrets));
        let may_pass = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
        let way_out = match to.filter(|_| status.is_redirection()) {
            Some(to) => {
                format!(
                    ", a redirect to `{to}`, which is not followed; if it is meant, make it the url of [mcp.{server}]"
                )
            }
            None if is_barred => format!("{said}; check headers_from of [mcp.{server}] in the settings"),
            None if may_pass => said,
            None => format!("{said}; check the url of [mcp.{server}] in the settings"),
        };
        let message = format!("the MCP server `{server}` answers with {status}{way_out}");
        Err(if may_pass { Trouble::Passing(message) } else { Trouble::Lasting(message) })
    }

    /// What came with a success and is no message.
    fn no_message(&self, kind: &str, body: &[u8]) -> Failure {
        let (server, said) = (&self.server, first_words(body, &self.secrets));
        StreamableHttpError::Client(Trouble::Lasting(format!(
            "the MCP server `{server}` answers with {kind} that is no message of the protocol{said}; check the url of \
             [mcp.{server}] in the settings"
        )))
    }
}

impl StreamableHttpClient for Address {
    type Error = Trouble;

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
        let body = serde_json::to_vec(&message)?;
        let ours = [(SESSION, session_id.as_deref()), (LAST_EVENT, None)];
        let response = self.send(Method::POST, &uri, headers, ours, Some(body)).await.map_err(Failure::Client)?;
        let session = header(&response, SESSION);
        match response.status() {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => return Ok(StreamableHttpPostResponse::Accepted),
            StatusCode::NOT_FOUND if session_id.is_some() => return Err(StreamableHttpError::SessionExpired),
            status if !status.is_success() => return self.refusal(response, session).await.map_err(Failure::Client),
            _ => {}
        }
        let kind = header(&response, CONTENT_TYPE).unwrap_or_default();
        if kind.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(self.events(response, Ends::Never, awaited), session));
        }
        let body = self.whole(response).await.map_err(Failure::Client)?;
        match serde_json::from_slice(&body) {
            Ok(message) if kind.starts_with(JSON) => Ok(StreamableHttpPostResponse::Json(message, session)),
            // Nobody waits for an answer, so whatever came is none.
            _ if awaited.is_none() => Ok(StreamableHttpPostResponse::Accepted),
            _ => Err(self.no_message(if kind.is_empty() { "something" } else { &kind }, &body)),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        // Many servers keep no sessions that could be ended, and nothing depends on it.
        let ours = [(SESSION, Some(&*session_id)), (LAST_EVENT, None)];
        self.send(Method::DELETE, &uri, headers, ours, None).await.map(drop).map_err(Failure::Client)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let ours = [(SESSION, session_id.as_deref()), (LAST_EVENT, last_event_id.as_deref())];
        let response = self.send(Method::GET, &uri, headers, ours, None).await.map_err(Failure::Client)?;
        let speaks = header(&response, CONTENT_TYPE).is_some_and(|kind| kind.starts_with(EVENTS));
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if status.is_success() && speaks => Ok(self.events(response, Ends::AtBlankLine, None)),
            status if status.is_success() => Err(self.no_message("something", &[])),
            _ => match self.refusal(response, None).await {
                Ok(_) => Err(StreamableHttpError::ServerDoesNotSupportSse),
                Err(trouble) => Err(StreamableHttpError::Client(trouble)),
            },
        }
    }
}

/// The event that ends the waiting for an answer.
fn gave_up(why: &str, id: &RequestId) -> Sse {
    let error = ErrorData::new(TOO_LONG, why.to_owned(), None);
    let message = ServerJsonRpcMessage::error(error, Some(id.clone()));
    Sse::default().data(serde_json::to_string(&message).unwrap_or_default())
}

fn header(response: &Response, name: HeaderName) -> Option<String> {
    response.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn unreached(server: &str, error: &reqwest::Error) -> Trouble {
    Trouble::Unheard(format!("the MCP server `{server}` cannot be reached, or the connection broke: {}", reason(error)))
}

/// The beginning of an answer on one line, to be put behind what is said about it. Secrets are masked before it is cut: half of one
/// would not be known any more.
fn first_words(body: &[u8], secrets: &Secrets) -> String {
    let text = String::from_utf8_lossy(body);
    let text = secrets.mask(&text);
    let line = text.split_whitespace().take(TOLD_CHARS).collect::<Vec<_>>().join(" ");
    let told: String = line.chars().take(TOLD_CHARS).collect();
    if told.is_empty() { told } else { format!(" (it begins `{told}`)") }
}
