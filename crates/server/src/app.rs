//! What every request handler shares.

use std::ops::Deref;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Weak};

use crate::access::{Access, AuditLog};
use crate::backend_handles::BackendHandles;
use crate::catalogue::Catalogue;
use crate::content::Content;
use crate::host::Host;
use crate::live::Live;
use crate::metrics::Metrics;
use crate::oidc::Oidc;
use crate::permissions::Permission;
use crate::prepared_workflows::PreparedWorkflows;
use crate::problem::Problem;
use crate::routes::workflows::KnownFacts;
use crate::scripts::DefaultScripts;
use crate::settings::Settings;
use crate::trace_cache::TraceCache;
use crate::version_notes::VersionNotes;
use crate::webhooks::Webhooks;

/// The state of a server. Clones share it.
#[derive(Clone)]
pub(crate) struct App(Arc<Parts>);

pub(crate) struct Parts {
    pub(crate) handles: BackendHandles,
    pub(crate) host: HostFacts,
    pub(crate) content: Content,
    pub(crate) settings: Settings,
    pub(crate) metrics: Metrics,
    pub(crate) catalogue: Catalogue,
    pub(crate) traces: TraceCache,
    pub(crate) prepared_workflows: PreparedWorkflows,
    pub(crate) live: Live,
    pub(crate) facts: KnownFacts,
    /// Held while a version of a workflow is saved.
    pub(crate) saving: Mutex<()>,
    /// Scripts that answer the runs of a workflow unless they have another, by name.
    pub(crate) default_scripts: DefaultScripts,
    /// Whether the server is shutting down.
    pub(crate) is_stopping: AtomicBool,
}

/// A host without its backend.
pub(crate) struct HostFacts {
    pub(crate) user: String,
    pub(crate) account: branchpoint_expr::Value,
    pub(crate) runner_check: crate::host::RunnerCheck,
    /// The credentials; none if everybody is the local user.
    pub(crate) access: Option<Access>,
    pub(crate) audit: Option<AuditLog>,
    pub(crate) version_notes: Option<VersionNotes>,
    pub(crate) permissions: Vec<Permission>,
    pub(crate) webhooks: Webhooks,
    pub(crate) oidc: Option<Oidc>,
    pub(crate) has_own_secret: crate::host::OwnSecrets,
    pub(crate) providers: Option<Box<dyn crate::ModelProviders>>,
}

impl App {
    pub(crate) fn new(host: Host, content: Content, settings: Settings) -> Result<Self, Problem> {
        let Host {
            backend,
            user,
            account,
            runner_check,
            examples: _,
            texts: _,
            access,
            audit,
            version_notes,
            permissions,
            webhooks,
            oidc,
            default_scripts,
            has_own_secret,
            providers,
        } = host;
        let handles = BackendHandles::new(backend, settings.handles);
        let host = HostFacts {
            user,
            account,
            runner_check,
            access,
            audit,
            version_notes,
            permissions,
            webhooks,
            oidc,
            has_own_secret,
            providers,
        };
        let (metrics, is_stopping) = (Metrics::default(), AtomicBool::new(false));
        let (catalogue, traces) = (Catalogue::default(), TraceCache::default());
        Ok(Self(Arc::new(Parts {
            handles,
            host,
            content,
            settings,
            metrics,
            catalogue,
            traces,
            prepared_workflows: PreparedWorkflows::default(),
            live: Live::new()?,
            facts: KnownFacts::default(),
            saving: Mutex::default(),
            default_scripts,
            is_stopping,
        })))
    }
}

/// A server that may have ended.
#[derive(Clone)]
pub(crate) struct WeakApp(Weak<Parts>);

impl App {
    /// The server for listeners, which may outlive it.
    pub(crate) fn downgrade(&self) -> WeakApp {
        WeakApp(Arc::downgrade(&self.0))
    }
}

impl WeakApp {
    /// The server, unless it has ended.
    pub(crate) fn upgrade(&self) -> Option<App> {
        self.0.upgrade().map(App)
    }
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}
