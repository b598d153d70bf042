//! A run from its events alone: every row that a host would have written while it took them.

use branchpoint_core::ir::Program;
use branchpoint_core::{Command, Event, Fold, FoldedEvent, JournalRow, State, codec, status};

use crate::store::{Packing, Run, RunNo, Store, Trouble};

impl Store {
    /// Writes a run of another store within a change. No process drives it.
    pub(crate) fn write_anew(&self, row: &Run, journal: Vec<JournalRow>) -> Result<RunNo, Trouble> {
        let program = self.program(row.workflow, &row.part)?;
        let program = program.ok_or_else(|| Trouble::Missing(format!("program `{}` of its workflow", row.part)))?;
        let inserted = self.insert_run(row, program.semantics)?;
        let run = inserted.ok_or_else(|| Trouble::Missing(format!("room for a second run `{}`", row.id)))?;
        let unstorable = |error: codec::CodecError| Trouble::Bytes { run: row.id.clone(), error };
        let packing = Packing::default();
        let mut fold = Fold::new(&program, State::new(), journal);
        for folded in fold.by_ref() {
            let FoldedEvent { seq, stamp, event, outcome } = folded.map_err(Trouble::in_journal_of(&row.id))?;
            self.append(run, seq, outcome.check, packing.event(&stamp, &event).map_err(unstorable)?);
            if let Event::Signal { key: Some(key), .. } = event {
                self.take_key(run, key);
            }
            for command in outcome.commands {
                self.write_request(run, &command, stamp.now_ms).map_err(unstorable)?;
            }
        }
        let (state, pending) = fold.into_parts();
        for (effect, command) in pending.effects {
            self.ask(run, effect, packing.command(&command).map_err(unstorable)?);
        }
        self.finish(run, row, &program, &state)?;
        Ok(run)
    }

    fn finish(&self, run: RunNo, row: &Run, program: &Program, state: &State) -> Result<(), Trouble> {
        for (timer, due_ms) in state.timers() {
            self.set_timer(run, timer, due_ms);
        }
        let packed = Packing::default().state(state);
        let packed = packed.map_err(|error| Trouble::Bytes { run: row.id.clone(), error })?;
        self.keep_snapshot(run, state.seq(), packed, true);
        self.restate(run, state.seq(), state.now_ms(), status(program, state), None);
        Ok(())
    }

    /// Writes the row of a request to people, as a host would have. Requests stay in the store after they are settled.
    fn write_request(&self, run: RunNo, command: &Command, now_ms: i64) -> Result<(), codec::CodecError> {
        match command {
            Command::Ask { request, spec } => {
                self.put_question(run, *request, Packing::default().value(spec)?, now_ms);
            }
            Command::Remind { request, .. } => self.remind(run, *request),
            Command::Retract { request } => self.close_question(run, *request, now_ms),
            _ => {}
        }
        Ok(())
    }
}
