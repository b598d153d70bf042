//! What this machine can do for a run: commands, files, and telling a person.

pub mod agents;
mod script_file;
pub(crate) mod shell;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use branchpoint_core::effect::{FilesOperation, FilesRequest, Kind, ProcessRequest, Request};
use branchpoint_core::ir::Effect;
use branchpoint_expr::{Object, Value};
use tokio_util::sync::CancellationToken;

use crate::bounded_read::{ReadError, read_regular_file};
use crate::local::script_file::{Written, interpreted};
use crate::local::shell::environment::{self, Divided};
use crate::local::shell::{Listener, Shell, Stream, key, max_output};
use crate::runner::{Answer, Call};
use crate::secrets::redact_stream::StreamRedactor;
use crate::secrets::{Secrets, SharedSecrets, resolve};
use crate::shorten::shortened;

/// The largest file that is read.
const FILE_BYTES: u64 = 1024 * 1024;

/// The folders in which skills are looked for by name, in order.
const SKILLS: [&str; 3] = [".awf/skills", ".agents/skills", ".claude/skills"];

/// Gives the value of a secret by its name.
pub type SecretStore = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// A directory to work in, and somebody who hears what happens there.
#[derive(Clone)]
pub struct Local {
    /// The directory of the run.
    pub dir: PathBuf,
    /// Hears commands and log lines.
    pub listener: Listener,
    /// Secrets that are masked in what the listener gets: those of the environment, and sealed ones of runs.
    pub mask: SharedSecrets,
    /// The shell of commands, if it is not the user's.
    pub shell: Option<PathBuf>,
    /// Secrets by name, known to nobody but whoever makes a call.
    pub secrets: SecretStore,
    /// The names of this process's environment that its children find in theirs; none: all of them. A server names them, because
    /// what is secret there is nobody's who writes a workflow.
    pub environment: Option<Vec<String>>,
    /// How agents that are programs are started, by provider.
    pub agents: BTreeMap<String, agents::Settings>,
}

impl Local {
    /// Works in a directory, without anybody listening and without secrets.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            listener: Arc::new(|_, _| {}),
            mask: SharedSecrets::default(),
            shell: None,
            secrets: Arc::new(|_| None),
            environment: None,
            agents: BTreeMap::new(),
        }
    }

    /// Whether this machine performs the calls of an effect. Agents that are programs are asked by [`Self::agent`].
    pub fn serves(effect: &Effect) -> bool {
        match effect.kind {
            Kind::Process | Kind::Notify => true,
            Kind::Files => matches!(effect.request(), Ok(Request::Files(files)) if files.operation.is_local()),
            _ => false,
        }
    }

    /// Performs the calls that need only this machine; none for the others.
    pub async fn perform(&self, call: &Call, cancel: &CancellationToken) -> Option<Answer> {
        if !Self::serves(&call.definition) {
            return None;
        }
        let resolved = match self.resolved(call, "step_failed") {
            Ok(resolved) => resolved,
            Err(answer) => return Some(answer),
        };
        let answer = match resolved.call.request() {
            Ok(Request::Process(request)) => self.process(&resolved.call, &request, cancel, &resolved.listener()).await,
            Ok(Request::Files(request)) => {
                let (local, call) = (self.clone(), resolved.call.clone());
                let read = tokio::task::spawn_blocking(move || local.files(&call, &request)).await;
                read.unwrap_or_else(|_| Answer::failed("runner", "the runner of this call broke down"))
            }
            Ok(Request::Notify(request)) => {
                let message = request.message.unwrap_or_default();
                (self.listener)(Stream::Err, &self.mask.mask(&format!("{message}\n")));
                Answer::data(Value::Null)
            }
            Ok(_) => Answer::impossible("no_runner", format!("this machine does not perform `{}`", call.kind())),
            Err(error) => Answer::impossible("step_failed", error.to_string()),
        };
        Some(resolved.redacted(answer))
    }

    /// Puts the secrets that a call names into it.
    pub(crate) fn resolved(&self, call: &Call, kind: &str) -> Result<Resolved, Answer> {
        // A secret that is missing will not be there at the next attempt either.
        let missing = |why: String| Answer::impossible(kind, why);
        let (input, known) = resolve(&call.input, &call.definition.secrets, &self.secrets).map_err(missing)?;
        let mut mask = self.mask.secrets();
        mask.add(call.sealed.values().iter().chain(&known).cloned());
        let redactor = StreamRedactor::new(Arc::clone(&self.listener), mask.clone());
        let call = Call { input, sealed: mask, ..call.clone() };
        Ok(Resolved { call, redactor, secrets: Secrets::from_values(known) })
    }

    async fn process(
        &self,
        call: &Call,
        request: &ProcessRequest,
        cancel: &CancellationToken,
        listener: &Listener,
    ) -> Answer {
        let mut shell = Shell {
            command: request.command.clone().unwrap_or_default(),
            shell: if request.user_shell { self.shell.clone() } else { Some("/bin/sh".into()) },
            ..self.child(call, request.dir.as_deref(), &request.env)
        };
        // The file lives as long as the process.
        let inputs = request.inputs.as_ref().map(|inputs| pass_inputs(inputs, &mut shell, listener));
        let _inputs = match inputs.transpose() {
            Ok(file) => file,
            Err(error) => {
                return Answer::failed("exit_code", format!("the inputs cannot be written to a file: {error}"));
            }
        };
        let words = request.argv.as_deref().unwrap_or_default();
        if words.first().map_or(request.command.is_none(), String::is_empty) {
            return Answer::impossible("step_failed", "there is nothing to run; the step needs `command` or `argv`");
        }
        let (command, _script) = match words.split_first() {
            Some((program, arguments)) => {
                let mut command = Command::new(program);
                command.args(arguments);
                (command.into(), None)
            }
            None => match Some(&shell.command).filter(|_| request.script).and_then(|script| interpreted(script)) {
                Some(Ok((command, file))) => (command.into(), Some(file)),
                Some(Err(error)) => {
                    return Answer::failed("exit_code", format!("the script cannot be written to a file: {error}"));
                }
                None => (shell.command_line(), None),
            },
        };
        shell.run_program(command, request.stdin.clone(), cancel, listener).await
    }

    /// What everything has that is started here for a call, be it a command, a program or an agent.
    pub(crate) fn child(&self, call: &Call, dir: Option<&str>, env: &Object) -> Shell {
        Shell {
            command: String::new(),
            dir: self.dir.join(&*call.folder).join(dir.unwrap_or_default()),
            inherited: self.environment.clone(),
            env: env.iter().map(|(name, value)| (name.to_string(), value.to_string())).chain([key(call)]).collect(),
            limit: call.attempt_limit_ms().map(Duration::from_millis),
            max_output: max_output(call),
            limited: if call.response().truncate { Vec::new() } else { vec![Stream::Out, Stream::Err] },
            secrets: call.sealed.clone(),
            shell: None,
        }
    }

    fn files(&self, call: &Call, request: &FilesRequest) -> Answer {
        let dir = self.dir.join(&*call.folder);
        let path = match (request.operation, &request.skill) {
            (FilesOperation::Environment, _) => return Answer::data(variables(request.names.iter().flatten())),
            (FilesOperation::Skill, Some(name)) => {
                let found = SKILLS.iter().map(|folder| dir.join(folder).join(name).join("SKILL.md"));
                match found.clone().find(|path| path.exists()) {
                    Some(path) => path,
                    None => return Answer::failed("exit_code", format!("there is no skill `{}`", shortened(name))),
                }
            }
            _ => dir.join(request.path.as_deref().unwrap_or_default()),
        };
        if request.operation == FilesOperation::Exists {
            return Answer::data(Value::Bool(path.exists()));
        }
        match content(&path) {
            Ok(text) => Answer::data(Value::from(text)),
            Err(reason) => {
                let path = shortened(&path.display().to_string());
                Answer::failed("exit_code", format!("{path} cannot be read: {reason}"))
            }
        }
    }
}

