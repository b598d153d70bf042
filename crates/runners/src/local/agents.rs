//! Agents that are programs of this machine: each is started with the message on its standard input and answers with what it
//! prints.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use branchpoint_core::AttemptError;
use branchpoint_core::effect::{ModelRequest, ProcessResult, Request, Stream};
use branchpoint_expr::{Object, Value};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::local::Local;
use crate::local::shell::{Listener, Shell, max_output};
use crate::runner::{Answer, Call, PreparedCall};

/// A table `[agents.NAME]` of the settings: how the provider of that name is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The program, by name or by path.
    pub program: Option<String>,
    /// Its arguments. The message comes on its standard input, so that no list of processes tells it.
    pub arguments: Option<Vec<String>>,
    /// The argument before the name of a model; empty if the program takes none.
    pub model_flag: Option<String>,
    /// Whether the program is started or an API is asked instead.
    pub runner: Runner,
    /// The provider of `[models]` that is asked with `runner = "api"`, if it is not the one behind the program.
    pub provider: Option<String>,
}

/// Who answers for a provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Runner {
    /// A program of this machine.
    #[default]
    Program,
    /// The API of the provider.
    Api,
}

/// A program, ready to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// By name or by path.
    pub program: String,
    /// What is always said to it.
    pub arguments: Vec<String>,
    /// The argument before the name of a model.
    pub model_flag: Option<String>,
}

/// A provider, its program, the arguments that make it read its message from standard input, and how it is told which
/// model to use.
const PROGRAMS: [(&str, &str, &[&str], &str); 6] = [
    ("claude", "claude", &["-p"], "--model"),
    ("codex", "codex", &["exec", "-"], "--model"),
    ("gemini", "gemini", &[], "--model"),
    ("github_copilot", "copilot", &[], "--model"),
    ("mistral_vibe", "vibe", &["--prompt"], "--model"),
    ("opencode", "opencode", &["run"], "--model"),
];

/// The program of a provider; `None` if it has none, or if its API is called instead.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use branchpoint_runners::agents;
///
/// assert_eq!(agents::program(&BTreeMap::new(), "claude").unwrap().program, "claude");
/// assert!(agents::program(&BTreeMap::new(), "openai").is_none());
/// ```
pub fn program(settings: &BTreeMap<String, Settings>, provider: &str) -> Option<Program> {
    let set = settings.get(provider);
    if set.is_some_and(|set| set.runner == Runner::Api) {
        return None;
    }
    let known = PROGRAMS.iter().find(|(name, ..)| *name == provider);
    let program =
        set.and_then(|set| set.program.clone()).or_else(|| known.map(|(_, program, ..)| (*program).to_owned()))?;
    let arguments = set.and_then(|set| set.arguments.clone());
    let arguments =
        arguments.or_else(|| known.map(|(_, _, arguments, _)| arguments.iter().map(ToString::to_string).collect()));
    let flag = set.and_then(|set| set.model_flag.clone()).or_else(|| known.map(|(.., flag)| (*flag).to_owned()));
    Some(Program {
        program,
        arguments: arguments.unwrap_or_default(),
        model_flag: flag.filter(|flag| !flag.is_empty()),
    })
}

/// Why a provider that is a program cannot be used here; `None` if it can, or if it is not a program.
///
/// ```
/// use std::collections::BTreeMap;
///
/// assert_eq!(branchpoint_runners::agents::missing_program(&BTreeMap::new(), "openai"), None);
/// ```
pub fn missing_program(settings: &BTreeMap<String, Settings>, provider: &str) -> Option<String> {
    let Program { program, .. } = program(settings, provider)?;
    if installed(&program, &path()).is_some() {
        return None;
    }
    Some(format!(
        "the provider `{provider}` needs the program `{program}`, which is not installed here; install it, name another in \
         `[agents.{provider}]`, or set `runner = \"api\"` there"
    ))
}

/// The file of a program: by its path, or in one of the folders of `PATH`. It is the same file wherever the program is started, so
/// what is found before a run is what the run starts.
fn installed(program: &str, path: &OsStr) -> Option<PathBuf> {
    let found = if program.contains('/') {
        Some(PathBuf::from(program)).filter(|file| is_program(file))
    } else {
        env::split_paths(path).map(|folder| folder.join(program)).find(|file| is_program(file))
    };
    std::path::absolute(found?).ok()
}

fn path() -> OsString {
    env::var_os("PATH").unwrap_or_default()
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    const MAY_RUN: u32 = 0o111;
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & MAY_RUN != 0)
}

