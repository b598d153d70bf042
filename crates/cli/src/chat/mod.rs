//! `branchpoint chat`: a conversation with the agent of a template, which its session gates.

mod turn;
mod words;

use std::collections::BTreeMap;
use std::io::{IsTerminal, stdin};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use branchpoint_backend::{Backend, Look, RunNo, Workflow as Kept, WorkflowNo};
use branchpoint_expr::{Dialect, Value};
use branchpoint_host::gate::{Gate, TTL_S};

use self::turn::Turns;
use self::words::Words;
use crate::drive::Drive;
use crate::opened::Opened;
use crate::outside::{Ears, Manner};
use crate::project::{Project, Reach, StoreArguments};
use crate::run::{Answers, prologue};
use crate::workflow::{self, Workflow};
use crate::{backend, moment, session, terminal};

/// Talk with the agent of a template
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("about.txt")),
    after_long_help = terminal::page(include_str!("after.txt")),
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    workflow: workflow::File,

    /// The name of the session; another name is another conversation
    #[arg(long, value_name = "NAME", default_value = session::MAIN)]
    id: String,

    /// After how many seconds without a word the session is gone; 0 means never
    #[arg(long, value_name = "SECONDS", default_value_t = TTL_S)]
    ttl: i64,

    /// A YAML file with the answers of the model and the tools
    #[arg(long, short, value_name = "FILE")]
    script: Option<PathBuf>,

    /// Execute the calls of a turn that a script answered until it was interrupted
    #[arg(long, conflicts_with = "script")]
    live: bool,

    /// Print one JSON object for each turn
    #[arg(long, short)]
    json: bool,

    #[command(flatten)]
    reach: Reach,

    #[command(flatten)]
    store: StoreArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.id.is_empty() {
        bail!("the name of a session is not empty");
    }
    if arguments.workflow.is_stdin() {
        bail!("the lines of the conversation come from stdin, so the template must be a file");
    }
    let project = Project::find()?.reaching(arguments.reach);
    let answers = Answers::read(arguments.script.as_deref(), false)?;
    let workflow = match arguments.workflow.load_scripted(&answers.outside())? {
        Ok(workflow) => workflow,
        Err(refused) => return Ok(refused),
    };
    if workflow.dialect != Some(Dialect::Session) || !workflow.program.views.iter().any(|view| &*view.name == "turn") {
        bail!(
            "this document is no agent's template, so there is nobody to talk with\n\
             help: `branchpoint run` runs workflows; `branchpoint session` answers for an orchestration alone"
        );
    }
    answers.check([&workflow.program])?;
    if let Some(refused) = prologue::check(&workflow, &answers, (&project, &arguments.store), false)? {
        return Ok(refused);
    }
    let store = backend::open(&project, &arguments.store)?;
    let session = Session::keep(arguments, &workflow, &store)?;
    let run = session.open(&project)?;
    let words = Words::new(!arguments.json);
    let manner = Manner::unattended(&project);
    let ears = Ears { words: words.listener(), ..Ears::of(terminal::tell) };
    let opened = Opened { store, project: project.clone() };
    let drive = Drive::with(opened, &arguments.store, "chat", manner, ears)?;
    let (script, json) = (answers.written().cloned(), arguments.json);
    Turns { session: &session, project: &project, drive, run, words, script, json, failed: false }.talk()
}

/// The session that is talked with.
struct Session<'a> {
    arguments: &'a Arguments,
    workflow: &'a Workflow,
    number: WorkflowNo,
    document: String,
}

impl<'a> Session<'a> {
    fn keep(arguments: &'a Arguments, workflow: &'a Workflow, store: &dyn Backend) -> Result<Self> {
        let document = session::document(&workflow.source.origin, &workflow.source.text);
        let kept = Kept { document: &document, program: &workflow.program, children: &BTreeMap::new() };
        let number = store.save(kept, moment::now_ms())?;
        Ok(Self { arguments, workflow, number, document: document.name })
    }

    /// The run of the session: one that lives, or a new one.
    fn open(&self, project: &Project) -> Result<RunNo> {
        let now_ms = moment::now_ms();
        let store = backend::open(project, &self.arguments.store)?;
        let gate = Gate::new(&self.workflow.program, None, self.arguments.ttl)?.with_limits(project.agent_bounds());
        let mut sessions = backend::sessions(store, "chat", gate, self.number, self.document.clone())?;
        let run = sessions.open(&self.arguments.id, now_ms, true)?;
        sessions.close()?;
        Ok(run)
    }

    fn name(&self) -> &str {
        &self.arguments.id
    }

    fn is_live(&self) -> bool {
        self.arguments.live
    }

    /// What people see first: who this is, and what the template lets it say.
    fn greet(&self, look: &Look) {
        if !stdin().is_terminal() {
            return;
        }
        let agent = look.view("agent").unwrap_or_default();
        let name = agent.get("name").map(Value::to_string).unwrap_or_default();
        terminal::tell(&format!("You talk with {name}. Ctrl-D ends it; the session `{}` is kept.\n", self.name()));
        let begun = look.view("chat").is_some_and(|chat| chat.as_list().is_some_and(|said| !said.is_empty()));
        let first = agent.get("initialMessages").and_then(Value::as_list).unwrap_or_default();
        for message in first.iter().filter(|_| !begun) {
            terminal::tell(&format!("{message}\n"));
        }
    }
}
