//! A run that goes on from a moment of another: the events up to there are its own, and what was in flight then is done again.

use std::collections::BTreeMap;

use branchpoint_core::{Command, EffectNo, Event, RequestNo, advance};
use branchpoint_expr::Value;

use super::open::Open;
use super::{Asker, ContinueWith, Host, Refused, RunNo, Taken, Ticket};
use crate::store::{Packing, Run, Trouble};

impl Host {
    /// Queues a new run that begins with the first `events` events of another.
    /// A fork of a scripted run has the same script.
    pub fn fork(
        &mut self,
        (from, events): (RunNo, u64),
        id: String,
        watched: bool,
        with: ContinueWith,
        ticket: Ticket,
    ) {
        let asker = Asker::Caller(ticket);
        self.queue.push_back(super::Order::Fork { from, events, id, watched, with, asker });
    }

    pub(super) fn fork_run(
        &mut self,
        (from, events): (RunNo, u64),
        id: String,
        watched: bool,
        with: &ContinueWith,
        now_ms: i64,
    ) -> Result<Result<Taken, Refused>, Trouble> {
        let row = self.store.row(from)?;
        let Some(program) = self.program(row.workflow, &row.part.as_str().into())? else {
            return Ok(Err(Refused::NoPart(row.part)));
        };
        let packing = self.packing(from)?;
        let mut journal = self.store.journal(from)?;
        journal.truncate(usize::try_from(events).unwrap_or(usize::MAX));
        if let Some(run) = self.run_of_id(&id)? {
            return Ok(Ok(Taken { run, new: false }));
        }
        let run = self.new_number(&id);
        let new = Run { run, id, parent: None, owner: Some(self.owner.number), started_ms: now_ms, ..row.clone() };
        self.store.insert_run_later(new.clone(), program.semantics);
        self.seal(run, &packing.secrets)?;
        let mut open = Box::new(Open::new(&new, program, packing));
        (open.watched, open.touched, open.turn) = (watched, true, self.turns);
        // The row is written anew at the end of the turn.
        open.row = (new.status, false);
        let mut left = Left::default();
        for (stamp, event, mark) in journal {
            left.settled(&event);
            let key = super::apply::key_of(&event);
            let packed = packed_event(&open.packing, &stamp, &event, &new.id)?;
            let outcome = advance(&open.program, &mut open.state, &stamp, event).map_err(|rejected| {
                Trouble::Strayed { run: new.id.clone(), seq: open.state.seq() + 1, reason: rejected.to_string() }
            })?;
            if outcome.check != mark {
                let reason = "it leads elsewhere than it did when it was written".to_owned();
                return Err(Trouble::Strayed { run: new.id, seq: open.state.seq(), reason });
            }
            open.tail_bytes += packed.bytes.len();
            self.store.append(run, open.state.seq(), mark, packed);
            if let Some(key) = key {
                self.store.take_key(run, key);
            }
            outcome.commands.into_iter().for_each(|command| left.commanded(command, stamp.now_ms));
        }
        open.tail_ops = open.state.ops();
        open.script = self.fork_script(&row, events, &open, &new, with)?;
        self.touched.push(run);
        if open.state.is_unfinished() {
            self.unfinished.push_back(run);
        }
        self.open.insert(run, open);
        self.take_on(run, left)?;
        Ok(Ok(Taken { run, new: true }))
    }

    /// Writes and performs what the events have left to be done.
    fn take_on(&mut self, run: RunNo, left: Left) -> Result<(), Trouble> {
        let timers: Vec<_> = self.open[&run].state.timers().collect();
        for (timer, at_ms) in timers {
            self.carry_out(run, Command::SetTimer { timer, at_ms }, at_ms)?;
        }
        for (request, (spec, asked_ms)) in left.questions {
            self.carry_out(run, Command::Ask { request, spec }, asked_ms)?;
        }
        for command in left.calls.into_values() {
            self.carry_out(run, command, i64::MIN)?;
        }
        Ok(())
    }
}

/// What events have asked for and what has not come back.
#[derive(Default)]
struct Left {
    calls: BTreeMap<EffectNo, Command>,
    questions: BTreeMap<RequestNo, (Value, i64)>,
}

impl Left {
    fn settled(&mut self, event: &Event) {
        if let Event::Settled { effect, .. } = event {
            self.calls.remove(effect);
        }
    }

    fn commanded(&mut self, command: Command, now_ms: i64) {
        match command {
            Command::Perform { effect, .. } => {
                self.calls.insert(effect, command);
            }
            Command::Withdraw { effect } => {
                self.calls.remove(&effect);
            }
            Command::Ask { request, spec } => {
                self.questions.insert(request, (spec, now_ms));
            }
            Command::Retract { request } => {
                self.questions.remove(&request);
            }
            _ => {}
        }
    }
}

fn packed_event(
    packing: &Packing,
    stamp: &branchpoint_core::Stamp,
    event: &Event,
    id: &str,
) -> Result<crate::store::Packed, Trouble> {
    packing.event(stamp, event).map_err(|error| Trouble::Bytes { run: id.to_owned(), error })
}
