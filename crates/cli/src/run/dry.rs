//! A run that is only tried: in memory, under a clock of its own, with nothing kept.

use std::process::ExitCode;

use anyhow::{Result, anyhow};
use branchpoint_core::ir::{Program, Status};
use branchpoint_engine::{Memory, Secrets};
use branchpoint_expr::{Object, Value};
use jiff::Timestamp;

use super::answers::Answers;
use super::progress::{self, Progress};
use super::{dry_outcome, people};
use crate::outside;
use crate::workflow::Workflow;

pub(crate) fn run(
    workflow: Workflow,
    input: Value,
    mut facts: Object,
    mut answers: Answers,
    json: bool,
) -> Result<ExitCode> {
    for name in &workflow.program.facts {
        facts.entry(name.clone()).or_insert_with(|| outside::fact(name));
    }
    let secrets = super::secrets_of(&workflow, &input);
    let program = without_limits(workflow.program);
    let mut host = Memory::new(&program, Timestamp::now().as_millisecond());
    host.start(input, facts).map_err(|refused| anyhow!("the run cannot start: {refused}"))?;
    drive(&program, &mut host, &mut answers, &secrets);
    dry_outcome::tell(&host, &answers, json, &secrets)
}

/// Lets the run go on until it has ended, or only people can make it go on.
fn drive(program: &Program, host: &mut Memory<'_>, answers: &mut Answers, secrets: &Secrets) {
    let mut progress = Progress::new(secrets);
    loop {
        host.go_on(answers);
        progress.show(program, host, false);
        match (host.status(), host.next_timer_ms()) {
            (Status::WaitingTimer, Some(due_ms)) => {
                // Nobody wants to sit and wait: the clock of a run in memory is its own.
                progress::waited(due_ms.saturating_sub(host.now_ms()));
                host.until(due_ms, answers);
            }
            (Status::WaitingPeople, _) if people::answer(program, host, answers) => {}
            _ => return progress.show(program, host, true),
        }
    }
}

/// The same program without limits on time: a person who is asked for answers may take as long as they like, and an answer
/// that is lacking must not look like one that came too late.
fn without_limits(mut program: Program) -> Program {
    program.effects.iter_mut().for_each(|effect| effect.attempt_limit_ms = None);
    program.scopes.iter_mut().for_each(|scope| scope.time_limit_ms = None);
    program.limits.wall_ms = 0;
    program
}