impl Local {
    /// Asks an agent that is a program; none for any other request.
    pub async fn agent(&self, prepared: &PreparedCall, cancel: &CancellationToken) -> Option<Answer> {
        let Request::Model(request) = &prepared.request else { return None };
        let program = program(&self.agents, request.provider.as_deref().filter(|_| request.program)?)?;
        let (call, redactor) = self.with_redactor(prepared);
        let answer = self.ask(program, request, &call, cancel, &redactor.listener()).await;
        tokio::task::block_in_place(|| redactor.finish());
        Some(shortened(prepared.secrets.mask_answer(answer)))
    }

    async fn ask(
        &self,
        program: Program,
        request: &ModelRequest,
        call: &Call,
        cancel: &CancellationToken,
        listener: &Listener,
    ) -> Answer {
        let Program { program, arguments, model_flag } = program;
        let mut command = Command::new(installed(&program, &path()).unwrap_or_else(|| PathBuf::from(&program)));
        command.args(arguments);
        if let (Some(flag), Some(model)) = (model_flag, &request.model) {
            command.arg(flag).arg(model);
        }
        // Only its answer is limited: whatever else it reports is dropped.
        let shell =
            Shell { limited: vec![Stream::Out], ..self.child(call, request.dir.as_deref(), &Object::default()) };
        match shell.run_program(command.into(), Some(whole_message(request)), cancel, listener).await {
            Answer::Process(ProcessResult { exit_code: None, .. }) => Answer::Missing,
            Answer::Process(ProcessResult { cut: Some(Stream::Out), .. }) => {
                let limit = max_output(call);
                Answer::refused("agent", format!("`{program}` printed more than the {limit} bytes that are read"))
            }
            Answer::Process(ProcessResult { exit_code: Some(0), stdout, .. }) => Answer::model(stdout),
            Answer::Process(ProcessResult { exit_code: Some(exit), stdout, stderr, .. }) => {
                let said = if stderr.trim().is_empty() { stdout } else { stderr };
                Answer::failed("agent", format!("`{program}` ended with code {exit}: {}", said.trim()))
            }
            Answer::Failed(failed) => {
                let provider = request.provider.as_deref().unwrap_or_default();
                let message = format!("the provider `{provider}` needs the program `{program}`: {}", failed.message);
                Answer::refused("agent", message)
            }
            other => other,
        }
    }
}

/// A failure in a message that people can read: of a long one the beginning, and the end, where programs say what went wrong.
/// Secrets are masked already, so none is cut in two.
fn shortened(answer: Answer) -> Answer {
    const BEGINNING: usize = 200;
    const END: usize = 2_000;
    let Answer::Failed(failed) = answer else { return answer };
    let characters = failed.message.chars().count();
    if characters <= BEGINNING + END {
        return Answer::Failed(failed);
    }
    let beginning: String = failed.message.chars().take(BEGINNING).collect();
    let end: String = failed.message.chars().skip(characters - END).collect();
    Answer::Failed(AttemptError { message: format!("{beginning} […] {end}").into(), ..failed })
}

/// The whole message of a program, which remembers nothing: the role and the system prompt, the history, and the prompt.
fn whole_message(request: &ModelRequest) -> String {
    let mut parts: Vec<String> = [&request.role, &request.system].into_iter().flatten().cloned().collect();
    for message in &request.history {
        let field = |name: &str| message.get(name).filter(|field| **field != Value::Null).map(ToString::to_string);
        let role = field("role").unwrap_or_else(|| "user".to_owned());
        parts.push(format!("[{role}]\n{}", field("content").unwrap_or_default()));
    }
    parts.retain(|part| !part.is_empty());
    parts.push(request.user_text());
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_change_a_known_program_add_one_and_send_one_to_its_api() {
        let settings = BTreeMap::from([
            ("claude".to_owned(), Settings { program: Some("claude-beta".to_owned()), ..Settings::default() }),
            ("codex".to_owned(), Settings { runner: Runner::Api, ..Settings::default() }),
            ("mine".to_owned(), Settings { program: Some("sh".to_owned()), ..Settings::default() }),
        ]);
        let claude = program(&settings, "claude").expect("it is a program");
        assert_eq!((&*claude.program, &*claude.arguments), ("claude-beta", &["-p".to_owned()][..]));
        assert_eq!(program(&settings, "codex"), None);
        assert_eq!(program(&settings, "openai_compatible"), None);
        assert_eq!(program(&settings, "mine").map(|mine| mine.arguments), Some(Vec::new()));
        assert_eq!(missing_program(&settings, "mine"), None);
        assert!(
            missing_program(&settings, "claude")
                .is_some_and(|why| why.contains("`claude-beta`") && why.contains("agents.claude"))
        );
        assert_eq!(installed("sh", "".as_ref()), None);
        let found = installed("sh", &path()).expect("every system has one");
        assert!(found.is_absolute() && found.ends_with("sh"), "{found:?}");
    }
}
