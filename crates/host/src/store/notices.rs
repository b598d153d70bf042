//! Notices about approvals and runs. A notice is stored in the transaction of its event, and replaced with deliveries to its receivers. If a
//! process dies in between, the next one does it: a notice may be sent twice, and is never lost.

use std::sync::Arc;

use branchpoint_backend::{Notice, RequestChange};
use branchpoint_core::RequestNo;
use branchpoint_expr::Value;

use super::{RunNo, Store, StoreError};

impl Store {
    pub(crate) fn put_notice_later(&self, owner: i64, run: RunNo, request: RequestNo, change: &RequestChange) {
        let (event, users, outcome) = match change {
            RequestChange::Opened(_) => ("asked", &[][..], None),
            RequestChange::Reminded(users) => ("reminded", users.as_slice(), None),
            RequestChange::Escalated(users) => ("escalated", users.as_slice(), None),
            RequestChange::Closed(outcome) => ("ended", &[][..], outcome.as_ref()),
        };
        let users = Value::from(users.iter().cloned().map(Value::Str).collect::<Vec<_>>());
        let (users, outcome) = (format!("{users:?}"), outcome.map(|outcome| format!("{outcome:?}")));
        let sql = "INSERT INTO notices (owner, run, request, event, users, outcome) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        self.execute_later(run, sql, (owner, run.0, request.0, event, users, outcome));
    }

    /// Stores a notice about the status of a run when the turn commits.
    pub(crate) fn put_run_notice_later(&self, owner: i64, run: RunNo, event: &'static str) {
        let sql = "INSERT INTO notices (owner, run, event, users) VALUES (?1, ?2, ?3, '[]')";
        self.execute_later(run, sql, (owner, run.0, event));
    }

    /// The notices that a process has to send, in order, including those of processes that have ended.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert!(store.notices(host.owner_number()).unwrap().is_empty());
    /// ```
    pub fn notices(&self, owner: i64) -> Result<Vec<Notice>, StoreError> {
        self.execute("UPDATE notices SET owner = ?1 WHERE owner NOT IN (SELECT owner FROM owners)", [owner])?;
        let sql = "SELECT notice, run, request, event, users, outcome FROM notices WHERE owner = ?1 ORDER BY notice";
        self.rows(sql, [owner], |row| {
            let users: Vec<String> = serde_json::from_str(row.get_ref(4)?.as_str()?).unwrap_or_default();
            Ok(Notice {
                number: row.get(0)?,
                run: RunNo(row.get(1)?),
                request: row.get::<_, Option<u64>>(2)?.map(RequestNo),
                kind: row.get(3)?,
                users: users.into_iter().map(Arc::from).collect(),
                outcome: row.get::<_, Option<String>>(5)?.and_then(|outcome| serde_json::from_str(&outcome).ok()),
            })
        })
    }

    /// Removes a notice that was sent.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// for notice in store.notices(host.owner_number()).unwrap() {
    ///     store.drop_notice(&notice).unwrap();
    /// }
    /// ```
    pub fn drop_notice(&self, notice: &Notice) -> Result<(), StoreError> {
        self.execute("DELETE FROM notices WHERE notice = ?1", [notice.number]).map(drop)
    }
}
