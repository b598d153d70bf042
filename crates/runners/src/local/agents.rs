//! Agents that are programs on this machine, such as `claude`. Each gets the message on standard input and prints its reply.

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

/// A table `[agents.NAME]` of the settings: how agents of that provider are called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The program, by name or by path.
    pub program: Option<String>,
    /// Its arguments. The message is not among them, because lists of processes would show it; it is written to standard input.
    pub arguments: Option<Vec<String>>,
    /// The argument before the name of a model; empty if the program has no such argument.
    pub model_flag: Option<String>,
    /// Whether the program is started, or an API is called instead.
    pub runner: Runner,
    /// The provider of `[models]` that is called with `runner = "api"`, if it is not the one behind the program.
    pub provider: Option<String>,
}

/// How a provider is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Runner {
    /// By a program on this machine.
    #[default]
    Program,
    /// By the API of the provider.
    Api,
}

/// A program that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name or path.
    pub program: String,
    /// Its fixed arguments.
    pub arguments: Vec<String>,
    /// The argument before the name of a model.
    pub model_flag: Option<String>,
}

/// The built-in programs: provider, program, the arguments that make it read standard input, and the flag for the model.
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

/// Why the program of a provider cannot be used; `None` if it can, or if the provider is not a program.
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
        "the provider `{provider}` needs the program `{program}`, which is not installed; install it, name another in \
         `[agents.{provider}]`, or set `runner = \"api\"` there"
    ))
}

/// The absolute path of a program, given by path or found in `PATH`. It does not depend on the folder where the program is started, so a
/// run starts the same file that the runner check found.
fn installed(program: &str, path: &OsStr) -> Option<PathBuf> {
    let file = if program.contains('/') {
        Some(PathBuf::from(program)).filter(|file| is_program(file))
    } else {
        env::split_paths(path).map(|folder| folder.join(program)).find(|file| is_program(file))
    };
    std::path::absolute(file?).ok()
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
    /// Calls an agent that is a program; `None` for any other request.
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
        // Only its reply is limited. Error output above the limit is dropped.
        let shell =
            Shell { limited: vec![Stream::Out], ..self.child(call, request.dir.as_deref(), &Object::default()) };
        match shell.run_program(command.into(), Some(whole_message(request)), cancel, listener).await {
            Answer::Process(ProcessResult { exit_code: None, .. }) => Answer::Missing,
            Answer::Process(ProcessResult { cut: Some(Stream::Out), .. }) => {
                let limit = max_output(call);
                Answer::refused(
                    "agent",
                    format!(
                        "the reply of `{program}` exceeds {limit} bytes; raise `max_output`, or ask for a shorter reply"
                    ),
                )
            }
            Answer::Process(ProcessResult { exit_code: Some(0), stdout, .. }) => Answer::model(stdout),
            Answer::Process(ProcessResult { exit_code: Some(exit), stdout, stderr, .. }) => {
                let output = if stderr.trim().is_empty() { stdout } else { stderr };
                Answer::failed("agent", format!("`{program}` exited with code {exit}: {}", output.trim()))
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

/// Shortens the message of a failure to its beginning and its end, where programs print the error. Secrets must be masked before, so that
/// none is cut in two.
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

/// The message for a program: role, system prompt, history and prompt. All of it is sent every time, because programs keep no state.
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
        let file = installed("sh", &path()).expect("every system has one");
        assert!(file.is_absolute() && file.ends_with("sh"), "{file:?}");
    }
}
