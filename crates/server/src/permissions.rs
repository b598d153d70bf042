//! What documents that were saved over the API may use of the machine. Without a permission: nothing.
//!
//! A caller that saves a document over the API need not be a person who may log in to the machine. So its runs must not execute commands or
//! programs of agents, read files or variables, or send secrets, unless the operator permits it for workflows of this name.

use std::collections::BTreeSet;

use branchpoint_backend::{Backend, NamedSecret, is_secret_name};
use branchpoint_core::effect::{FilesOperation, Kind, Request, SecretForm};
use branchpoint_core::ir::{Effect, Index as _, Program};
use branchpoint_dialects::agent_programs;
use branchpoint_expr::{Expression, Value};

use crate::access::Pattern;
use crate::app::App;
use crate::documents::refused_agent;
use crate::problem::{Problem, ProblemKind};

/// What workflows whose names match a pattern may use, although their documents were saved over the API.
#[derive(Clone, Debug)]
pub struct Permission {
    /// The workflows.
    pub workflow: Pattern,
    /// Commands of the shell.
    pub commands: bool,
    /// Programs of agents.
    pub agents: bool,
    /// Files of the machine.
    pub files: bool,
    /// Secrets, by patterns of their names.
    pub secrets: Vec<Pattern>,
    /// Variables of the environment, by patterns of their names.
    pub environment: Vec<Pattern>,
}

/// What programs use of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    commands: bool,
    agents: bool,
    files: bool,
    /// The names of secrets; `*` if they are unknown.
    secrets: BTreeSet<String>,
    /// The names of variables; `*` for all.
    environment: BTreeSet<String>,
}

/// What the documents of a run use of the machine, with the names of their workflows. A called workflow has the permissions of its own
/// name, not those of its caller.
#[derive(Clone, Debug, Default)]
pub(crate) struct DocumentNeeds(Vec<(String, Needs)>);

impl DocumentNeeds {
    /// Adds a document that was saved over the API.
    pub(crate) fn add(&mut self, workflow: &str, needs: Needs) {
        self.0.push((workflow.to_owned(), needs));
    }

    /// Fails unless each document has the permissions for what it uses.
    pub(crate) fn check(&self, app: &App, backend: &dyn Backend) -> Result<(), Problem> {
        self.0.iter().try_for_each(|(workflow, needs)| needs.check(app, backend, workflow))
    }
}

impl Needs {
    /// What a document uses when a script answers these steps: its program, and the programs of its agents.
    pub(crate) fn of_document(program: &Program, scripted: &BTreeSet<String>) -> Result<Self, Problem> {
        let agents = agent_programs([program]).map_err(refused_agent)?;
        Ok(Self::of([program].into_iter().chain(agents.values()), scripted))
    }

