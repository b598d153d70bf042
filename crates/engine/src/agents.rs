//! Agents that are programs of this machine: each is started with the message and answers with what it prints.

use std::process::Command;
use std::time::Duration;

use branchpoint_expr::Value;

use crate::local::Local;
use crate::runner::{Answer, Call};
use crate::shell::Shell;
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
        let (_, program, arguments, model) = PROGRAMS.iter().find(|(name, ..)| *name == provider)?;
        let message = match self.message(call).and_then(|message| self.with_system(call, message)) {
            Ok(message) => message,
            Err(missing) => return Some(Answer::failed("agent", missing)),
        };
        let mut command = Command::new(program);
        command.args(*arguments).arg(message);
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
        Some(match shell.run_program(command, stop, &self.masked()) {
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
        })
    }

    /// Programs take one message: the role and the system prompt go first.
    fn with_system(&self, call: &Call, message: String) -> Result<String, String> {
        let mut parts = vec![self.text(call.input.get("role"))?, self.text(call.input.get("system_prompt"))?];
        parts.retain(|part| !part.is_empty());
        parts.push(message);
        Ok(parts.join("\n\n"))
    }
}
