//! The one way of answers to the library. It reads whatever comes, however much, and lets nobody read for it; so it talks to this
//! relay, in this process, and the relay to the provider. What comes is counted on the way. Each call has a connection of its own,
//! which nobody else can reach (see `link.rs`), and no call can do harm to another.

mod link;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, DATE, HOST, HeaderMap, HeaderName, HeaderValue,
    RETRY_AFTER, TRANSFER_ENCODING,
};
use hyper::{Request, Response, StatusCode};
use sha2::{Digest, Sha256};

use super::attached::Attached;
use super::fault::Fault;
use link::Link;

/// Where the library finds the relay. The name is never looked up: all it asks goes over the socket.
const ADDRESS: &str = "http://relay/provider/";

/// By which a provider may know a request that it has had already.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// What belongs to a connection and not to what goes over it. What comes packed is unpacked before it is counted.
const OF_A_CONNECTION: [HeaderName; 5] = [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, ACCEPT_ENCODING];

/// What is read of the headers of an answer. The rest may be more than the library takes.
const READ: [HeaderName; 4] = [CONTENT_TYPE, DATE, RETRY_AFTER, HeaderName::from_static("retry-after-ms")];

/// How much of a refusal is read, and for how long.
const REFUSAL_BYTES: usize = 64 * 1024;
const REFUSAL_PATIENCE: Duration = Duration::from_secs(5);

/// One call while it lasts.
struct Call {
    client: reqwest::Client,
    /// Where the provider is, with a slash where the path ends.
    url: Arc<str>,
    sent: Sent,
    bounds: Bounds,
    /// What went wrong between the relay and the provider.
    fault: Mutex<Option<Fault>>,
}

/// What is known of a request before the library writes it.
#[derive(Default)]
pub(super) struct Sent {
    /// What it is known by, together with its body: one that is the same, after an answer that did not come, has the same key.
    /// None: it asks for nothing that costs anything.
    pub(super) key: Option<String>,
    /// What must be in it.
    pub(super) attached: Vec<Attached>,
}

/// How much may come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    bytes: u64,
    /// In one line, which is kept here until it has ended. None: lines mean nothing.
    line: Option<usize>,
}

impl Bounds {
    /// What a line of a stream may have: an image fits into it.
    const LINE: usize = 8 * 1024 * 1024;

    pub(super) fn of_stream(bytes: u64) -> Self {
        Self { bytes, line: Some(Self::LINE) }
    }

    pub(super) fn of_whole(bytes: u64) -> Self {
        Self { bytes, line: None }
    }
}

/// The way to a provider for one call.
pub(super) struct Passage {
    library: genai::Client,
    call: Arc<Call>,
    _link: Link,
}

impl Passage {
    /// A way to an address, over which no more than so much comes back.
    pub(super) fn open(client: &reqwest::Client, url: &Arc<str>, sent: Sent, bounds: Bounds) -> Result<Self, Fault> {
        let (client, url) = (client.clone(), Arc::clone(url));
        let call = Arc::new(Call { client, url, sent, bounds, fault: Mutex::default() });
        let made = Link::new(Arc::clone(&call));
        let (link, within) = made.map_err(|why| Fault::within(&why))?;
        let library = genai::Client::builder().with_reqwest(within).build().map_err(|why| Fault::of(&why))?;
        Ok(Self { library, call, _link: link })
    }

    /// The library, which is to go this way.
    pub(super) fn library(&self) -> &genai::Client {
        &self.library
    }

