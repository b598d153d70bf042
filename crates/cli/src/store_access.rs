//! Opens an existing store, and finds runs in it by id.

use anyhow::{Result, bail};
use branchpoint_backend::{Backend, Filter, Run};
use branchpoint_expr::nearest;

use crate::project::{Project, Reach, StoreArguments};
use crate::{backend, server_option, time};

/// The project and its store.
pub(crate) struct StoreAccess {
    pub(crate) project: Project,
    pub(crate) store: Box<dyn Backend>,
    /// The user whom the server knows, if it is a server and not a store.
    server_user: Option<String>,
}

impl StoreAccess {
    /// Opens the store of the arguments, if it exists; or connects to their server.
    pub(crate) fn existing(arguments: &StoreArguments) -> Result<Self> {
        let project = Project::find()?;
        if let Some(address) = &arguments.server {
            let remote = backend::connect(address)?;
            let server_user = Some(remote.user().to_owned());
            return Ok(Self { project, store: remote.into(), server_user });
        }
        server_option::must_mean_a_store(arguments)?;
        let path = project.store_path(arguments)?;
        if !path.is_file() {
            bail!(
                "there is no store at {}\nhelp: `branchpoint run FILE` creates one; --store names another file",
                path.display()
            );
        }
        let store = backend::open(&project, arguments)?;
        Ok(Self { project, store, server_user: None })
    }

    /// A store that is open already.
    pub(crate) fn of_store(project: Project, store: Box<dyn Backend>) -> Self {
        Self { project, store, server_user: None }
    }

    /// Whether it is a server, which drives the runs itself.
    pub(crate) fn is_server(&self) -> bool {
        self.server_user.is_some()
    }

    /// The acting user. A server knows who acts by the token.
    pub(crate) fn user(&self, given: Option<&str>) -> Result<String> {
        match (&self.server_user, given) {
            (None, given) => Ok(self.project.user(given)),
            (Some(user), Some(given)) if user != given => bail!(
                "the server knows you as {user}, so you cannot act as {given}\nhelp: set BRANCHPOINT_TOKEN to a token of {given}"
            ),
            (Some(user), _) => Ok(user.clone()),
        }
    }

    /// The same, for a command that executes runs.
    pub(crate) fn reaching(self, reach: Reach) -> Self {
        Self { project: self.project.reaching(reach), ..self }
    }

    /// The run of a name: its id, or a unique beginning or end of it.
    pub(crate) fn run(&self, name: &str) -> Result<Run> {
        let runs = if name.is_empty() { Vec::new() } else { self.store.find_runs(name)? };
        match <[Run; 1]>::try_from(runs) {
            Ok([run]) => Ok(run),
            Err(runs) if runs.is_empty() => bail!("there is no run `{name}`\nhelp: {}", self.near(name)?),
            Err(runs) => {
                let ids: Vec<String> =
                    runs.iter().map(|run| format!("  {} ({})", run.id, run.status.as_str())).collect();
                bail!("several runs begin or end with `{name}`:\n{}\nhelp: write more of the id", ids.join("\n"))
            }
        }
    }

    /// A suggestion for an unknown name.
    fn near(&self, name: &str) -> Result<String> {
        let newest = self.store.runs(&Filter { limit: Some(200), ..Filter::default() })?;
        let near = nearest(name, newest.iter().map(|run| run.id.as_str()));
        Ok(match (near, newest.first()) {
            (Some(id), _) => format!("did you mean `{id}`? All are listed by `branchpoint runs list --all`"),
            (None, Some(run)) => format!(
                "`branchpoint runs list --all` lists them; the newest is `{}`, {} ago",
                run.id,
                time::duration(time::now_ms() - run.started_ms)
            ),
            (None, None) => "this store has no runs; `branchpoint run FILE` starts one".into(),
        })
    }
}
