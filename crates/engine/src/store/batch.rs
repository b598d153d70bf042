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

/// How rows of one kind are written: one with its own statement, many with another that has their values between two texts.
struct Sql {
    one: &'static str,
    many: [&'static str; 2],
}

const APPEND: Sql = Sql {
    one: "INSERT INTO events (run, seq, mark, packed, bytes) VALUES (?, ?, ?, ?, ?)",
    many: ["INSERT INTO events (run, seq, mark, packed, bytes) VALUES ", ""],
};
const ANSWERED: Sql = Sql {
    one: "DELETE FROM outbox WHERE run = ? AND effect = ?",
    many: ["DELETE FROM outbox WHERE (run, effect) IN (VALUES ", ")"],
};
const ASK: Sql = Sql {
    one: "INSERT OR REPLACE INTO outbox (run, effect, packed, bytes) VALUES (?, ?, ?, ?)",
    many: ["INSERT OR REPLACE INTO outbox (run, effect, packed, bytes) VALUES ", ""],
};
const TOUCH: Sql = Sql {
    one: "UPDATE runs SET seq = ?2, touched_ms = ?3 WHERE run = ?1",
    many: ["UPDATE runs SET seq = column2, touched_ms = column3 FROM (VALUES ", ") WHERE run = column1"],
};

impl Store {
    /// Writes what was kept back.
    pub(super) fn write_out(&self) -> Result<(), Trouble> {
        let Batch { events, calls, touched } = self.batch.take();
        self.write_rows(&APPEND, &events, |event| {
            let Event { run, seq, mark, packed } = event;
            [run.0, signed(*seq), i64::from(*mark), i64::from(packed.packed)].map(int).into_iter().chain([blob(packed)])
        })?;
        let gone: Vec<_> =
            calls.iter().filter(|(_, call)| call.is_none()).map(|((run, effect), _)| [*run, *effect]).collect();
        self.write_rows(&ANSWERED, &gone, |call| call.map(int))?;
        let asked: Vec<_> = calls.iter().filter_map(|(key, call)| Some((key, call.as_ref()?))).collect();
        self.write_rows(&ASK, &asked, |((run, effect), packed)| {
            [*run, *effect, i64::from(packed.packed)].map(int).into_iter().chain([blob(packed)])
        })?;
        let touched: Vec<_> = touched.into_iter().map(|(run, [seq, touched_ms])| [run, seq, touched_ms]).collect();
        self.write_rows(&TOUCH, &touched, |row| row.map(int))
    }

    /// Writes rows with a statement for many, and the rest with one for each: a list of values as a table, which those for
    /// many need, costs more than it saves where there are few.
    fn write_rows<'r, R, V: IntoIterator<Item = ToSqlOutput<'r>>>(
        &self,
        sql: &Sql,
        rows: &'r [R],
        values: impl Fn(&'r R) -> V,
    ) -> Result<(), Trouble> {
        let chunks = rows.chunks_exact(AT_ONCE);
        for row in chunks.remainder() {
            self.db.prepare_cached(sql.one)?.execute(params_from_iter(values(row)))?;
        }
        if let Some(first) = rows.first().filter(|_| rows.len() >= AT_ONCE) {
            let row = format!("({})", vec!["?"; values(first).into_iter().count()].join(", "));
            let many = [sql.many[0], &vec![row.as_str(); AT_ONCE].join(", "), sql.many[1]].concat();
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
