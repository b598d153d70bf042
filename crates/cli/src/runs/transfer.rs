//! `branchpoint runs export` and `import`: runs as JSON lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use branchpoint_backend::{Filter, Imported};
use branchpoint_expr::Value;

use crate::project::{Project, StoreArguments};
use crate::source::is_stdin;
use crate::store_access::StoreAccess;
use crate::{backend, exit, json, terminal, time};

pub(super) fn export(opened: &StoreAccess, names: &[String]) -> Result<ExitCode> {
    let runs = if names.is_empty() {
        // The oldest first, as they were started.
        opened.store.runs(&Filter { sessions: true, ..Filter::default() })?.into_iter().rev().collect()
    } else {
        names.iter().map(|name| opened.run(name)).collect::<Result<Vec<_>>>()?
    };
    let runs: Vec<_> = runs.iter().map(|run| run.run).collect();
    if io::stdout().is_terminal() {
        terminal::message("The runs are printed on stdout; `> runs.jsonl` writes them to a file.\n");
    }
    let exported = opened.store.export(&runs, &mut BufWriter::new(io::stdout().lock()))?;
    for (id, why) in &exported.omitted {
        terminal::error(&format!("run `{id}` was not exported: {why}"));
    }
    terminal::message(&format!("Exported {} runs.\n", exported.runs));
    Ok(if exported.omitted.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(exit::USAGE) })
}

pub(super) fn import(arguments: &StoreArguments, file: &Path, json: bool) -> Result<ExitCode> {
    let project = Project::find()?;
    let store = backend::open(&project, arguments)?;
    let mut lines: Box<dyn BufRead> = if is_stdin(file) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(file).with_context(|| format!("cannot read {}", file.display()))?))
    };
    let imported = store.import(&mut lines, project.max_ops(), time::now_ms());
    let imported = imported.with_context(|| format!("cannot import {}; nothing was imported", file.display()))?;
    show(&imported, json)?;
    Ok(ExitCode::SUCCESS)
}

fn show(imported: &Imported, json: bool) -> Result<()> {
    if json {
        let list = |ids: &[String]| Value::from(ids.iter().map(|id| Value::from(id.as_str())).collect::<Vec<_>>());
        let summary = json::object([("runs", list(&imported.runs)), ("known", list(&imported.existing))]);
        return terminal::print_json(&summary).map(drop);
    }
    for id in &imported.existing {
        terminal::message(&format!("Run `{id}` already exists and is unchanged.\n"));
    }
    terminal::message(&format!("Imported {} runs.\n", imported.runs.len()));
    Ok(())
}