/// A call with its secrets, and who hears of it.
pub(crate) struct Resolved {
    pub(crate) call: Call,
    redactor: StreamRedactor,
    secrets: Secrets,
}

impl Resolved {
    /// Hears what is printed, without the secrets.
    pub(crate) fn listener(&self) -> Listener {
        self.redactor.listener()
    }

    /// Reports what is still held back, and removes the secrets of the call from its answer.
    pub(crate) fn redacted(self, answer: Answer) -> Answer {
        tokio::task::block_in_place(|| self.redactor.finish());
        self.secrets.mask_answer(answer)
    }
}

/// The environment variable that names the file with the inputs that are not in the environment.
const INPUTS_FILE: &str = "BRANCHPOINT_INPUTS";

/// Passes the inputs of the run to a command: as environment variables, or, where that is not safe or not possible, in a JSON file
/// named by `BRANCHPOINT_INPUTS`, with a warning.
fn pass_inputs(inputs: &Object, shell: &mut Shell, listener: &Listener) -> io::Result<Option<Written>> {
    let Divided { variables, left_out } = environment::divide(inputs);
    // What the call itself sets comes last and wins.
    shell.env.splice(0..0, variables);
    if left_out.is_empty() {
        return Ok(None);
    }
    let file = Written::new(&environment::as_json(inputs, &left_out))?;
    shell.env.push((INPUTS_FILE.to_owned(), file.path().display().to_string()));
    for (name, reason) in left_out {
        let warning = format!(
            "warning: input {name:?} is not in the environment of this command: {reason}. Read it from the JSON file named by \
             ${INPUTS_FILE}.\n"
        );
        listener(Stream::Err, &warning);
    }
    Ok(Some(file))
}

/// The variables of these names, as far as they are set.
fn variables<'n>(names: impl Iterator<Item = &'n String>) -> Value {
    let variable = |name: &'n String| Some((name.as_str().into(), Value::from(std::env::var(name).ok()?)));
    Value::from(names.filter_map(variable).collect::<Object>())
}

/// The text of a file, with marks for bytes that are not text.
fn content(path: &Path) -> Result<String, ReadError> {
    let bytes = read_regular_file(path, FILE_BYTES)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
