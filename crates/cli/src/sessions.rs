//! `branchpoint sessions`: the sessions in a store.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use branchpoint_backend::{Run, Session, SessionAction, SessionOptions, SessionSummary};
use branchpoint_core::ir::Status;
use branchpoint_expr::Value;

use crate::listing::Listing;
use crate::project::StoreArguments;
use crate::server_option::ServerCommand;
use crate::store_access::StoreAccess;
use crate::{backend, json, terminal, time};

/// List, show and reset the sessions of agents
#[derive(clap::Args)]
#[command(long_about = terminal::page(include_str!("sessions.txt")))]
pub(crate) struct Arguments {
    #[command(flatten)]
    on: ServerCommand,

    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List sessions
    List,
    /// Show the allowed tools and the history of a session
    Show(Named),
    /// Delete the history of a session
    Reset(Named),
}

#[derive(clap::Args)]
struct Named {
    /// The session
    name: String,

    /// Name of the document, if several have a session of this name
    #[arg(long, value_name = "NAME")]
    document: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let on = arguments.on.resolve()?;
    let opened = StoreAccess::existing(&on.store)?;
    match &arguments.command {
        Command::List => list(&opened, on.json),
        Command::Show(named) => show(&opened, named),
        Command::Reset(named) => reset(&opened, &on.store, named),
    }
}

const SESSIONS: Listing<5> = Listing {
    headings: ["SESSION", "DOCUMENT", "STATUS", "TOUCHED", "RUN"],
    empty: "This store has no sessions. `branchpoint session FILE --id NAME` opens one.",
};

fn list(opened: &StoreAccess, json: bool) -> Result<ExitCode> {
    let sessions = opened.store.sessions()?.into_iter();
    let sessions = sessions.map(|session| Ok((opened.store.row(session.run)?, session))).collect::<Result<Vec<_>>>()?;
    let status = |run: &Run| if run.status.is_final() { "expired" } else { "alive" };
    let fields = |(run, session): &(Run, SessionSummary)| {
        json::object([
            ("session", Value::from(session.name.as_str())),
            ("document", Value::from(session.document.as_str())),
            ("status", Value::from(status(run))),
            ("touched", time::to_iso(run.updated_ms)),
            ("run", Value::from(run.id.as_str())),
        ])
    };
    let row = |(run, session): &(Run, SessionSummary)| {
        let (name, document) = (session.name.clone(), session.document.clone());
        [name, document, status(run).to_owned(), time::local(run.updated_ms), run.id.clone()]
    };
    SESSIONS.print(&sessions, json, fields, row)
}

fn find(opened: &StoreAccess, named: &Named) -> Result<SessionSummary> {
    let sessions = opened.store.sessions()?;
    let mut matching: Vec<SessionSummary> = sessions
        .into_iter()
        .filter(|session| session.name == named.name)
        .filter(|session| named.document.as_ref().is_none_or(|document| *document == session.document))
        .collect();
    match matching.len() {
        1 => Ok(matching.remove(0)),
        0 => bail!("there is no session `{}`\nhelp: `branchpoint sessions list` lists them", named.name),
        _ => {
            let documents: Vec<&str> = matching.iter().map(|session| session.document.as_str()).collect();
            bail!(
                "several documents have a session `{}`\nhelp: choose one with --document: {}",
                named.name,
                documents.join(", ")
            )
        }
    }
}

/// The view of a session is what machines read anyway, so there is one form.
fn show(opened: &StoreAccess, named: &Named) -> Result<ExitCode> {
    let session = find(opened, named)?;
    let view = opened.store.load(session.run)?;
    if view.status().is_final() {
        terminal::message("The session has expired; the next request opens a new one.\n");
        return Ok(ExitCode::SUCCESS);
    }
    let mut fields = view.view("session").and_then(|view| view.as_object().cloned()).unwrap_or_default();
    fields.insert("session".into(), Value::from(session.name));
    fields.insert("document".into(), Value::from(session.document));
    let expires = view.state.timers().map(|(_, at_ms)| at_ms).min();
    fields.insert("expires".into(), expires.map_or(Value::Null, time::to_iso));
    terminal::print_json(&Value::from(fields))
}

fn reset(opened: &StoreAccess, store: &StoreArguments, named: &Named) -> Result<ExitCode> {
    let SessionSummary { name, document, run } = find(opened, named)?;
    let row = opened.store.row(run)?;
    if row.status != Status::WaitingPeople {
        bail!("the session `{name}` has expired; the next request opens a new one anyway");
    }
    let mut backend = if opened.is_server() {
        opened.store.handle()?
    } else {
        backend::drive_sessions(&opened.project, store, "sessions reset")?
    };
    let session = Session { name, document, workflow: row.workflow, options: SessionOptions::default() };
    let answer = backend.request_session(&session, SessionAction::Reset.into())?;
    backend.stop(Duration::ZERO)?;
    terminal::print(&format!("{:?}\n", answer.view(&session.name)))?;
    Ok(ExitCode::SUCCESS)
}
