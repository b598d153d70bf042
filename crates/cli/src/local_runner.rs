//! Performs the calls of runs for the command line.

use std::env;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use branchpoint_core::RunKinds as _;
use branchpoint_core::effect::Request;
use branchpoint_core::ir::Effect;
use branchpoint_expr::{Kind, Object, Value};
use branchpoint_runners::models::{Listener as Words, Piece};
use branchpoint_runners::{
    Answer, AnswerFuture, Call, CancellationToken, Local, Models, PreparedCall, Runner, SecretStore, Secrets,
    SharedSecrets, Unavailable,
};

use crate::configured_runners::ConfiguredRunners;
use crate::project::{Project, StoreArguments};
use crate::{backend, configured_runners, json, login};

/// Receives a text, with secrets masked.
pub(crate) type TextListener = Arc<dyn Fn(&str) + Send + Sync>;

/// Listeners of the output of calls.
pub(crate) struct OutputListeners {
    /// Receives the output of commands and logs, and may block them.
    pub(crate) printed: TextListener,
    /// Receives the text of models as it arrives.
    pub(crate) words: Words,
}

impl OutputListeners {
    /// One listener for all output, without words of models as they arrive.
    pub(crate) fn of(listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let printed: TextListener = Arc::new(listener);
        Self { printed, words: Arc::new(|_, _| {}) }
    }

    /// The same, without secrets.
    fn masked(self, masks: &SharedSecrets) -> Self {
        let masked = |listener: TextListener| -> TextListener {
            let masks = masks.clone();
            Arc::new(move |text| listener(&masks.mask(text)))
        };
        let (words, shown) = (self.words, masks.clone());
        let words: Words = Arc::new(move |call, piece| match piece {
            Piece::Text(text) => words(call, Piece::Text(&shown.mask(text))),
            piece => words(call, piece),
        });
        Self { printed: masked(self.printed), words }
    }
}

/// Performs the calls that no script answers, on this machine.
pub(crate) struct LocalRunner {
    local: Local,
    runners: ConfiguredRunners,
    secrets: SecretStore,
    /// Values that are masked in all output.
    masks: SharedSecrets,
    /// The secrets of the environment.
    private: Secrets,
    account: Value,
    /// Whether conversations get lines: from a person at the terminal, or from standard input.
    attached: bool,
    /// Whether runs without a folder use the working directory of this process.
    anywhere: bool,
}

impl LocalRunner {
    /// Creates a runner for the user of the project, without a terminal.
    pub(crate) fn new(project: &Project, store: &StoreArguments, listeners: OutputListeners) -> Result<Self> {
        let private = project.private();
        let masks = SharedSecrets::from(private.clone());
        let (known, seen) = (project.secret_store(store)?, masks.clone());
        let OutputListeners { printed, words } = listeners.masked(&masks);
        // Secrets that were inserted into a call are masked when its output contains them.
        let secrets: SecretStore = Arc::new(move |name| {
            let value = known(name);
            seen.add(value.clone());
            value
        });
        let (tools, storage) = (configured_runners::tools(project, &secrets)?, backend::storage(project, store)?);
        let runners = ConfiguredRunners::new(project, tools, masks.clone(), words, storage)?;
        let local = Local {
            listener: Arc::new(move |_, text| printed(text)),
            mask: masks.clone(),
            agents: runners.agents().clone(),
            ..Local::new(env::current_dir()?)
        };
        let account = account(project, &project.user(None));
        Ok(Self { local, runners, secrets, masks, private, account, attached: false, anywhere: true })
    }

    /// Sets the user. With `attached`, conversations get lines of input.
    pub(crate) fn for_user(self, project: &Project, user: &str, attached: bool) -> Self {
        Self { account: account(project, user), attached, ..self }
    }

    /// Creates a runner for a worker, which executes commands only in the folders of runs.
    pub(crate) fn for_worker(project: &Project, store: &StoreArguments, listeners: OutputListeners) -> Result<Self> {
        let here = Self::new(project, store, listeners)?;
        Ok(Self { anywhere: false, ..here })
    }

