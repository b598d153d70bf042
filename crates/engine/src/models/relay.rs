//! The one way of answers to the library. It reads whatever comes, however much, and lets nobody read for it; so it talks to this
//! relay, in this process, and the relay to the provider. What comes is counted on the way.
//!
//! The relay is a server at an address of this machine that only this process knows the paths of: each call has a name that cannot be
//! guessed, for as long as it lasts. All calls share one connection, so a thousand of them need no more files than before.

use std::collections::HashMap;
use std::future::poll_fn;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, TRANSFER_ENCODING};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};

use super::client::runtime;
use super::fault::Fault;

/// How large a piece of an answer is. The library looks at an unfinished event again with each, so few are better than many.
const PIECE: u32 = 256 * 1024;

/// How much of one answer is under way between the relay and the library, and of all together: whoever does not read must not
/// keep the others from reading.
const WINDOW: u32 = 1024 * 1024;
const ALL_WINDOWS: u32 = 1 << 30;

/// How many calls there may be at once.
const CALLS: u32 = 1 << 20;

/// How long nothing is accepted when nothing can be.
const BREATH: Duration = Duration::from_millis(50);

/// What belongs to a connection and not to what goes over it.
const OF_A_CONNECTION: [HeaderName; 4] = [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING];

/// One for the process, like the threads that serve it.
static RELAY: LazyLock<Result<Relay, String>> =
    LazyLock::new(|| Relay::start().map_err(|error| format!("no connection can be made within this machine: {error}")));

struct Relay {
    address: SocketAddr,
    library: genai::Client,
    calls: Mutex<HashMap<String, Arc<Call>>>,
}

/// One call while it lasts.
struct Call {
    client: reqwest::Client,
    /// Where the provider is, with a slash at the end.
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
    relay: &'static Relay,
    name: String,
    call: Arc<Call>,
}

impl Passage {
    /// A way to an address, over which no more than so much comes back.
    pub(super) fn open(client: &reqwest::Client, url: &Arc<str>, bounds: Bounds) -> Result<Self, Fault> {
        let relay = RELAY.as_ref().map_err(|why| Fault::own(why))?;
        let mut name = [0; 16];
        getrandom::fill(&mut name).map_err(|error| Fault::own(&format!("there is no randomness here: {error}")))?;
        let name = format!("{:032x}", u128::from_ne_bytes(name));
        let call = Arc::new(Call { client: client.clone(), url: Arc::clone(url), bounds, fault: Mutex::default() });
        relay.calls().insert(name.clone(), Arc::clone(&call));
        Ok(Self { relay, name, call })
    }

    /// The library, which is to go this way.
    pub(super) fn library(&self) -> &genai::Client {
        &self.relay.library
    }

    /// The address at which the library finds the provider.
    pub(super) fn url(&self) -> String {
        format!("http://{}/{}/", self.relay.address, self.name)
    }

    /// What went wrong, in the words of whoever knows: the library only sees that something did.
    pub(super) fn fault(&self, error: &genai::Error) -> Fault {
        lock(&self.call.fault).take().unwrap_or_else(|| Fault::of(error))
    }
}

impl Drop for Passage {
    fn drop(&mut self) {
        self.relay.calls().remove(&self.name);
    }
}

impl Relay {
    fn start() -> Result<Self, String> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|why| why.to_string())?;
        listener.set_nonblocking(true).map_err(|why| why.to_string())?;
        let address = listener.local_addr().map_err(|why| why.to_string())?;
        let listener = {
            let _within = runtime().enter();
            TcpListener::from_std(listener).map_err(|why| why.to_string())?
        };
        runtime().spawn(accept(listener));
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .http2_prior_knowledge()
            .http2_max_frame_size(PIECE)
            .http2_initial_stream_window_size(WINDOW)
            .http2_initial_connection_window_size(ALL_WINDOWS)
            .build()
            .map_err(|why| why.to_string())?;
        let library = genai::Client::builder().with_reqwest(client).build().map_err(|why| why.to_string())?;
        Ok(Self { address, library, calls: Mutex::default() })
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, Arc<Call>>> {
        lock(&self.calls)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(serve(stream))),
            // Too many files are open, for now.
            Err(_) => tokio::time::sleep(BREATH).await,
        }
    }
}

async fn serve(stream: TcpStream) {
    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new()).max_concurrent_streams(CALLS).clone();
    // Whoever closes the connection has what they wanted.
    let _ = server.serve_connection(TokioIo::new(stream), service_fn(relayed)).await;
}

async fn relayed(request: Request<Incoming>) -> Result<Response<Counted>, Broken> {
    let path = request.uri().path_and_query().map_or("", |path| path.as_str());
    let (name, rest) = path.trim_start_matches('/').split_once('/').unwrap_or_default();
    let call = RELAY.as_ref().ok().and_then(|relay| relay.calls().get(name).cloned());
    // Nobody else knows a name, and one whose call has ended is known no more.
    let call = call.ok_or(Broken)?;
    let url = format!("{}{rest}", call.url);
    let (head, body) = request.into_parts();
    let body = whole(body).await.map_err(|_| Broken)?;
    let asked = call.client.request(head.method, url).headers(carried(&head.headers)).body(body);
    match asked.send().await {
        Ok(answer) => Ok(call.counted(answer)),
        Err(error) => Err(call.broken(Fault::lost(&error))),
    }
}

impl Call {
    fn broken(&self, fault: Fault) -> Broken {
        *lock(&self.fault) = Some(fault);
        Broken
    }

    fn counted(self: Arc<Self>, answer: reqwest::Response) -> Response<Counted> {
        let (status, headers) = (answer.status(), carried(answer.headers()));
        let answer: Response<reqwest::Body> = answer.into();
        let mut counted = Response::new(Counted { body: Some(answer.into_body()), bytes: 0, line: 0, call: self });
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

impl Body for Counted {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
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

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
