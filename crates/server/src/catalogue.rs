//! What is known of each saved workflow. A saved workflow never changes, so it is read once.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use branchpoint_backend::{Backend, WorkflowNo, WorkflowSummary};
use sha2::{Digest as _, Sha256};

use crate::app::App;
use crate::problem::Problem;

/// How long workflows that other processes save may stay unnoticed.
const MAX_AGE: Duration = Duration::from_secs(1);

/// A version of a workflow: one text under one name. A text can have several programs, because a script replaces steps.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) workflow: WorkflowNo,
    pub(crate) name: Arc<str>,
    /// Counted from 1 among the versions of the name.
    pub(crate) version: u32,
    pub(crate) dialect: Arc<str>,
    pub(crate) origin: Arc<str>,
    /// The hash of the workflow with its programs.
    pub(crate) hash: Arc<str>,
    pub(crate) saved_ms: i64,
    digest: [u8; 32],
}

/// The versions of all workflows.
#[derive(Debug, Default)]
pub(crate) struct Catalogue(RwLock<VersionIndex>);

#[derive(Debug, Default)]
struct VersionIndex {
    by_number: BTreeMap<WorkflowNo, Arc<Version>>,
    /// The versions of each name, the oldest first.
    by_name: BTreeMap<Arc<str>, Vec<Arc<Version>>>,
    read: Option<Instant>,
}

impl VersionIndex {
    fn add(&mut self, backend: &dyn Backend, listed: WorkflowSummary) -> Result<(), Problem> {
        if self.by_number.contains_key(&listed.workflow) {
            return Ok(());
        }
        let digest: [u8; 32] = Sha256::digest(backend.document(listed.workflow)?.text.as_bytes()).into();
        let name: Arc<str> = listed.name.into();
        let versions = self.by_name.entry(Arc::clone(&name)).or_default();
        let same = versions.iter().find(|version| version.digest == digest);
        let version = same.map_or(versions.len() + 1, |version| version.version as usize);
        let is_new = same.is_none();
        let version = Arc::new(Version {
            workflow: listed.workflow,
            name,
            version: u32::try_from(version).unwrap_or(u32::MAX),
            dialect: listed.dialect.into(),
            origin: listed.origin.into(),
            hash: listed.hash.into(),
            saved_ms: listed.added_ms,
            digest,
        });
        if is_new {
            versions.push(Arc::clone(&version));
        }
        self.by_number.insert(listed.workflow, version);
        Ok(())
    }
}

impl Catalogue {
    fn read(&self) -> std::sync::RwLockReadGuard<'_, VersionIndex> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn refresh(&self, backend: &dyn Backend) -> Result<(), Problem> {
        let listed = backend.workflows()?;
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for workflow in listed {
            known.add(backend, workflow)?;
        }
        known.read = Some(Instant::now());
        Ok(())
    }

    fn refresh_if_old(&self, backend: &dyn Backend) -> Result<(), Problem> {
        let is_fresh = self.read().read.is_some_and(|read| read.elapsed() < MAX_AGE);
        if is_fresh { Ok(()) } else { self.refresh(backend) }
    }

    /// Forgets how old it is, after this process has saved a workflow.
    pub(crate) fn invalidate(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).read = None;
    }
}

impl App {
    /// The version with this number.
    pub(crate) fn version(&self, backend: &dyn Backend, workflow: WorkflowNo) -> Result<Arc<Version>, Problem> {
        let known = self.catalogue.read().by_number.get(&workflow).cloned();
        if let Some(version) = known {
            return Ok(version);
        }
        self.catalogue.refresh(backend)?;
        let version = self.catalogue.read().by_number.get(&workflow).cloned();
        version.ok_or_else(|| Problem::not_found(format!("Workflow {} does not exist.", workflow.0)))
    }

    /// The versions of all workflows by name, the oldest version first.
    pub(crate) fn all_versions(&self, backend: &dyn Backend) -> Result<BTreeMap<Arc<str>, Vec<Arc<Version>>>, Problem> {
        self.catalogue.refresh_if_old(backend)?;
        Ok(self.catalogue.read().by_name.clone())
    }

    /// The versions of a workflow, the oldest first; empty if it does not exist.
    pub(crate) fn versions(&self, backend: &dyn Backend, name: &str) -> Result<Vec<Arc<Version>>, Problem> {
        self.catalogue.refresh_if_old(backend)?;
        Ok(self.catalogue.read().by_name.get(name).cloned().unwrap_or_default())
    }

    /// A version of a workflow, or the latest.
    pub(crate) fn find_version(
        &self,
        backend: &dyn Backend,
        name: &str,
        number: Option<u32>,
    ) -> Result<Arc<Version>, Problem> {
        let versions = self.versions(backend, name)?;
        let selected = match number {
            Some(number) => versions.iter().find(|version| version.version == number),
            None => versions.last(),
        };
        selected.cloned().ok_or_else(|| match (versions.len(), number) {
            (1.., Some(number)) => Problem::not_found(format!("Workflow `{name}` has no version {number}.")),
            _ => Problem::not_found(format!("Workflow `{name}` does not exist.")),
        })
    }
}
