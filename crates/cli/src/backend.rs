//! Opens the backend. Everything else in the command line uses it through [`branchpoint_backend::Backend`].

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use anyhow::{Context, Result, bail};
use branchpoint_backend::WorkflowNo;
use branchpoint_expr::Value;
use branchpoint_host::gate::{Gate, KeptSessions};
use branchpoint_host::host::{Drives, Host};
use branchpoint_host::store::{Durability, Store};
use branchpoint_host::{Driver, DriverListener, Embedded, Limits, SqliteStorage};
use branchpoint_runners::Runner;
use branchpoint_runners::storage::Storage;

use crate::moment;
use crate::notices::Notices;
use crate::outside::Here;
use crate::project::{FILE, Project, StoreArguments};

/// Opens the store to read and change it, and creates it if there is none.
pub(crate) fn open(project: &Project, arguments: &StoreArguments) -> Result<Embedded> {
    Ok(Embedded::reading(open_store(project, arguments)?))
}

/// Opens the store at a path to read it.
pub(crate) fn open_read_only(path: &Path) -> Result<Embedded> {
    Ok(Embedded::reading(Store::read_only(path)?))
}

/// How a process drives runs.
pub(crate) struct Driving {
    /// What performs calls.
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) limits: Limits,
    pub(crate) listener: DriverListener,
}

/// The runs that a process drives.
#[derive(Clone, Copy)]
pub(crate) enum Scope {
    /// The runs that the command names.
    Named,
    /// All runs of the store.
    All,
}

/// Opens the store and drives runs. `driving` gets the counter of events and the notices that the listener must pass acts to.
pub(crate) fn drive(
    project: &Project,
    arguments: &StoreArguments,
    (command, scope): (&str, Scope),
    here: &Arc<Here>,
    driving: impl FnOnce(Arc<AtomicU64>, Notices) -> Driving,
) -> Result<Embedded> {
    let facts = Arc::clone(here);
    let facts = Arc::new(move |name: &str| facts.fact(name));
    let drives = match scope {
        Scope::Named => Drives::Named,
        Scope::All => Drives::All,
    };
    let host = Host::new(open_store(project, arguments)?, command, drives, facts, moment::now_ms())?;
    let host = furnish(host, here, project);
    let notices = Notices::open(project, host.number(), || open_to_notify(project, arguments))?;
    let host = if notices.is_wanted() { host.with_notices() } else { host };
    let Driving { runner, limits, listener } = driving(host.events(), notices);
    let driver = Driver::new(host, runner, limits, listener);
    Ok(Embedded::driving(open_store(project, arguments)?, driver))
}

/// Opens the sessions of a document.
pub(crate) fn sessions<'p>(
    store: Embedded,
    command: &str,
    gate: Gate<'p>,
    workflow: WorkflowNo,
    document: String,
) -> Result<KeptSessions<'p>> {
    let host = Host::new(store.into_store(), command, Drives::Named, Arc::new(|_| Value::Null), moment::now_ms())?;
    Ok(KeptSessions::new(host, gate, workflow, document))
}

/// A host that knows what is secret on this machine, and what the operator lets agents use.
fn furnish(host: Host, here: &Here, project: &Project) -> Host {
    let host = host.with_secrets(here.secrets()).keeping_private(here.private());
    // A worker shows nothing that runs print, and would collect the secrets of all of them.
    let host = match here.shared_masks() {
        Some(masks) => host.sharing_secrets(masks),
        None => host,
    };
    host.with_agents(project.agent_bounds()).with_max_ops(project.max_ops())
}

/// Notices survive the process, and a lost one is sent again, so their deletion need not survive a power cut.
fn open_to_notify(project: &Project, arguments: &StoreArguments) -> Result<Embedded> {
    Ok(Embedded::reading(Store::open(&project.store_path(arguments)?, Durability::Normal)?))
}

/// The stored data of runs: memories, chats, knowledge bases. The store is opened when a run first needs it.
pub(crate) fn storage(project: &Project, arguments: &StoreArguments) -> Result<Storage> {
    let storage = SqliteStorage::new(project.store_path(arguments)?, durability(project, arguments)?);
    Ok(Storage::new(Arc::new(storage)))
}

fn open_store(project: &Project, arguments: &StoreArguments) -> Result<Store> {
    let path = project.store_path(arguments)?;
    let durability = durability(project, arguments)?;
    Store::open(&path, durability).with_context(|| format!("the store {} cannot be opened", path.display()))
}

fn durability(project: &Project, arguments: &StoreArguments) -> Result<Durability> {
    match arguments.durability.as_deref().or(project.durability.as_deref()) {
        None | Some("full") => Ok(Durability::Full),
        Some("normal") => Ok(Durability::Normal),
        Some(other) => bail!("`durability` in {FILE} is `full` or `normal`, not `{other}`"),
    }
}
