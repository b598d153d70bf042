//! The checked fold of a journal: every state of a run is this fold of its events.

use std::collections::BTreeMap;

use branchpoint_expr::Value;

use crate::advance::{Outcome, Rejected, advance_noting};
use crate::command::Command;
use crate::event::{Event, Stamp};
use crate::ir::Program;
use crate::state::{EffectNo, RequestNo, State};
use crate::trace::Note;

/// One row of a journal: the stamp, the event, and the check word of its outcome when it was written.
pub type JournalRow = (Stamp, Event, u32);

/// Folds a journal, event by event, onto a new state or a snapshot.
///
/// Every event must have the outcome that it had when it was written: a fold that diverges stops at that event. A journal ends where
/// the run moves to another program; the rest is folded with that program.
///
/// ```
/// use branchpoint_core::ir::{Program, builder::Builder};
/// use branchpoint_core::{Event, Fold, Stamp, State, advance};
///
/// let program: Program = Builder::sample();
/// let start = Event::start("hello");
/// let written = advance(&program, &mut State::new(), &Stamp::default(), start.clone()).unwrap();
/// let state = Fold::new(&program, State::new(), [(Stamp::default(), start, written.check)]).finish().unwrap();
/// assert!(state.result().is_some());
/// ```
pub struct Fold<'p, I> {
    program: &'p Program,
    rows: I,
    state: State,
    pending: Pending,
    checked: bool,
}

/// One folded event.
#[derive(Clone, Debug)]
pub struct FoldedEvent {
    /// The number of the event in the run, counted from 1.
    pub seq: u64,
    /// The stamp of the event.
    pub stamp: Stamp,
    /// The event.
    pub event: Event,
    /// The outcome of the event, with an empty trace.
    pub outcome: Outcome,
}

/// Effects and requests of the folded events that are not settled. Pending timers are those of the state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pending {
    /// The newest [`Command::Perform`] of each effect.
    pub effects: BTreeMap<EffectNo, Command>,
    /// The open requests to people, with the time at which they were opened.
    pub requests: BTreeMap<RequestNo, (Value, i64)>,
}

/// Why a journal cannot be folded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// An event is rejected, so it does not belong to the journal of this run.
    #[error("event {seq} is rejected: {rejected}")]
    Rejected {
        /// The number of the event, counted from 1.
        seq: u64,
        /// The reason.
        rejected: Rejected,
    },
    /// An event has another outcome than it had when it was written.
    #[error("the replay of event {seq} has another outcome than the original; the journal or the program was changed")]
    Diverged {
        /// The number of the event, counted from 1.
        seq: u64,
    },
}

impl<'p, I: Iterator<Item = JournalRow>> Fold<'p, I> {
    /// A fold of these rows, which follow the events of `state`.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// let rows = [(Stamp::default(), Event::start(Value::Null), outcome.check)];
    /// assert_eq!(Fold::new(&program, State::new(), rows).count(), 1);
    /// ```
    pub fn new(program: &'p Program, state: State, rows: impl IntoIterator<IntoIter = I>) -> Self {
        Self { program, rows: rows.into_iter(), state, pending: Pending::default(), checked: true }
    }

    /// Accepts outcomes that differ from those that were written, for journals whose values were changed.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// let rows = [(Stamp::default(), Event::start(Value::Null), 0)];
    /// assert!(Fold::new(&program, State::new(), rows.clone()).finish().is_err());
    /// assert!(Fold::new(&program, State::new(), rows).without_check().finish().is_ok());
    /// ```
    #[must_use]
    pub fn without_check(mut self) -> Self {
        self.checked = false;
        self
    }

