//! The changed workflow on which a run continues: a file, or a workflow of the store.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use branchpoint_backend::{RunNo, WorkflowNo};
use branchpoint_host::Script;

use crate::diff::stored_version;
use crate::store_access::StoreAccess;
use crate::{run, time, workflow};

/// Loads a file and saves it in the store. A rejected document returns the exit code. Steps that the script of `of` answers are calls
/// in the changed workflow, too.
pub(super) fn save_file(opened: &StoreAccess, file: &Path, of: Option<RunNo>) -> Result<Result<WorkflowNo, ExitCode>> {
    let scripted = match of.map(|run| opened.store.script(run)).transpose()?.flatten() {
        Some(script) => scripted_steps(&Script::read(&script.script)?),
        None => BTreeSet::new(),
    };
    let workflow = match workflow::File::at(file.to_owned()).load_scripted(&scripted)? {
        Ok(workflow) => workflow,
        Err(rejected) => return Ok(Err(rejected)),
    };
    Ok(Ok(run::save(&*opened.store, &workflow, time::now_ms())?))
}

/// The steps that a script answers.
fn scripted_steps(script: &Script) -> BTreeSet<String> {
    match script.recording() {
        Some(recorded) => recorded.replaced_steps.iter().map(ToString::to_string).collect(),
        None => script.steps().map(ToString::to_string).collect(),
    }
}

/// The workflow of a file, or the stored one of this name.
pub(super) fn version(opened: &StoreAccess, name: &str) -> Result<Result<WorkflowNo, ExitCode>> {
    let path = PathBuf::from(name);
    if path.is_file() {
        return save_file(opened, &path, None);
    }
    match stored_version(&*opened.store, name)? {
        Some(workflow) => Ok(Ok(workflow)),
        None => bail!(
            "there is no file `{name}`, and no stored workflow of that name\nhelp: `branchpoint workflows list` lists those of the store"
        ),
    }
}
