//! A run under the real clock: commands run for real in this directory, with their output on stderr while they run. What a
//! script answers is not done.

use std::env;
use std::io::{IsTerminal, stdin};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use anyhow::{Result, anyhow};
use branchpoint_core::ir::Status;
use branchpoint_engine::{Answer, Call, Local, Outside, Programs, Ran, Runner, Secrets, Stop};
use branchpoint_expr::Value;

use super::answers::Answers;
use super::progress;
use crate::terminal;
use crate::workflow::Workflow;

/// The kinds of calls that this machine performs without any setting.
pub(crate) const SERVED: [&str; 5] = ["shell", "read", "log", "run", "agent"];

pub(crate) fn run(workflow: &Workflow, input: Value, answers: Answers, json: bool) -> Result<ExitCode> {
    let dir = env::current_dir()?;
    let secrets = Secrets::of(&input);
    let masks = secrets.clone();
    let local = Local {
        listener: Arc::new(move |_, said| terminal::tell(&masks.mask(said))),
        secrets: Arc::new(|name| env::var(name).ok()),
        ..Local::new(dir)
    };
    let here = Here { local, answers: Mutex::new(answers), attached: stdin().is_terminal() };
    let programs = Programs { root: &workflow.program, children: &workflow.children };
    // Commands have process groups of their own, so a Ctrl-C reaches only this program, and it must end them.
    let stop = Stop::default();
    let word = stop.clone();
    ctrlc::set_handler(move || word.set())?;
    let ran = programs.run(input, &here, &stop).map_err(|refused| anyhow!("the run cannot start: {refused}"))?;
    terminal::tell(&secrets.mask(&progress::lines(&workflow.program, &ran.notes, ran.status)));
    tell(&ran, &secrets, json)
}

/// The result on stdout, the message of the end on stderr; the exit status is the one that the workflow says.
fn tell(ran: &Ran, secrets: &Secrets, json: bool) -> Result<ExitCode> {
    if json {
        terminal::print(&(serde_json::to_string_pretty(&ran.result)? + "\n"))?;
    }
    let part = |key: &str| ran.result.get(key).filter(|part| **part != Value::Null).map(Value::to_string);
    let message = part("message").filter(|message| !message.is_empty());
    if ran.status == Status::Completed {
        if let Some(message) = message.filter(|_| !json) {
            terminal::print(&format!("{message}\n"))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let kind = part("kind").map(|kind| format!(" [{kind}]")).unwrap_or_default();
    let what = match (part("status").as_deref(), ran.status) {
        (Some("rejected"), _) => "was not started",
        (_, Status::Cancelled) => "was cancelled",
        _ => "failed",
    };
    let message = message.map(|text| format!(": {text}")).unwrap_or_default();
    terminal::complain(&secrets.mask(&format!("the run {what}{kind}{message}")));
    let status = match ran.result.get("exit_code") {
        Some(Value::Int(code)) => u8::try_from(*code).ok().filter(|code| *code != 0),
        _ => None,
    };
    Ok(status.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// This machine, and the answers of the script.
struct Here {
    local: Local,
    answers: Mutex<Answers>,
    /// Whether somebody sits at the terminal.
    attached: bool,
}

impl Outside for Here {
    fn perform(&self, call: &Call, stop: &Stop) -> Answer {
        let scripted = call.step.as_ref().is_some_and(|step| self.script().knows(step));
        if scripted {
            return self.script().perform(call);
        }
        let performed = self.local.perform(call, stop).or_else(|| self.local.agent(call, stop));
        performed.unwrap_or_else(|| {
            let message = format!("nothing here performs `{}`; write an answer into the file of --script", call.kind);
            Answer::failed("agent", message)
        })
    }

    fn fact(&self, name: &str) -> Value {
        if name == "user_attached" { Value::Bool(self.attached) } else { fact(name) }
    }

    fn line(&self) -> Option<String> {
        self.attached.then(|| terminal::ask("> ")).flatten()
    }
}

impl Here {
    fn script(&self) -> std::sync::MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// What is known of this machine under a name. Nobody is attached to a run that is only tried.
pub(crate) fn fact(name: &str) -> Value {
    match name {
        "user_attached" => Value::Bool(false),
        "run_id" => Value::from("run"),
        "working_dir" => env::current_dir().map_or(Value::Null, |dir| Value::from(dir.display().to_string())),
        "user" => variable("USER"),
        "hostname" => variable("HOSTNAME"),
        name => name.strip_prefix("env.").map_or(Value::Null, variable),
    }
}

fn variable(name: &str) -> Value {
    env::var(name).map_or(Value::Null, Value::from)
}
