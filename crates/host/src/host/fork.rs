//! Forks: a new run that begins with the first events of another run, on its workflow or on a changed one. Calls that were in flight at that moment are performed again.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_core::{Command, EffectNo, Event, Fold, FoldedEvent, JournalRow, Pending, RequestNo, State};
use branchpoint_runners::Secrets;

use super::open::Open;
use super::{Accepted, CallSource, Host, Rejection, Requester, RunNo, Ticket};
use crate::store::{Packing, Run, StoreError, WorkflowNo};

impl Host {
    /// Queues a new run that begins with the first `events` events of another run. A fork of a scripted run has the same script.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// host.fork((run, 1), "r-2".into(), false, CallSource::Script, Ticket::default());
    /// host.turn(2).unwrap();
    /// assert!(host.store().run("r-2").unwrap().is_some());
    /// ```
    pub fn fork(&mut self, from: (RunNo, u64), id: String, watched: bool, with: CallSource, ticket: Ticket) {
        self.queue_fork(from, None, id, (watched, with), ticket);
    }

    /// The same, on a changed workflow: the events are replayed into its program.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// let workflow = host.store().row(run).unwrap().workflow;
    /// host.fork_on((run, 1), workflow, "r-2".into(), false, CallSource::Script, Ticket::default());
    /// host.turn(2).unwrap();
    /// assert!(host.store().run("r-2").unwrap().is_some());
    /// ```
    pub fn fork_on(
        &mut self,
        from: (RunNo, u64),
        workflow: WorkflowNo,
        id: String,
        watched: bool,
        with: CallSource,
        ticket: Ticket,
    ) {
        self.queue_fork(from, Some(workflow), id, (watched, with), ticket);
    }

    fn queue_fork(
        &mut self,
        (from, events): (RunNo, u64),
        workflow: Option<WorkflowNo>,
        id: String,
        (watched, with): (bool, CallSource),
        ticket: Ticket,
    ) {
        let requester = Requester::Caller(ticket);
        self.schedule.queue.push_back(super::Order::Fork { from, events, workflow, id, watched, with, requester });
    }

    /// Forks a run. If its journal, key or script is unusable, the fork is rejected and discarded.
    pub(super) fn fork_or_reject(
        &mut self,
        from: (RunNo, u64),
        workflow: Option<WorkflowNo>,
        id: &str,
        how: (bool, &CallSource),
        now_ms: i64,
    ) -> Result<Result<Accepted, Rejection>, StoreError> {
        let earlier = self.current.new_ids.get(id).copied();
        match self.fork_run(from, workflow, id.to_owned(), how, now_ms) {
            Err(error) if error.is_of_one_run() => {
                if let Some(run) = self.current.new_ids.get(id).copied().filter(|run| Some(*run) != earlier) {
                    self.drop_open(run);
                    self.discard_new(id, run);
                }
                Ok(Err(Rejection::Broken(error.to_string())))
            }
            forked => forked,
        }
    }

    fn fork_run(
        &mut self,
        (from, events): (RunNo, u64),
        workflow: Option<WorkflowNo>,
        id: String,
        (watched, with): (bool, &CallSource),
        now_ms: i64,
    ) -> Result<Result<Accepted, Rejection>, StoreError> {
        let row = self.store.row(from)?;
        let Some(program) = self.program(row.workflow, &row.part.as_str().into())? else {
            return Ok(Err(Rejection::NoPart(row.part)));
        };
        let packing = self.packing(from)?;
        let mut journal = self.store.journal(from)?;
        journal.truncate(usize::try_from(events).unwrap_or(usize::MAX));
        if let Some(run) = self.run_of_id(&id)? {
            return Ok(Ok(Accepted { run, new: false }));
        }
        let moment = ForkMoment::of(&program, journal.clone(), &row.id)?;
        let (workflow, program, journal) = match workflow {
            None => (row.workflow, program, journal),
            Some(workflow) => {
                let facts = Arc::clone(&self.settings.facts);
                match self.store.continue_on(&row, journal, workflow, &|name| facts(name), &packing)? {
                    Ok((program, continued)) => (workflow, program, continued.rows),
                    Err(rejection) => return Ok(Err(rejection)),
                }
            }
        };
        let run = self.new_number(&id)?;
        let owner = Some(self.owner.number);
        let new = Run { run, id, workflow, parent: None, owner, started_ms: now_ms, decision: None, ..row.clone() };
        self.insert_continued(&row, &new, program, (packing, journal), &moment, (watched, with))?;
        Ok(Ok(Accepted { run, new: true }))
    }

