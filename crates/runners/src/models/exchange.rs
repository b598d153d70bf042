//! One request to a provider and its response: bounded bytes, then server-sent events or one JSON object, then a [`Reply`].

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, RequestBuilder, Response};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::fault::Fault;
use super::formats::{Format, Reply};
use super::json_limit::has_too_many_values;
use super::model_call::ModelCall;
use super::providers::Target;
use super::sse::EventReader;

/// The most bytes of an error response, and the longest time to read it. Its status and headers are used even if its body is incomplete.
const MAX_ERROR_BYTES: usize = 64 * 1024;
const ERROR_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends a call and reads its response into `reply`, so that the caller has the received part even if it stops waiting.
pub(super) async fn exchange(
    client: &Client,
    call: &ModelCall,
    reply: &mut Reply,
    on_text: &(dyn Fn(&str) + Sync),
) -> Result<(), Fault> {
    let format = call.target.format;
    let body = format.body(call).map_err(Fault::not_sent)?.to_string();
    let endpoint = format.endpoint();
    let path = if call.stream { endpoint.stream_path } else { endpoint.path };
    let request = client.post(call.target.address(&path.replace("{model}", &call.target.model)));
    let request = request.header(CONTENT_TYPE, "application/json").header("idempotency-key", key(call, &body));
    let response = send(request.body(body), &call.target, call.max_bytes).await?;
    let result = Reading { format, reply, on_text }.read(response).await;
    reply.declined().map_or(result, Err)
}

/// The names of the provider's models; empty if it does not list them.
pub(super) async fn model_names(client: &Client, call: &ModelCall) -> Vec<String> {
    listed_models(client, &call.target, call.max_bytes).await.unwrap_or_default()
}

/// Requests the names of a provider's models.
pub(super) async fn listed_models(client: &Client, target: &Target, max_bytes: u64) -> Result<Vec<String>, Fault> {
    let response = send(client.get(target.address("models")), target, max_bytes).await?;
    let body = response.whole(Vec::new()).await?;
    let body: Value =
        if has_too_many_values(&body) { Value::Null } else { serde_json::from_slice(&body).unwrap_or_default() };
    let models = body["data"].as_array().or(body["models"].as_array()).into_iter().flatten();
    let name = |model: &Value| {
        let name = model["id"].as_str().or(model["name"].as_str())?;
        Some(name.strip_prefix("models/").unwrap_or(name).to_owned())
    };
    Ok(models.filter_map(name).collect())
}

/// The idempotency key of a request. The body is part of it, so that different requests never share a key.
fn key(call: &ModelCall, body: &str) -> String {
    let digest = Sha256::new().chain_update(call.key()).chain_update([0]).chain_update(body).finalize();
    URL_SAFE_NO_PAD.encode(digest)
}

async fn send(request: RequestBuilder, target: &Target, max_bytes: u64) -> Result<Incoming<'_>, Fault> {
    let endpoint = target.format.endpoint();
    let (name, scheme) = endpoint.key_header;
    let key = target.key.as_ref().map(|key| (name, format!("{scheme}{key}")));
    let headers = endpoint.header.map(|(name, value)| (name, value.to_owned())).into_iter().chain(key);
    let request = headers.fold(request, |request, (name, value)| request.header(name, value));
    let response = request.send().await.map_err(|error| target.lost(error))?;
    if response.status().is_success() {
        Ok(Incoming { response, target, bytes: 0, max_bytes })
    } else {
        Err(refusal(response).await)
    }
}

async fn refusal(mut response: Response) -> Fault {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_ERROR_BYTES {
                return body.truncate(MAX_ERROR_BYTES);
            }
        }
    };
    let _ = tokio::time::timeout(ERROR_TIMEOUT, read).await;
    Fault::refused(response.status(), &body, response.headers())
}

/// The body of a response, read up to a limit. Bytes are counted after decompression.
struct Incoming<'t> {
    response: Response,
    target: &'t Target,
    bytes: u64,
    max_bytes: u64,
}

impl Incoming<'_> {
    async fn extend(&mut self, buffer: &mut Vec<u8>) -> Result<bool, Fault> {
        let chunk = self.response.chunk().await.map_err(|error| self.target.lost(error))?;
        let Some(chunk) = chunk else { return Ok(false) };
        self.bytes += chunk.len() as u64;
        if self.bytes > self.max_bytes {
            return Err(Fault::too_long(self.max_bytes));
        }
        buffer.extend_from_slice(&chunk);
        Ok(true)
    }

    /// The rest of the body.
    async fn whole(mut self, mut body: Vec<u8>) -> Result<Vec<u8>, Fault> {
        while self.extend(&mut body).await? {}
        Ok(body)
    }
}

/// Reads a response into a reply.
struct Reading<'r> {
    format: &'static dyn Format,
    reply: &'r mut Reply,
    /// Receives the text of the reply while it arrives.
    on_text: &'r (dyn Fn(&str) + Sync),
}

impl Reading<'_> {
    /// Reads a response. A server that does not stream responds with one object, whatever the request asks for.
    async fn read(&mut self, mut response: Incoming<'_>) -> Result<(), Fault> {
        let mut start = Vec::new();
        while response.extend(&mut start).await? {
            match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
                Some(b'{') => return self.read_object(response, start).await,
                Some(_) => return self.read_events(response, start).await,
                None => start.clear(),
            }
        }
        Err(Fault::cut())
    }

    async fn read_object(&mut self, response: Incoming<'_>, start: Vec<u8>) -> Result<(), Fault> {
        let body = response.whole(start).await?;
        let unreadable =
            |error: serde_json::Error| if error.is_eof() { Fault::cut() } else { Fault::unreadable(&error) };
        self.read_value(&body, unreadable)
    }

    async fn read_events(&mut self, mut response: Incoming<'_>, mut chunk: Vec<u8>) -> Result<(), Fault> {
        let beginning = String::from_utf8_lossy(&chunk[..chunk.len().min(500)]).into_owned();
        let mut events = EventReader::default();
        let (mut has_events, mut is_end) = (false, false);
        loop {
            events.push(&chunk);
            while let Some(data) = events.next(is_end).map_err(|error| Fault::invalid_event(&error))? {
                has_events = true;
                if data == "[DONE]" {
                    return Ok(());
                }
                // The end of the response may cut the last event.
                let unreadable = |error| if is_end { Fault::cut() } else { Fault::unreadable(&error) };
                self.read_value(data.as_bytes(), unreadable)?;
                if self.reply.is_complete {
                    return Ok(());
                }
            }
            if is_end {
                break;
            }
            chunk.clear();
            is_end = !response.extend(&mut chunk).await?;
        }
        let content_type = response.response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default();
        // Some servers send a stop reason but no event that marks the end.
        if self.reply.stop_reason.is_some() {
            Ok(())
        } else if has_events || content_type.contains("event-stream") {
            Err(Fault::cut())
        } else {
            Err(Fault::not_a_model(content_type, &beginning))
        }
    }

    /// Reads an event or an object into the reply.
    fn read_value(&mut self, json: &[u8], unreadable: impl FnOnce(serde_json::Error) -> Fault) -> Result<(), Fault> {
        if has_too_many_values(json) {
            return Err(Fault::too_many_values());
        }
        let body: Value = serde_json::from_slice(json).map_err(unreadable)?;
        if body["error"].is_object() || body["error"].is_string() {
            return Err(Fault::reported(&body));
        }
        let before = self.reply.text.len();
        let result = self.format.read(&body, self.reply);
        if self.reply.text.len() > before {
            (self.on_text)(&self.reply.text[before..]);
        }
        result
    }
}
