//! How a store is: whether its file is whole, how large it is, and what is late.

use std::fs;
use std::path::PathBuf;

use branchpoint_core::codec;
use branchpoint_core::ir::Status;

use super::permissions::mode;
use super::upkeep::beside;
use super::{Key, KeyState, RunNo, Store, Trouble, WorkflowNo, schema};

/// More findings than this are not listed.
const DAMAGE_LINES: usize = 100;

/// What is known about a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The version of its tables.
    pub version: usize,
    /// What is wrong with the file, with programs and with the rows of runs; nothing, if the store is whole.
    pub damage: Vec<String>,
    /// The key of sealed secrets.
    pub key: KeyState,
    /// Files of the store that others than their owner may use, each with its rights.
    pub open_files: Vec<(PathBuf, u32)>,
    /// How many bytes the file has.
    pub file_bytes: u64,
    /// How many bytes of it are free.
    pub free_bytes: u64,
    /// How many bytes the log has.
    pub log_bytes: u64,
    /// How many bytes are free on its disk; none if that cannot be told.
    pub disk_bytes: Option<u64>,
    /// How many runs have events of the future: the clock was set back.
    pub future_runs: u64,
    /// How many timers are overdue.
    pub overdue: u64,
    /// How many runs could go on and are driven by nobody.
    pub adrift: u64,
}

impl Store {
    /// Looks at everything. It reads the whole file. What is late by less than the patience is not late.
    pub fn health(&self, now_ms: i64, patience_ms: i64) -> Result<Health, Trouble> {
        let count = |sql: &str, value: i64| self.db.query_row(sql, [value], |row| row.get::<_, u64>(0));
        let pragma = |name: &str| self.db.pragma_query_value(None, name, |row| row.get::<_, u64>(0));
        let length = |ending: &str| {
            let path = self.path().map(|path| beside(path, ending));
            path.and_then(|path| fs::metadata(path).ok()).map_or(0, |file| file.len())
        };
        let mut found = self.db.prepare("PRAGMA quick_check(10)")?;
        let mut damage: Vec<String> = found.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        damage.retain(|line| line != "ok");
        // Where the file itself is damaged, its rows say nothing more.
        if damage.is_empty() {
            self.check_programs(&mut damage)?;
            self.check_rows(&mut damage)?;
        }
        // A process that was killed is still among the owners until another looks around.
        let alive: Vec<String> = self.owners()?.iter().map(|(owner, ..)| owner.to_string()).collect();
        let adrift = format!(
            "SELECT count(*) FROM runs WHERE status = ?1 AND (owner IS NULL OR owner NOT IN ({}))",
            alive.join(", ")
        );
        Ok(Health {
            version: schema::version(&self.db)?,
            damage,
            key: self.key_state()?,
            open_files: self.open_files(),
            file_bytes: length(""),
            free_bytes: pragma("freelist_count")? * pragma("page_size")?,
            log_bytes: length("-wal"),
            disk_bytes: self.disk_bytes(),
            future_runs: count("SELECT count(*) FROM runs WHERE touched_ms > ?1", now_ms.saturating_add(patience_ms))?,
            overdue: count("SELECT count(*) FROM timers WHERE due_ms < ?1", now_ms.saturating_sub(patience_ms))?,
            adrift: self.db.query_row(&adrift, [Status::Running.as_str()], |row| row.get(0))?,
        })
    }

    /// Programs whose bytes are not what their hash says, or cannot be read.
    fn check_programs(&self, damage: &mut Vec<String>) -> Result<(), Trouble> {
        let mut found = self.db.prepare("SELECT parts.workflow, parts.name FROM parts ORDER BY workflow, name")?;
        let parts = found.query_map([], |row| Ok((WorkflowNo(row.get(0)?), row.get::<_, String>(1)?)))?;
        for part in parts {
            let (workflow, name) = part?;
            match self.program(workflow, &name) {
                Err(trouble) if trouble.is_of_one_run() => {
                    let document = self.document(workflow).map(|document| document.name).unwrap_or_default();
                    damage.push(format!("workflow `{document}`: a program is damaged: {trouble}"));
                }
                program => drop(program?),
            }
        }
        damage.truncate(DAMAGE_LINES);
        Ok(())
    }

    /// Events and snapshots that cannot be read, the first of each run, and sealed secrets that their key does not open.
    fn check_rows(&self, damage: &mut Vec<String>) -> Result<(), Trouble> {
        let key = Key::of(self).ok();
        let mut found = self.db.prepare("SELECT run, id FROM runs ORDER BY run")?;
        let runs = found.query_map([], |row| Ok((RunNo(row.get(0)?), row.get::<_, String>(1)?)))?;
        for run in runs {
            let (run, id) = run?;
            let rows = self.first_damaged(run)?;
            let sealed = key.as_ref().map_or(Ok(Vec::new()), |key| key.opened(&self.sealed(run)?));
            damage.extend(rows.map(|why| format!("run `{id}`: {why}")));
            damage.extend(sealed.err().map(|trouble| format!("run `{id}`: {trouble}")));
            if damage.len() >= DAMAGE_LINES {
                break;
            }
        }
        Ok(())
    }

    fn first_damaged(&self, run: RunNo) -> Result<Option<String>, Trouble> {
        let mut found = self.db.prepare_cached("SELECT seq, bytes FROM events WHERE run = ?1 ORDER BY seq")?;
        let mut rows = found.query([run.0])?;
        let mut expected = 1;
        while let Some(row) = rows.next()? {
            let (seq, bytes): (u64, Vec<u8>) = (row.get(0)?, row.get(1)?);
            if seq != expected {
                return Ok(Some(format!("event {expected} is missing")));
            }
            if let Err(error) = codec::decode_event(&bytes) {
                return Ok(Some(format!("event {seq} is damaged: {error}")));
            }
            expected += 1;
        }
        let mut found = self.db.prepare_cached("SELECT seq, bytes FROM snapshots WHERE run = ?1 ORDER BY seq")?;
        let mut rows = found.query([run.0])?;
        while let Some(row) = rows.next()? {
            let (seq, bytes): (u64, Vec<u8>) = (row.get(0)?, row.get(1)?);
            if let Err(error) = codec::decode_state(&bytes) {
                return Ok(Some(format!("the snapshot after event {seq} is damaged: {error}")));
            }
        }
        Ok(None)
    }

    fn open_files(&self) -> Vec<(PathBuf, u32)> {
        let files = ["", "-wal", "-shm", "-key", "-owners"].into_iter();
        let files = files.filter_map(|ending| self.path().map(|path| beside(path, ending)));
        files.filter_map(|file| mode(&file).filter(|mode| mode & 0o077 != 0).map(|mode| (file, mode))).collect()
    }

    fn disk_bytes(&self) -> Option<u64> {
        let disk = rustix::fs::statvfs(self.path()?).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }
}
