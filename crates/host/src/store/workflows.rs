//! Documents and their lowered programs, stored by content. A run is pinned to its program.

use std::collections::HashMap;
use std::sync::Arc;

use branchpoint_core::codec;
use branchpoint_core::ir::Program;
use rusqlite::{Row, params};
use sha2::{Digest, Sha256};

use super::{Document, Part, Store, StoreError, Workflow, WorkflowNo, WorkflowSummary};
use branchpoint_runners::hexadecimal;

/// The most decoded programs that a connection keeps.
const KEPT_PROGRAMS: usize = 64;

/// Decoded programs. A stored program never changes.
pub(super) type Programs = HashMap<(WorkflowNo, Part), Arc<Program>>;

/// The bytes of the programs of a workflow by name, its own first.
fn encoded(workflow: &Workflow<'_>) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
    let children = workflow.children.iter().map(|(name, program)| (&**name, program));
    let encoded = [("", workflow.program)].into_iter().chain(children).map(|(name, program)| {
        let bytes = codec::encode_program(program);
        let bytes = bytes.map_err(|error| StoreError::Bytes { run: workflow.document.name.clone(), error })?;
        Ok((name.to_owned(), bytes))
    });
    encoded.collect()
}

impl Store {
    /// The number of a saved workflow; `None` if it was not saved.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert_eq!(store.find_saved(saved).unwrap(), Some(workflow));
    /// ```
    pub fn find_saved(&self, workflow: Workflow<'_>) -> Result<Option<WorkflowNo>, StoreError> {
        self.number_of_hash(&hash_of(workflow.document, &encoded(&workflow)?))
    }

    /// Saves a workflow once. Must not be called within a transaction.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert_eq!(store.save(saved, 2).unwrap(), workflow, "the same content has the same number");
    /// ```
    pub fn save(&self, workflow: Workflow<'_>, now_ms: i64) -> Result<WorkflowNo, StoreError> {
        let (document, programs) = (workflow.document, encoded(&workflow)?);
        if let Some(known) = self.number_of_hash(&hash_of(document, &programs))? {
            return Ok(known);
        }
        self.change(|| self.insert_parts(document, &programs, now_ms))
    }

    /// The hash of a workflow with these programs, in hexadecimal.
    pub(super) fn hash_of(document: &Document, programs: &[(String, Vec<u8>)]) -> String {
        hexadecimal(&hash_of(document, programs))
    }

    fn number_of_hash(&self, hash: &[u8; 32]) -> Result<Option<WorkflowNo>, StoreError> {
        self.first("SELECT workflow FROM workflows WHERE hash = ?1", [hash.as_slice()], |row| {
            row.get(0).map(WorkflowNo)
        })
    }

    /// Saves a workflow once, within a transaction.
    pub(super) fn insert_parts(
        &self,
        document: &Document,
        programs: &[(String, Vec<u8>)],
        now_ms: i64,
    ) -> Result<WorkflowNo, StoreError> {
        let whole = hash_of(document, programs);
        if let Some(known) = self.number_of_hash(&whole)? {
            return Ok(known);
        }
        let document_hash = document_hash(document);
        let sql = "INSERT OR IGNORE INTO documents (hash, name, dialect, origin, text, added_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let Document { name, dialect, origin, text } = document;
        self.db.execute(sql, params![document_hash, name, dialect, origin, text, now_ms])?;
        let sql = "INSERT INTO workflows (hash, document, added_ms) VALUES (?1, ?2, ?3)";
        self.db.execute(sql, params![whole, document_hash, now_ms])?;
        let workflow = self.db.last_insert_rowid();
        for (name, bytes) in programs {
            let digest = hash([bytes.as_slice()]);
            self.db.execute("INSERT OR IGNORE INTO programs (hash, bytes) VALUES (?1, ?2)", params![digest, bytes])?;
            let sql = "INSERT INTO parts (workflow, name, program) VALUES (?1, ?2, ?3)";
            self.db.execute(sql, params![workflow, name, digest])?;
        }
        Ok(WorkflowNo(workflow))
    }

    /// A program of a workflow; `None` if it has no such part. Its bytes must match their hash.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert!(store.program(workflow, "").unwrap().is_some());
    /// assert!(store.program(workflow, "other").unwrap().is_none());
    /// ```
    pub fn program(&self, workflow: WorkflowNo, part: &str) -> Result<Option<Program>, StoreError> {
        let sql = "SELECT hash, bytes FROM parts JOIN programs ON hash = program WHERE workflow = ?1 AND name = ?2";
        let read = |row: &Row<'_>| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Vec<u8>>(1)?));
        let Some((expected, bytes)) = self.first(sql, params![workflow.0, part], read)? else { return Ok(None) };
        if hash([bytes.as_slice()]).as_slice() != expected.as_slice() {
            return Err(StoreError::Missing(format!("undamaged program `{part}` of workflow {}", workflow.0)));
        }
        let program = codec::decode_program(&bytes);
        program.map(Some).map_err(|error| StoreError::Bytes { run: format!("workflow {}", workflow.0), error })
    }

