//! Agents that are programs of this machine: each is started with the message on its standard input and answers with what it
//! prints.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use branchpoint_core::Failed;
use branchpoint_expr::Value;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::local::shell::{Listener, Stream, max_output};
use crate::local::{Local, message, text};
use crate::runner::{Answer, Call};

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

/// The program of a provider; none if it has none, or if its API is asked instead.
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

/// Why a provider that is a program cannot be asked here, found before a run starts. None: it can, or it is no program.
pub fn missing(settings: &BTreeMap<String, Settings>, provider: &str) -> Option<String> {
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
    /// Asks an agent that is a program; none for providers that are none.
    pub async fn agent(&self, call: &Call, cancel: &CancellationToken) -> Option<Answer> {
        let provider = call.input.get("provider").and_then(Value::as_str).unwrap_or_default();
        let program = program(&self.agents, provider)?;
        Some(match self.resolved(call, "agent") {
            Ok(resolved) => {
                let answer = self.ask(provider, program, &resolved.call, cancel, &resolved.listener()).await;
                shortened(resolved.redacted(answer))
            }
            Err(answer) => answer,
        })
    }

    async fn ask(
        &self,
        provider: &str,
        program: Program,
        call: &Call,
        cancel: &CancellationToken,
        listener: &Listener,
    ) -> Answer {
        let Program { program, arguments, model_flag } = program;
        let mut command = Command::new(installed(&program, &path()).unwrap_or_else(|| PathBuf::from(&program)));
        command.args(arguments);
        let options = call.definition.fixed.get("options");
        let model = options.and_then(|options| options.get("model")).and_then(Value::as_str);
        if let (Some(flag), Some(model)) = (model_flag, model) {
            command.arg(flag).arg(model);
        }
        let shell = self.child(call, self.dir_of(call));
        match shell.run_program(command.into(), Some(with_system(call)), cancel, listener).await {
            Answer::Process { exit: 0, cut: Some(Stream::Out), .. } => {
                let limit = max_output(call);
                Answer::refused("agent", format!("`{program}` printed more than the {limit} bytes that are read"))
            }
            Answer::Process { exit: 0, stdout, .. } => Answer::model(stdout),
            Answer::Process { exit, stdout, stderr, .. } => {
                let said = if stderr.trim().is_empty() { stdout } else { stderr };
                Answer::failed("agent", format!("`{program}` ended with code {exit}: {}", said.trim()))
            }
            Answer::TimedOut { .. } => Answer::Never,
            Answer::Failed(failed) => {
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
    Answer::Failed(Failed { message: format!("{beginning} […] {end}").into(), ..failed })
}

/// Programs take one message: the role and the system prompt go first, and what was said before, because a program remembers
/// nothing of it.
fn with_system(call: &Call) -> String {
    let mut parts = vec![text(call.input.get("role")), text(call.input.get("system_prompt"))];
    let session = call.input.get("session").and_then(|session| session.get("messages"));
    for said in session.and_then(Value::as_list).unwrap_or_default() {
        let role = said.get("role").and_then(Value::as_str).unwrap_or("user");
        parts.push(format!("[{role}]\n{}", text(said.get("content"))));
    }
    parts.retain(|part| !part.is_empty());
    parts.push(message(call));
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
        assert_eq!(missing(&settings, "mine"), None);
        assert!(
            missing(&settings, "claude")
                .is_some_and(|why| why.contains("`claude-beta`") && why.contains("agents.claude"))
        );
        assert_eq!(installed("sh", "".as_ref()), None);
        let found = installed("sh", &path()).expect("every system has one");
        assert!(found.is_absolute() && found.ends_with("sh"), "{found:?}");
    }
}
