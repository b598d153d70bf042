//! What this machine can do for a run: commands, files, and telling a person.

pub mod agents;
mod script_file;
pub(crate) mod shell;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use branchpoint_core::effect::Kind;
use branchpoint_expr::{Object, Value};
use tokio_util::sync::CancellationToken;

use crate::bounded_read::{ReadError, read_regular_file};
use crate::local::script_file::{Written, interpreted};
use crate::local::shell::environment::{self, Divided};
use crate::local::shell::{Listener, Shell, Stream, key, max_output};
use crate::runner::{Answer, Call};
use crate::secrets::redact_stream::Hearing;
use crate::secrets::{Secrets, SharedSecrets, resolve};

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

    /// Performs the kinds of calls that need nothing but this machine; none for the others.
    pub async fn perform(&self, call: &Call, cancel: &CancellationToken) -> Option<Answer> {
        match call.kind() {
            Kind::Shell => Some(match self.resolved(call, "exit_code") {
                Ok(resolved) => {
                    let answer = self.command(&resolved.call, cancel, &resolved.listener()).await;
                    resolved.redacted(answer)
                }
                Err(answer) => answer,
            }),
            Kind::Files => {
                let (local, call) = (self.clone(), call.clone());
                let read = tokio::task::spawn_blocking(move || local.read(&call)).await;
                Some(read.unwrap_or_else(|_| Answer::failed("runner", "the runner of this call broke down")))
            }
            Kind::Notify => {
                let message = call.input.get("message").map(ToString::to_string).unwrap_or_default();
                (self.listener)(Stream::Err, &self.mask.mask(&format!("{message}\n")));
                Some(Answer::data(Value::Null))
            }
            _ => None,
        }
    }

    /// Puts the secrets that a call names into it.
    pub(crate) fn resolved(&self, call: &Call, kind: &str) -> Result<Resolved, Answer> {
        // A secret that is missing will not be there at the next attempt either.
        let missing = |why: String| Answer::impossible(kind, why);
        let (input, known) = resolve(&call.input, &call.definition.secrets, &self.secrets).map_err(missing)?;
        let mut mask = self.mask.secrets();
        mask.add(call.sealed.values().iter().chain(&known).cloned());
        let hearing = Hearing::new(Arc::clone(&self.listener), mask.clone());
        let call = Call { input, sealed: mask, ..call.clone() };
        Ok(Resolved { call, hearing, secrets: Secrets::from_values(known) })
    }

    async fn command(&self, call: &Call, cancel: &CancellationToken, listener: &Listener) -> Answer {
        let mut shell = Shell {
            command: text(call.input.get("command")),
            shell: self.shell.clone(),
            ..self.child(call, self.dir_of(call))
        };
        // The file lives as long as the command.
        let _inputs = match pass_inputs(call, &mut shell, listener) {
            Ok(file) => file,
            Err(error) => {
                return Answer::failed("exit_code", format!("the inputs cannot be written to a file: {error}"));
            }
        };
        let is_script = call.definition.fixed.get("script") == Some(&Value::Bool(true));
        match is_script.then(|| interpreted(&shell.command)).flatten() {
            None => shell.run(cancel, listener).await,
            Some(Ok((program, _written))) => shell.run_program(program.into(), None, cancel, listener).await,
            Some(Err(error)) => Answer::failed("exit_code", format!("the script cannot be written to a file: {error}")),
        }
    }

    /// What everything has that is started here for a call, be it a command, a program or an agent.
    pub(crate) fn child(&self, call: &Call, dir: PathBuf) -> Shell {
        let env = call.input.get("env").and_then(Value::as_object).into_iter().flatten();
        Shell {
            command: String::new(),
            dir,
            inherited: self.environment.clone(),
            env: env.map(|(name, value)| (name.to_string(), value.to_string())).chain([key(call)]).collect(),
            limit: call.attempt_limit_ms().map(Duration::from_millis),
            max_output: max_output(call),
            secrets: call.sealed.clone(),
            shell: None,
        }
    }

    /// What an agent is told, with the secrets that it names.
    ///
    /// # Errors
    ///
    /// A secret is missing; the text says which.
    pub fn message(&self, call: &Call) -> Result<String, String> {
        let resolved = resolve(&call.input, &call.definition.secrets, &self.secrets);
        let (input, _) = resolved?;
        Ok(message(&Call { input, ..call.clone() }))
    }

    /// The directory of a call, relative to that of the run.
    pub fn dir_of(&self, call: &Call) -> PathBuf {
        let dir = call.input.get("dir").and_then(Value::as_str).unwrap_or_default();
        self.dir.join(&*call.folder).join(dir)
    }

    fn read(&self, call: &Call) -> Answer {
        if let Some(names) = call.input.get("environment").and_then(Value::as_list) {
            return Answer::data(variables(names));
        }
        let (input, dir) = (&call.input, self.dir.join(&*call.folder));
        let skill = input.get("skill").and_then(Value::as_str);
        let path = match (skill, input.get("skill_path").and_then(Value::as_str)) {
            (Some(name), _) => {
                let found = SKILLS.iter().map(|folder| dir.join(folder).join(name).join("SKILL.md"));
                match found.clone().find(|path| path.exists()) {
                    Some(path) => path,
                    None => return Answer::failed("exit_code", format!("there is no skill `{name}`")),
                }
            }
            (None, Some(folder)) => dir.join(folder).join("SKILL.md"),
            (None, None) => dir.join(input.to_string()),
        };
        if call.definition.fixed.get("exists") == Some(&Value::Bool(true)) {
            return Answer::data(Value::Bool(path.exists()));
        }
        match content(&path) {
            Ok(text) => Answer::data(Value::from(text)),
            Err(reason) => Answer::failed("exit_code", format!("{} cannot be read: {reason}", path.display())),
        }
    }
}

