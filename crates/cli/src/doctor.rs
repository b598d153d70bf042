//! `branchpoint doctor`: diagnoses the installation and the store, and lists what is configured, without values of secrets.

use std::process::ExitCode;

use anyhow::Result;
use branchpoint_backend::{Backend, Health, KeyState};
use branchpoint_core::ir::SEMANTICS;
use serde::Serialize;

use crate::project::{self, Project, StoreArguments};
use crate::store_access::StoreAccess;
use crate::{exit, terminal, time};

/// The most milliseconds that a timer may be late.
const TOLERANCE_MS: i64 = 60_000;

/// The least free disk space.
const MIN_FREE_BYTES: u64 = 256 * 1024 * 1024;

/// The size from which the write-ahead log is a warning: it was not moved into the file for a long time.
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

/// A checked item and its state.
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
            check_store(&project, &arguments.store, &mut findings);
        }
        Err(error) => findings.push(broken("project file", format!("{error:#}"))),
    }
    let is_broken = findings.iter().any(|finding| finding.how == BROKEN);
    if arguments.json {
        terminal::print_json(&findings)?;
    } else {
        let line = |Finding { what, how, detail }: &Finding| format!("{how:7}  {what:16}  {detail}\n");
        terminal::print(&findings.iter().map(line).collect::<Vec<_>>().concat())?;
    }
    Ok(if is_broken { ExitCode::from(exit::SYSTEM) } else { ExitCode::SUCCESS })
}

fn version() -> String {
    format!("branchpoint {}, semantics {SEMANTICS}", env!("CARGO_PKG_VERSION"))
}

fn check_store(project: &Project, arguments: &StoreArguments, findings: &mut Vec<Finding>) {
    let path = match project.store_path(arguments) {
        Ok(path) => path,
        Err(error) => return findings.push(broken("store", format!("{error:#}"))),
    };
    if !path.exists() {
        return findings
            .push(fine("store", format!("{} does not exist yet; the first run creates it", path.display())));
    }
    let opened = match StoreAccess::existing(arguments) {
        Ok(opened) => opened,
        Err(error) => return findings.push(broken("store", format!("{error:#}"))),
    };
    match opened.store.check(time::now_ms(), TOLERANCE_MS) {
        Ok(health) => add_health(&path.display().to_string(), &health, findings),
        Err(error) => findings.push(broken("store", format!("{}: {error}", path.display()))),
    }
    if let Err(error) = processes(&*opened.store, findings) {
        findings.push(broken("processes", format!("{error:#}")));
    }
}

fn add_health(path: &str, health: &Health, findings: &mut Vec<Finding>) {
    let Health { version, file_bytes, free_bytes, log_bytes, .. } = health;
    if health.damage.is_empty() {
        let detail = format!("{path}: intact, version {version}, {file_bytes} bytes, {free_bytes} of them unused");
        findings.push(fine("store", detail));
    } else {
        let detail = format!("{path} is damaged: {}; restore a backup", health.damage.join("; "));
        findings.push(broken("store", detail));
    }
    findings.push(match &health.key {
        KeyState::None => fine("key of secrets", "none; the first encrypted secret creates it".into()),
        KeyState::Fits => fine("key of secrets", "opens the encrypted secrets".into()),
        KeyState::Unusable(why) => broken("key of secrets", why.clone()),
    });
    findings.extend(health.open_files.iter().map(|(file, mode)| {
        let file = file.display();
        let detail = format!("{file} is accessible to other users (mode {mode:o}); `chmod go= {file}` restricts it");
        warning("file permissions", detail)
    }));
    let log = if *log_bytes > LARGE_LOG_BYTES { warning } else { fine };
    findings.push(log("log", format!("{log_bytes} bytes")));
    findings.push(match health.disk_bytes {
        Some(bytes) if bytes < MIN_FREE_BYTES => broken("disk", format!("only {bytes} bytes are free")),
        Some(bytes) => fine("disk", format!("{} MB are free", bytes / 1_000_000)),
        None => warning("disk", "the free space is unknown".into()),
    });
    findings.push(match health.future_runs {
        0 => fine("clock", "no events dated in the future".into()),
        runs => warning(
            "clock",
            format!("{runs} runs have events dated in the future; check whether the clock was set back"),
        ),
    });
    let overdue = format!("{} timers are overdue; `branchpoint work` drives their runs", health.overdue);
    findings.push(if health.overdue > 0 {
        warning("timers", overdue)
    } else {
        fine("timers", "no overdue timers".into())
    });
    let abandoned = format!("{} abandoned runs; `branchpoint work` resumes them", health.abandoned);
    findings.push(if health.abandoned > 0 {
        warning("runs", abandoned)
    } else {
        fine("runs", "no abandoned runs".into())
    });
}

fn processes(store: &dyn Backend, findings: &mut Vec<Finding>) -> Result<()> {
    let owners = store.drivers()?;
    let detail = owners
        .iter()
        .map(|driver| format!("{} ({}) since {}", driver.pid, driver.command, time::local(driver.since_ms)));
    let detail: Vec<String> = detail.collect();
    findings
        .push(fine("processes", if detail.is_empty() { "no process executes runs".into() } else { detail.join("; ") }));
    let counts = store.counts()?.into_iter().map(|(status, count)| format!("{count} {status}"));
    let counts: Vec<String> = counts.collect();
    findings.push(fine("counts", if counts.is_empty() { "no runs".into() } else { counts.join(", ") }));
    Ok(())
}

/// What is configured, by name only.
fn configured(project: &Project, findings: &mut Vec<Finding>) {
    let file = project.folder.join(project::FILE);
    let detail =
        if file.is_file() { file.display().to_string() } else { "none; all settings have their defaults".into() };
    findings.push(fine("project file", detail));
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

/// A finding that does not prevent work.
fn warning(what: &'static str, detail: String) -> Finding {
    Finding { what, how: "warning", detail }
}

fn broken(what: &'static str, detail: String) -> Finding {
    Finding { what, how: BROKEN, detail }
}
