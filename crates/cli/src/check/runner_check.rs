//! Steps that have no configured runner.

use std::sync::Arc;

use anyhow::Result;
use branchpoint_core::effect::Kind;
use branchpoint_core::ir::{Effect, Program};
use branchpoint_expr::{Diagnostic, Severity};
use branchpoint_runners::{SharedSecrets, runner_check, runtime};

use crate::configured_runners::{self, ConfiguredRunners};
use crate::project::{Project, StoreArguments};
use crate::{backend, workflow};

/// The runners of the project, which are never started.
pub(crate) struct RunnerCheck(ConfiguredRunners);

impl RunnerCheck {
    /// Those of the working directory; none if there is no configuration.
    pub(crate) fn find() -> Result<Option<Self>> {
        let Some(project) = Project::find_configured()? else { return Ok(None) };
        let storage = backend::storage(&project, &StoreArguments::default())?;
        let tools = configured_runners::tools(&project, &project.secret_store(&StoreArguments::default())?)?
            .without_server_requests();
        let runners = ConfiguredRunners::new(&project, tools, SharedSecrets::default(), Arc::new(|_, _| {}), storage)?;
        Ok(Some(Self(runners)))
    }

    /// Warnings about the steps of a program that have no configured runner.
    pub(crate) fn findings(&self, program: &Program, text: &str) -> Vec<Diagnostic> {
        let lacks = async |effect: &Effect, _: &str| {
            // A workflow that is not found has a finding of its own.
            if effect.kind == Kind::Run { Vec::new() } else { self.0.unavailable(effect).await }
        };
        let mut findings = runtime().block_on(runner_check(program, lacks));
        workflow::point_at_names(&mut findings, text);
        for finding in &mut findings {
            finding.severity = Severity::Warning;
        }
        findings
    }
}