    /// The address at which the library finds the provider.
    pub(super) fn url() -> &'static str {
        ADDRESS
    }

    /// What went wrong, in the words of whoever knows: the library only sees that something did.
    pub(super) fn fault(&self, error: &genai::Error) -> Fault {
        self.own_fault().unwrap_or_else(|| Fault::of(error))
    }

    #[cfg(test)]
    pub(super) fn break_off(&self, fault: Fault) {
        let _ = self.call.broken(fault);
    }

    /// What went wrong between the relay and the provider, whether the library has seen it or not.
    pub(super) fn own_fault(&self) -> Option<Fault> {
        lock(&self.call.fault).take()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn relayed(call: Arc<Call>, request: Request<Incoming>) -> Result<Response<Passing>, Broken> {
    let path = request.uri().path_and_query().map_or("", |path| path.as_str());
    let Some(rest) = path.strip_prefix("/provider/") else { return Ok(nowhere()) };
    let url = call.address_of(rest);
    let (head, body) = request.into_parts();
    let body = whole(body).await.map_err(|_| Broken)?;
    if let Some(why) = call.left_out(&body) {
        return Err(call.broken(Fault::not_sent(why)));
    }
    let mut headers = carried(&head.headers);
    headers.extend(call.key_of(&body).map(|key| (KEY, key)));
    let asked = call.client.request(head.method, url).headers(headers).body(body);
    match asked.send().await {
        Ok(answer) if answer.status().is_success() => Ok(call.counted(answer)),
        Ok(answer) => Ok(refusal(answer).await),
        Err(error) => Err(call.lost(error)),
    }
}

/// A refusal with the beginning of its words. Its status and headers say the most: they count though its words have no end, do not
/// come, or break off.
async fn refusal(mut answer: reqwest::Response) -> Response<Passing> {
    let (status, headers) = (answer.status(), returned(answer.headers()));
    let mut words = Vec::new();
    let read = async {
        while let Ok(Some(piece)) = answer.chunk().await {
            words.extend_from_slice(&piece);
            if words.len() > REFUSAL_BYTES {
                words.truncate(REFUSAL_BYTES);
                return;
            }
        }
    };
    let _ = tokio::time::timeout(REFUSAL_PATIENCE, read).await;
    told(status, headers, words.into())
}

fn told(status: StatusCode, headers: HeaderMap, words: Bytes) -> Response<Passing> {
    let mut answer = Response::new(Passing::Told(Some(words)));
    *answer.status_mut() = status;
    *answer.headers_mut() = headers;
    answer
}

/// The answer to a request whose address leads out of the provider's, as the name of a model might; it would again.
fn nowhere() -> Response<Passing> {
    let words = "the call leads away from the address of its provider".into();
    told(StatusCode::NOT_FOUND, HeaderMap::new(), words)
}

impl Call {
    #[cfg(test)]
    fn to_nowhere() -> Arc<Self> {
        let client = super::client::within().build().expect("a client");
        Arc::new(Self {
            client,
            url: "http://provider.invalid/".into(),
            sent: Sent::default(),
            bounds: Bounds::of_whole(0),
            fault: Mutex::default(),
        })
    }

    /// Where a request is to go. What stands in the provider's address behind a `?` goes with every request.
    fn address_of(&self, rest: &str) -> String {
        let Some((place, query)) = self.url.split_once('?') else { return format!("{}{rest}", self.url) };
        let joint = if rest.contains('?') { '&' } else { '?' };
        format!("{place}{rest}{joint}{query}")
    }

    /// What the library has left out of a request, if so, and why.
    fn left_out(&self, body: &[u8]) -> Option<String> {
        let attached = &self.sent.attached;
        let body = if attached.is_empty() { "".into() } else { String::from_utf8_lossy(body) };
        attached.iter().find_map(|attached| attached.is_missing_in(&body))
    }

    /// A provider that does the work of one key once must not take one request for another, so the body has a part in it.
    fn key_of(&self, body: &[u8]) -> Option<HeaderValue> {
        let digest =
            Sha256::new().chain_update(self.sent.key.as_ref()?).chain_update([0]).chain_update(body).finalize();
        HeaderValue::try_from(URL_SAFE_NO_PAD.encode(digest)).ok()
    }

    /// The connection to the provider did not come about, or broke. What stands behind a `?` is not told: it may be a key.
    fn lost(&self, error: reqwest::Error) -> Broken {
        let at = self.url.split('?').next().unwrap_or_default();
        self.broken(Fault::lost(at, &error.without_url()))
    }

    fn broken(&self, fault: Fault) -> Broken {
        *lock(&self.fault) = Some(fault);
        Broken
    }

    fn counted(self: Arc<Self>, answer: reqwest::Response) -> Response<Passing> {
        let (status, headers) = (answer.status(), returned(answer.headers()));
        let answer: Response<reqwest::Body> = answer.into();
        let counted = Counted { body: Some(answer.into_body()), bytes: 0, line: Vec::new(), call: self };
        let mut counted = Response::new(Passing::Counted(counted));
        *counted.status_mut() = status;
        *counted.headers_mut() = headers;
        counted
    }
}

fn carried(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    for name in OF_A_CONNECTION {
        headers.remove(name);
    }
    headers
}

fn returned(headers: &HeaderMap) -> HeaderMap {
    READ.into_iter()
        .filter_map(|name| Some((headers.get(&name)?.clone(), name)))
        .map(|(value, name)| (name, value))
        .collect()
}

/// What the library sends is ours, and in memory already.
async fn whole(mut body: Incoming) -> Result<Vec<u8>, hyper::Error> {
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        bytes.extend(frame?.into_data().unwrap_or_default());
    }
    Ok(bytes)
}

