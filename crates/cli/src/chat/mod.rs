//! `branchpoint chat`: a conversation with the agent of a template, whose session selects the tools.

mod live_reply;
mod turn;

use std::io::{IsTerminal, stdin};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use branchpoint_backend::{RunNo, RunView, SESSION_TTL_S, SessionOptions};
use branchpoint_expr::{Dialect, Value};

use self::live_reply::LiveReply;
use self::turn::Turns;
use crate::local_runner::OutputListeners;
use crate::project::{Project, Reach, StoreArguments};
use crate::run::{Answers, start_checks};
use crate::run_driver::RunDriver;
use crate::session::StoredSessions;
use crate::store_access::StoreAccess;
use crate::workflow::{self, Workflow};
use crate::{backend, session, terminal};

/// Chat with the agent of a template
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("about.txt")),
    after_long_help = terminal::page(include_str!("after.txt")),
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    workflow: workflow::File,

    /// Name of the session
    #[arg(long, value_name = "NAME", default_value = session::MAIN)]
    id: String,

    /// Seconds of inactivity until the session expires; 0 means never
    #[arg(long, value_name = "SECONDS", default_value_t = SESSION_TTL_S)]
    ttl: i64,

    /// YAML file with answers of the model and the tools
    #[arg(long, short, value_name = "FILE")]
    script: Option<PathBuf>,

    /// Execute the remaining calls of an interrupted scripted turn
    #[arg(long, conflicts_with = "script")]
    live: bool,

    /// Print one JSON object per turn
    #[arg(long, short)]
    json: bool,

    #[command(flatten)]
    reach: Reach,

    #[command(flatten)]
    store: StoreArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.id.is_empty() {
        bail!("--id must not be empty");
    }
    if arguments.workflow.is_stdin() {
        bail!("the lines of the conversation come from stdin, so the template must be a file");
    }
    let project = Project::find()?.reaching(arguments.reach);
    let answers = Answers::read(arguments.script.as_deref(), false)?;
    let workflow = match arguments.workflow.load_scripted(&answers.scripted_steps())? {
        Ok(workflow) => workflow,
        Err(refused) => return Ok(refused),
    };
    if workflow.dialect != Some(Dialect::Session) || !workflow.program.views.iter().any(|view| &*view.name == "turn") {
        bail!(
            "this document is not an agent template, so it cannot chat\n\
             help: `branchpoint run` runs workflows; `branchpoint session` answers for an orchestration alone"
        );
    }
    answers.check([&workflow.program])?;
    if let Some(refused) = start_checks::check(&workflow, &answers, (&project, &arguments.store), false)? {
        return Ok(refused);
    }
    let store = backend::open(&project, &arguments.store)?;
    let session = Session { arguments, workflow: &workflow };
    let run = session.open(&project)?;
    let words = LiveReply::new(!arguments.json);
    let listeners = OutputListeners { words: words.listener(), ..OutputListeners::of(terminal::message) };
    let opened = StoreAccess::of_store(project.clone(), store);
    let drive = RunDriver::with(opened, &arguments.store, "chat", listeners)?;
    let (script, json) = (answers.script_value().cloned(), arguments.json);
    Turns { session: &session, project: &project, drive, run, words, script, json, failed: false }.run()
}

/// The session of the conversation.
struct Session<'a> {
    arguments: &'a Arguments,
    workflow: &'a Workflow,
}

impl Session<'_> {
    /// Opens the session and releases it, so that the driver of the conversation can resume it.
    fn open(&self, project: &Project) -> Result<RunNo> {
        let Workflow { source, program, .. } = self.workflow;
        let options = SessionOptions { tools: None, ttl_s: self.arguments.ttl, limits: project.agent_limits() };
        let document = workflow::document(source, Some(Dialect::Session));
        let place = (project, &self.arguments.store, "chat");
        let mut sessions = StoredSessions::open(place, &document, program, options)?;
        let run = sessions.backend.open_session(&sessions.session(self.name()))?;
        sessions.backend.stop(Duration::ZERO)?;
        Ok(run)
    }

    fn name(&self) -> &str {
        &self.arguments.id
    }

    fn is_live(&self) -> bool {
        self.arguments.live
    }

    /// Prints the greeting: the name of the agent and its initial messages.
    fn greet(&self, view: &RunView) {
        if !stdin().is_terminal() {
            return;
        }
        let agent = view.view("agent").unwrap_or_default();
        let name = agent.get("name").map(Value::to_string).unwrap_or_default();
        terminal::message(&format!(
            "Chatting with {name}. Ctrl-D ends the chat; the session `{}` stays stored.\n",
            self.name()
        ));
        let begun = view.view("chat").is_some_and(|chat| chat.as_list().is_some_and(|turns| !turns.is_empty()));
        let first = agent.get("initialMessages").and_then(Value::as_list).unwrap_or_default();
        for message in first.iter().filter(|_| !begun) {
            terminal::message(&format!("{message}\n"));
        }
    }
}
