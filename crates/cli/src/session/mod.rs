//! `branchpoint session`: the gate as JSON lines. A line in is a request, a line out is its answer.

mod line;

use std::fs;
use std::io::{self, BufRead};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use branchpoint_dialects::load;
use branchpoint_engine::gate::{Gate, Sessions, TTL_S};
use branchpoint_expr::{Dialect, Value, render_terminal};

use crate::{exit, terminal};
use line::Line;

/// Tell which tools an agent may use now, one JSON line for each JSON line read
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("about.txt")),
    after_long_help = terminal::page(include_str!("after.txt")),
)]
pub(crate) struct Arguments {
    /// The agent's template, or its orchestration alone; YAML or JSON
    file: PathBuf,

    /// All tools of the agent, in order; without it, those of the template
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    tools: Option<Vec<String>>,

    /// After how many seconds without a request a session is gone; 0 means never
    #[arg(long, value_name = "SECONDS", default_value_t = TTL_S)]
    ttl: i64,

    /// Tell with each answer which steps were asked, and why their conditions held or did not
    #[arg(long)]
    explain: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let origin = arguments.file.display().to_string();
    let text = fs::read_to_string(&arguments.file).with_context(|| format!("cannot read {origin}"))?;
    let loaded = load(&text, Some(Dialect::Session));
    terminal::tell(&render_terminal(&loaded.diagnostics, &text, &origin, true));
    let Some(program) = &loaded.program else { return Ok(ExitCode::from(exit::REJECTED)) };
    let tools: Option<Vec<&str>> = arguments.tools.as_ref().map(|tools| tools.iter().map(String::as_str).collect());
    let mut sessions = Sessions::new(Gate::new(program, tools.as_deref(), arguments.ttl)?);
    let mut refused = false;
    for line in io::stdin().lock().lines() {
        let line = line.context("cannot read stdin")?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = answer(&mut sessions, &line, arguments.explain);
        refused |= answer.is_err();
        let answer = answer.unwrap_or_else(|trouble| line::error(&format!("{trouble:#}")));
        terminal::print(&format!("{answer:?}\n"))?;
    }
    Ok(if refused { ExitCode::from(exit::USAGE) } else { ExitCode::SUCCESS })
}

fn answer(sessions: &mut Sessions<'_>, line: &str, explain: bool) -> Result<Value> {
    let Line { session, request, key } = Line::read(line)?;
    let now_ms = jiff::Timestamp::now().as_millisecond();
    let answer = sessions.request(&session, request, key.as_deref(), now_ms, explain)?;
    Ok(line::told(&answer, &session, explain))
}