/// A call with its secrets, and who hears of it.
pub(crate) struct Resolved {
    pub(crate) call: Call,
    hearing: Hearing,
    secrets: Secrets,
}

impl Resolved {
    /// Hears what is printed, without the secrets.
    pub(crate) fn listener(&self) -> Listener {
        self.hearing.listener()
    }

    /// Reports what is still held back, and removes the secrets of the call from its answer.
    pub(crate) fn redacted(self, answer: Answer) -> Answer {
        tokio::task::block_in_place(|| self.hearing.finish());
        self.secrets.mask_answer(answer)
    }
}

/// The environment variable that names the file with the inputs that are not in the environment.
const INPUTS_FILE: &str = "BRANCHPOINT_INPUTS";

/// Passes the inputs of the run to a command: as environment variables, or, where that is not safe or not possible, in a JSON file
/// named by `BRANCHPOINT_INPUTS`, with a warning.
fn pass_inputs(call: &Call, shell: &mut Shell, listener: &Listener) -> io::Result<Option<Written>> {
    let Some(inputs) = call.input.get("inputs").and_then(Value::as_object) else { return Ok(None) };
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
fn variables(names: &[Value]) -> Value {
    let variable = |name: &Value| {
        let name = name.as_str()?;
        Some((name.into(), Value::from(std::env::var(name).ok()?)))
    };
    Value::from(names.iter().filter_map(variable).collect::<Object>())
}

/// A field of an input as text; nothing is no text.
pub(crate) fn text(written: Option<&Value>) -> String {
    written.filter(|value| **value != Value::Null).map(ToString::to_string).unwrap_or_default()
}

/// What an agent is told: what goes before the prompt, then the prompt.
pub(crate) fn message(call: &Call) -> String {
    let before = call.input.get("before").and_then(Value::as_list).unwrap_or_default();
    let mut parts: Vec<String> = before.iter().map(ToString::to_string).collect();
    parts.push(text(call.input.get("prompt")));
    parts.join("\n\n")
}

/// The text of a file, with marks for bytes that are not text.
fn content(path: &Path) -> Result<String, ReadError> {
    let bytes = read_regular_file(path, FILE_BYTES)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