    /// What programs use when a script answers these steps.
    fn of<'p>(programs: impl IntoIterator<Item = &'p Program>, scripted: &BTreeSet<String>) -> Self {
        let (mut needs, mut has_inserted) = (Self::default(), false);
        for program in programs {
            needs
                .environment
                .extend(program.facts.iter().filter_map(|fact| fact.strip_prefix("env.")).map(str::to_owned));
            let is_scripted =
                |effect: &&Effect| effect.step.is_some_and(|step| scripted.contains(&*program.steps[step.index()].id));
            let mut inserts_secrets = false;
            for effect in program.effects.iter().map(|effect| &**effect).filter(|effect| !is_scripted(effect)) {
                inserts_secrets |= needs.add(effect);
            }
            if inserts_secrets {
                has_inserted = true;
                program.exprs.iter().flat_map(Expression::constants).for_each(|constant| needs.add_named(constant));
            }
        }
        // A program of an agent gets the names from the program that calls it.
        if has_inserted && needs.secrets.is_empty() {
            needs.secrets.insert("*".to_owned());
        }
        needs
    }

    /// Adds the names in references `{secret: name}`. Only constants of a document name secrets: data of a run cannot.
    fn add_named(&mut self, value: &Value) {
        match value {
            Value::List(items) => items.iter().for_each(|item| self.add_named(item)),
            Value::Object(fields) => {
                let name = fields.get("secret").and_then(Value::as_str).filter(|_| fields.len() == 1);
                self.secrets.extend(name.map(str::to_owned));
                fields.iter().for_each(|(_, value)| self.add_named(value));
            }
            _ => {}
        }
    }

    /// Adds the needs of an effect. Returns whether its input has references to secrets.
    fn add(&mut self, effect: &Effect) -> bool {
        let mut inserts_secrets = false;
        for secret in &effect.secrets {
            match &secret.form {
                SecretForm::Credential { secret, .. } => drop(self.secrets.insert(secret.to_string())),
                SecretForm::Plain | SecretForm::ShellWord => inserts_secrets = true,
            }
        }
        match effect.request() {
            Ok(Request::Process(_)) => self.commands = true,
            Ok(Request::Model(request)) => self.agents |= request.program,
            Ok(Request::Files(request)) if request.operation == FilesOperation::Environment => {
                self.environment.insert("*".to_owned());
            }
            Ok(Request::Files(request)) => self.files |= request.operation.is_local(),
            // A request that depends on the run is checked by its kind alone.
            Err(_) => {
                self.commands |= effect.kind == Kind::Process;
                self.files |= effect.kind == Kind::Files;
                self.agents |= effect.kind == Kind::Model;
            }
            Ok(_) => {}
        }
        inserts_secrets
    }

    /// Fails unless the permissions of the operator, and for secrets those of named secrets, cover the needs of a workflow.
    fn check(&self, app: &App, backend: &dyn Backend, workflow: &str) -> Result<(), Problem> {
        // A secret of the machine is used before a named one, which therefore permits nothing for its name.
        let is_named = |name: &str| is_secret_name(name) && !(app.host.has_own_secret)(name);
        let needs_named = self.secrets.iter().any(|name| is_named(name));
        let named = if needs_named { backend.named_secrets()? } else { Vec::new() };
        let permits = |secret: &NamedSecret, name: &str| {
            secret.name == name
                && secret
                    .workflows
                    .iter()
                    .filter_map(|pattern| pattern.parse().ok())
                    .any(|pattern: Pattern| pattern.matches(workflow))
        };
        let is_permitted = |name: &str| is_named(name) && named.iter().any(|secret| permits(secret, name));
        self.check_with(workflow, &app.host.permissions, &is_permitted)
    }

    /// Fails unless permissions cover the needs of a workflow. `is_named` says whether a named secret permits its use.
    fn check_with(
        &self,
        workflow: &str,
        permissions: &[Permission],
        is_named: &dyn Fn(&str) -> bool,
    ) -> Result<(), Problem> {
        let granted: Vec<&Permission> =
            permissions.iter().filter(|permission| permission.workflow.matches(workflow)).collect();
        let any = |is: fn(&Permission) -> bool| granted.iter().any(|permission| is(permission));
        let covers = |patterns: fn(&Permission) -> &[Pattern], name: &String| {
            granted.iter().flat_map(|permission| patterns(permission)).any(|pattern| match name.as_str() {
                "*" => pattern.is_all(),
                name => pattern.matches(name),
            })
        };
        let mut missing: Vec<String> = Vec::new();
        if self.commands && !any(|permission| permission.commands) {
            missing.push("commands".into());
        }
        if self.agents && !any(|permission| permission.agents) {
            missing.push("programs of agents".into());
        }
        if self.files && !any(|permission| permission.files) {
            missing.push("files of the machine".into());
        }
        let is_covered = |name: &&String| covers(|permission| &permission.secrets, name) || is_named(name);
        let secrets = self.secrets.iter().filter(|name| !is_covered(name));
        missing.extend(secrets.map(|name| if name == "*" { "secrets".into() } else { format!("the secret `{name}`") }));
        let variables = self.environment.iter().filter(|name| !covers(|permission| &permission.environment, name));
        missing.extend(variables.map(|name| match name.as_str() {
            "*" => "variables of the environment".into(),
            name => format!("the variable `{name}` of the environment"),
        }));
        if missing.is_empty() {
            return Ok(());
        }
        let detail = format!(
            "Workflow `{workflow}` was saved over the API and may not use {}. An operator permits it with `[[permissions]]` in branchpoint.toml, or for a named secret with its `workflows`.",
            missing.join(", ")
        );
        Err(Problem::new(ProblemKind::NotPermitted, detail).with("missing", missing))
    }
}
