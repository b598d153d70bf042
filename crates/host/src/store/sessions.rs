//! Sessions by document and name: each is a run, and the newest one counts.

use rusqlite::{OptionalExtension, params};

use super::{KeptSession, RunNo, Store, Trouble};

impl Store {
    /// The run of a session.
    pub fn session(&self, document: &str, name: &str) -> Result<Option<RunNo>, Trouble> {
        let sql = "SELECT run FROM sessions WHERE document = ?1 AND name = ?2";
        Ok(self.db.prepare_cached(sql)?.query_row(params![document, name], |row| row.get(0)).optional()?.map(RunNo))
    }

    /// All sessions, by document and name.
    pub fn sessions(&self) -> Result<Vec<KeptSession>, Trouble> {
        let mut found = self.db.prepare_cached("SELECT name, document, run FROM sessions ORDER BY document, name")?;
        let rows = found.query_map([], |row| {
            Ok(KeptSession { name: row.get(0)?, document: row.get(1)?, run: RunNo(row.get(2)?) })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// From now on the session is that run. False: it is not the run any more that it was taken for, because another process
    /// was faster.
    pub(crate) fn keep_session(
        &self,
        document: &str,
        name: &str,
        run: RunNo,
        instead_of: Option<RunNo>,
    ) -> Result<bool, Trouble> {
        let sql = "INSERT INTO sessions (name, document, run) VALUES (?1, ?2, ?3)
            ON CONFLICT (document, name) DO UPDATE SET run = ?3 WHERE run = ?4";
        let values = params![name, document, run.0, instead_of.map(|run| run.0)];
        Ok(self.db.prepare_cached(sql)?.execute(values)? == 1)
    }

    /// A session that was reset has seen no report, except the one that has reset it.
    pub(crate) fn forget_keys(&self, run: RunNo, except: Option<&str>) -> Result<(), Trouble> {
        let sql = "DELETE FROM signals WHERE run = ?1 AND key IS NOT ?2";
        Ok(self.db.prepare_cached(sql)?.execute(params![run.0, except]).map(drop)?)
    }
}
