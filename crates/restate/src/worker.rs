//! A worker: serves the handlers to a Restate server.

use std::net::SocketAddr;
use std::sync::Arc;

use branchpoint_runners::agent::AgentLimits;
use branchpoint_runners::{CancellationToken, Runner};
use restate_sdk::prelude::{Endpoint, HttpServer};
use tokio::net::{TcpListener, TcpSocket};

use crate::calls::Calls;
use crate::client::Client;
use crate::programs::ProgramCache;
use crate::run_object::Run;
use crate::shared::Shared;
use crate::workflow_object::WorkflowObject;

/// The connections that wait to be accepted.
const BACKLOG: u32 = 1_024;

/// Serves the handlers of runs, calls and workflows.
pub struct Worker {
    shared: Arc<Shared>,
    listener: TcpListener,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("listener", &self.listener).finish_non_exhaustive()
    }
}

impl Worker {
    /// Creates a worker that listens on an address. Several workers of one machine can share an address: the operating system spreads
    /// the connections over those that are alive. Must be called within a runtime.
    ///
    /// ```no_run
    /// use std::sync::Arc;
    ///
    /// use branchpoint_restate::{Client, Worker};
    /// use branchpoint_runners::Runner;
    ///
    /// fn worker(client: Client, runner: Arc<dyn Runner>) -> std::io::Result<Worker> {
    ///     Worker::new(client, runner, Default::default(), "127.0.0.1:9080".parse().unwrap())
    /// }
    /// ```
    pub fn new(
        client: Client,
        runner: Arc<dyn Runner>,
        agents: AgentLimits,
        listen: SocketAddr,
    ) -> std::io::Result<Self> {
        let socket = if listen.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        #[cfg(unix)]
        socket.set_reuseport(true)?;
        socket.bind(listen)?;
        let listener = socket.listen(BACKLOG)?;
        let cache = ProgramCache::new(client.clone());
        Ok(Self { shared: Arc::new(Shared { client, cache, runner, agents }), listener })
    }

    /// The address that the worker listens on.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the token is cancelled. Invocations in flight continue on other workers.
    pub async fn serve(self, cancel: CancellationToken) {
        let shared = self.shared;
        let endpoint = Endpoint::builder()
            .bind(Run { shared: shared.clone() })
            .bind(Calls { shared })
            .bind(WorkflowObject)
            .build();
        HttpServer::new(endpoint).serve_with_cancel(self.listener, cancel.cancelled()).await;
    }
}
