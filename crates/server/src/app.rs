//! What every request handler shares.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use crate::content::Content;
use crate::handles::Handles;
use crate::host::Host;
use crate::metrics::Metrics;
use crate::settings::Settings;

/// The state of a server. Clones share it.
#[derive(Clone)]
pub(crate) struct App(Arc<Parts>);

pub(crate) struct Parts {
    pub(crate) handles: Handles,
    pub(crate) host: HostFacts,
    pub(crate) content: Content,
    pub(crate) settings: Settings,
    pub(crate) metrics: Metrics,
    /// Scripts that answer the runs of a workflow unless they have another, by name.
    pub(crate) default_scripts: Mutex<BTreeMap<String, String>>,
    /// Whether the server is shutting down.
    pub(crate) is_stopping: AtomicBool,
}

/// A host without its backend.
pub(crate) struct HostFacts {
    pub(crate) user: String,
    pub(crate) account: branchpoint_expr::Value,
    pub(crate) runner_check: crate::host::RunnerCheck,
}

impl App {
    pub(crate) fn new(host: Host, content: Content, settings: Settings) -> Self {
        let Host { backend, user, account, runner_check, examples: _ } = host;
        let handles = Handles::new(backend, settings.handles);
        let host = HostFacts { user, account, runner_check };
        let (metrics, is_stopping) = (Metrics::default(), AtomicBool::new(false));
        let default_scripts = Mutex::default();
        Self(Arc::new(Parts { handles, host, content, settings, metrics, default_scripts, is_stopping }))
    }
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}
