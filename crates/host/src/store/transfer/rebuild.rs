//! Rebuilds the rows of a run from its events, as a host would have written them.

use branchpoint_core::ir::{Program, Status};
use branchpoint_core::{Command, Event, Fold, FoldedEvent, NoteKind, RunLimits, State, codec, status};
use branchpoint_runners::Secrets;

use super::{Journal, TransferError};
use crate::host::{decision_text, slot_limits};
use crate::store::{Packing, Run, RunNo, SlotState, Store, StoreError};

/// A run that was folded and can be written. Folding needs no lock on the store.
pub(super) struct RebuiltRun {
    pub(super) has_ended: bool,
    /// How long the run waited for people.
    waited_ms: i64,
    semantics: u16,
    rows: Vec<WriteRow>,
}

/// Writes one row of a run whose number is known by then.
type WriteRow = Box<dyn FnOnce(&Store, RunNo)>;

impl RebuiltRun {
    /// Folds the journal of a run. The executed ops count against the limit of the import.
    pub(super) fn fold(
        (run, is_root): (&str, bool),
        program: &Program,
        journal: Journal,
        ops_left: &mut OpsLeft,
    ) -> Result<Self, TransferError> {
        let unstorable = |error: codec::CodecError| StoreError::Bytes { run: run.to_owned(), error };
        let packing = Packing::default();
        let mut rows: Vec<WriteRow> = Vec::new();
        let limits = journal.first().and_then(|(_, event, _)| match event {
            Event::Start { input, facts, .. } if is_root => {
                slot_limits(RunLimits::of_program(program).as_ref(), None, (input, facts), &Secrets::default())
            }
            _ => None,
        });
        let mut fold = Fold::new(program, State::new(), journal);
        let (mut ops, mut waited_ms, mut waiting_since_ms) = (0, 0, None);
        loop {
            let (mut count, mut last) = (0, None);
            let folded = fold.replay_next(&mut |note| {
                if let NoteKind::Decided(decision) = note.kind {
                    (count, last) = (count + 1, Some(decision));
                }
            });
            let Some(folded) = folded else { break };
            let FoldedEvent { seq, stamp, event, outcome } = folded.map_err(StoreError::in_journal_of(run))?;
            if let Some(decision) = last {
                let text = decision_text(program, &decision, &Secrets::default());
                rows.push(Box::new(move |store, run| store.add_decisions(run, stamp.now_ms, count, text)));
            }
            ops_left.spend(fold.state().ops().saturating_sub(std::mem::replace(&mut ops, fold.state().ops())))?;
            waited_ms += waiting_since_ms.map_or(0, |since_ms| stamp.now_ms - since_ms);
            let waits = status(program, fold.state()) == Status::WaitingPeople;
            waiting_since_ms = waits.then_some(stamp.now_ms);
            let packed = packing.event(&stamp, &event).map_err(unstorable)?;
            rows.push(Box::new(move |store, run| store.append(run, seq, outcome.check, packed)));
            if let Event::Signal { key: Some(key), .. } = event {
                rows.push(Box::new(move |store, run| store.take_key(run, key)));
            }
            for command in outcome.commands {
                rows.extend(request_row(command, stamp.now_ms).map_err(unstorable)?);
            }
        }
        let (state, pending) = fold.into_parts();
        let ended = state.result().is_some();
        if let Some(limits) = limits.filter(|_| !ended) {
            let slot = if status(program, &state) == Status::Running { SlotState::Queued } else { SlotState::Resting };
            rows.push(Box::new(move |store, run| store.put_in_queue_later(run, limits, slot)));
        }
        for (effect, command) in pending.effects {
            let packed = packing.command(&command).map_err(unstorable)?;
            rows.push(Box::new(move |store, run| store.put_call(run, effect, packed)));
        }
        for (timer, due_ms) in state.timers() {
            rows.push(Box::new(move |store, run| store.set_timer(run, timer, due_ms)));
        }
        let packed = packing.state(&state).map_err(unstorable)?;
        let (seq, now_ms, status) = (state.seq(), state.now_ms(), status(program, &state));
        rows.push(Box::new(move |store, run| {
            store.put_snapshot_later(run, seq, packed, true);
            store.update_status(run, seq, now_ms, status, None);
        }));
        Ok(Self { has_ended: status.is_final(), waited_ms, semantics: program.semantics, rows })
    }
}

/// The ops that an import may still execute.
pub(super) struct OpsLeft {
    limit: u64,
    left: u64,
}

impl OpsLeft {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, left: limit }
    }

    fn spend(&mut self, ops: u64) -> Result<(), TransferError> {
        let too_many = || TransferError::Limit {
            what: "the work to replay the runs".into(),
            limit: format!("{} ops", self.limit),
        };
        self.left = self.left.checked_sub(ops).ok_or_else(too_many)?;
        Ok(())
    }
}

/// The row of a request to people, which stays in the store after the request is settled.
fn request_row(command: Command, now_ms: i64) -> Result<Option<WriteRow>, codec::CodecError> {
    Ok(Some(match command {
        Command::Ask { request, spec } => {
            let packed = Packing::default().value(&spec)?;
            Box::new(move |store, run| store.put_request(run, request, packed, now_ms))
        }
        Command::Remind { request, .. } => Box::new(move |store, run| store.remind(run, request)),
        Command::Retract { request } => Box::new(move |store, run| store.close_request(run, request, now_ms)),
        _ => return Ok(None),
    }))
}

impl Store {
    /// Writes a rebuilt run within a transaction. No process drives it. None: the store has a run with its id.
    pub(super) fn write_rebuilt(&self, row: &Run, rebuilt: RebuiltRun) -> Result<Option<RunNo>, StoreError> {
        let row = Run { waited_ms: rebuilt.waited_ms, ..row.clone() };
        let Some(run) = self.insert_run(&row, rebuilt.semantics)? else { return Ok(None) };
        rebuilt.rows.into_iter().for_each(|write| write(self, run));
        Ok(Some(run))
    }
}
