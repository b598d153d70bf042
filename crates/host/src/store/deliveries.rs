//! Deliveries: notices for one receiver each, with the attempts to deliver them. They are stored until they are settled, so a receiver
//! gets each at least once, and the latest settled ones of each target are its log.

use branchpoint_backend::{Attempted, Delivery, DeliveryStatus, NewDelivery, Notice};
use branchpoint_runners::hexadecimal;
use rusqlite::{Row, params};

use super::seal::random;
use super::{Store, StoreError};

/// The most pending deliveries of a target. Further ones fail at once.
const MAX_PENDING: i64 = if cfg!(test) { 50 } else { 10_000 };

/// The number of settled deliveries of a target that the log keeps.
const LOGGED: i64 = if cfg!(test) { 20 } else { 1_000 };

/// After this time, a delivery that no process could attempt fails, in milliseconds.
const ABANDONED_MS: i64 = 7 * 86_400_000;

const COLUMNS: &str =
    "delivery, id, target, user, event, run_id, request, body, created_ms, due_ms, attempts, last_ms, status, response";

impl Store {
    /// Replaces a notice with its deliveries, all or none.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// for notice in store.notices(host.owner_number()).unwrap() {
    ///     store.dispatch(&notice, &[], host.owner_number(), 0).unwrap();
    /// }
    /// ```
    pub fn dispatch(
        &self,
        notice: &Notice,
        deliveries: &[NewDelivery],
        owner: i64,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        self.change(|| {
            deliveries.iter().try_for_each(|delivery| self.insert_delivery(delivery, owner, now_ms).map(drop))?;
            self.drop_notice(notice)
        })
    }

    /// Stores a delivery that no process owns yet, and returns its id.
    pub fn add_delivery(&self, delivery: &NewDelivery, now_ms: i64) -> Result<String, StoreError> {
        self.change(|| self.insert_delivery(delivery, 0, now_ms))
    }

    fn insert_delivery(&self, delivery: &NewDelivery, owner: i64, now_ms: i64) -> Result<String, StoreError> {
        let id = format!("msg_{}", hexadecimal(&random::<16>()?));
        let NewDelivery { target, user, event, run, request, body } = delivery;
        let sql = "SELECT count(*) FROM deliveries WHERE target = ?1 AND due_ms IS NOT NULL";
        let is_full = self.value::<i64>(sql, [target])? >= MAX_PENDING;
        let full = is_full.then(|| format!("{MAX_PENDING} deliveries were pending"));
        let status = if is_full { DeliveryStatus::Failed } else { DeliveryStatus::Pending };
        let sql = "INSERT INTO deliveries (id, owner, target, user, event, run_id, request, body, created_ms, due_ms, status, response)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
        let due_ms = (!is_full).then_some(now_ms);
        let body = body.as_ref().filter(|_| !is_full);
        let user = user.as_deref();
        self.execute(
            sql,
            params![id, owner, target, user, event, run, request, body, now_ms, due_ms, status.as_str(), full],
        )?;
        Ok(id)
    }

    /// Takes over the deliveries to a target from processes that have ended, and gives up those that are too old.
    pub fn claim_deliveries(&self, owner: i64, target: &str, now_ms: i64) -> Result<(), StoreError> {
        self.execute(
            "UPDATE deliveries SET owner = ?1 WHERE target = ?2 AND due_ms IS NOT NULL AND owner NOT IN (SELECT owner FROM owners)",
            params![owner, target],
        )?;
        self.execute(
            "UPDATE deliveries SET status = 'failed', due_ms = NULL, body = NULL, response = 'no process has delivered it'
            WHERE due_ms IS NOT NULL AND created_ms < ?1",
            [now_ms.saturating_sub(ABANDONED_MS)],
        )?;
        Ok(())
    }

