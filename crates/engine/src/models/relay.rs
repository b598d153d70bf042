//! The one way of answers to the library. It reads whatever comes, however much, and lets nobody read for it; so it talks to this
//! relay, in this process, and the relay to the provider. What comes is counted on the way. Each call has a connection of its own,
//! which nobody else can reach (see `link.rs`), and no call can do harm to another.

mod link;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, TRANSFER_ENCODING};
use hyper::{Request, Response, StatusCode};

use super::fault::Fault;
use link::Link;

/// Where the library finds the relay. The name is never looked up: all it asks goes over the socket.
const ADDRESS: &str = "http://relay/provider/";

/// What belongs to a connection and not to what goes over it.
const OF_A_CONNECTION: [HeaderName; 4] = [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING];

/// One call while it lasts.
struct Call {
    client: reqwest::Client,
    /// Where the provider is, with a slash where the path ends.
    url: Arc<str>,
    bounds: Bounds,
    /// What went wrong between the relay and the provider.
    fault: Mutex<Option<Fault>>,
}

/// How much may come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) bytes: u64,
    /// In one line. Streams have short ones, and the library looks at an unfinished one from its beginning again and again.
    pub(super) line: u64,
}

impl Bounds {
    /// What a line of a stream may have: an image fits into it.
    const LINE: u64 = 8 * 1024 * 1024;

    pub(super) fn of_stream(bytes: u64) -> Self {
        Self { bytes, line: Self::LINE }
    }

    pub(super) fn of_whole(bytes: u64) -> Self {
        Self { bytes, line: u64::MAX }
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
    pub(super) fn open(client: &reqwest::Client, url: &Arc<str>, bounds: Bounds) -> Result<Self, Fault> {
        let call = Arc::new(Call { client: client.clone(), url: Arc::clone(url), bounds, fault: Mutex::default() });
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
    let asked = call.client.request(head.method, url).headers(carried(&head.headers)).body(body);
    match asked.send().await {
        Ok(answer) => Ok(call.counted(answer)),
        Err(error) => Err(call.broken(Fault::lost(&error))),
    }
}

/// The answer to a request whose address leads out of the provider's, as the name of a model might; it would again.
fn nowhere() -> Response<Passing> {
    let mut answer = Response::new(Passing::Told(Some("the call leads away from the address of its provider")));
    *answer.status_mut() = StatusCode::NOT_FOUND;
    answer
}

impl Call {
    #[cfg(test)]
    fn to_nowhere() -> Arc<Self> {
        let client = super::client::within().build().expect("a client");
        Arc::new(Self {
            client,
            url: "http://provider.invalid/".into(),
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

    fn broken(&self, fault: Fault) -> Broken {
        *lock(&self.fault) = Some(fault);
        Broken
    }

    fn counted(self: Arc<Self>, answer: reqwest::Response) -> Response<Passing> {
        let (status, headers) = (answer.status(), carried(answer.headers()));
        let answer: Response<reqwest::Body> = answer.into();
        let counted = Counted { body: Some(answer.into_body()), bytes: 0, line: 0, call: self };
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
    /// A word of the relay's own.
    Told(Option<&'static str>),
}

/// An answer of a provider, as far as it may go.
struct Counted {
    body: Option<reqwest::Body>,
    /// How much has come, and how much of it since the last line ended.
    bytes: u64,
    line: u64,
    call: Arc<Call>,
}

/// The answer breaks off; why is known to its call.
#[derive(Debug, thiserror::Error)]
#[error("the answer broke off")]
struct Broken;

impl Counted {
    /// Counts what has come.
    fn count(&mut self, data: &[u8]) -> Result<(), Broken> {
        let (came, bounds) = (data.len() as u64, self.call.bounds);
        let ended = data.iter().rposition(|byte| *byte == b'\n');
        self.bytes += came;
        self.line = ended.map_or(self.line + came, |end| (data.len() - end - 1) as u64);
        if self.bytes > bounds.bytes {
            return Err(self.call.broken(Fault::too_long(bounds.bytes)));
        }
        if self.line > bounds.line {
            return Err(self.call.broken(Fault::too_long_a_line(bounds.line)));
        }
        Ok(())
    }
}

impl Counted {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let counted = match Pin::new(body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => self.count(frame.data_ref().map_or(&[], |data| data)).map(|()| frame),
            Poll::Ready(Some(Err(error))) => Err(self.call.broken(Fault::lost(&error))),
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => return Poll::Pending,
        };
        if counted.is_err() {
            self.body = None;
        }
        Poll::Ready(Some(counted))
    }
}

impl Body for Passing {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match &mut *self {
            Self::Counted(counted) => counted.poll(context),
            Self::Told(word) => {
                Poll::Ready(word.take().map(|word| Ok(Frame::data(Bytes::from_static(word.as_bytes())))))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
