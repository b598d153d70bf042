//! `branchpoint workflows`: the workflows in a store.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use branchpoint_backend::{Backend, Filter, WorkflowSummary};
use branchpoint_expr::Value;

use crate::listing::Listing;
use crate::project::{Project, StoreArguments};
use crate::server_option::ServerCommand;
use crate::store_access::StoreAccess;
use crate::table::facts;
use crate::workflow;
use crate::{backend, json, terminal, time};

/// The shown length of a hash, which is enough to name a workflow.
const SHORT: usize = 12;

/// List, show and add the workflows of a store
#[derive(clap::Args)]
#[command(long_about = terminal::page(include_str!("workflows.txt")))]
pub(crate) struct Arguments {
    #[command(flatten)]
    on: ServerCommand,

    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List workflows, newest first
    List,
    /// Show the document, versions and runs of a workflow
    Show {
        /// Its name, or six or more letters of its hash
        name: String,
    },
    /// Check a workflow and add it to the store
    Add {
        #[command(flatten)]
        file: workflow::File,
    },
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let on = arguments.on.resolve()?;
    match &arguments.command {
        Command::List => list(&StoreAccess::existing(&on.store)?, on.json),
        Command::Show { name } => show(&StoreAccess::existing(&on.store)?, name, on.json),
        Command::Add { file } => add(&on.store, file, on.json),
    }
}

const WORKFLOWS: Listing<5> = Listing {
    headings: ["WORKFLOW", "DIALECT", "HASH", "ADDED", "RUNS"],
    empty: "This store has no workflows. `branchpoint workflows add FILE` adds one.",
};

fn list(opened: &StoreAccess, json: bool) -> Result<ExitCode> {
    let mut workflows = opened.store.workflows()?;
    workflows.reverse();
    let row = |of: &WorkflowSummary| {
        let hash = of.hash.chars().take(SHORT).collect();
        [of.name.clone(), of.dialect.clone(), hash, time::local(of.added_ms), of.runs.to_string()]
    };
    WORKFLOWS.print(&workflows, json, workflow_json, row)
}

fn workflow_json(listed: &WorkflowSummary) -> Value {
    json::object([
        ("workflow", Value::from(listed.name.as_str())),
        ("dialect", Value::from(listed.dialect.as_str())),
        ("hash", Value::from(listed.hash.as_str())),
        ("origin", Value::from(listed.origin.as_str())),
        ("added", time::to_iso(listed.added_ms)),
        ("runs", json::count(listed.runs)),
    ])
}

fn find(store: &dyn Backend, name: &str) -> Result<(WorkflowSummary, Vec<WorkflowSummary>)> {
    let all = store.workflows()?;
    let number = store.workflow(name)?;
    let Some(found) = all.iter().find(|listed| Some(listed.workflow) == number).cloned() else {
        let mut names: Vec<&str> = all.iter().map(|listed| listed.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let help = if names.is_empty() {
            "`branchpoint workflows add FILE` adds one".to_owned()
        } else {
            format!("there are {}", names.join(", "))
        };
        bail!("there is no workflow `{name}`\nhelp: {help}");
    };
    let versions = all.into_iter().filter(|listed| listed.name == found.name).rev().collect();
    Ok((found, versions))
}

fn show(opened: &StoreAccess, name: &str, json: bool) -> Result<ExitCode> {
    let (listed, versions) = find(&*opened.store, name)?;
    let document = opened.store.document(listed.workflow)?;
    let filter = Filter { workflow: Some(listed.name.clone()), limit: Some(10), ..Filter::default() };
    let runs: Vec<_> = opened.store.runs(&filter)?.into_iter().filter(|run| run.workflow == listed.workflow).collect();
    if json {
        let mut fields = workflow_json(&listed).as_object().cloned().context("this is an object")?;
        fields.insert("text".into(), Value::from(document.text));
        fields.insert("versions".into(), Value::from(versions.iter().map(workflow_json).collect::<Vec<_>>()));
        let ids = runs.into_iter().map(|run| Value::from(run.id)).collect::<Vec<_>>();
        fields.insert("newest_runs".into(), Value::from(ids));
        return terminal::print_json(&Value::from(fields));
    }
    let versions = versions.iter().map(|of| {
        let hash: String = of.hash.chars().take(SHORT).collect();
        format!("{hash}  {}  {} runs", time::local(of.added_ms), of.runs)
    });
    let runs: Vec<String> = runs.iter().map(|run| format!("{}  {}", run.id, run.status.as_str())).collect();
    let lines = [
        ("workflow", format!("{} ({})", listed.name, listed.dialect)),
        ("hash", listed.hash.clone()),
        ("origin", listed.origin.clone()),
        ("versions", versions.collect::<Vec<_>>().join("\n")),
        ("newest runs", if runs.is_empty() { "none".into() } else { runs.join("\n") }),
    ];
    terminal::print_styled(&format!("{}\n{}\n", facts(&lines), document.text.trim_end()))?;
    Ok(ExitCode::SUCCESS)
}

fn add(arguments: &StoreArguments, file: &workflow::File, json: bool) -> Result<ExitCode> {
    let workflow = match file.load()? {
        Ok(workflow) => workflow,
        Err(refused) => return Ok(refused),
    };
    let document = workflow::document(&workflow.source, workflow.dialect);
    let store = backend::open(&Project::find()?, arguments)?;
    let stored =
        branchpoint_backend::Workflow { document: &document, program: &workflow.program, children: &workflow.children };
    let number = store.save(stored, time::now_ms())?;
    let listed = store.workflows()?.into_iter().find(|listed| listed.workflow == number);
    let listed = listed.context("the saved workflow is missing")?;
    if json {
        terminal::print_json(&workflow_json(&listed))?;
    } else {
        terminal::print(&format!("{}  {}\n", listed.hash, listed.name))?;
    }
    Ok(ExitCode::SUCCESS)
}
