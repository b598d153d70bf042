//! Agents that are programs of this machine: each is started with the message and answers with what it prints.

use std::process::Command;
use std::time::Duration;

use branchpoint_expr::Value;

use crate::local::{Local, message, text};
use crate::runner::{Answer, Call};
use crate::shell::{Listener, Shell};
use crate::stop::Stop;

/// A provider, its program, what stands before the message, and how it is told which model to use.
const PROGRAMS: [(&str, &str, &[&str], &str); 6] = [
    ("claude", "claude", &["-p"], "--model"),
    ("codex", "codex", &["exec"], "--model"),
    ("gemini", "gemini", &["-p"], "--model"),
    ("github_copilot", "copilot", &["-p"], "--model"),
    ("mistral_vibe", "vibe", &["--prompt"], "--model"),
    ("opencode", "opencode", &["run"], "--model"),
];

impl Local {
    /// Asks an agent that is a program; none for providers that are none.
    pub fn agent(&self, call: &Call, stop: &Stop) -> Option<Answer> {
        let provider = call.input.get("provider").and_then(Value::as_str).unwrap_or_default();
        let program = PROGRAMS.iter().find(|(name, ..)| *name == provider)?;
        Some(self.with_secrets(call, "agent", |call, listener| self.ask(program, call, stop, listener)))
    }

    fn ask(
        &self,
        (provider, program, arguments, model): &(&str, &str, &[&str], &str),
        call: &Call,
        stop: &Stop,
        listener: &Listener,
    ) -> Answer {
        let mut command = Command::new(program);
        command.args(*arguments).arg(with_system(call));
        let options = call.spec.get("options");
        if let Some(name) = options.and_then(|options| options.get("model")).and_then(Value::as_str) {
            command.arg(model).arg(name);
        }
        let shell = Shell {
            command: String::new(),
            dir: self.dir_of(call),
            env: Vec::new(),
            limit: call.attempt_limit_ms.map(Duration::from_millis),
            shell: None,
        };
        match shell.run_program(command, stop, listener) {
            Answer::Process { exit: 0, stdout, .. } => Answer::model(stdout),
            Answer::Process { exit, stderr, .. } => {
                Answer::failed("agent", format!("`{program}` ended with code {exit}: {}", stderr.trim()))
            }
            Answer::TimedOut { .. } => Answer::Never,
            Answer::Failed(failed) => {
                let message = format!("the provider `{provider}` needs the program `{program}`: {}", failed.message);
                Answer::failed("agent", message)
            }
            other => other,
        }
    }
}

/// Programs take one message: the role and the system prompt go first.
fn with_system(call: &Call) -> String {
    let mut parts = vec![text(call.input.get("role")), text(call.input.get("system_prompt"))];
    parts.retain(|part| !part.is_empty());
    parts.push(message(call));
    parts.join("\n\n")
}
