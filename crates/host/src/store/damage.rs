//! Finds rows that cannot be read or contradict each other.

use rusqlite::{Row, params};

use super::workflows::hash;
use super::{Key, Packing, RunNo, Store, StoreError, WorkflowNo};
use branchpoint_runners::hexadecimal;

/// The most findings that are listed.
const MAX_FINDINGS: usize = 100;

impl Store {
    /// Finds damage of programs, large values and runs, up to a limit. Reads every row.
    pub(super) fn damaged_rows(&self) -> Result<Vec<String>, StoreError> {
        let mut damage = Vec::new();
        self.check_programs(&mut damage)?;
        self.check_large_values(&mut damage)?;
        self.check_runs(&mut damage)?;
        self.check_attachments(&mut damage)?;
        damage.truncate(MAX_FINDINGS);
        Ok(damage)
    }

    /// Finds programs whose bytes do not match their hash or cannot be read.
    fn check_programs(&self, damage: &mut Vec<String>) -> Result<(), StoreError> {
        let mut statement = self.db.prepare("SELECT parts.workflow, parts.name FROM parts ORDER BY workflow, name")?;
        let parts = statement.query_map([], |row| Ok((WorkflowNo(row.get(0)?), row.get::<_, String>(1)?)))?;
        for part in parts {
            let (workflow, name) = part?;
            if let Some(why) = reason(self.program(workflow, &name))? {
                let document = self.document(workflow).map(|document| document.name).unwrap_or_default();
                damage.push(format!("workflow `{document}`: a program is damaged: {why}"));
            }
        }
        Ok(())
    }