/// What the library gets to read.
enum Passing {
    Counted(Counted),
    /// All there is of it.
    Told(Option<Bytes>),
}

/// An answer of a provider, as far as it may go.
struct Counted {
    body: Option<reqwest::Body>,
    /// How much has come.
    bytes: u64,
    /// A line that has not ended. The library would look at it from its beginning again with every piece, which takes it seconds for
    /// some megabytes, in which nobody looks at the time.
    line: Vec<u8>,
    call: Arc<Call>,
}

/// The answer breaks off; why is known to its call.
#[derive(Debug, thiserror::Error)]
#[error("the answer broke off")]
struct Broken;

impl Counted {
    /// Counts what has come.
    fn count(&mut self, data: &[u8]) -> Result<(), Broken> {
        let bounds = self.call.bounds;
        self.bytes += data.len() as u64;
        if self.bytes > bounds.bytes {
            return Err(self.call.broken(Fault::too_long(bounds.bytes)));
        }
        Ok(())
    }

    /// What may go on of what has come: lines that have ended. The rest is kept until it ends too.
    fn ended(&mut self, data: Bytes) -> Result<Bytes, Broken> {
        let Some(longest) = self.call.bounds.line else { return Ok(data) };
        let end = data.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map_or(0, |end| end + 1);
        let ended = match end {
            0 => Bytes::new(),
            end if self.line.is_empty() => data.slice(..end),
            end => {
                self.line.extend_from_slice(&data[..end]);
                std::mem::take(&mut self.line).into()
            }
        };
        self.line.extend_from_slice(&data[end..]);
        if self.line.len() > longest {
            return Err(self.call.broken(Fault::too_long_a_line(longest)));
        }
        Ok(ended)
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        while let Some(body) = &mut self.body {
            let next = match Pin::new(body).poll_frame(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(next) => next,
            };
            let ended = match next {
                Some(Ok(frame)) => {
                    let data = frame.into_data().unwrap_or_default();
                    self.count(&data).and_then(|()| self.ended(data))
                }
                Some(Err(error)) => Err(self.call.lost(error)),
                None => {
                    self.body = None;
                    Ok(std::mem::take(&mut self.line).into())
                }
            };
            match ended {
                Ok(ended) if ended.is_empty() => {}
                Ok(ended) => return Poll::Ready(Some(Ok(Frame::data(ended)))),
                Err(broken) => {
                    self.body = None;
                    return Poll::Ready(Some(Err(broken)));
                }
            }
        }
        Poll::Ready(None)
    }
}

impl Body for Passing {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match &mut *self {
            Self::Counted(counted) => counted.poll(context),
            Self::Told(words) => Poll::Ready(words.take().map(|words| Ok(Frame::data(words)))),
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
