//! Rows that a transaction has many of. They are kept back and written several at a time, because beginning a statement costs
//! as much as writing a row. Whoever reads such rows in the same transaction writes them out first.

use std::collections::BTreeMap;

use rusqlite::params_from_iter;
use rusqlite::types::{ToSqlOutput, ValueRef};

use super::{Packed, RunNo, Store, Trouble};

/// How many rows a statement writes.
const AT_ONCE: usize = 16;

/// What is kept back.
#[derive(Debug, Default)]
pub(super) struct Batch {
    events: Vec<Event>,
    /// Calls by run and effect; none for one that nobody waits for any more. The last word on a call counts.
    calls: BTreeMap<(i64, i64), Option<Packed>>,
    /// Runs that stand as they stood: the newest event, and its time.
    touched: BTreeMap<i64, [i64; 2]>,
}

#[derive(Debug)]
struct Event {
    run: RunNo,
    seq: u64,
    mark: u32,
    packed: Packed,
}

impl Batch {
    pub(super) fn append(&mut self, run: RunNo, seq: u64, mark: u32, packed: Packed) {
        self.events.push(Event { run, seq, mark, packed });
    }

    pub(super) fn ask(&mut self, run: RunNo, effect: u64, packed: Packed) {
        self.calls.insert((run.0, signed(effect)), Some(packed));
    }

    pub(super) fn answered(&mut self, run: RunNo, effect: u64) {
        self.calls.insert((run.0, signed(effect)), None);
    }

    pub(super) fn touch(&mut self, run: RunNo, seq: u64, touched_ms: i64) {
        self.touched.insert(run.0, [signed(seq), touched_ms]);
    }

    /// The row of a run is written with more than this.
    pub(super) fn restated(&mut self, run: RunNo) {
        self.touched.remove(&run.0);
    }
}

impl Store {
    /// Writes what was kept back.
    pub(super) fn write_out(&self) -> Result<(), Trouble> {
        let Batch { events, calls, touched } = self.batch.take();
        let head = "INSERT INTO events (run, seq, mark, packed, bytes) VALUES ";
        self.write_rows([head, ""], &events, |event| {
            let Event { run, seq, mark, packed } = event;
            [run.0, signed(*seq), i64::from(*mark), i64::from(packed.packed)].map(int).into_iter().chain([blob(packed)])
        })?;
        let gone: Vec<_> =
            calls.iter().filter(|(_, call)| call.is_none()).map(|((run, effect), _)| [*run, *effect]).collect();
        self.write_rows(["DELETE FROM outbox WHERE (run, effect) IN (VALUES ", ")"], &gone, |call| call.map(int))?;
        let asked: Vec<_> = calls.iter().filter_map(|(key, call)| Some((key, call.as_ref()?))).collect();
        let head = "INSERT OR REPLACE INTO outbox (run, effect, packed, bytes) VALUES ";
        self.write_rows([head, ""], &asked, |((run, effect), packed)| {
            [*run, *effect, i64::from(packed.packed)].map(int).into_iter().chain([blob(packed)])
        })?;
        let around = ["UPDATE runs SET seq = column2, touched_ms = column3 FROM (VALUES ", ") WHERE run = column1"];
        let touched: Vec<_> = touched.into_iter().map(|(run, [seq, touched_ms])| [run, seq, touched_ms]).collect();
        self.write_rows(around, &touched, |row| row.map(int))
    }

    /// Writes rows with a statement for many, and the rest with one for each.
    fn write_rows<'r, R, V: IntoIterator<Item = ToSqlOutput<'r>>>(
        &self,
        around: [&str; 2],
        rows: &'r [R],
        values: impl Fn(&'r R) -> V,
    ) -> Result<(), Trouble> {
        let Some(first) = rows.first() else { return Ok(()) };
        let marks = format!("({})", vec!["?"; values(first).into_iter().count()].join(", "));
        let statement = |count: usize| format!("{}{}{}", around[0], vec![marks.as_str(); count].join(", "), around[1]);
        let chunks = rows.chunks_exact(AT_ONCE);
        if let rest @ [_, ..] = chunks.remainder() {
            let one = statement(1);
            for row in rest {
                self.db.prepare_cached(&one)?.execute(params_from_iter(values(row)))?;
            }
        }
        if rows.len() >= AT_ONCE {
            let many = statement(AT_ONCE);
            for chunk in chunks {
                self.db.prepare_cached(&many)?.execute(params_from_iter(chunk.iter().flat_map(&values)))?;
            }
        }
        Ok(())
    }
}

fn int(number: i64) -> ToSqlOutput<'static> {
    ToSqlOutput::Borrowed(ValueRef::Integer(number))
}

fn blob(packed: &Packed) -> ToSqlOutput<'_> {
    ToSqlOutput::Borrowed(ValueRef::Blob(&packed.bytes))
}

/// Numbers of events and effects count what has happened, so they are never so large.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