    /// Finds large values whose bytes do not match their hash.
    fn check_large_values(&self, damage: &mut Vec<String>) -> Result<(), StoreError> {
        let mut statement = self.db.prepare("SELECT hash, bytes FROM blobs")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (name, bytes): (Vec<u8>, Vec<u8>) = (row.get(0)?, row.get(1)?);
            if hash([bytes.as_slice()]).as_slice() != name {
                damage.push(format!("large value {} is damaged: its bytes do not match its hash", hexadecimal(&name)));
            }
        }
        Ok(())
    }

    /// Finds files of runs whose content is missing.
    fn check_attachments(&self, damage: &mut Vec<String>) -> Result<(), StoreError> {
        let sql = "SELECT id, name FROM attachments JOIN runs USING (run)
            WHERE NOT EXISTS (SELECT 1 FROM blobs WHERE hash = content) ORDER BY attachment LIMIT ?1";
        let lost = self.rows(sql, [MAX_FINDINGS], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
        damage.extend(
            lost.into_iter().map(|(run, name)| format!("run `{run}`: the content of its file `{name}` is missing")),
        );
        Ok(())
    }

    /// Finds the first damage of each run, and sealed secrets that the key does not open.
    fn check_runs(&self, damage: &mut Vec<String>) -> Result<(), StoreError> {
        let key = Key::of(self).ok();
        // While this statement is open, all other statements read the same version of the store.
        let mut statement = self.db.prepare("SELECT run, id, seq FROM runs ORDER BY run")?;
        let runs = statement.query_map([], |row| Ok((RunNo(row.get(0)?), row.get::<_, String>(1)?, row.get(2)?)))?;
        for run in runs {
            let (run, id, seq) = run?;
            let sealed = key.as_ref().map_or(Ok(Vec::new()), |key| key.opened(&self.sealed(run)?));
            damage.extend(self.first_damage(run, seq)?.map(|why| format!("run `{id}`: {why}")));
            damage.extend(sealed.err().map(|error| format!("run `{id}`: {error}")));
            if damage.len() >= MAX_FINDINGS {
                break;
            }
        }
        Ok(())
    }

    fn first_damage(&self, run: RunNo, events: u64) -> Result<Option<String>, StoreError> {
        let packing = self.packing(run)?;
        let rows = [Self::damaged_event, Self::damaged_snapshot, Self::damaged_inbox];
        for check in rows {
            if let Some(damage) = check(self, run, &packing, events)? {
                return Ok(Some(damage));
            }
        }
        let others = [
            ("a pending call", reason(self.pending(run, &packing))?),
            ("an approval", reason(self.approval_records(run))?),
            ("its script", reason(self.script(run))?),
        ];
        Ok(others.into_iter().find_map(|(what, why)| Some(format!("{what} is damaged: {}", why?))))
    }

    /// Finds a missing or unreadable event, or a journal whose length differs from the row of the run.
    fn damaged_event(&self, run: RunNo, packing: &Packing, events: u64) -> Result<Option<String>, StoreError> {
        let sql = "SELECT seq, packed, bytes FROM events WHERE run = ?1 ORDER BY seq";
        let mut expected = 1;
        let damaged = self.first_in(sql, run, &mut |row| {
            let (seq, bytes): (u64, Vec<u8>) = (row.get(0)?, row.get(2)?);
            if seq != expected {
                return Ok(Some(format!("event {expected} is missing")));
            }
            expected += 1;
            let why = reason(self.event(run, packing, row.get(1)?, &bytes))?;
            Ok(why.map(|why| format!("event {seq} is damaged: {why}")))
        })?;
        let count = expected - 1;
        let differs = || format!("its row counts {events} events, but its journal has {count}");
        Ok(damaged.or_else(|| (count != events).then(differs)))
    }

    fn damaged_snapshot(&self, run: RunNo, packing: &Packing, events: u64) -> Result<Option<String>, StoreError> {
        self.first_in("SELECT seq, packed, bytes FROM snapshots WHERE run = ?1 ORDER BY seq", run, &mut |row| {
            let (seq, bytes): (u64, Vec<u8>) = (row.get(0)?, row.get(2)?);
            if seq > events {
                return Ok(Some(format!("there is a snapshot after event {seq}, but no such event")));
            }
            let why = reason(self.state(run, packing, row.get(1)?, &bytes))?;
            Ok(why.map(|why| format!("the snapshot after event {seq} is damaged: {why}")))
        })
    }

    fn damaged_inbox(&self, run: RunNo, packing: &Packing, _: u64) -> Result<Option<String>, StoreError> {
        let sql = "SELECT packed, bytes FROM inbox WHERE run = ?1 AND outcome IS NULL ORDER BY item";
        self.first_in(sql, run, &mut |row| {
            let bytes: Vec<u8> = row.get(1)?;
            let why = reason(self.event(run, packing, row.get(0)?, &bytes))?;
            Ok(why.map(|why| format!("an event in its inbox is damaged: {why}")))
        })
    }

    /// The first finding of a check among the rows of a run.
    fn first_in(
        &self,
        sql: &str,
        run: RunNo,
        check: &mut dyn FnMut(&Row<'_>) -> Result<Option<String>, StoreError>,
    ) -> Result<Option<String>, StoreError> {
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = statement.query(params![run.0])?;
        while let Some(row) = rows.next()? {
            if let Some(damage) = check(row)? {
                return Ok(Some(damage));
            }
        }
        Ok(None)
    }
}

/// Why data of one run cannot be read; `None` if it can.
fn reason<T>(read: Result<T, StoreError>) -> Result<Option<String>, StoreError> {
    match read {
        Ok(_) => Ok(None),
        Err(StoreError::Bytes { error, .. }) => Ok(Some(error.to_string())),
        Err(error) if error.is_of_one_run() => Ok(Some(error.to_string())),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use branchpoint_core::Event;
    use branchpoint_expr::Value;

    use super::*;
    use crate::host::{Host, Start, Ticket, testing};

    /// A store with a run that has a large input, a pending call and an event in its inbox.
    fn store(place: &testing::Place) -> Store {
        let mut host: Host = place.quiet_host();
        let workflow = testing::save(host.store(), "calling", &testing::calling());
        let large = Value::from(vec![Value::Str(Arc::from("large ".repeat(100_000)))]);
        host.start(Start::new(workflow, "run".into(), large), Ticket(1));
        host.turn(0).expect("the store works");
        host.close().expect("it closes");
        let store = testing::open(&place.file());
        let run = store.run("run").expect("it reads").expect("it is there").run;
        store.post(run, &Event::Cancel { reason: None }).expect("it is sent");
        store
    }

    #[test]
    fn damage_is_found_wherever_it_is() {
        for (damage, finding) in [
            ("UPDATE runs SET seq = seq + 1", "its row counts 2 events, but its journal has 1"),
            ("DELETE FROM events", "its row counts 1 events, but its journal has 0"),
            ("UPDATE events SET bytes = x'00'", "event 1 is damaged"),
            ("UPDATE snapshots SET bytes = x'00'", "the snapshot after event 1 is damaged"),
            ("UPDATE snapshots SET seq = 7", "there is a snapshot after event 7"),
            ("UPDATE outbox SET bytes = x'00'", "a pending call is damaged"),
            ("UPDATE inbox SET bytes = x'00'", "an event in its inbox is damaged"),
            ("INSERT INTO requests VALUES (1, 1, x'00', 0, 0, 0, NULL)", "an approval is damaged"),
            ("DELETE FROM blobs", "event 1 is damaged: the store has no large value"),
            ("UPDATE blobs SET bytes = CAST(bytes || x'00' AS BLOB)", "its bytes do not match its hash"),
        ] {
            let place = testing::Place::new();
            let store = store(&place);
            assert_eq!(store.damaged_rows().expect("it reads"), [""; 0]);
            store.db.execute_batch(damage).expect("it is written");
            let findings = store.damaged_rows().expect("it reads");
            assert!(findings.iter().any(|line| line.contains(finding)), "{damage}: {findings:?}");
        }
    }
}
