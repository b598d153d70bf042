//! A run that is only tried: in memory, under a clock of its own, with nothing kept.

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
use crate::workflow::Workflow;
use crate::{local_runner, terminal};

pub(crate) fn run(
    workflow: Workflow,
    input: Value,
    mut facts: Object,
    mut answers: Answers,
    max_ops: u64,
    json: bool,
) -> Result<ExitCode> {
    for name in &workflow.program.facts {
        let known = || answers.fact(name).unwrap_or_else(|| local_runner::fact(name));
        facts.entry(name.clone()).or_insert_with(known);
    }
    let secrets = crate::run::secrets_of(&workflow, &input, &facts);
    // A recorded run has the answers of the runs that it called, not of its calls.
    let children = if answers.is_recorded() { crate::run::children_of(&workflow)? } else { BTreeMap::new() };
    let document = RunDocument::of(&workflow);
    let program = workflow.program;
    answers.mask_with(&secrets);
    let host = VirtualDriver::new(&program, Timestamp::now().as_millisecond());
    let progress = Progress::new(&program, &secrets);
    let mut host = host.with_children(&children).with_max_ops(max_ops).with_note_listener(progress.listener());
    host.start(input, facts).map_err(|refused| anyhow!("the run cannot start: {refused}"))?;
    drive(&program, &mut host, &mut answers, progress);
    if let Some(skeleton) = answers.take_skeleton() {
        let path = skeleton.write(&program, document.origin_name())?;
        terminal::message(&format!("Wrote {}; use it with --script.\n", path.display()));
    }
    report::report(&host, &answers, json, &secrets, &document)
}

/// Lets the run go on until it has ended, or only people can make it go on.
fn drive(program: &Program, host: &mut VirtualDriver<'_>, answers: &mut Answers, mut progress: Progress<'_>) {
    loop {
        host.run_until_idle(&mut |call| answers.simulate(call));
        progress.show(program);
        match (host.status(), host.next_timer_ms()) {
            (Status::WaitingTimer, Some(due_ms)) => {
                // A dry run does not wait: it has a virtual clock.
                progress::waited(due_ms.saturating_sub(host.now_ms()));
                host.advance_clock_to(due_ms, &mut |call| answers.simulate(call));
            }
            (Status::WaitingPeople, _) if approvals::answer(host, answers) => {}
            _ => return progress.finish(program, host.status()),
        }
    }
}
