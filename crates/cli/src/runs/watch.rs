//! `branchpoint runs watch`: the steps of a run while they end.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use branchpoint_backend::{Backend, BackendError, RunNo};
use branchpoint_core::ir::Status;
use branchpoint_core::{StepRecord, StepStatus};

use super::show::pending;
use super::trace_tree::{OmittedSteps, TraceTree};
use crate::run_driver::is_far;
use crate::store_access::StoreAccess;
use crate::{exit, interrupt, terminal, time};

/// The pause between two checks for changes.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Shows the steps of a run, each once.
#[derive(Default)]
pub(crate) struct Follower {
    shown: usize,
    seq: u64,
    /// The part that was left out: a run with very many steps is shown in part.
    left_out: OmittedSteps,
    /// Whether each step is an object of JSON.
    json: bool,
    /// Whether nothing is shown.
    silent: bool,
}

impl Follower {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, ..Self::default() }
    }

    /// Shows nothing if the output is JSON, which is one object at the end.
    pub(crate) fn silent_if(json: bool) -> Self {
        Self { silent: json, ..Self::default() }
    }

    /// Leaves out the steps until now.
    pub(crate) fn beginning_now(mut self, store: &dyn Backend, run: RunNo) -> Result<Self> {
        match TraceTree::of(store, run) {
            // The steps of a run that cannot be opened are not known.
            Err(error) if error.downcast_ref().is_some_and(BackendError::is_of_one_run) => self.silent = true,
            tree => self.skip(&tree?),
        }
        Ok(self)
    }

    /// Leaves out the steps that have ended by now.
    fn skip(&mut self, tree: &TraceTree) {
        let ran = tree.records.iter().filter(|record| ran(record));
        self.shown = ran.take_while(|record| !is_open(record)).count();
        self.left_out = tree.left_out;
    }

    /// Shows the steps that have ended since the last call; with `nothing_more`, also the unfinished ones.
    pub(crate) fn show(&mut self, store: &dyn Backend, run: RunNo, nothing_more: bool) -> Result<()> {
        let seq = store.row(run)?.seq;
        if self.silent || (seq == self.seq && !nothing_more) {
            return Ok(());
        }
        self.seq = seq;
        let tree = TraceTree::of(store, run)?;
        if tree.left_out != self.left_out {
            self.skip(&tree);
            terminal::message("… some steps are left out: the run executes more than can be shown\n");
        }
        let new: Vec<usize> = (0..tree.records.len())
            .filter(|index| ran(&tree.records[*index]))
            .skip(self.shown)
            .take_while(|index| nothing_more || !is_open(&tree.records[*index]))
            .collect();
        self.shown += new.len();
        for index in new {
            if self.json {
                terminal::print(&format!("{:?}\n", tree.record_json(index)))?;
            } else {
                terminal::message(&tree.line(index, tree.depth(index)));
            }
        }
        Ok(())
    }
}

fn ran(record: &StepRecord) -> bool {
    !matches!(record.status, StepStatus::Skipped(_))
}

fn is_open(record: &StepRecord) -> bool {
    matches!(record.status, StepStatus::Running | StepStatus::Waiting(_))
}

#[derive(clap::Args)]
pub(super) struct Watch {
    /// The id of the run, or a unique beginning or end of it
    run: String,

    /// Continue watching while the run waits
    #[arg(long)]
    keep: bool,
}

pub(super) fn run(opened: &StoreAccess, arguments: &Watch, json: bool) -> Result<ExitCode> {
    let (store, row) = (&*opened.store, opened.run(&arguments.run)?);
    let interrupted = interrupt::cancellation_token()?;
    let mut follower = Follower::new(json);
    let (mut version, mut shown_status) = (None, None);
    loop {
        let now = Some(store.version()?);
        if now != version {
            version = now;
            follower.show(store, row.run, false)?;
            let status = store.status(row.run)?;
            if shown_status != Some(status) && !json && !status.is_final() {
                terminal::message(&format!("Run `{}`: {}\n", row.id, status.as_str()));
            }
            shown_status = Some(status);
            if status.is_final() {
                follower.show(store, row.run, true)?;
                terminal::message(&format!("Run `{}` has ended: {}\n", row.id, status.as_str()));
                let code = if status == Status::Completed { 0 } else { exit::FAILED };
                return Ok(ExitCode::from(code));
            }
        }
        // A timer comes closer without a change of the store.
        if !arguments.keep && waits_long(store, row.run)? {
            terminal::message(&waiting(store, row.run, &row.id)?);
            return Ok(ExitCode::from(exit::WAITING));
        }
        if interrupted.is_cancelled() {
            return Ok(ExitCode::from(exit::INTERRUPTED));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Whether a run waits for people, or for a time that is more than a minute away.
fn waits_long(store: &dyn Backend, run: RunNo) -> Result<bool> {
    Ok(match store.status(run)? {
        Status::WaitingPeople => true,
        Status::WaitingTimer => is_far(store.next_due_ms(run)?),
        _ => false,
    })
}

/// What a run waits for, and how to continue it.
fn waiting(store: &dyn Backend, run: RunNo, id: &str) -> Result<String> {
    let keep = format!("`branchpoint runs watch {id} --keep` keeps watching");
    Ok(match store.next_due_ms(run)?.filter(|_| matches!(store.status(run), Ok(Status::WaitingTimer))) {
        Some(due_ms) => format!("Run `{id}` waits until {}; {keep}.\n", time::local(due_ms)),
        None => format!("Run `{id}` waits for people; {keep}.\n{}", pending(store, run)?),
    })
}
