//! Dry runs: in memory, under a virtual clock, without storing anything.

mod approvals;
mod progress;
mod report;

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use branchpoint_core::ir::{Program, Status};
use branchpoint_expr::{Object, Value};
use branchpoint_host::VirtualDriver;
use jiff::Timestamp;

use self::progress::Progress;
use crate::run::answers::Answers;
use crate::run::report::RunDocument;
use crate::terminal;
use crate::workflow::Workflow;

pub(crate) fn run(
    workflow: Workflow,
    input: Value,
    facts: Object,
    mut answers: Answers,
    max_ops: u64,
    (json, quiet): (bool, bool),
) -> Result<ExitCode> {
    let facts = crate::run::with_host_facts(&workflow.program, facts, &answers);
    let secrets = crate::run::secrets_of(&workflow, &input, &facts);
    // A recorded run has the answers of the runs that it called, not of its calls.
    let children = if answers.is_recorded() { crate::run::children_of(&workflow)? } else { BTreeMap::new() };
    let document = RunDocument::of(&workflow);
    let program = workflow.program;
    answers.mask_with(&secrets);
    let host = VirtualDriver::new(&program, Timestamp::now().as_millisecond());
    let progress = Progress::new(&program, &secrets, quiet);
    let mut host = host.with_children(&children).with_max_ops(max_ops).with_note_listener(progress.listener());
    host.start(input, facts).map_err(|refused| anyhow!("the run cannot start: {refused}"))?;
    drive(&program, &mut host, &mut answers, progress);
    if let Some(skeleton) = answers.take_skeleton() {
        let path = skeleton.write(&program, document.origin_name())?;
        if !quiet {
            terminal::message(&format!("Wrote {}; use it with --script.\n", path.display()));
        }
    }
    report::report(&host, &answers, (json, quiet), &secrets, &document)
}

/// Drives the run until it has ended or waits for people.
fn drive(program: &Program, host: &mut VirtualDriver<'_>, answers: &mut Answers, mut progress: Progress<'_>) {
    loop {
        host.run_until_idle(&mut |call| answers.simulate(call));
        progress.show(program);
        match (host.status(), host.next_timer_ms()) {
            (Status::WaitingTimer, Some(due_ms)) => {
                // A dry run does not wait: it has a virtual clock.
                progress.report_wait(due_ms.saturating_sub(host.now_ms()));
                host.advance_clock_to(due_ms, &mut |call| answers.simulate(call));
            }
            (Status::WaitingPeople, _) if approvals::answer(host, answers) => {}
            _ => return progress.finish(program, host.status()),
        }
    }
}
