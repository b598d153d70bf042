//! A run from its events alone: every row that a host would have written while it took them.

use branchpoint_core::ir::Program;
use branchpoint_core::{Command, Event, Stamp, State, advance, codec, status};

use crate::store::{Packing, Run, RunNo, Store, Trouble};

impl Store {
    /// Writes a run of another store within a change. No process drives it.
    pub(crate) fn write_anew(&self, row: &Run, journal: Vec<(Stamp, Event, u32)>) -> Result<RunNo, Trouble> {
        let program = self.program(row.workflow, &row.part)?;
        let program = program.ok_or_else(|| Trouble::Missing(format!("program `{}` of its workflow", row.part)))?;
        let inserted = self.insert_run(row, program.semantics)?;
        let run = inserted.ok_or_else(|| Trouble::Missing(format!("room for a second run `{}`", row.id)))?;
        let unstorable = |error: codec::CodecError| Trouble::Bytes { run: row.id.clone(), error };
        let packing = Packing::default();
        let mut state = State::new();
        for (stamp, event, mark) in journal {
            let packed = packing.event(&stamp, &event).map_err(unstorable)?;
            let seq = state.seq() + 1;
            let strayed = |reason: String| Trouble::Strayed { run: row.id.clone(), seq, reason };
            match &event {
                Event::Settled { effect, .. } => self.answered(run, *effect),
                Event::Signal { key: Some(key), .. } => self.take_key(run, key.clone()),
                _ => {}
            }
            let outcome = advance(&program, &mut state, &stamp, event).map_err(|no| strayed(no.to_string()))?;
            if outcome.check != mark {
                return Err(strayed("it does not lead to what it led to when it was written".into()));
            }
            self.append(run, seq, mark, packed);
            for command in outcome.commands {
                self.write_command(run, &command, stamp.now_ms).map_err(|trouble| match trouble {
                    Told::Bytes(error) => unstorable(error),
                    Told::Store(trouble) => trouble,
                })?;
            }
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

    /// What a host would have written for a command.
    fn write_command(&self, run: RunNo, command: &Command, now_ms: i64) -> Result<(), Told> {
        let packing = Packing::default();
        match command {
            Command::Perform { effect, .. } => self.ask(run, *effect, packing.command(command)?),
            Command::Withdraw { effect } => self.answered(run, *effect),
            Command::Ask { request, spec } => self.put_question(run, *request, packing.value(spec)?, now_ms),
            Command::Remind { request, .. } => self.remind(run, *request),
            Command::Retract { request } => self.close_question(run, *request, now_ms),
            // The timers that are left are known at the end.
            Command::SetTimer { .. } | Command::ClearTimer { .. } | Command::Finish { .. } => {}
        }
        Ok(())
    }
}

enum Told {
    Bytes(codec::CodecError),
    Store(Trouble),
}

impl From<codec::CodecError> for Told {
    fn from(error: codec::CodecError) -> Self {
        Self::Bytes(error)
    }
}

impl From<Trouble> for Told {
    fn from(trouble: Trouble) -> Self {
        Self::Store(trouble)
    }
}
