//! Sessions by document and name: each is a run, and the newest one counts.

use rusqlite::params;

use super::{RunNo, SessionSummary, Store, StoreError};

impl Store {
    /// The run of a session, by document and name.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert_eq!(store.session("greet", "s-1").unwrap(), None);
    /// ```
    pub fn session(&self, document: &str, name: &str) -> Result<Option<RunNo>, StoreError> {
        let sql = "SELECT run FROM sessions WHERE document = ?1 AND name = ?2";
        Ok(self.first(sql, params![document, name], |row| row.get(0))?.map(RunNo))
    }

    /// All sessions, by document and name.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert!(store.sessions().unwrap().is_empty());
    /// ```
    pub fn sessions(&self) -> Result<Vec<SessionSummary>, StoreError> {
        self.rows("SELECT name, document, run FROM sessions ORDER BY document, name", [], |row| {
            Ok(SessionSummary { name: row.get(0)?, document: row.get(1)?, run: RunNo(row.get(2)?) })
        })
    }

    /// Binds a session to a run. Returns false if the session is not bound to `instead_of` any more, because another process has changed
    /// it.
    pub(crate) fn bind_session(
        &self,
        document: &str,
        name: &str,
        run: RunNo,
        instead_of: Option<RunNo>,
    ) -> Result<bool, StoreError> {
        let sql = "INSERT INTO sessions (name, document, run) VALUES (?1, ?2, ?3)
            ON CONFLICT (document, name) DO UPDATE SET run = ?3 WHERE run = ?4";
        let values = params![name, document, run.0, instead_of.map(|run| run.0)];
        Ok(self.execute(sql, values)? == 1)
    }

    /// Removes the keys of a session that was reset, except the key of the reset.
    pub(crate) fn remove_keys(&self, run: RunNo, except: Option<&str>) -> Result<(), StoreError> {
        self.execute("DELETE FROM signals WHERE run = ?1 AND key IS NOT ?2", params![run.0, except]).map(drop)
    }
}
