//! Scripts: answers for the calls and approvals of runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use branchpoint_dialects::script_by_step;
use branchpoint_expr::Value;
use branchpoint_host::Script;
use serde::Deserialize;

use crate::app::App;
use crate::problem::Problem;

/// The scripts of workflows whose runs have no other script, by the names of the workflows. Clones share them.
///
/// ```
/// use branchpoint_server::DefaultScripts;
///
/// let scripts = DefaultScripts::default();
/// scripts.set("greet", Some("ask: approve".into()));
/// scripts.set("greet", None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct DefaultScripts(Arc<Mutex<BTreeMap<String, String>>>);

impl DefaultScripts {
    /// Sets or removes the script of a workflow, for runs that start from now on.
    pub fn set(&self, workflow: &str, script: Option<String>) {
        let mut scripts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match script {
            Some(script) => scripts.insert(workflow.to_owned(), script),
            None => scripts.remove(workflow),
        };
    }

    /// The script of a workflow.
    pub(crate) fn get(&self, workflow: &str) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(workflow).cloned()
    }
}

/// A script in a request: YAML or JSON text, or an object.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct WrittenScript(Value);

/// A valid script.
pub(crate) struct RunScript {
    /// The form that the store keeps.
    pub(crate) written: Value,
    /// The steps that call nothing, because the script has their outputs.
    pub(crate) scripted_steps: BTreeSet<String>,
    pub(crate) script: Script,
}

/// Reads a script.
pub(crate) fn read_script(script: &WrittenScript) -> Result<RunScript, Problem> {
    let value = match &script.0 {
        Value::Str(text) => {
            let document = branchpoint_dialects::read(text)
                .map_err(|findings| Problem::invalid_document(&findings, text, "script"))?;
            document.to_value()
        }
        value => value.clone(),
    };
    let written = script_by_step(value);
    let script =
        Script::read(&written).map_err(|error| Problem::invalid_input(format!("The script is invalid: {error}.")))?;
    let scripted_steps = match script.recording() {
        Some(recorded) => recorded.replaced_steps.iter().map(ToString::to_string).collect(),
        None => script.steps().map(ToString::to_string).collect(),
    };
    Ok(RunScript { written, scripted_steps, script })
}

impl App {
    /// The script of a run: the one of the request, else that of an example, unless its calls are performed.
    pub(crate) fn script_for(
        &self,
        workflow: &str,
        script: Option<WrittenScript>,
        live: bool,
    ) -> Result<Option<RunScript>, Problem> {
        let script = match script {
            Some(script) => Some(script),
            None if live => None,
            None => self.default_scripts.get(workflow).map(|text| WrittenScript(Value::from(text))),
        };
        script.as_ref().map(read_script).transpose()
    }
}