    /// Adds a run with these events. What is pending after them is performed.
    pub(super) fn insert_continued(
        &mut self,
        from: &Run,
        new: &Run,
        program: Arc<Program>,
        (packing, journal): (Packing, Vec<JournalRow>),
        moment: &ForkMoment,
        (watched, with): (bool, &CallSource),
    ) -> Result<(), StoreError> {
        let run = new.run;
        let limits = match journal.first() {
            Some((_, Event::Start { input, facts, .. }, _)) => {
                let secrets = Secrets::from_values(packing.secrets.to_vec());
                self.limits_of_start(new.workflow, &program, (input, facts), &secrets)?
            }
            _ => None,
        };
        self.store.insert_run_later(new.clone(), program.semantics);
        self.store.share_attachments_later(from.run, run);
        self.seal(run, &packing.secrets)?;
        let mut open = Box::new(Open::new(new, program, packing));
        (open.watched, open.touched, open.turn) = (watched, true, self.counters.turns);
        // Differs from the row, so that the row is written at the end of the turn.
        open.row = (new.status, false);
        let program = Arc::clone(&open.program);
        let mut fold = Fold::new(&program, State::new(), journal);
        // The last decision is shown in lists.
        while let Some(folded) = fold.replay_next(&mut |note| open.keep_decision_of_fork(note)) {
            let FoldedEvent { seq, stamp, event, outcome } = folded.map_err(StoreError::in_journal_of(&new.id))?;
            let packed = open.packing.event(&stamp, &event);
            let packed = packed.map_err(|error| StoreError::Bytes { run: new.id.clone(), error })?;
            open.tail_bytes += packed.bytes.len();
            self.store.append(run, seq, outcome.check, packed);
            if let Some(key) = super::apply::key_of(&event) {
                self.store.take_key(run, key);
            }
        }
        let (state, pending) = fold.into_parts();
        open.state = state;
        open.tail_ops = open.state.ops();
        open.script = self.fork_script(from, moment, &open, new, with)?;
        self.current.touched.push(run);
        let is_unfinished = open.state.is_unfinished();
        self.open.insert(run, open);
        if let Some(limits) = limits {
            self.enqueue(run, limits);
        }
        if is_unfinished && !self.awaits_slot(run) {
            self.schedule.unfinished.push_back(run);
        }
        self.resume_pending(run, pending)
    }

    /// Writes and performs the pending calls, timers and requests after the copied events.
    fn resume_pending(&mut self, run: RunNo, pending: Pending) -> Result<(), StoreError> {
        let timers: Vec<_> = self.open[&run].state.timers().collect();
        for (timer, at_ms) in timers {
            self.carry_out(run, Command::SetTimer { timer, at_ms }, at_ms)?;
        }
        for (request, (spec, requested_ms)) in pending.requests {
            self.carry_out(run, Command::Ask { request, spec }, requested_ms)?;
        }
        for command in pending.effects.into_values() {
            self.carry_out(run, command, i64::MIN)?;
        }
        Ok(())
    }
}

/// The moment of a run at which another one continues from it.
#[derive(Default)]
pub(super) struct ForkMoment {
    /// The number of events before it.
    pub(super) events: u64,
    /// The calls that had ended by then, by number and attempt, and the requests, with attempt 0.
    ended: BTreeSet<(u64, u32)>,
}

impl ForkMoment {
    /// Whether a call or a request had ended.
    pub(super) fn has_ended(&self, number: u64, attempt: u32) -> bool {
        // Answers to approvals without votes end at once, and have no number.
        number == 0 || self.ended.contains(&(number, attempt))
    }

    /// The moment after these events.
    pub(super) fn of(program: &Program, journal: Vec<JournalRow>, id: &str) -> Result<Self, StoreError> {
        let mut moment = Self { events: journal.len() as u64, ..Self::default() };
        let mut fold = Fold::new(program, State::new(), journal);
        for folded in fold.by_ref() {
            moment.add_requested(&folded.map_err(StoreError::in_journal_of(id))?.outcome.commands);
        }
        moment.remove_pending(fold.pending());
        Ok(moment)
    }

    fn add_requested(&mut self, commands: &[Command]) {
        self.ended.extend(commands.iter().filter_map(|command| match command {
            Command::Perform { effect, attempt, .. } => Some((effect.0, *attempt)),
            Command::Ask { request, .. } => Some((request.0, 0)),
            _ => None,
        }));
    }

    fn remove_pending(&mut self, pending: &Pending) {
        self.ended.retain(|(number, attempt)| {
            let request = pending.requests.contains_key(&RequestNo(*number));
            let newest = pending.effects.get(&EffectNo(*number));
            let call = matches!(newest, Some(Command::Perform { attempt: newest, .. }) if newest == attempt);
            !request && !call
        });
    }
}