    pub(crate) fn masks(&self) -> &SharedSecrets {
        &self.masks
    }

    /// The models with their providers.
    pub(crate) fn models(&self) -> &Models {
        self.runners.models()
    }

    /// Where secrets are found.
    pub(crate) fn secrets(&self) -> SecretStore {
        Arc::clone(&self.secrets)
    }

    /// Values of the environment that are secret.
    pub(crate) fn private(&self) -> &Secrets {
        &self.private
    }

    /// The masks that the secrets of runs are added to; none for a worker.
    pub(crate) fn shared_masks(&self) -> Option<SharedSecrets> {
        self.anywhere.then(|| self.masks.clone())
    }

    async fn local(&self, prepared: &PreparedCall, cancel: &CancellationToken) -> Option<Answer> {
        let folder = Path::new(&*prepared.call.folder);
        let works = match &prepared.request {
            Request::Process(_) => true,
            Request::Files(request) => request.operation.is_local(),
            Request::Model(request) => request.program,
            _ => false,
        };
        if works && !self.anywhere && !folder.is_absolute() {
            let message = "the run has no folder, and a worker executes commands only in the folder of their run";
            return Some(Answer::failed(Kind::BadWorkingDir.as_str(), message));
        }
        if works && folder.is_absolute() && !folder.is_dir() {
            let message = format!("the folder of the run, {}, does not exist", folder.display());
            return Some(Answer::failed(Kind::BadWorkingDir.as_str(), message));
        }
        match self.local.perform(prepared, cancel).await {
            None => self.local.agent(prepared, cancel).await,
            answer => answer,
        }
    }

    /// What calls of an effect need and is not configured here.
    pub(crate) async fn unavailable(&self, effect: &Effect) -> Vec<Unavailable> {
        self.runners.unavailable(effect).await
    }
}

impl Runner for LocalRunner {
    fn perform<'c>(&'c self, call: &'c Call, cancel: &'c CancellationToken) -> AnswerFuture<'c> {
        Box::pin(async move {
            let prepared = match call.prepare(&self.secrets) {
                Ok(prepared) => prepared,
                Err(answer) => return answer,
            };
            if let Some(answer) = self.local(&prepared, cancel).await {
                return answer;
            }
            self.runners.perform(&prepared, cancel).await.unwrap_or_else(|| {
                let message =
                    format!("no runner is configured for `{}`; write an answer into the --script file", call.kind());
                Answer::impossible("no_runner", message)
            })
        })
    }

    fn fact(&self, name: &str) -> Value {
        match name {
            "user_attached" => Value::Bool(self.attached),
            "account" => self.account.clone(),
            name => fact(name),
        }
    }
}

/// A fact of this machine by name. A dry run has no attached person.
pub(crate) fn fact(name: &str) -> Value {
    match name {
        "user_attached" => Value::Bool(false),
        "run_id" => Value::from("run"),
        "working_dir" => env::current_dir().map_or(Value::Null, |dir| Value::from(dir.display().to_string())),
        "user" => Value::from(login::user_name()),
        "hostname" => Value::from(login::host_name()),
        "attachments" | "metadata" => Value::from(Object::default()),
        "agent_id" => Value::from("agent"),
        name => name.strip_prefix("env.").map_or(Value::Null, variable),
    }
}

/// The possible approvers: the people of the project, else the user who runs the workflow.
pub(crate) fn account(project: &Project, user: &str) -> Value {
    let people = &project.people;
    let list_of =
        |names: &[String]| Value::from(names.iter().map(|name| Value::from(name.as_str())).collect::<Vec<_>>());
    let list = |names: &[String]| if names.is_empty() { list_of(&[user.to_owned()]) } else { list_of(names) };
    let groups: Object = project.groups.iter().map(|(name, users)| (name.as_str().into(), list_of(users))).collect();
    json::object([
        ("owner", Value::from(people.owner.as_deref().unwrap_or(user))),
        ("admins", list(&people.admins)),
        ("members", list(&people.members)),
        ("groups", Value::from(groups)),
    ])
}

fn variable(name: &str) -> Value {
    env::var(name).map_or(Value::Null, Value::from)
}
