//! The real runners of the command line, set up from `branchpoint.toml` and the environment: tools and models.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use branchpoint_core::RunKinds as _;
use branchpoint_core::effect::{self, Request};
use branchpoint_core::ir::Effect;
use branchpoint_expr::Kind;
use branchpoint_runners::models;
use branchpoint_runners::storage::Storage;
use branchpoint_runners::tools::{self, Tools};
use branchpoint_runners::{
    Answer, CancellationToken, Models, PreparedCall, SecretStore, SharedSecrets, Unavailable, agents,
};
use serde::de::DeserializeOwned;

use crate::project::{FILE, Project};
use crate::{settings_file, text_extraction};

/// The configured runners: tools, models and agents.
pub(crate) struct ConfiguredRunners {
    tools: Arc<Tools>,
    models: Models,
    agents: BTreeMap<String, agents::Settings>,
}

impl ConfiguredRunners {
    /// Creates the runners. Nothing is called yet.
    pub(crate) fn new(
        project: &Project,
        tools: Tools,
        mask: SharedSecrets,
        words: models::Listener,
        storage: Storage,
    ) -> Result<Self> {
        let (http, files) = (tools.settings().http.clone(), tools.settings().files.clone());
        let tools = Arc::new(tools.with_storage(storage.clone()).with_extractor(text_extraction::extractor()?));
        let mut agents: BTreeMap<String, agents::Settings> = read("agents", &project.agents)?;
        for agent in agents.values_mut() {
            anchor_program(&mut agent.program, &project.folder);
        }
        let catalogue = Arc::clone(&tools);
        let mut models = Models::new(read::<models::Settings>("models", &project.models)?, agents.clone());
        models.files = files;
        models.storage = Some(storage);
        models.extractor = Some(text_extraction::extractor()?);
        models.listener = words;
        models.mask = mask;
        models.catalogue = Arc::new(move |names| {
            let catalogue = Arc::clone(&catalogue);
            Box::pin(
                async move { catalogue.tool_descriptions(&names.iter().map(String::as_str).collect::<Vec<_>>()).await },
            )
        });
        Ok(Self { tools, models: models.with_network_settings(&http), agents })
    }

    /// The settings of agents that are local programs.
    pub(crate) fn agents(&self) -> &BTreeMap<String, agents::Settings> {
        &self.agents
    }

    /// The models with their providers.
    pub(crate) fn models(&self) -> &Models {
        &self.models
    }

    /// Performs a call; `None` if there is no runner for it.
    pub(crate) async fn perform(&self, call: &PreparedCall, cancel: &CancellationToken) -> Option<Answer> {
        match self.models.perform(call, cancel).await {
            None => self.tools.perform(call, cancel).await,
            answer => answer,
        }
    }

    /// What calls of an effect need and is not configured here.
    pub(crate) async fn unavailable(&self, effect: &Effect) -> Vec<Unavailable> {
        let lack = |(kind, reason)| vec![Unavailable::Runner { kind, reason }];
        match effect.kind {
            effect::Kind::Model => match self.models.unavailable_reason(effect) {
                None => self.lacks_tools(effect).await,
                Some(missing) => lack(missing),
            },
            effect::Kind::Run | effect::Kind::Scripted => lack((Kind::NoRunner, String::new())),
            _ => self.tools.unavailable_reason(effect).await.map(|why| lack((Kind::NoRunner, why))).unwrap_or_default(),
        }
    }

    /// The tools that an effect offers to a model and that are unavailable, as far as the document names them.
    async fn lacks_tools(&self, effect: &Effect) -> Vec<Unavailable> {
        let Ok(Request::Model(request)) = effect.request() else { return Vec::new() };
        for name in &request.uses {
            if let Some(reason) = self.tools.tool_unavailable_reason(name).await {
                return vec![Unavailable::Runner { kind: Kind::NoRunner, reason }];
            }
        }
        let mut lacks = Vec::new();
        for tool in request.optional_uses {
            if let Some(reason) = self.tools.tool_unavailable_reason(&tool).await {
                lacks.push(Unavailable::OptionalTool { tool, reason });
            }
        }
        lacks
    }
}

/// Tools without stored data.
pub(crate) fn tools(project: &Project, secrets: &SecretStore) -> Result<Tools> {
    Ok(Tools::new(tool_settings(project)?, Arc::clone(secrets)))
}

fn tool_settings(project: &Project) -> Result<tools::Settings> {
    let mut settings: tools::Settings = read("tools", &project.tools())?;
    anchor_tools(&mut settings, &project.folder);
    Ok(settings)
}

/// Makes paths in the project file relative to its folder.
fn anchor_tools(settings: &mut tools::Settings, folder: &Path) {
    if let Some(files) = &mut settings.files {
        files.dir = folder.join(&files.dir);
    }
    for server in settings.mcp.values_mut() {
        server.dir = server.dir.take().map(|dir| folder.join(dir));
        anchor_program(&mut server.command, folder);
    }
}

/// Makes the path of a program relative to a folder. A name without `/` is searched in `PATH`.
fn anchor_program(program: &mut Option<String>, folder: &Path) {
    if let Some(path) = program.as_mut().filter(|program| program.contains('/')) {
        *path = folder.join(&*path).display().to_string();
    }
}

fn read<T: DeserializeOwned>(what: &str, table: &toml::Table) -> Result<T> {
    settings_file::from_table(FILE, table).with_context(|| format!("the settings of {what} cannot be used"))
}
