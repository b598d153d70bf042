//! `branchpoint session`: sessions over JSON lines. Each input line is a request, each output line its response.

mod request_line;
mod stored;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use branchpoint_backend::{SESSION_TTL_S, SessionOptions, SessionRequest, SessionResponse};
use branchpoint_dialects::load;
use branchpoint_expr::{Dialect, Value};
use branchpoint_host::gate::{Gate, Sessions};
use branchpoint_runners::read_line;

use crate::project::{Project, StoreArguments};
use crate::source::{DOCUMENT_BYTES, Source, cannot_read};
use crate::{exit, terminal, time, workflow};
use request_line::Line;
pub(crate) use request_line::MAIN;
pub(crate) use stored::StoredSessions;

/// Report which tools an agent may use, as JSON lines
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("about.txt")),
    after_long_help = terminal::page(include_str!("after.txt")),
)]
pub(crate) struct Arguments {
    /// The agent's template, or its orchestration alone; YAML or JSON
    file: PathBuf,

    /// Tools of the agent, in order [default: those of the template]
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    tools: Option<Vec<String>>,

    /// Seconds of inactivity until a session expires; 0 means never
    #[arg(long, value_name = "SECONDS", default_value_t = SESSION_TTL_S)]
    ttl: i64,

    /// Explain the conditions of each response
    #[arg(long)]
    explain: bool,

    /// Name of the session for lines without one; stores sessions
    #[arg(long, value_name = "NAME")]
    id: Option<String>,

    #[command(flatten)]
    store: StoreArguments,
}

/// Sessions in memory, or stored ones.
trait Gates {
    /// Releases the sessions, so that another process can continue them.
    fn close(&mut self) -> Result<()> {
        Ok(())
    }

    fn request(&mut self, session: &str, request: SessionRequest) -> Result<SessionResponse>;
}

impl Gates for Sessions<'_> {
    fn request(&mut self, session: &str, request: SessionRequest) -> Result<SessionResponse> {
        Ok(Sessions::request(self, session, request, time::now_ms())?)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let source = Source::file(&arguments.file)?;
    let loaded = load(&source.text, Some(Dialect::Session));
    terminal::message(&terminal::findings(&loaded.diagnostics, &source.text, &source.origin));
    let Some(program) = &loaded.program else {
        terminal::message(&workflow::other_dialect(&source.text, Some(Dialect::Session)).unwrap_or_default());
        return Ok(ExitCode::from(exit::REJECTED));
    };
    let (project, tools) = (Project::find()?, arguments.tools.clone());
    let options = SessionOptions { tools, ttl_s: arguments.ttl, limits: project.agent_limits() };
    let gate = Gate::with_options(program, options.clone())?;
    let mut gates: Box<dyn Gates> = if arguments.id.is_some() || arguments.store.file().is_some() {
        let document = workflow::document(&source, Some(Dialect::Session));
        Box::new(StoredSessions::open((&project, &arguments.store, "session"), &document, program, options)?)
    } else {
        Box::new(Sessions::new(gate))
    };
    let mut refused = false;
    while let Some(line) = next_line()? {
        refused |= respond(&mut *gates, &line, arguments.id.as_deref(), arguments.explain)?;
    }
    gates.close()?;
    Ok(if refused { ExitCode::from(exit::USAGE) } else { ExitCode::SUCCESS })
}

/// The next line of stdin; none at its end.
fn next_line() -> Result<Option<String>> {
    read_line(&mut io::stdin().lock(), DOCUMENT_BYTES)
        .map_err(|error| cannot_read("stdin", error, "write each request as one line of JSON"))
}

/// Responds to a line. Returns whether it was rejected.
fn respond(gates: &mut dyn Gates, line: &str, name: Option<&str>, explain: bool) -> Result<bool> {
    if line.trim().is_empty() {
        return Ok(false);
    }
    let answer = answer(gates, line, name, explain);
    let refused = answer.is_err();
    let answer = answer.unwrap_or_else(|error| request_line::error(&format!("{error:#}")));
    terminal::print(&format!("{answer:?}\n"))?;
    Ok(refused)
}

fn answer(gates: &mut dyn Gates, line: &str, name: Option<&str>, explain: bool) -> Result<Value> {
    let Line { session, action, key } = Line::read(line)?;
    let session = session.as_deref().or(name).unwrap_or(MAIN);
    let answer = gates.request(session, SessionRequest { action, key, explain })?;
    Ok(request_line::response_json(&answer, session, explain))
}
