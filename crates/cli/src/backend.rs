//! Opens the backend. Everything else in the command line uses it through [`branchpoint_backend::Backend`].

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::{Context, Result, bail};
use branchpoint_backend::{Backend, BackendError, is_secret_name};
use branchpoint_client::{Remote, ServerAddress, Token};
use branchpoint_expr::Value;
use branchpoint_host::host::{DrivenRuns, Host};
use branchpoint_host::store::{Durability, Store};
use branchpoint_host::{CallLimits, Driver, Embedded, SqliteStorage};
use branchpoint_runners::storage::Storage;
use branchpoint_runners::{Answer, AnswerFuture, Call, CancellationToken, Runner};

use crate::local_runner::LocalRunner;
use crate::notices::{Notices, Waker};
use crate::project::{FILE, Project, StoreArguments};
use crate::{terminal, time};

/// Connects to a server, with the token of the environment.
pub(crate) fn connect(address: &ServerAddress) -> Result<Remote> {
    Ok(Remote::connect(address.clone(), Token::from_environment())?)
}

/// Opens the store to read and change it, and creates it if there is none; or connects to the server of the arguments.
pub(crate) fn open(project: &Project, arguments: &StoreArguments) -> Result<Box<dyn Backend>> {
    if let Some(address) = &arguments.server {
        return Ok(connect(address)?.into());
    }
    Ok(Box::new(Embedded::read_only(open_store(project, arguments)?)))
}

/// Opens the store at a path to read it.
pub(crate) fn open_read_only(path: &Path) -> Result<Box<dyn Backend>> {
    Ok(Box::new(Embedded::read_only(Store::read_only(path).map_err(BackendError::from)?)))
}

/// The named secrets of a store, for calls. The store is opened when a secret is first needed.
pub(crate) struct NamedSecrets {
    path: PathBuf,
    opened: Mutex<Option<Box<dyn Backend>>>,
}

impl NamedSecrets {
    pub(crate) fn of_store(path: PathBuf) -> Self {
        Self { path, opened: Mutex::default() }
    }

    /// The value of a secret; none if the store does not exist yet.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        if !is_secret_name(name) || !self.path.is_file() {
            return None;
        }
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let value = match &mut *opened {
            Some(store) => store.named_secret(name).map_err(Into::into),
            none => open_read_only(&self.path).and_then(|store| Ok(none.insert(store).named_secret(name)?)),
        };
        value.unwrap_or_else(|error| {
            terminal::message(&format!("warning: the secret `{name}` of the store cannot be read: {error:#}\n"));
            None
        })
    }
}

/// The runner for the runs that a process drives, with its limits.
pub(crate) struct Driving {
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) limits: CallLimits,
    /// Counts the events that runs accept.
    pub(crate) events: Arc<AtomicU64>,
    /// Wakes the threads that deliver notices, once the backend is open.
    pub(crate) waker: Arc<OnceLock<Waker>>,
}

impl Driving {
    /// Uses a local runner within the limits of the project.
    pub(crate) fn here(here: &Arc<LocalRunner>, project: &Project) -> Self {
        let runner: Arc<dyn Runner> = Arc::<LocalRunner>::clone(here);
        Self { runner, limits: project.limits(), events: Arc::default(), waker: Arc::default() }
    }
}

/// Opens the store to drive runs. People are notified of requests.
pub(crate) fn drive(
    project: &Project,
    arguments: &StoreArguments,
    command: &str,
    here: &Arc<LocalRunner>,
    driving: Driving,
) -> Result<Box<dyn Backend>> {
    let facts = Arc::clone(here);
    let host = host(project, arguments, command, move |name| facts.fact(name))?;
    let host = configure(host, here, project).with_event_counter(driving.events);
    let opened = Notices::open(project, arguments, host.owner_number(), || open_to_notify(project, arguments))?;
    let (notices, waker) = opened.unzip();
    let host = if notices.is_some() { host.with_notices() } else { host };
    let about_runs = notices.as_ref().is_some_and(Notices::are_about_runs);
    let host = if about_runs { host.with_run_notices() } else { host };
    if let Some(waker) = waker {
        // A process opens one backend that drives runs.
        let _ = driving.waker.set(waker);
    }
    let driver = Driver::new(host, driving.runner, driving.limits);
    let backend = Embedded::with_driver(open_store(project, arguments)?, driver);
    if let Some(notices) = notices {
        backend.subscribe(Box::new(move |event| notices.report(event)))?;
    }
    Ok(Box::new(backend))
}

/// Opens the store to drive sessions. The calls of a turn that was interrupted stay pending.
pub(crate) fn drive_sessions(project: &Project, arguments: &StoreArguments, command: &str) -> Result<Box<dyn Backend>> {
    let driver =
        Driver::new(host(project, arguments, command, |_| Value::Null)?, Arc::new(Pending), CallLimits::default());
    Ok(Box::new(Embedded::with_driver(open_store(project, arguments)?, driver)))
}

/// Leaves calls to the process that continues their run.
struct Pending;

impl Runner for Pending {
    fn perform<'c>(&'c self, _: &'c Call, cancel: &'c CancellationToken) -> AnswerFuture<'c> {
        Box::pin(async {
            cancel.cancelled().await;
            Answer::Missing
        })
    }

    fn fact(&self, _: &str) -> Value {
        Value::Null
    }
}

fn host(
    project: &Project,
    arguments: &StoreArguments,
    command: &str,
    fact: impl Fn(&str) -> Value + Send + Sync + 'static,
) -> Result<Host> {
    let host =
        Host::new(open_store(project, arguments)?, command, DrivenRuns::Requested, Arc::new(fact), time::now_ms());
    Ok(host.map_err(BackendError::from)?.with_run_limits(project.run_limits()?))
}

/// Configures a host with the secrets of this machine and the limits of the project.
fn configure(host: Host, here: &LocalRunner, project: &Project) -> Host {
    let host = host.with_secrets(here.secrets()).with_env_secrets(here.private());
    // A worker prints no output of runs, so it does not collect their secrets.
    let host = match here.shared_masks() {
        Some(masks) => host.with_shared_secrets(masks),
        None => host,
    };
    host.with_agent_limits(project.agent_limits()).with_max_ops(project.max_ops())
}

/// Notices survive the process, and a lost one is sent again, so their deletion need not survive a power cut.
fn open_to_notify(project: &Project, arguments: &StoreArguments) -> Result<Box<dyn Backend>> {
    let store = Store::open(&project.store_path(arguments)?, Durability::Normal).map_err(BackendError::from)?;
    Ok(Box::new(Embedded::read_only(store)))
}

/// The stored data of runs: memories, chats, knowledge bases. The store is opened when a run first needs it.
pub(crate) fn storage(project: &Project, arguments: &StoreArguments) -> Result<Storage> {
    let storage = SqliteStorage::new(project.store_path(arguments)?, durability(project, arguments)?);
    Ok(Storage::new(Arc::new(storage)))
}

fn open_store(project: &Project, arguments: &StoreArguments) -> Result<Store> {
    let path = project.store_path(arguments)?;
    let durability = durability(project, arguments)?;
    let store = Store::open(&path, durability).map_err(BackendError::from);
    store.with_context(|| format!("the store {} cannot be opened", path.display()))
}

fn durability(project: &Project, arguments: &StoreArguments) -> Result<Durability> {
    match arguments.durability.as_deref().or(project.durability.as_deref()) {
        None | Some("full") => Ok(Durability::Full),
        Some("normal") => Ok(Durability::Normal),
        Some(other) => bail!("`durability` in {FILE} is `full` or `normal`, not `{other}`"),
    }
}
