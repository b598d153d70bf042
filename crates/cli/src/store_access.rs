//! Opens an existing store, and finds runs in it by id.

use anyhow::{Result, bail};
use branchpoint_backend::{Backend, Filter, Run};
use branchpoint_expr::nearest;

use crate::project::{Project, Reach, StoreArguments};
use crate::{backend, time};

/// The project and its store.
pub(crate) struct StoreAccess {
    pub(crate) project: Project,
    pub(crate) store: Box<dyn Backend>,
}

impl StoreAccess {
    /// Opens the store of the arguments, if it exists.
    pub(crate) fn existing(arguments: &StoreArguments) -> Result<Self> {
        let project = Project::find()?;
        let path = project.store_path(arguments)?;
        if !path.is_file() {
            bail!(
                "there is no store at {}\nhelp: `branchpoint run FILE` creates one; --store names another file",
                path.display()
            );
        }
        let store = backend::open(&project, arguments)?;
        Ok(Self { project, store })
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
