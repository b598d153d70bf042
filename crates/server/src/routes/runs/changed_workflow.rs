//! The changed workflow on which a run continues: another version, or a document of the request.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_backend::{Backend, Run, WorkflowNo};
use branchpoint_host::Script;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::caller::{Action, Caller};
use crate::catalogue::Version;
use crate::documents::{Executable, Source, dialect_named, load_scripted};
use crate::prepared_workflows::{needs_of_saved, save_version};
use crate::problem::Problem;
use crate::routes::workflows::ORIGIN;

/// A changed workflow: a version, or a document. One of them is required.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ChangedWorkflow {
    /// A version of the run's workflow.
    version: Option<u32>,
    /// A document, which is saved as a version of the run's workflow. The caller must be allowed to edit it.
    text: Option<String>,
}

impl ChangedWorkflow {
    /// Saves the workflow for a run: calls that the script of the run answers stay answered, unless runners perform them (`live`). Returns
    /// its number.
    pub(super) fn save(
        self,
        app: &App,
        backend: &dyn Backend,
        caller: &Caller,
        (run, version): (&Run, &Version),
        live: bool,
    ) -> Result<WorkflowNo, Problem> {
        // A step that runners perform needs permissions, although a script answered it before.
        let is_scripted = !live && backend.is_scripted(run.run)?;
        let scripted = if is_scripted { scripted_steps(backend, run)? } else { BTreeSet::new() };
        match (self.version, self.text) {
            (Some(number), None) => {
                let version = app.find_version(backend, &version.name, Some(number))?;
                save_version(app, backend, &version, &scripted)
            }
            (None, Some(text)) => {
                caller.may(Action::Edit, &version.name)?;
                save_text(app, backend, (caller, version), text, &scripted)
            }
            _ => Err(Problem::invalid_input("A changed workflow needs either `version` or `text`.")),
        }
    }

    /// A version of the run's workflow.
    pub(super) fn version(number: u32) -> Self {
        Self { version: Some(number), text: None }
    }
}

fn save_text(
    app: &App,
    backend: &dyn Backend,
    (author, version): (&Caller, &Version),
    text: String,
    scripted: &BTreeSet<String>,
) -> Result<WorkflowNo, Problem> {
    let dialect = dialect_named(&version.dialect);
    let source = Source { text: &text, name: Some(&version.name), dialect, author: Some(author) };
    let loaded = load_scripted(backend, source, scripted.clone())?;
    let executable = Executable::new(loaded, version.name.to_string(), ORIGIN.into(), text)?;
    needs_of_saved(app, backend, &executable, scripted)?.check(app, backend)?;
    let workflow = executable.save(backend)?;
    app.catalogue.invalidate();
    Ok(workflow)
}

/// The steps that the script of a run answers.
fn scripted_steps(backend: &dyn Backend, run: &Run) -> Result<BTreeSet<String>, Problem> {
    let Some(bound) = backend.script(run.run)? else { return Ok(BTreeSet::new()) };
    let script = Script::read(&bound.script)
        .map_err(|error| Problem::invalid_input(format!("The script of run `{}` is invalid: {error}.", run.id)))?;
    let owned = |step: &Arc<str>| step.to_string();
    Ok(match script.recording() {
        Some(recorded) => recorded.replaced_steps.iter().map(owned).collect(),
        None => script.steps().map(ToString::to_string).collect(),
    })
}
