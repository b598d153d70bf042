//! `branchpoint run`: one run of a workflow, in memory.

mod answers;
mod inputs;
mod live;
mod outcome;
mod people;
mod progress;
mod prologue;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use branchpoint_core::ir::{Program, Status};
use branchpoint_engine::Memory;
use branchpoint_expr::Dialect;
use jiff::Timestamp;

use self::answers::Answers;
use self::inputs::Input;
use self::progress::Progress;
use crate::source::is_stdin;
use crate::{terminal, workflow};

/// Run a workflow in memory
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("about.txt")),
    after_long_help = terminal::page(include_str!("after.txt")),
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    workflow: workflow::File,

    /// A value that the run starts with: text after `=`, JSON after `:=`
    #[arg(long = "input", short, value_name = "KEY=VALUE")]
    inputs: Vec<Input>,

    /// A YAML file with the answers of steps that call something outside
    #[arg(long, short, value_name = "FILE")]
    script: Option<PathBuf>,

    /// Show which way it would go; asks for the answers it lacks
    #[arg(long)]
    dry_run: bool,

    /// Print the whole result as one JSON object
    #[arg(long, short)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.workflow.is_stdin() && arguments.script.as_deref().is_some_and(is_stdin) {
        bail!("the workflow and the script cannot both come from stdin");
    }
    let mut answers = Answers::read(arguments.script.as_deref(), arguments.dry_run)?;
    let workflow = match arguments.workflow.load_scripted(&answers.steps)? {
        Ok(workflow) => workflow,
        Err(refused) => return Ok(refused),
    };
    let (input, mut facts) = inputs::start(workflow.dialect, &arguments.inputs)?;
    for name in &workflow.program.facts {
        facts.entry(name.clone()).or_insert_with(|| live::fact(name));
    }
    if let Some(refused) = prologue::check(&workflow, &answers, arguments.dry_run) {
        return Ok(refused);
    }
    // A state machine is made of commands, which cannot be hurried: it runs under the real clock.
    if workflow.dialect == Some(Dialect::Machine) && !arguments.dry_run {
        return live::run(&workflow, input, answers, arguments.json);
    }
    let program = if arguments.dry_run { without_limits(workflow.program) } else { workflow.program };
    let mut host = Memory::new(&program, Timestamp::now().as_millisecond());
    host.start(input, facts).map_err(|refused| anyhow!("the run cannot start: {refused}"))?;
    let progress = Progress { reasons: arguments.dry_run, shown: 0 };
    drive(&program, &mut host, &mut answers, progress);
    outcome::tell(&host, &answers, arguments.json)
}

/// Lets the run go on until it has ended, or only people can make it go on.
fn drive(program: &Program, host: &mut Memory<'_>, answers: &mut Answers, mut progress: Progress) {
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
