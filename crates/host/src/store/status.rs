//! The status of a run together with its child runs. By its own row, a run with child runs is running; if all of them wait, the run
//! waits, too.

use branchpoint_core::ir::Status;

use super::{RunNo, Store, StoreError};

impl Store {
    /// The status of a run with its child runs: a run whose only pending calls are waiting child runs is waiting.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert_eq!(store.status(run).unwrap(), Status::Completed);
    /// ```
    pub fn status(&self, run: RunNo) -> Result<Status, StoreError> {
        let status = self.row(run)?.status;
        if status != Status::Running {
            return Ok(status);
        }
        let children: Vec<RunNo> =
            self.children(run)?.into_iter().filter(|child| !child.status.is_final()).map(|child| child.run).collect();
        let calls: usize = self.value("SELECT count(*) FROM outbox WHERE run = ?1", [run.0])?;
        if children.is_empty() || calls > children.len() {
            return Ok(Status::Running);
        }
        let mut together = Status::WaitingTimer;
        for child in children {
            match self.status(child)? {
                Status::WaitingPeople => together = Status::WaitingPeople,
                Status::WaitingTimer => {}
                _ => return Ok(Status::Running),
            }
        }
        Ok(together)
    }

    /// The top-level run of a chain of calls.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert_eq!(store.root_of(run).unwrap(), run);
    /// ```
    pub fn root_of(&self, run: RunNo) -> Result<RunNo, StoreError> {
        let mut root = run;
        while let Some(parent) = self.row(root)?.parent {
            root = parent.run;
        }
        Ok(root)
    }

    /// When the first timer of a run and its child runs is due.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert_eq!(store.next_due_ms(run).unwrap(), None);
    /// ```
    pub fn next_due_ms(&self, run: RunNo) -> Result<Option<i64>, StoreError> {
        let sql = "WITH RECURSIVE tree (run) AS (
                VALUES (?1) UNION ALL SELECT runs.run FROM runs JOIN tree ON runs.parent = tree.run
            ) SELECT min(due_ms) FROM timers WHERE run IN tree";
        self.value(sql, [run.0])
    }
}
