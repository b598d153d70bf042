//! Workflows and their programs: stored once by content, and cached by each worker.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use branchpoint_backend::{Document, Workflow, WorkflowNo};
use branchpoint_core::codec::{CodecError, decode_program, encode_program};
use branchpoint_core::ir::Program;
use branchpoint_runners::hexadecimal;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::client::{Client, ClientError};
use crate::messages::Blob;

/// The most workflows that a worker caches.
const CACHED_WORKFLOWS: usize = 1_000;

/// A workflow as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StoredWorkflow {
    pub(crate) summary: StoredSummary,
    pub(crate) text: String,
    /// The programs by name; the main program has the empty name.
    pub(crate) programs: BTreeMap<String, Blob>,
}

/// A workflow in lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredSummary {
    pub(crate) name: String,
    pub(crate) dialect: String,
    pub(crate) origin: String,
    pub(crate) hash: String,
    pub(crate) added_ms: i64,
}

impl StoredWorkflow {
    pub(crate) fn of(workflow: Workflow<'_>, now_ms: i64) -> Result<Self, CodecError> {
        let main = encode_program(workflow.program)?;
        let mut programs = BTreeMap::from([(String::new(), Blob(main))]);
        for (name, program) in workflow.children {
            programs.insert(name.to_string(), Blob(encode_program(program)?));
        }
        let Document { name, dialect, origin, text } = workflow.document.clone();
        let hash = String::new();
        let mut stored =
            Self { summary: StoredSummary { name, dialect, origin, hash, added_ms: now_ms }, text, programs };
        stored.summary.hash = stored.content_hash();
        Ok(stored)
    }

    /// The hash of the document and its programs.
    pub(crate) fn content_hash(&self) -> String {
        let StoredSummary { name, dialect, origin, .. } = &self.summary;
        let texts = [name, dialect, origin, &self.text].map(String::as_bytes);
        let programs = self.programs.iter().flat_map(|(name, program)| [name.as_bytes(), &program.0]);
        let mut hash = Sha256::new();
        for bytes in texts.into_iter().chain(programs) {
            hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(bytes);
        }
        hexadecimal(&hash.finalize())
    }

    /// The number of the workflow: the first 63 bits of its hash.
    pub(crate) fn number(&self) -> WorkflowNo {
        let first = u64::from_str_radix(self.summary.hash.get(..16).unwrap_or_default(), 16).unwrap_or_default();
        WorkflowNo((first >> 1).cast_signed())
    }
}

/// The decoded programs of a workflow.
#[derive(Debug)]
pub(crate) struct Programs {
    parts: BTreeMap<String, Arc<Program>>,
}

impl Programs {
    pub(crate) fn decode(stored: &StoredWorkflow) -> Result<Self, ProgramError> {
        if stored.content_hash() != stored.summary.hash {
            return Err(ProgramError::Hash(stored.summary.name.clone()));
        }
        let decoded =
            stored.programs.iter().map(|(name, bytes)| Ok((name.clone(), Arc::new(decode_program(&bytes.0)?))));
        Ok(Self { parts: decoded.collect::<Result<_, CodecError>>()? })
    }

    pub(crate) fn get(&self, part: &str) -> Option<Arc<Program>> {
        self.parts.get(part).cloned()
    }

    pub(crate) fn has(&self, part: &str) -> bool {
        self.parts.contains_key(part)
    }
}

/// Why a program is not available.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProgramError {
    #[error("the stored workflow {0} does not match its hash")]
    Hash(String),
    #[error("workflow {0} is not stored")]
    Missing(i64),
    #[error("the program cannot be read: {0}")]
    Damaged(#[from] CodecError),
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// The programs that a worker has read. Their content never changes.
///
/// Reading them is not recorded in the journal of a handler: a handler that is executed again may find them in the cache.
pub(crate) struct ProgramCache {
    client: Client,
    cached: Mutex<HashMap<i64, Arc<Programs>>>,
}

impl ProgramCache {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, cached: Mutex::default() }
    }

    pub(crate) async fn get(&self, workflow: i64) -> Result<Arc<Programs>, ProgramError> {
        if let Some(programs) = self.lock().get(&workflow) {
            return Ok(programs.clone());
        }
        let stored = self.client.load_workflow(workflow).await?.ok_or(ProgramError::Missing(workflow))?;
        let programs = Arc::new(Programs::decode(&stored)?);
        let mut cached = self.lock();
        if cached.len() >= CACHED_WORKFLOWS {
            cached.clear();
        }
        cached.insert(workflow, programs.clone());
        Ok(programs)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<i64, Arc<Programs>>> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
