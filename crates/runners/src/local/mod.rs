//! Performs calls on this machine: commands, files, and messages to the user.

pub mod agents;
mod find;
mod script_file;
pub(crate) mod shell;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use branchpoint_core::effect::{FilesOperation, FilesRequest, ProcessRequest, Request, Stream};
use branchpoint_expr::{Object, Value};
use tempfile::TempPath;
use tokio_util::sync::CancellationToken;

use crate::bounded_read::read_regular_file;
use crate::local::script_file::{interpreted, write_temporary};
use crate::local::shell::environment::{self, Divided};
use crate::local::shell::{Listener, Shell, key, max_output};
use crate::runner::{Answer, Call, PreparedCall};
use crate::secrets::SharedSecrets;
use crate::secrets::redact_stream::StreamRedactor;
use crate::shorten::shortened;

/// The most bytes of a file that is read.
const FILE_BYTES: u64 = 1024 * 1024;

/// Looks up the value of a secret by its name.
pub type SecretStore = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// A store without secrets.
///
/// ```
/// assert_eq!(branchpoint_runners::no_secrets()("API_KEY"), None);
/// ```
pub fn no_secrets() -> SecretStore {
    Arc::new(|_| None)
}

/// Performs calls on this machine: commands, files, and messages to the user.
///
/// ```
/// use branchpoint_core::effect::{Kind, ProcessResult};
/// use branchpoint_core::ir::builder::effect;
/// use branchpoint_expr::{Object, Value};
/// use branchpoint_runners::{Answer, Call, CancellationToken, Local, no_secrets, runtime};
///
/// let input: Object = [("command".into(), "echo hello".into())].into_iter().collect();
/// let call = Call::first(effect(Kind::Process), Value::from(input)).prepare(&no_secrets()).unwrap();
/// let answer = runtime().block_on(async {
///     tokio::spawn(async move { Local::new("/").perform(&call, &CancellationToken::new()).await }).await.unwrap()
/// });
/// assert_eq!(answer, Some(Answer::Process(ProcessResult::new(0, "hello\n", ""))));
/// ```
#[derive(Clone)]
pub struct Local {
    /// The directory of the run.
    pub dir: PathBuf,
    /// Receives the output of commands, and log lines.
    pub listener: Listener,
    /// Secrets that are masked in what the listener receives: those of the environment, and sealed ones of runs.
    pub mask: SharedSecrets,
    /// The shell of commands, if it is not the user's.
    pub shell: Option<PathBuf>,
    /// The environment variables that child processes inherit; `None` for all. A server restricts them, because authors of workflows must
    /// not read its secrets.
    pub environment: Option<Vec<String>>,
    /// How agents that are programs are started, by provider.
    pub agents: BTreeMap<String, agents::Settings>,
}

impl Local {
    /// Works in a directory, without a listener.
    ///
    /// ```
    /// let local = branchpoint_runners::Local::new("/tmp");
    /// assert!(local.shell.is_none(), "commands run in the user's shell");
    /// ```
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            listener: Arc::new(|_, _| {}),
            mask: SharedSecrets::default(),
            shell: None,
            environment: None,
            agents: BTreeMap::new(),
        }
    }

    /// Performs requests that need only this machine; `None` for others. [`Self::agent`] calls agents that are programs.
    pub async fn perform(&self, prepared: &PreparedCall, cancel: &CancellationToken) -> Option<Answer> {
        let answer = match &prepared.request {
            Request::Process(request) => {
                let (call, redactor) = self.with_redactor(prepared);
                let answer = self.process(&call, request, cancel, &redactor.listener()).await;
                tokio::task::block_in_place(|| redactor.finish());
                answer
            }
            Request::Files(request) if request.operation.is_local() => {
                let (dir, request) = (self.dir.join(&*prepared.call.folder), request.clone());
                let read = tokio::task::spawn_blocking(move || files(&dir, &request)).await;
                read.unwrap_or_else(|_| {
                    Answer::failed("runner", "the runner of this call crashed; please report this as a bug")
                })
            }
            Request::Notify(request) => {
                let message = request.message.as_deref().unwrap_or_default();
                (self.listener)(Stream::Err, &self.mask.mask(&format!("{message}\n")));
                Answer::data(Value::Null)
            }
            _ => return None,
        };
        Some(prepared.secrets.mask_answer(answer))
    }

    /// The call with all known secrets, so that its output is not truncated inside one, and the redactor of its output.
    fn with_redactor(&self, PreparedCall { call, secrets, .. }: &PreparedCall) -> (Call, StreamRedactor) {
        let mut mask = self.mask.secrets();
        mask.add(call.sealed.values().iter().chain(secrets.values()).cloned());
        let redactor = StreamRedactor::new(Arc::clone(&self.listener), mask.clone());
        (Call { sealed: mask, ..call.clone() }, redactor)
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
            return Answer::impossible("step_failed", "the step has no command; set `command` or `argv`");
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

    /// The common options of every process that is started for a call: a command, a program or an agent.
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
}

/// The environment variable that names the file with the inputs that are not in the environment.
const INPUTS_FILE: &str = "BRANCHPOINT_INPUTS";

/// Passes the inputs of the run to a command: as environment variables, or, where that is not safe or not possible, in a JSON file
/// named by `BRANCHPOINT_INPUTS`, with a warning.
fn pass_inputs(inputs: &Object, shell: &mut Shell, listener: &Listener) -> io::Result<Option<TempPath>> {
    let Divided { variables, left_out } = environment::divide(inputs);
    // Variables that the call sets come last and override inputs.
    shell.env.splice(0..0, variables);
    if left_out.is_empty() {
        return Ok(None);
    }
    let file = write_temporary(&environment::as_json(inputs, &left_out))?;
    shell.env.push((INPUTS_FILE.to_owned(), file.display().to_string()));
    for (name, reason) in left_out {
        let warning = format!(
            "warning: input {name:?} is not in the environment of this command: {reason}. Read it from the JSON file named by \
             ${INPUTS_FILE}.\n"
        );
        listener(Stream::Err, &warning);
    }
    Ok(Some(file))
}

/// The environment variables of these names that are set.
fn variables<'n>(names: impl Iterator<Item = &'n String>) -> Value {
    let variable = |name: &'n String| Some((name.as_str().into(), Value::from(std::env::var(name).ok()?)));
    Value::from(names.filter_map(variable).collect::<Object>())
}

/// Reads a file or environment variables for a run in a folder.
fn files(dir: &Path, request: &FilesRequest) -> Answer {
    let path = dir.join(request.path.as_deref().unwrap_or_default());
    let read = match request.operation {
        FilesOperation::Environment => return Answer::data(variables(request.names.iter().flatten())),
        FilesOperation::Exists => return Answer::data(Value::Bool(path.exists())),
        FilesOperation::Find => find::find(dir, request).map(Value::from),
        _ => text_of(&path).map(Value::from),
    };
    read.map_or_else(|reason| Answer::failed("exit_code", reason), Answer::data)
}

/// The text of a regular file, or why it cannot be read.
fn text_of(path: &Path) -> Result<String, String> {
    match read_regular_file(path, FILE_BYTES) {
        // Invalid UTF-8 becomes replacement characters.
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(reason) => Err(format!("{} cannot be read: {reason}", shortened(&path.display().to_string()))),
    }
}
