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

/// A conversation that goes on.
pub(super) struct Turns<'s> {
    pub(super) session: &'s Session<'s>,
    pub(super) project: &'s Project,
    pub(super) drive: RunDriver,
    pub(super) run: RunNo,
    pub(super) words: LiveReply,
    /// The script that answers from now on.
    pub(super) script: Option<Value>,
    pub(super) json: bool,
    /// Whether a turn has failed.
    pub(super) failed: bool,
}

impl Turns<'_> {
    /// Talks until nothing more is said.
    pub(super) fn talk(mut self) -> Result<ExitCode> {
        // Once it is taken up, a turn may end before anybody looks.
        let look = self.drive.store().load(self.run)?;
        let mut follower = self.take_up(None)?;
        self.session.greet(&look);
        if is_in_turn(&look) {
            terminal::message("Resuming the interrupted turn.\n");
            if !self.hear(&mut follower)? {
                return self.interrupted();
            }
        }
        while let Some(line) = next_line() {
            if line.trim().is_empty() {
                continue;
            }
            self.say(line.trim_end(), &mut follower)?;
            if !self.hear(&mut follower)? {
                return self.interrupted();
            }
        }
        self.drive.leave()?;
        Ok(if self.failed { ExitCode::from(exit::FAILED) } else { ExitCode::SUCCESS })
    }

    /// From here on this process drives the session. One that follows another continues with its script.
    fn take_up(&self, previous: Option<RunNo>) -> Result<Follower> {
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
                 help: leave the other process, or talk under another --id",
                self.session.name()
            );
        }
        Ok(follower)
    }

    fn is_in_scripted_turn(&self) -> Result<bool> {
        let store = self.drive.store();
        Ok(store.is_scripted(self.run)? && is_in_turn(&store.load(self.run)?))
    }

    /// Hands a line in. A session that has expired meanwhile is followed by a new one.
    fn say(&mut self, line: &str, follower: &mut Follower) -> Result<()> {
        self.words.turn();
        let payload = json::object([("text", Value::from(line))]);
        let turn = Event::Signal { name: "turn".into(), payload, sender: None, key: None };
        loop {
            match self.drive.send(self.run, &turn)? {
                Ok(_) => return Ok(()),
                Err(_) if self.drive.store().row(self.run)?.status.is_final() => {
                    terminal::message("The session is over; a new one begins.\n");
                    let previous = std::mem::replace(&mut self.run, self.session.open(self.project)?);
                    *follower = self.take_up(Some(previous))?;
                }
                Err(why) => bail!("the session did not take this: {}", run_driver::rejection(&why)),
            }
        }
    }

    /// Waits for the end of a turn, tells the steps on the way, and prints what was said. False: somebody pressed Ctrl-C.
    fn hear(&mut self, follower: &mut Follower) -> Result<bool> {
        let (run, store) = (self.run, self.drive.store());
        if self.drive.follow(run, follower, |_| Ok(!is_in_turn(&store.load(run)?)))?.is_none() {
            return Ok(false);
        }
        let look = store.load(run)?;
        let turn = match look.status() {
            // The session itself is over, and with it whatever it would show.
            Status::Failed => {
                let why = outcome::failure(Status::Failed, &look.result().unwrap_or_default());
                json::object([("error", json::object([("message", Value::from(why))]))])
            }
            _ => look.view("turn").unwrap_or_default(),
        };
        self.failed |= turn.get("error").is_some_and(|error| *error != Value::Null);
        self.print(&look, &turn)?;
        Ok(true)
    }

    fn print(&self, look: &RunView, turn: &Value) -> Result<()> {
        let secrets = self.drive.store().secrets(self.run)?;
        let turn = secrets.mask_value(turn);
        if self.json {
            let line = json::object([
                ("session", Value::from(self.session.name())),
                ("turn", turn.clone()),
                ("usage", usage::to_json(look.state.usage())),
                ("view", if look.status().is_final() { Value::Null } else { look.view("session").unwrap_or_default() }),
            ]);
            let line = secrets.mask_value(&line);
            return terminal::print(&format!("{line:?}\n"));
        }
        if let Some(text) =
            turn.get("text").map(Value::to_string).filter(|text| !text.is_empty() && !self.words.were(text))
        {
            terminal::print(&format!("{text}\n"))?;
        }
        if let Some(error) = turn.get("error").and_then(|error| error.get("message")) {
            self.words.turn();
            terminal::error(&format!("the turn failed: {error}"));
        }
        for warning in turn.get("warnings").and_then(Value::as_list).unwrap_or_default() {
            let line = match warning.as_str() {
                Some("max_steps") => "the agent has made all the steps it may".to_owned(),
                Some("token_budget") => "the turn has used the tokens that `agent_tokens` allows".to_owned(),
                Some("cost_budget") => "the turn has cost what `agent_cost_micros` allows".to_owned(),
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

/// Whether something was said that is not answered yet. A session that is over answers nothing any more.
fn is_in_turn(look: &RunView) -> bool {
    let said = look.view("chat").is_some_and(|chat| chat.as_list().is_some_and(|said| !said.is_empty()));
    let answered = look.view("turn").is_some_and(|turn| turn != Value::Null);
    let rests = look.status() == Status::WaitingPeople;
    !look.status().is_final() && said && !(answered && rests)
}

fn next_line() -> Option<String> {
    if stdin().is_terminal() { terminal::ask("> ") } else { terminal::read_line() }
}
