//! Accepts connections until the server stops.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use branchpoint_runners::CancellationToken;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::app::App;
use crate::live::publish_until_stopped;
use crate::{Content, Host, Settings};
use crate::{examples, router};

/// How long to wait after a connection could not be accepted, such as for a free file descriptor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A server that listens.
pub struct Server {
    app: App,
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Opens the listening socket. Clients can connect from now on; they are answered by [`Server::serve`].
    pub async fn bind(mut host: Host, content: Content, settings: Settings) -> io::Result<Self> {
        let listener = TcpListener::bind(settings.listen).await?;
        let address = listener.local_addr()?;
        let examples = std::mem::take(&mut host.examples);
        let texts = host.texts.take();
        let app = App::new(host, content, settings).map_err(|problem| io::Error::other(problem.detail().to_owned()))?;
        if let Some(texts) = texts {
            texts.connect(&app);
        }
        let saved = app.clone();
        let prepared = spawn_blocking(move || {
            examples::save(&saved, &examples)?;
            let changed = saved.downgrade();
            let listener = Box::new(move |event: &branchpoint_backend::RunEvent| {
                if let Some(app) = changed.upgrade() {
                    app.note_change(event);
                }
            });
            match saved.handles.with_first(|backend| backend.subscribe(listener)) {
                // A server that only reads learns of changes when it looks.
                Ok(()) | Err(branchpoint_backend::BackendError::ReadOnly) => Ok(()),
                Err(error) => Err(io::Error::other(error)),
            }
        });
        prepared.await.map_err(io::Error::other)??;
        Ok(Self { app, listener, address })
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Handles requests until `stop` is ready. Then it accepts no further connections, lets requests and calls in flight end, and
    /// releases all runs.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let Self { app, listener, .. } = self;
        let service = router::router(&app);
        let publisher = tokio::spawn(publish_until_stopped(app.clone()));
        let connections = Arc::new(Semaphore::new(app.settings.connections));
        let graceful = GracefulShutdown::new();
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                () = &mut stop => break,
                accepted = accept(&listener, &connections) => accepted,
            };
            let Ok((stream, permit)) = accepted else {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            };
            app.metrics.connections.fetch_add(1, Ordering::Relaxed);
            let connection = graceful.watch(connection(&app, stream, &service));
            let app = app.clone();
            tokio::spawn(async move {
                // A client that breaks off is its own matter.
                let _ = connection.await;
                app.metrics.connections.fetch_sub(1, Ordering::Relaxed);
                drop(permit);
            });
        }
        drop(listener);
        app.is_stopping.store(true, Ordering::Relaxed);
        app.live.close();
        let _ = publisher.await;
        let grace = app.settings.grace;
        let _ = tokio::time::timeout(grace, graceful.shutdown()).await;
        let stopped = spawn_blocking(move || app.handles.stop(grace)).await;
        stopped.map_err(io::Error::other)?.map_err(io::Error::other)
    }
}

/// Serves until a token is cancelled, and reports the address on which it listens. Blocks; a second runtime would disturb the calls of
/// runs, so requests have threads of their own.
pub fn serve_until(
    host: Host,
    content: Content,
    settings: Settings,
    stop: &CancellationToken,
    listening: impl FnOnce(SocketAddr),
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().thread_name("requests").enable_all().build()?;
    runtime.block_on(async {
        let server = Server::bind(host, content, settings).await?;
        listening(server.address());
        server.serve(stop.cancelled()).await
    })
}

/// Accepts a connection when there is room for it. Others wait in the queue of the operating system.
async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
) -> io::Result<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(connections).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok((stream, permit))
}

fn connection(
    app: &App,
    stream: TcpStream,
    router: &Router,
) -> http1::Connection<TokioIo<TcpStream>, TowerToHyperService<Router>> {
    let settings = &app.settings;
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(settings.header_time)
        .max_buf_size(settings.header_bytes.max(8192))
        .max_headers(settings.headers)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()))
}
