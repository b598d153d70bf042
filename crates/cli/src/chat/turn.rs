//! Turns of a conversation: reads a line, shows the calls of the agent, and prints its reply.

use std::io::{IsTerminal, stdin};
use std::process::ExitCode;

use anyhow::{Result, bail};
use branchpoint_backend::{CallSource, RunNo, RunView};
use branchpoint_core::Event;
use branchpoint_core::ir::Status;
use branchpoint_expr::Value;

use super::Session;
use super::live_reply::LiveReply;
use crate::project::Project;
use crate::run_driver::{self, RunDriver};
use crate::runs::Follower;
use crate::{exit, json, outcome, terminal, usage};

/// The turns of a conversation.
pub(super) struct Turns<'s> {
    pub(super) session: &'s Session<'s>,
    pub(super) project: &'s Project,
    pub(super) drive: RunDriver,
    pub(super) run: RunNo,
    pub(super) words: LiveReply,
    /// The script that answers the calls.
    pub(super) script: Option<Value>,
    pub(super) json: bool,
    /// Whether a turn has failed.
    pub(super) failed: bool,
}

impl Turns<'_> {
    /// Runs turns until the end of the input.
    pub(super) fn run(mut self) -> Result<ExitCode> {
        // The session is loaded first, because a resumed turn may end at once.
        let view = self.drive.store().load(self.run)?;
        let mut follower = self.resume(None)?;
        self.session.greet(&view);
        if is_in_turn(&view) {
            terminal::message("Resuming the interrupted turn.\n");
            if !self.await_reply(&mut follower)? {
                return self.interrupted();
            }
        }
        while let Some(line) = next_line() {
            if line.trim().is_empty() {
                continue;
            }
            self.send_line(line.trim_end(), &mut follower)?;
            if !self.await_reply(&mut follower)? {
                return self.interrupted();
            }
        }
        self.drive.leave()?;
        Ok(if self.failed { ExitCode::from(exit::FAILED) } else { ExitCode::SUCCESS })
    }

    /// Resumes the session in this process. A session that replaces an expired one continues with its script.
    fn resume(&self, previous: Option<RunNo>) -> Result<Follower> {
        let follower = Follower::silent_if(self.json).beginning_now(self.drive.store(), self.run)?;
        let with = match (&self.script, previous) {
            (Some(_), Some(previous)) => CallSource::ScriptOf(previous),
            (Some(script), None) => CallSource::NewScript(script.clone()),
            (None, _) if !self.session.is_live() && self.is_in_scripted_turn()? => {
                bail!(
                    "a script answered the interrupted turn of session `{}`\n\
                     help: continue it with --script FILE, or execute its calls with --live",
                    self.session.name()
                );
            }
            (None, _) => CallSource::Runners,
        };
        if let Err(refused) = self.drive.resume(self.run, with)? {
            bail!(
                "the session `{}` cannot continue: {refused}\n\
                 help: end the other process, or use another --id",
                self.session.name()
            );
        }
        Ok(follower)
    }

    fn is_in_scripted_turn(&self) -> Result<bool> {
        let store = self.drive.store();
        Ok(store.is_scripted(self.run)? && is_in_turn(&store.load(self.run)?))
    }

    /// Sends a line to the session. If the session has expired meanwhile, opens a new one.
    fn send_line(&mut self, line: &str, follower: &mut Follower) -> Result<()> {
        self.words.reset();
        let payload = json::object([("text", Value::from(line))]);
        let turn = Event::Signal { name: "turn".into(), payload, sender: None, key: None };
        loop {
            match self.drive.send(self.run, &turn)? {
                Ok(_) => return Ok(()),
                Err(_) if self.drive.store().row(self.run)?.status.is_final() => {
                    terminal::message("The session has expired; a new one begins.\n");
                    let previous = std::mem::replace(&mut self.run, self.session.open(self.project)?);
                    *follower = self.resume(Some(previous))?;
                }
                Err(why) => bail!("the session rejected the line: {}", run_driver::rejection(&why)),
            }
        }
    }

    /// Shows the steps of a turn until it ends, and prints the reply. Returns false after Ctrl-C.
    fn await_reply(&mut self, follower: &mut Follower) -> Result<bool> {
        let (run, store) = (self.run, self.drive.store());
        if self.drive.follow(run, follower, |_| Ok(!is_in_turn(&store.load(run)?)))?.is_none() {
            return Ok(false);
        }
        let view = store.load(run)?;
        let turn = match view.status() {
            // A failed session has no views.
            Status::Failed => {
                let why = outcome::failure(Status::Failed, &view.result().unwrap_or_default());
                json::object([("error", json::object([("message", Value::from(why))]))])
            }
            _ => view.view("turn").unwrap_or_default(),
        };
        self.failed |= turn.get("error").is_some_and(|error| *error != Value::Null);
        self.print(&view, &turn)?;
        Ok(true)
    }

    fn print(&self, view: &RunView, turn: &Value) -> Result<()> {
        let secrets = self.drive.store().secrets(self.run)?;
        let turn = secrets.mask_value(turn);
        if self.json {
            let line = json::object([
                ("session", Value::from(self.session.name())),
                ("turn", turn.clone()),
                ("usage", usage::to_json(view.state.usage())),
                ("view", if view.status().is_final() { Value::Null } else { view.view("session").unwrap_or_default() }),
            ]);
            let line = secrets.mask_value(&line);
            return terminal::print(&format!("{line:?}\n"));
        }
        if let Some(text) =
            turn.get("text").map(Value::to_string).filter(|text| !text.is_empty() && !self.words.was_printed(text))
        {
            terminal::print(&format!("{text}\n"))?;
        }
        if let Some(error) = turn.get("error").and_then(|error| error.get("message")) {
            self.words.reset();
            terminal::error(&format!("the turn failed: {error}"));
        }
        for warning in turn.get("warnings").and_then(Value::as_list).unwrap_or_default() {
            let line = match warning.as_str() {
                Some("max_steps") => "the turn reached its limit of model calls".to_owned(),
                Some("token_budget") => "the turn reached the limit `agent_tokens`".to_owned(),
                Some("cost_budget") => "the turn reached the limit `agent_cost_micros`".to_owned(),
                _ => warning.to_string(),
            };
            terminal::message(&format!("({line})\n"));
        }
        Ok(())
    }

    fn interrupted(self) -> Result<ExitCode> {
        self.drive.leave()?;
        terminal::message("\nInterrupted. The turn continues with the next `branchpoint chat`.\n");
        Ok(ExitCode::from(exit::INTERRUPTED))
    }
}

/// Whether the last message has no reply yet. An ended session replies to nothing.
fn is_in_turn(view: &RunView) -> bool {
    let has_messages = view.view("chat").is_some_and(|chat| chat.as_list().is_some_and(|turns| !turns.is_empty()));
    let answered = view.view("turn").is_some_and(|turn| turn != Value::Null);
    let rests = view.status() == Status::WaitingPeople;
    !view.status().is_final() && has_messages && !(answered && rests)
}

fn next_line() -> Option<String> {
    if stdin().is_terminal() { terminal::ask("> ") } else { terminal::read_line() }
}
