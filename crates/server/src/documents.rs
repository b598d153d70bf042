//! Loads documents over the workflows of the store, and saves them.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_backend::{Backend, Document, Workflow, WorkflowNo};
use branchpoint_core::effect::AGENT;
use branchpoint_core::ir::Program;
use branchpoint_dialects::{Library, LoadOptions, Loaded, agent_programs, document_name, load_all};
use branchpoint_expr::Dialect;

use crate::caller::{Action, Caller};
use crate::problem::Problem;
use crate::time::now_ms;

/// A text to load.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Source<'t> {
    pub(crate) text: &'t str,
    /// The name under which it is or will be saved. A call of this name is circular.
    pub(crate) name: Option<&'t str>,
    /// The dialect; detected by the content if absent.
    pub(crate) dialect: Option<Dialect>,
    /// Who sent the text; none for a saved text. Workflows that this caller may not read do not exist for the text, because a call of a
    /// workflow starts it. A person who may save documents may also start the workflows that they may read.
    pub(crate) author: Option<&'t Caller>,
}

impl Source<'_> {
    fn may_call(&self, workflow: &str) -> bool {
        self.author.is_none_or(|author| author.may(Action::Read, workflow).is_ok())
    }
}

/// Loads a text with the stored workflows that it calls.
pub(crate) fn load(backend: &dyn Backend, source: Source<'_>) -> Result<Loaded, Problem> {
    load_scripted(backend, source, BTreeSet::new())
}

/// The same for a run in which a script answers these steps.
pub(crate) fn load_scripted(
    backend: &dyn Backend,
    source: Source<'_>,
    scripted: BTreeSet<String>,
) -> Result<Loaded, Problem> {
    let callees = backend.workflows()?.into_iter().map(|workflow| workflow.name);
    let callees = callees.filter(|name| source.may_call(name)).collect();
    let options = LoadOptions { dialect: source.dialect, scripted, callees: Some(callees) };
    Ok(load_all(source.text, &options, &Stored { backend, source }))
}

/// The latest versions of the stored workflows.
struct Stored<'b> {
    backend: &'b dyn Backend,
    source: Source<'b>,
}

impl Stored<'_> {
    /// The text of a workflow of exactly this name. Permissions belong to names, so a call does not find a workflow by its hash.
    fn text(&self, name: &str) -> Option<Result<String, String>> {
        let workflow = self.backend.workflow(name).transpose()?;
        match workflow.and_then(|number| self.backend.document(number)) {
            Ok(document) => (document.name == name).then_some(Ok(document.text)),
            Err(error) => Some(Err(error.to_string())),
        }
    }
}

impl Library for Stored<'_> {
    fn workflow(&self, name: &str) -> Option<String> {
        self.text(name)?.ok()
    }

    fn unreadable(&self, name: &str) -> Option<String> {
        self.text(name)?.err()
    }

    fn may_call(&self, name: &str) -> bool {
        self.source.may_call(name)
    }

    fn root(&self) -> Option<&str> {
        self.source.name
    }
}

/// The dialect of this name.
pub(crate) fn dialect_named(name: &str) -> Option<Dialect> {
    Dialect::ALL.into_iter().find(|dialect| dialect.as_str() == name)
}

/// What a document says about itself.
pub(crate) fn description_of(text: &str) -> Option<String> {
    let description = branchpoint_dialects::read(text).ok()?.get("description")?.to_value();
    let description = description.as_str().map(str::trim)?;
    (!description.is_empty()).then(|| description.to_owned())
}

/// A document that can run.
pub(crate) struct Executable {
    pub(crate) document: Document,
    pub(crate) dialect: Option<Dialect>,
    pub(crate) program: Program,
    /// The programs that it calls: other workflows, and turns of agents.
    pub(crate) children: BTreeMap<Arc<str>, Program>,
}

impl Executable {
    /// A loaded document; a problem with its findings if it has errors.
    pub(crate) fn new(loaded: Loaded, name: String, origin: String, text: String) -> Result<Self, Problem> {
        let Some(program) = loaded.program else {
            return Err(Problem::invalid_document(&loaded.diagnostics, &text, &name));
        };
        let mut children = loaded.children;
        let agents = agent_programs([&program].into_iter().chain(children.values()));
        children.extend(agents.map_err(refused_agent)?);
        let dialect = loaded.dialect.map(|dialect| dialect.as_str().to_owned()).unwrap_or_default();
        let document = Document { name, dialect, origin, text };
        Ok(Self { document, dialect: loaded.dialect, program, children })
    }

    /// Saves it. Equal content is saved once.
    pub(crate) fn save(&self, backend: &dyn Backend) -> Result<WorkflowNo, Problem> {
        let Self { document, program, children, .. } = self;
        Ok(backend.save(Workflow { document, program, children }, now_ms())?)
    }
}

/// The message about the name of a dialect that does not exist.
pub(crate) fn unknown_dialect(name: &str) -> String {
    let known = Dialect::ALL.map(Dialect::as_str).join(", ");
    format!("`{name}` is not a dialect. The dialects are {known}.")
}

/// A condition of an agent is invalid.
pub(crate) fn refused_agent(problems: impl std::fmt::Display) -> Problem {
    Problem::invalid_input(format!("An agent's `stop_when` is invalid: {problems}."))
}

/// The name of a document: its own, else the one that the request chose.
pub(crate) fn name_of(text: &str, chosen: Option<String>) -> Result<String, Problem> {
    let name = chosen.or_else(|| document_name(text));
    let name = name.ok_or_else(|| {
        Problem::invalid_input("The document has no `name`. Write one into it, or send one as `name`.")
    })?;
    check_name(&name)?;
    Ok(name)
}

/// The longest name of a workflow, in bytes.
const NAME_BYTES: usize = 200;

/// Rejects names that cannot be part of a path, and those of the programs of agents.
pub(crate) fn check_name(name: &str) -> Result<(), Problem> {
    if name.starts_with(AGENT) {
        return Err(Problem::invalid_input(format!(
            "Names that begin with `{AGENT}` are reserved. Choose another name."
        )));
    }
    let is_plain = !name.trim().is_empty() && !name.chars().any(|c| c.is_control() || "/\\".contains(c));
    if is_plain && name.len() <= NAME_BYTES && name != "." && name != ".." {
        return Ok(());
    }
    Err(Problem::invalid_input(format!(
        "The name of a workflow has 1 to {NAME_BYTES} bytes without `/`, `\\` and control characters."
    )))
}