    /// The deliveries of a process to a target that are due, the oldest first.
    pub fn due_deliveries(
        &self,
        owner: i64,
        target: &str,
        now_ms: i64,
        limit: u32,
    ) -> Result<Vec<Delivery>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM deliveries WHERE owner = ?1 AND target = ?2 AND due_ms <= ?3 ORDER BY due_ms, delivery LIMIT ?4"
        );
        self.rows(&sql, params![owner, target, now_ms, limit], read)
    }

    /// When the next delivery of a process to a target is due.
    pub fn next_delivery_ms(&self, owner: i64, target: &str) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT min(due_ms) FROM deliveries WHERE owner = ?1 AND target = ?2 AND due_ms IS NOT NULL";
        self.value(sql, params![owner, target])
    }

    /// Records an attempt. The log of the target keeps its latest deliveries.
    pub fn record_attempt(&self, delivery: &Delivery, attempted: &Attempted, now_ms: i64) -> Result<(), StoreError> {
        let Attempted { status, due_ms, response } = attempted;
        self.change(|| {
            let sql = "UPDATE deliveries SET attempts = attempts + 1, last_ms = ?2, status = ?3, due_ms = ?4, response = ?5,
                body = iif(?4 IS NULL, NULL, body) WHERE delivery = ?1";
            self.execute(sql, params![delivery.number, now_ms, status.as_str(), due_ms, response])?;
            if due_ms.is_none() {
                let sql = "DELETE FROM deliveries WHERE target = ?1 AND due_ms IS NULL AND delivery <= (
                    SELECT delivery FROM deliveries WHERE target = ?1 AND due_ms IS NULL ORDER BY delivery DESC LIMIT 1 OFFSET ?2)";
                self.execute(sql, params![delivery.notice.target, LOGGED])?;
            }
            Ok(())
        })
    }

    /// The latest deliveries to a target, newest first.
    pub fn deliveries(&self, target: &str, limit: u32) -> Result<Vec<Delivery>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM deliveries WHERE target = ?1 ORDER BY delivery DESC LIMIT ?2");
        self.rows(&sql, params![target, limit], read)
    }

    /// When a person last got a delivery of this event.
    pub fn last_delivered_ms(&self, target: &str, user: &str, event: &str) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT max(last_ms) FROM deliveries WHERE target = ?1 AND user = ?2 AND event = ?3 AND status = 'delivered'";
        self.value(sql, params![target, user, event])
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    let status: String = row.get(12)?;
    Ok(Delivery {
        number: row.get(0)?,
        id: row.get(1)?,
        notice: NewDelivery {
            target: row.get(2)?,
            user: row.get::<_, Option<String>>(3)?.map(Into::into),
            event: row.get(4)?,
            run: row.get(5)?,
            request: row.get(6)?,
            body: row.get(7)?,
        },
        created_ms: row.get(8)?,
        due_ms: row.get(9)?,
        attempts: row.get(10)?,
        last_ms: row.get(11)?,
        status: DeliveryStatus::named(&status).unwrap_or(DeliveryStatus::Failed),
        response: row.get(13)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(target: &str) -> NewDelivery {
        NewDelivery {
            target: target.into(),
            user: Some("ada".into()),
            event: "approval.requested".into(),
            run: Some("r1".into()),
            request: Some(4),
            body: Some("{}".into()),
        }
    }

    fn attempted(status: DeliveryStatus, due_ms: Option<i64>) -> Attempted {
        Attempted { status, due_ms, response: "200".into() }
    }

    #[test]
    fn a_delivery_is_due_until_it_is_settled() {
        let store = Store::in_memory().unwrap();
        let id = store.add_delivery(&delivery("mail"), 10).unwrap();
        assert!(store.due_deliveries(1, "mail", 10, 9).unwrap().is_empty(), "no process has claimed it");
        store.claim_deliveries(1, "mail", 10).unwrap();
        assert!(store.due_deliveries(1, "webhook:a", 10, 9).unwrap().is_empty());
        let due = store.due_deliveries(1, "mail", 10, 9).unwrap().remove(0);
        assert_eq!((&due.id, due.attempts, due.notice.body.as_deref()), (&id, 0, Some("{}")));
        store.record_attempt(&due, &attempted(DeliveryStatus::Pending, Some(50)), 11).unwrap();
        assert_eq!(store.next_delivery_ms(1, "mail").unwrap(), Some(50));
        assert!(store.due_deliveries(1, "mail", 49, 9).unwrap().is_empty());
        let again = store.due_deliveries(1, "mail", 50, 9).unwrap().remove(0);
        assert_eq!((&again.id, again.attempts), (&id, 1), "an attempt repeats the id");
        store.record_attempt(&again, &attempted(DeliveryStatus::Delivered, None), 51).unwrap();
        assert_eq!(store.next_delivery_ms(1, "mail").unwrap(), None);
        let logged = store.deliveries("mail", 9).unwrap().remove(0);
        assert_eq!((logged.status, logged.attempts, logged.notice.body), (DeliveryStatus::Delivered, 2, None));
        assert_eq!(store.last_delivered_ms("mail", "ada", "approval.requested").unwrap(), Some(51));
        assert_eq!(store.last_delivered_ms("mail", "bob", "approval.requested").unwrap(), None);
    }

    #[test]
    fn the_log_and_the_pending_deliveries_are_bounded() {
        let store = Store::in_memory().unwrap();
        let total = usize::try_from(LOGGED).unwrap() + 5;
        for _ in 0..total {
            store.add_delivery(&delivery("mail"), 10).unwrap();
        }
        store.claim_deliveries(1, "mail", 10).unwrap();
        for due in store.due_deliveries(1, "mail", 10, u32::MAX).unwrap() {
            store.record_attempt(&due, &attempted(DeliveryStatus::Failed, None), 11).unwrap();
        }
        assert_eq!(store.deliveries("mail", u32::MAX).unwrap().len(), usize::try_from(LOGGED).unwrap());
        store
            .change(|| (0..MAX_PENDING).try_for_each(|_| store.insert_delivery(&delivery("x"), 1, 0).map(drop)))
            .unwrap();
        store.add_delivery(&delivery("x"), 10).unwrap();
        let last = store.deliveries("x", 1).unwrap().remove(0);
        assert_eq!((last.status, last.due_ms, last.notice.body), (DeliveryStatus::Failed, None, None));
    }

    #[test]
    fn a_delivery_that_no_process_attempts_fails_in_the_end() {
        let store = Store::in_memory().unwrap();
        store.add_delivery(&delivery("webhook:removed"), 10).unwrap();
        store.claim_deliveries(1, "mail", 11 + ABANDONED_MS).unwrap();
        let given_up = store.deliveries("webhook:removed", 1).unwrap().remove(0);
        assert_eq!((given_up.status, given_up.due_ms), (DeliveryStatus::Failed, None));
    }
}