    /// Folds the next event with recording on, and passes its notes on one by one, so that the notes of a long journal need not fit into
    /// memory together.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// let rows = [(Stamp::default(), Event::start(Value::Null), outcome.check)];
    /// let mut fold = Fold::new(&program, State::new(), rows);
    /// let folded = fold.replay_next(&mut |note| println!("{note:?}")).unwrap()?;
    /// assert_eq!(folded.seq, 1);
    /// # Ok::<(), FoldError>(())
    /// ```
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// let rows = [(Stamp::default(), Event::start(Value::Null), outcome.check)];
    /// let (replayed, notes) = replay(&program, State::new(), rows)?;
    /// assert_eq!(replayed, state);
    /// # Ok::<(), FoldError>(())
    /// ```
    pub fn replay_next(&mut self, notes: &mut dyn FnMut(Note)) -> Option<Result<FoldedEvent, FoldError>> {
        let row = self.rows.next()?;
        Some(self.step(row, true, notes))
    }

    /// Folds the remaining events and returns the state.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// let rows = [(Stamp::default(), Event::start(Value::Null), outcome.check)];
    /// assert_eq!(Fold::new(&program, State::new(), rows).finish()?, state);
    /// # Ok::<(), FoldError>(())
    /// ```
    pub fn finish(mut self) -> Result<State, FoldError> {
        self.by_ref().try_for_each(|folded| folded.map(drop))?;
        Ok(self.state)
    }

    fn step(
        &mut self,
        (stamp, event, check): JournalRow,
        record: bool,
        notes: &mut dyn FnMut(Note),
    ) -> Result<FoldedEvent, FoldError> {
        let seq = self.state.seq() + 1;
        let recorded = Stamp { record, ..stamp.clone() };
        let outcome = advance_noting(self.program, &mut self.state, &recorded, event.clone(), notes)
            .map_err(|rejected| FoldError::Rejected { seq, rejected })?;
        if self.checked && outcome.check != check {
            return Err(FoldError::Diverged { seq });
        }
        self.pending.add(&event, &outcome.commands, stamp.now_ms);
        Ok(FoldedEvent { seq, stamp, event, outcome })
    }
}

impl<I> Fold<'_, I> {
    /// The state after the events folded so far.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// let fold = Fold::new(&program, state, []);
    /// assert_eq!(fold.state().seq(), 1);
    /// ```
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The effects and requests that are pending after the events folded so far.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// let fold = Fold::new(&program, state, []);
    /// assert!(fold.pending().effects.is_empty());
    /// ```
    pub fn pending(&self) -> &Pending {
        &self.pending
    }

    /// The state after the events folded so far, and the effects and requests that are pending.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// let (state, pending) = Fold::new(&program, state, []).into_parts();
    /// assert!(state.seq() == 1 && pending.requests.is_empty());
    /// ```
    pub fn into_parts(self) -> (State, Pending) {
        (self.state, self.pending)
    }
}

impl<I: Iterator<Item = JournalRow>> Iterator for Fold<'_, I> {
    type Item = Result<FoldedEvent, FoldError>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.rows.next()?;
        Some(self.step(row, false, &mut |_| {}))
    }
}

impl Pending {
    pub(crate) fn add(&mut self, event: &Event, commands: &[Command], now_ms: i64) {
        if let Event::Settled { effect, .. } = event {
            self.effects.remove(effect);
        }
        for command in commands {
            match command {
                Command::Perform { effect, .. } => drop(self.effects.insert(*effect, command.clone())),
                Command::Withdraw { effect } => drop(self.effects.remove(effect)),
                Command::Ask { request, spec } => drop(self.requests.insert(*request, (spec.clone(), now_ms))),
                Command::Retract { request } => drop(self.requests.remove(request)),
                _ => {}
            }
        }
    }
}

/// Folds a journal with recording on, and returns the state and all notes.
pub fn replay(
    program: &Program,
    state: State,
    journal: impl IntoIterator<Item = JournalRow>,
) -> Result<(State, Vec<Note>), FoldError> {
    let mut fold = Fold::new(program, state, journal);
    let mut notes = Vec::new();
    while let Some(folded) = fold.replay_next(&mut |note| notes.push(note)) {
        folded?;
    }
    Ok((fold.state, notes))
}
