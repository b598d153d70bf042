//! `branchpoint sessions`: the sessions that a store keeps.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use branchpoint_backend::{Session, SessionAction, SessionOptions, SessionSummary};
use branchpoint_core::ir::Status;
use branchpoint_expr::Value;

use crate::project::{StoreArguments, StoreCommand};
use crate::store_access::StoreAccess;
use crate::table::table;
use crate::{backend, json, terminal, time};

/// List, show and reset the sessions of agents
#[derive(clap::Args)]
#[command(long_about = terminal::page(include_str!("sessions.txt")))]
pub(crate) struct Arguments {
    #[command(flatten)]
    on: StoreCommand,

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
    let opened = StoreAccess::existing(&arguments.on.store)?;
    match &arguments.command {
        Command::List => list(&opened, arguments.on.json),
        Command::Show(named) => show(&opened, named),
        Command::Reset(named) => reset(&opened, &arguments.on.store, named),
    }
}

fn list(opened: &StoreAccess, json: bool) -> Result<ExitCode> {
    let mut rows = Vec::new();
    let mut summary = Vec::new();
    for session in opened.store.sessions()? {
        let row = opened.store.row(session.run)?;
        let status = if row.status.is_final() { "expired" } else { "alive" };
        summary.push(json::object([
            ("session", Value::from(session.name.as_str())),
            ("document", Value::from(session.document.as_str())),
            ("status", Value::from(status)),
            ("touched", time::to_iso(row.updated_ms)),
            ("run", Value::from(row.id.as_str())),
        ]));
        rows.push([session.name, session.document, status.to_owned(), time::local(row.updated_ms), row.id]);
    }
    if json {
        terminal::print_json(&Value::from(summary))?;
    } else if rows.is_empty() {
        terminal::message("This store keeps no sessions. `branchpoint session FILE --id NAME` opens one.\n");
    } else {
        terminal::print_styled(&table(["SESSION", "DOCUMENT", "STATUS", "TOUCHED", "RUN"], &rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn find(opened: &StoreAccess, named: &Named) -> Result<SessionSummary> {
    let sessions = opened.store.sessions()?;
    let mut found: Vec<SessionSummary> = sessions
        .into_iter()
        .filter(|session| session.name == named.name)
        .filter(|session| named.document.as_ref().is_none_or(|document| *document == session.document))
        .collect();
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => bail!("there is no session `{}`\nhelp: `branchpoint sessions list` lists them", named.name),
        _ => {
            let documents: Vec<&str> = found.iter().map(|session| session.document.as_str()).collect();
            bail!(
                "several documents have a session `{}`\nhelp: --document with one of {}",
                named.name,
                documents.join(", ")
            )
        }
    }
}

/// The view of a session is what machines read anyway, so there is one form.
fn show(opened: &StoreAccess, named: &Named) -> Result<ExitCode> {
    let session = find(opened, named)?;
    let look = opened.store.load(session.run)?;
    if look.status().is_final() {
        terminal::message("The session has expired; the next request opens a new one.\n");
        return Ok(ExitCode::SUCCESS);
    }
    let mut fields = look.view("session").and_then(|view| view.as_object().cloned()).unwrap_or_default();
    fields.insert("session".into(), Value::from(session.name));
    fields.insert("document".into(), Value::from(session.document));
    let expires = look.state.timers().map(|(_, at_ms)| at_ms).min();
    fields.insert("expires".into(), expires.map_or(Value::Null, time::to_iso));
    terminal::print_json(&Value::from(fields))
}

fn reset(opened: &StoreAccess, store: &StoreArguments, named: &Named) -> Result<ExitCode> {
    let SessionSummary { name, document, run } = find(opened, named)?;
    let row = opened.store.row(run)?;
    if row.status != Status::WaitingPeople {
        bail!("the session `{name}` has expired; the next request opens a new one anyway");
    }
    let mut backend = backend::drive_sessions(&opened.project, store, "sessions reset")?;
    let session = Session { name, document, workflow: row.workflow, options: SessionOptions::default() };
    let answer = backend.request_session(&session, SessionAction::Reset.into())?;
    backend.stop(Duration::ZERO)?;
    terminal::print(&format!("{:?}\n", answer.view(&session.name)))?;
    Ok(ExitCode::SUCCESS)
}
