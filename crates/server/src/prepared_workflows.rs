//! Workflows ready to run: loaded with what they call, and saved.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use branchpoint_backend::{Backend, WorkflowNo};
use branchpoint_core::codec;
use branchpoint_core::effect::AGENT;
use branchpoint_core::ir::Program;
use branchpoint_expr::Dialect;
use branchpoint_runners::Secrets;

use crate::app::App;
use crate::catalogue::Version;
use crate::documents::{Executable, Source, dialect_named, load_scripted};
use crate::permissions::{DocumentNeeds, Needs};
use crate::problem::Problem;
use crate::routes::workflows::{ORIGIN, callees_of};
use crate::scripts::RunScript;

/// A saved workflow with what a start needs to know of it.
#[derive(Debug)]
pub(crate) struct PreparedWorkflow {
    pub(crate) workflow: WorkflowNo,
    pub(crate) dialect: Option<Dialect>,
    /// The secrets in the programs.
    pub(crate) secrets: Secrets,
    /// What it uses of the machine, as far as its documents were saved over the API.
    pub(crate) needs: DocumentNeeds,
    loaded: Instant,
}

/// Prepared workflows by version and scripted steps.
#[derive(Debug, Default)]
pub(crate) struct PreparedWorkflows(Mutex<HashMap<Key, Arc<PreparedWorkflow>>>);

/// A version, and the steps that a script answers.
type Key = (WorkflowNo, BTreeSet<String>);

/// How long a prepared workflow is used although a workflow that it calls may have a new version.
const MAX_AGE: Duration = Duration::from_secs(1);

/// The maximum number of prepared workflows in memory.
const KEPT: usize = 256;

/// Loads a version of a workflow with the latest versions of the workflows that it calls, and saves the result.
pub(crate) fn prepare(
    app: &App,
    backend: &dyn Backend,
    version: &Version,
    script: Option<&RunScript>,
) -> Result<Arc<PreparedWorkflow>, Problem> {
    let scripted = script.map(|script| script.scripted_steps.clone()).unwrap_or_default();
    let key = (version.workflow, scripted);
    let known = app.prepared_workflows.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
    if let Some(known) = known.filter(|known| known.loaded.elapsed() < MAX_AGE) {
        return Ok(known);
    }
    let executable = executable(backend, version, key.1.clone())?;
    let needs = needs_of(app, backend, version, &executable, &key.1)?;
    let prepared = Arc::new(PreparedWorkflow { needs, ..prepare_unsaved(&executable, executable.save(backend)?) });
    let mut known = app.prepared_workflows.0.lock().unwrap_or_else(PoisonError::into_inner);
    if known.len() >= KEPT {
        known.clear();
    }
    known.insert(key, Arc::clone(&prepared));
    Ok(prepared)
}

/// What a start needs to know of a loaded workflow.
pub(crate) fn prepare_unsaved(executable: &Executable, workflow: WorkflowNo) -> PreparedWorkflow {
    let mut secrets = Secrets::in_program(&executable.program);
    for program in executable.children.values() {
        secrets.add(Secrets::in_program(program).values());
    }
    PreparedWorkflow {
        workflow,
        dialect: executable.dialect,
        secrets,
        needs: DocumentNeeds::default(),
        loaded: Instant::now(),
    }
}

/// What the documents of a workflow use of the machine, as far as they were saved over the API.
fn needs_of(
    app: &App,
    backend: &dyn Backend,
    version: &Version,
    executable: &Executable,
    scripted: &BTreeSet<String>,
) -> Result<DocumentNeeds, Problem> {
    documents_needs(app, backend, (executable, *version.origin == *ORIGIN), scripted)
}

/// What the documents of a workflow use of the machine when its own document is being saved over the API.
pub(crate) fn needs_of_saved(
    app: &App,
    backend: &dyn Backend,
    executable: &Executable,
    scripted: &BTreeSet<String>,
) -> Result<DocumentNeeds, Problem> {
    documents_needs(app, backend, (executable, true), scripted)
}

fn documents_needs(
    app: &App,
    backend: &dyn Backend,
    (executable, is_saved): (&Executable, bool),
    scripted: &BTreeSet<String>,
) -> Result<DocumentNeeds, Problem> {
    let mut needs = DocumentNeeds::default();
    if is_saved {
        needs.add(&executable.document.name, Needs::of_document(&executable.program, scripted)?);
    }
    for (name, program) in &executable.children {
        // Programs of agents belong to the documents that call them; no document can have their names.
        let is_saved = match backend.workflow(name)? {
            Some(number) => *app.version(backend, number)?.origin == *ORIGIN,
            None => !name.starts_with(AGENT),
        };
        if is_saved {
            needs.add(name, Needs::of_document(program, scripted)?);
        }
    }
    Ok(needs)
}

/// Fails unless a version of a workflow may perform its calls without a script.
pub(crate) fn check_live(app: &App, backend: &dyn Backend, version: &Version) -> Result<(), Problem> {
    let scripted = BTreeSet::new();
    let executable = executable(backend, version, scripted.clone())?;
    let mut needs = needs_of(app, backend, version, &executable, &scripted)?;
    let (mut parts, mut seen) = (vec![String::new()], BTreeSet::new());
    while let Some(part) = parts.pop() {
        let Some(stored) = backend.program(version.workflow, &part)? else { continue };
        // The run continues with the stored programs. One that differs from the checked one counts as saved over the API.
        let checked = executable.children.get(&*part);
        let is_checked = checked.is_some_and(|checked| is_equal(checked, &stored));
        if !part.is_empty() && !is_checked {
            needs.add(&part, Needs::of_document(&stored, &scripted)?);
        }
        parts.extend(callees_of(&stored).into_iter().filter(|name| seen.insert(name.clone())));
    }
    needs.check(app, backend)
}

/// Whether two programs are stored as the same bytes.
fn is_equal(one: &Program, other: &Program) -> bool {
    let bytes = |program| codec::encode_program(program).ok();
    bytes(one).is_some_and(|one| bytes(other) == Some(one))
}

/// Saves a version of a workflow for a run in which a script answers these steps.
pub(crate) fn save_version(
    app: &App,
    backend: &dyn Backend,
    version: &Version,
    scripted: &BTreeSet<String>,
) -> Result<WorkflowNo, Problem> {
    let executable = executable(backend, version, scripted.clone())?;
    needs_of(app, backend, version, &executable, scripted)?.check(app, backend)?;
    executable.save(backend)
}

/// Loads a version of a workflow for a run in which a script answers these steps.
pub(crate) fn executable(
    backend: &dyn Backend,
    version: &Version,
    scripted: BTreeSet<String>,
) -> Result<Executable, Problem> {
    let document = backend.document(version.workflow)?;
    let dialect = dialect_named(&document.dialect);
    let source = Source { text: &document.text, name: Some(&version.name), dialect, author: None };
    let loaded = load_scripted(backend, source, scripted)?;
    Executable::new(loaded, document.name, document.origin, document.text)
}
