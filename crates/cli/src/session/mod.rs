//! `branchpoint session`: the gate as JSON lines. A line in is a request, a line out is its answer.

mod durable;
mod line;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use branchpoint_backend::Document;
use branchpoint_dialects::load;
use branchpoint_expr::{Dialect, Value};
use branchpoint_host::gate::{Answer, Gate, Request, Sessions, TTL_S};
use branchpoint_runners::read_line;

use crate::project::{Project, StoreArguments};
use crate::source::{DOCUMENT_BYTES, Source, unread};
use crate::{exit, moment, terminal};
use line::Line;
pub(crate) use line::MAIN;

/// Tell which tools an agent may use now, one JSON line for each JSON line read
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("about.txt")),
    after_long_help = terminal::page(include_str!("after.txt")),
)]
pub(crate) struct Arguments {
    /// The agent's template, or its orchestration alone; YAML or JSON
    file: PathBuf,

    /// All tools of the agent, in order; without it, those of the template
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    tools: Option<Vec<String>>,

    /// After how many seconds without a request a session is gone; 0 means never
    #[arg(long, value_name = "SECONDS", default_value_t = TTL_S)]
    ttl: i64,

    /// Tell with each answer which steps were asked, and why their conditions held or did not
    #[arg(long)]
    explain: bool,

    /// Keep sessions in the store, and call the one of lines that name none like this
    #[arg(long, value_name = "NAME")]
    id: Option<String>,

    #[command(flatten)]
    store: StoreArguments,
}

/// How a document of sessions is kept: under the name of its file, through all its versions.
pub(crate) fn document(origin: &str, text: &str) -> Document {
    let name = Path::new(origin).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    Document {
        name: name.unwrap_or_else(|| origin.to_owned()),
        dialect: Dialect::Session.as_str().to_owned(),
        origin: origin.to_owned(),
        text: text.to_owned(),
    }
}

/// Whoever answers: sessions in memory, or those that a store keeps.
trait Gates {
    fn request(&mut self, session: &str, request: Request, key: Option<&str>, explain: bool) -> Result<Answer>;
}

impl Gates for Sessions<'_> {
    fn request(&mut self, session: &str, request: Request, key: Option<&str>, explain: bool) -> Result<Answer> {
        Ok(Sessions::request(self, session, request, key, moment::now_ms(), explain)?)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let origin = arguments.file.display().to_string();
    let text = Source::file(&arguments.file)?.text;
    let loaded = load(&text, Some(Dialect::Session));
    terminal::tell(&terminal::findings(&loaded.diagnostics, &text, &origin));
    let Some(program) = &loaded.program else { return Ok(ExitCode::from(exit::REJECTED)) };
    let tools: Option<Vec<&str>> = arguments.tools.as_ref().map(|tools| tools.iter().map(String::as_str).collect());
    let limits = Project::find()?.agent_bounds();
    let gate = Gate::new(program, tools.as_deref(), arguments.ttl)?.with_limits(limits);
    if arguments.id.is_some() || arguments.store.store.is_some() {
        return durable::run(arguments, &text, program, gate);
    }
    let mut sessions = Sessions::new(gate);
    let mut refused = false;
    while let Some(line) = next_line()? {
        refused |= answered(&mut sessions, &line, None, arguments.explain)?;
    }
    Ok(if refused { ExitCode::from(exit::USAGE) } else { ExitCode::SUCCESS })
}

/// The next line of stdin; none at its end.
fn next_line() -> Result<Option<String>> {
    read_line(&mut io::stdin().lock(), DOCUMENT_BYTES)
        .map_err(|error| unread("stdin", error, "write each request as one line of JSON"))
}

/// Answers a line. True: it was refused.
fn answered(gates: &mut dyn Gates, line: &str, name: Option<&str>, explain: bool) -> Result<bool> {
    if line.trim().is_empty() {
        return Ok(false);
    }
    let answer = answer(gates, line, name, explain);
    let refused = answer.is_err();
    let answer = answer.unwrap_or_else(|trouble| line::error(&format!("{trouble:#}")));
    terminal::print(&format!("{answer:?}\n"))?;
    Ok(refused)
}

fn answer(gates: &mut dyn Gates, line: &str, name: Option<&str>, explain: bool) -> Result<Value> {
    let Line { session, request, key } = Line::read(line)?;
    let session = session.as_deref().or(name).unwrap_or(MAIN);
    let answer = gates.request(session, request, key.as_deref(), explain)?;
    Ok(line::told(&answer, session, explain))
}
