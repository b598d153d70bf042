//! `branchpoint doctor`: whether everything is as it should be, and what is configured. Never a secret's value.

use std::process::ExitCode;

use anyhow::Result;
use branchpoint_backend::{Backend, Health, KeyState};
use branchpoint_core::ir::SEMANTICS;
use serde::Serialize;

use crate::project::{self, Project, StoreArguments};
use crate::store_access::StoreAccess;
use crate::{exit, terminal, time};

/// What is late by less than this is not late.
const PATIENCE_MS: i64 = 60_000;

/// Less free room on the disk than this is too little.
const LITTLE_BYTES: u64 = 256 * 1024 * 1024;

/// A log that is larger than this was not moved into the file for long.
const LARGE_LOG_BYTES: u64 = 512 * 1024 * 1024;

/// Diagnose the installation and the store
#[derive(clap::Args)]
#[command(long_about = terminal::page(include_str!("doctor.txt")))]
pub(crate) struct Arguments {
    #[command(flatten)]
    store: StoreArguments,

    /// Print JSON
    #[arg(long, short)]
    json: bool,
}

/// The state of something that must be repaired.
const BROKEN: &str = "broken";

/// One thing that was checked, and its state.
#[derive(Serialize)]
struct Finding {
    what: &'static str,
    how: &'static str,
    detail: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut findings = vec![fine("version", version())];
    match Project::find() {
        Ok(project) => {
            configured(&project, &mut findings);
            look(&project, &arguments.store, &mut findings);
        }
        Err(error) => findings.push(broken("project file", format!("{error:#}"))),
    }
    let is_broken = findings.iter().any(|finding| finding.how == BROKEN);
    if arguments.json {
        terminal::print_json(&findings)?;
    } else {
        let line = |Finding { what, how, detail }: &Finding| format!("{how:6}  {what:14}  {detail}\n");
        terminal::print(&findings.iter().map(line).collect::<Vec<_>>().concat())?;
    }
    Ok(if is_broken { ExitCode::from(exit::SYSTEM) } else { ExitCode::SUCCESS })
}

fn version() -> String {
    format!("branchpoint {}, semantics {SEMANTICS}", env!("CARGO_PKG_VERSION"))
}

fn look(project: &Project, arguments: &StoreArguments, findings: &mut Vec<Finding>) {
    let path = match project.store_path(arguments) {
        Ok(path) => path,
        Err(error) => return findings.push(broken("store", format!("{error:#}"))),
    };
    if !path.exists() {
        return findings.push(fine("store", format!("{}: not there yet; the first run makes it", path.display())));
    }
    let opened = match StoreAccess::existing(arguments) {
        Ok(opened) => opened,
        Err(error) => return findings.push(broken("store", format!("{error:#}"))),
    };
    match opened.store.check(time::now_ms(), PATIENCE_MS) {
        Ok(health) => healthy(&path.display().to_string(), &health, findings),
        Err(error) => findings.push(broken("store", format!("{}: {error}", path.display()))),
    }
    if let Err(error) = processes(&*opened.store, findings) {
        findings.push(broken("processes", format!("{error:#}")));
    }
}

fn healthy(path: &str, health: &Health, findings: &mut Vec<Finding>) {
    let Health { version, file_bytes, free_bytes, log_bytes, .. } = health;
    if health.damage.is_empty() {
        let detail =
            format!("{path}: whole, version {version}, {file_bytes} bytes, {free_bytes} of them free on its disk");
        findings.push(fine("store", detail));
    } else {
        let detail = format!("{path} is damaged: {}; restore a backup", health.damage.join("; "));
        findings.push(broken("store", detail));
    }
    findings.push(match &health.key {
        KeyState::None => fine("key of secrets", "none; it is made with the first sealed secret".into()),
        KeyState::Fits => fine("key of secrets", "opens what is sealed".into()),
        KeyState::Unusable(why) => broken("key of secrets", why.clone()),
    });
    findings.extend(health.open_files.iter().map(|(file, mode)| {
        let file = file.display();
        let detail = format!("{file} is accessible to other users (mode {mode:o}); `chmod go= {file}` restricts it");
        odd("file rights", detail)
    }));
    let log = if *log_bytes > LARGE_LOG_BYTES { odd } else { fine };
    findings.push(log("log", format!("{log_bytes} bytes")));
    findings.push(match health.disk_bytes {
        Some(bytes) if bytes < LITTLE_BYTES => broken("disk", format!("only {bytes} bytes are free")),
        Some(bytes) => fine("disk", format!("{} MB are free", bytes / 1_000_000)),
        None => odd("disk", "the free space is unknown".into()),
    });
    findings.push(match health.future_runs {
        0 => fine("clock", "no event is of the future".into()),
        runs => odd("clock", format!("{runs} runs have events of the future: was the clock set back?")),
    });
    let overdue = format!("{} timers are overdue; `branchpoint work` drives their runs", health.overdue);
    findings.push(if health.overdue > 0 { odd("timers", overdue) } else { fine("timers", "none is overdue".into()) });
    let abandoned = format!("{} abandoned runs; `branchpoint work` resumes them", health.abandoned);
    findings.push(if health.abandoned > 0 {
        odd("runs", abandoned)
    } else {
        fine("runs", "none is left alone".into())
    });
}

fn processes(store: &dyn Backend, findings: &mut Vec<Finding>) -> Result<()> {
    let owners = store.drivers()?;
    let detail = owners
        .iter()
        .map(|driver| format!("{} ({}) since {}", driver.pid, driver.command, time::local(driver.since_ms)));
    let detail: Vec<String> = detail.collect();
    findings.push(fine("processes", if detail.is_empty() { "none executes runs".into() } else { detail.join("; ") }));
    let counts = store.counts()?.into_iter().map(|(status, count)| format!("{count} {status}"));
    let counts: Vec<String> = counts.collect();
    findings.push(fine("counts", if counts.is_empty() { "no runs".into() } else { counts.join(", ") }));
    Ok(())
}

/// What is configured, by name only.
fn configured(project: &Project, findings: &mut Vec<Finding>) {
    let file = project.folder.join(project::FILE);
    let found = if file.is_file() { file.display().to_string() } else { "none; everything has its default".into() };
    findings.push(fine("project file", found));
    let people = &project.people;
    let owner = people.owner.as_deref().unwrap_or("not configured");
    let detail = format!("owner {owner}, {} admins, {} members", people.admins.len(), people.members.len());
    findings.push(fine("people", detail));
    let notify = match (&project.notify.command, &project.notify.webhook) {
        (None, None) => "not configured",
        (Some(_), None) => "a command",
        (None, Some(_)) => "a webhook",
        (Some(_), Some(_)) => "a command and a webhook",
    };
    findings.push(fine("notifications", notify.into()));
    findings.push(match (&project.secrets.file, project.secrets()) {
        (None, _) => fine("secrets", "from the environment only".into()),
        (Some(file), Ok(secrets)) => fine("secrets", format!("{} names in {}", secrets.len(), file.display())),
        (Some(_), Err(error)) => broken("secrets", format!("{error:#}")),
    });
}

fn fine(what: &'static str, detail: String) -> Finding {
    Finding { what, how: "ok", detail }
}

/// It works, and somebody should look at it.
fn odd(what: &'static str, detail: String) -> Finding {
    Finding { what, how: "odd", detail }
}

fn broken(what: &'static str, detail: String) -> Finding {
    Finding { what, how: BROKEN, detail }
}