    /// A program of a workflow, decoded once.
    pub(crate) fn shared_program(&self, workflow: WorkflowNo, part: &str) -> Result<Option<Arc<Program>>, StoreError> {
        let key = (workflow, Part::from(part));
        if let Some(program) = self.programs.borrow().get(&key) {
            return Ok(Some(Arc::clone(program)));
        }
        let Some(program) = self.program(workflow, part)?.map(Arc::new) else { return Ok(None) };
        let mut programs = self.programs.borrow_mut();
        if programs.len() >= KEPT_PROGRAMS {
            programs.clear();
        }
        programs.insert(key, Arc::clone(&program));
        Ok(Some(program))
    }

    /// The names of the programs of a workflow.
    pub(crate) fn parts(&self, workflow: WorkflowNo) -> Result<Vec<Part>, StoreError> {
        self.rows("SELECT name FROM parts WHERE workflow = ?1 ORDER BY name", [workflow.0], |row| {
            row.get::<_, String>(0).map(Part::from)
        })
    }

    /// The name of a workflow.
    pub(crate) fn workflow_name(&self, workflow: WorkflowNo) -> Result<String, StoreError> {
        let sql = "SELECT name FROM workflows JOIN documents ON documents.hash = document WHERE workflow = ?1";
        let name = self.first(sql, [workflow.0], |row| row.get(0))?;
        name.ok_or_else(|| StoreError::Missing(format!("workflow {}", workflow.0)))
    }

    /// The document of a workflow.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert_eq!(store.document(workflow).unwrap().origin, "greet.yaml");
    /// ```
    pub fn document(&self, workflow: WorkflowNo) -> Result<Document, StoreError> {
        let sql = "SELECT name, dialect, origin, text FROM workflows JOIN documents ON documents.hash = document WHERE workflow = ?1";
        let document = self.first(sql, [workflow.0], |row| {
            Ok(Document { name: row.get(0)?, dialect: row.get(1)?, origin: row.get(2)?, text: row.get(3)? })
        })?;
        document.ok_or_else(|| StoreError::Missing(format!("workflow {}", workflow.0)))
    }

    /// The newest workflow with this name, else the newest whose hash begins with it.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert_eq!(store.workflow("greet").unwrap(), Some(workflow));
    /// ```
    pub fn workflow(&self, name: &str) -> Result<Option<WorkflowNo>, StoreError> {
        let workflows = self.workflows()?;
        // A name is found before a hash, so that no other document can take its place.
        let by_name = workflows.iter().rev().find(|listed| listed.name == name);
        let workflow = by_name.or_else(|| workflows.iter().rev().find(|listed| is_prefix(name, &listed.hash)));
        Ok(workflow.map(|listed| listed.workflow))
    }

    /// All workflows, the oldest first.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert_eq!(store.workflows().unwrap()[0].name, "greet");
    /// ```
    pub fn workflows(&self) -> Result<Vec<WorkflowSummary>, StoreError> {
        let sql = "SELECT workflow, name, dialect, origin, lower(hex(workflows.hash)), workflows.added_ms,
                coalesce(runs, 0)
            FROM workflows JOIN documents ON documents.hash = document LEFT JOIN workflow_totals USING (workflow)
            ORDER BY workflow";
        self.rows(sql, [], listed)
    }
}

fn listed(row: &Row<'_>) -> rusqlite::Result<WorkflowSummary> {
    Ok(WorkflowSummary {
        workflow: WorkflowNo(row.get(0)?),
        name: row.get(1)?,
        dialect: row.get(2)?,
        origin: row.get(3)?,
        hash: row.get(4)?,
        added_ms: row.get(5)?,
        runs: row.get(6)?,
    })
}

/// Whether a name is the beginning of a hash. Short ones do not count, because they would match by chance.
fn is_prefix(name: &str, hash: &str) -> bool {
    const SHORTEST: usize = 6;
    name.len() >= SHORTEST && hash.starts_with(name)
}

fn document_hash(document: &Document) -> [u8; 32] {
    hash([&document.name, &document.dialect, &document.origin, &document.text].map(String::as_bytes))
}

/// The hash of a document with its programs. The document's own program, whose name is empty, comes first.
fn hash_of(document: &Document, programs: &[(String, Vec<u8>)]) -> [u8; 32] {
    let digests: Vec<[u8; 32]> = programs.iter().map(|(_, bytes)| hash([bytes.as_slice()])).collect();
    let names = programs.iter().zip(&digests).flat_map(|((name, _), digest)| [name.as_bytes(), digest.as_slice()]);
    hash([document_hash(document).as_slice()].into_iter().chain(names))
}

/// The hash of parts, each with its length, so that no two lists of parts have the same bytes.
pub(super) fn hash<'b>(parts: impl IntoIterator<Item = &'b [u8]>) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}
