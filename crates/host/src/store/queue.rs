//! The queue of runs with limits: which of them are driven, and which one is next.
//!
//! A run with limits has a slot while it has work. It waits for one in the queue, and gives it back while it waits for people or timers.
//! Runs are admitted in a transaction that counts the driven runs of their groups, so that the limits hold over all processes. A slot
//! belongs to a process, and is free when that process is gone.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use branchpoint_backend::Queued;
use branchpoint_core::{Rate, RunLimits};
use rusqlite::{Row, params};

use super::{RunNo, Store, StoreError};

/// How many runs a process admits at once.
const ADMITTED_AT_ONCE: usize = 256;

/// Whether a run with limits has a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotState {
    /// It waits for people or timers and needs none.
    Resting,
    /// It waits for one.
    Queued,
    /// A process drives it.
    Driven,
}

/// The limits of one side, the document or the operator, and the group of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupLimit {
    pub(crate) group: String,
    pub(crate) concurrent: Option<u32>,
    pub(crate) rate: Option<Rate>,
}

/// The limits of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotLimits {
    pub(crate) document: GroupLimit,
    pub(crate) operator: GroupLimit,
}

impl GroupLimit {
    pub(crate) fn new(limits: &RunLimits, group: String) -> Self {
        Self { group, concurrent: limits.concurrent, rate: limits.rate }
    }
}

/// The runs that a process can drive now.
#[derive(Debug, Default)]
pub(crate) struct Admissions {
    pub(crate) runs: Vec<RunNo>,
    /// When a rate admits the next one.
    pub(crate) next_ms: Option<i64>,
    /// The groups of the runs, with the turns that they have had.
    turns: Vec<(RunNo, i64)>,
}

/// A process that drives runs of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admitting {
    pub(crate) owner: i64,
    /// Whether it drives every run.
    pub(crate) drives_all: bool,
    pub(crate) now_ms: i64,
}

impl SlotState {
    fn number(self) -> i64 {
        match self {
            Self::Resting => 0,
            Self::Queued => 1,
            Self::Driven => 2,
        }
    }

    fn of(number: i64) -> Self {
        match number {
            1 => Self::Queued,
            2 => Self::Driven,
            _ => Self::Resting,
        }
    }
}

impl Store {
    /// Adds a run with limits to the queue, when the turn commits.
    pub(crate) fn enqueue_later(&self, run: RunNo, limits: SlotLimits) {
        self.put_in_queue_later(run, limits, SlotState::Queued);
    }

    /// The same, for a run that may wait for people or timers.
    pub(crate) fn put_in_queue_later(&self, run: RunNo, limits: SlotLimits, state: SlotState) {
        self.defer(run, move |store| store.enqueue(run, &limits, state));
    }

    fn enqueue(&self, run: RunNo, limits: &SlotLimits, state: SlotState) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO queue (run, state, name, rank, started_ms, document_group, document_concurrent,
                document_rate, document_window_ms, operator_group, operator_concurrent, operator_rate, operator_window_ms)
            SELECT run, ?2, workflow_name, -priority, started_ms, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 FROM runs WHERE run = ?1";
        let SlotLimits { document, operator } = limits;
        let starts = |limit: &GroupLimit| limit.rate.map(|rate| rate.starts);
        let window_ms = |limit: &GroupLimit| limit.rate.map(|rate| i64::try_from(rate.window_ms).unwrap_or(i64::MAX));
        self.execute(
            sql,
            params![
                run.0,
                state.number(),
                document.group,
                document.concurrent,
                starts(document),
                window_ms(document),
                operator.group,
                operator.concurrent,
                starts(operator),
                window_ms(operator),
            ],
        )?;
        self.set_queued(run, state)
    }

    fn set_queued(&self, run: RunNo, state: SlotState) -> Result<(), StoreError> {
        let sql = "UPDATE runs SET queued = ?2 WHERE run = ?1";
        self.execute(sql, params![run.0, state == SlotState::Queued]).map(drop)
    }

    /// A run needs a slot, or none, when the turn commits. It gives back the one that it has.
    pub(crate) fn set_slot_later(&self, run: RunNo, state: SlotState) {
        self.defer(run, move |store| {
            let sql = "UPDATE queue SET state = ?2, holder = NULL WHERE run = ?1";
            store.execute(sql, params![run.0, state.number()])?;
            store.set_queued(run, state)
        });
    }

    /// A run that has ended has no limits, when the turn commits.
    pub(crate) fn leave_queue_later(&self, run: RunNo) {
        self.defer(run, move |store| {
            let sql = "DELETE FROM queue WHERE run = ?1 RETURNING name";
            let Some(name) = store.first(sql, [run.0], |row| row.get::<_, String>(0))? else { return Ok(()) };
            store.set_queued(run, SlotState::Resting)?;
            // Where nothing is queued, every group is as good as new.
            let sql = "DELETE FROM queue_turns WHERE name = ?1
                AND NOT EXISTS (SELECT 1 FROM queue WHERE state = 1 AND queue.name = ?1)";
            store.execute(sql, [name]).map(drop)
        });
    }

    /// The slot of a run, as this process sees it; none if the run has no limits. A slot of another process is that of one that is gone.
    pub(crate) fn slot(&self, run: RunNo, owner: i64) -> Result<Option<SlotState>, StoreError> {
        let read = |row: &Row<'_>| Ok((SlotState::of(row.get(0)?), row.get::<_, Option<i64>>(1)?));
        let slot = self.first("SELECT state, holder FROM queue WHERE run = ?1", [run.0], read)?;
        Ok(slot.map(|(state, holder)| match state {
            SlotState::Driven if holder != Some(owner) => SlotState::Queued,
            state => state,
        }))
    }

    /// Frees the slots of a process.
    pub(super) fn free_slots(&self, owner: i64) -> Result<(), StoreError> {
        let sql = "UPDATE runs SET queued = 1 WHERE run IN (SELECT run FROM queue WHERE holder = ?1)";
        self.execute(sql, [owner])?;
        self.execute("UPDATE queue SET state = 1, holder = NULL WHERE holder = ?1", [owner]).map(drop)
    }

    /// A process drives every run from now on.
    pub(crate) fn set_drives_all(&self, owner: i64) -> Result<(), StoreError> {
        self.execute("UPDATE owners SET drives_all = 1 WHERE owner = ?1", [owner]).map(drop)
    }

    /// Whether any run is queued.
    pub(crate) fn has_queued(&self) -> Result<bool, StoreError> {
        self.value("SELECT EXISTS (SELECT 1 FROM queue WHERE state = 1)", [])
    }

    /// The workflows that have queued runs which a process may drive.
    pub(crate) fn queued_workflows(&self, by: Admitting) -> Result<Vec<String>, StoreError> {
        let sql = "WITH RECURSIVE names (name) AS (
                SELECT min(name) FROM queue WHERE state = 1
                UNION ALL SELECT (SELECT min(name) FROM queue WHERE state = 1 AND queue.name > names.name) FROM names WHERE name IS NOT NULL
            ) SELECT name FROM names WHERE name IS NOT NULL AND (?1 OR EXISTS (
                SELECT 1 FROM runs JOIN queue USING (run) WHERE runs.owner = ?2 AND queue.state = 1 AND queue.name = names.name
            ))";
        self.rows(sql, params![by.drives_all, by.owner], |row| row.get(0))
    }

    /// Gives slots to the queued runs of a workflow that this process may drive now, in a transaction.
    pub(crate) fn admit(&self, name: &str, by: Admitting) -> Result<Admissions, StoreError> {
        let admissions = self.admissible(name, by)?;
        for (run, turn) in &admissions.turns {
            self.admit_run(*run, *turn, by)?;
        }
        Ok(admissions)
    }

    fn admit_run(&self, run: RunNo, turn: i64, by: Admitting) -> Result<(), StoreError> {
        let starts = "INSERT INTO queue_starts (name, is_operator, in_group, at_ms)
            SELECT name, 0, document_group, ?2 FROM queue WHERE run = ?1 AND has_begun = 0 AND document_rate IS NOT NULL
            UNION ALL
            SELECT name, 1, operator_group, ?2 FROM queue WHERE run = ?1 AND has_begun = 0 AND operator_rate IS NOT NULL";
        if self.execute(starts, params![run.0, by.now_ms])? > 0 {
            self.forget_starts(run, by.now_ms)?;
        }
        let sql = "INSERT INTO queue_turns (name, document_group, operator_group, turn)
            SELECT name, document_group, operator_group, ?2 FROM queue WHERE run = ?1
            ON CONFLICT DO UPDATE SET turn = excluded.turn";
        self.execute(sql, params![run.0, turn])?;
        let sql = "UPDATE queue SET state = 2, holder = ?2, has_begun = 1 WHERE run = ?1";
        self.execute(sql, params![run.0, by.owner])?;
        self.execute("UPDATE runs SET owner = ?2, queued = 0 WHERE run = ?1", params![run.0, by.owner]).map(drop)
    }

    /// Forgets starts that no window of the groups of a run has any more.
    fn forget_starts(&self, run: RunNo, now_ms: i64) -> Result<(), StoreError> {
        // Runs of other versions of the document may have longer windows, up to the longest that is valid.
        const LONGEST_MS: i64 = 86_400_000;
        let sql = "DELETE FROM queue_starts WHERE name = (SELECT name FROM queue WHERE run = ?1) AND at_ms <= ?2
            AND (is_operator, in_group) IN (
                SELECT 0, document_group FROM queue WHERE run = ?1 UNION ALL SELECT 1, operator_group FROM queue WHERE run = ?1
            )";
        self.execute(sql, params![run.0, now_ms - LONGEST_MS]).map(drop)
    }

    /// The queued runs of a workflow that this process may drive now: groups in the order of their priority, then of their last turns.
    /// Runs that another process is about to admit keep their places.
    pub(crate) fn admissible(&self, name: &str, by: Admitting) -> Result<Admissions, StoreError> {
        let mut room = Room { store: self, name, now_ms: by.now_ms, driven: HashMap::new(), starts: HashMap::new() };
        let mut takers = Takers { store: self, by, alive: HashMap::new(), others_drive_all: None };
        let mut last_turn: i64 =
            self.value("SELECT coalesce(max(turn), 0) FROM queue_turns WHERE name = ?1", [name])?;
        let mut heads = BinaryHeap::new();
        for head in self.heads(name)? {
            let turn = self.turn(name, &head)?;
            heads.push(Reverse((head.rank, turn, head.started_ms, head.run.0, head)));
        }
        let mut admissions = Admissions::default();
        while let Some(Reverse((.., head))) = heads.pop() {
            let next = match takers.of(&head)? {
                // No process drives it now: the next one of its group may be driven.
                Taker::None => self.next_of_group(name, &head)?.map(|next| (self.turn(name, &next), next)),
                taker => {
                    match room.admits(&head)? {
                        Verdict::Yes => {}
                        // The others of the group wait for this one.
                        Verdict::Full => continue,
                        Verdict::At(at_ms) => {
                            admissions.next_ms = Some(admissions.next_ms.map_or(at_ms, |first: i64| first.min(at_ms)));
                            continue;
                        }
                    }
                    room.add(&head);
                    last_turn += 1;
                    if taker == Taker::This {
                        admissions.runs.push(head.run);
                        admissions.turns.push((head.run, last_turn));
                        if admissions.runs.len() == ADMITTED_AT_ONCE {
                            admissions.next_ms = Some(by.now_ms);
                            break;
                        }
                    }
                    self.next_of_group(name, &head)?.map(|next| (Ok(last_turn), next))
                }
            };
            if let Some((turn, next)) = next {
                heads.push(Reverse((next.rank, turn?, next.started_ms, next.run.0, next)));
            }
        }
        Ok(admissions)
    }

    /// The first queued run of each priority and group.
    fn heads(&self, name: &str) -> Result<Vec<Head>, StoreError> {
        let first = format!("SELECT {HEAD} WHERE state = 1 AND name = ?1 ORDER BY {HEAD_ORDER} LIMIT 1");
        let following = format!(
            "SELECT {HEAD} WHERE state = 1 AND name = ?1 AND (rank, document_group, operator_group) > (?2, ?3, ?4)
            ORDER BY {HEAD_ORDER} LIMIT 1"
        );
        let mut heads = Vec::new();
        let mut next = self.first(&first, [name], Head::read)?;
        while let Some(head) = next {
            let (document, operator) = (&head.limits.document.group, &head.limits.operator.group);
            next = self.first(&following, params![name, head.rank, document, operator], Head::read)?;
            heads.push(head);
        }
        Ok(heads)
    }

    fn next_of_group(&self, name: &str, head: &Head) -> Result<Option<Head>, StoreError> {
        let sql = format!(
            "SELECT {HEAD} WHERE state = 1 AND name = ?1 AND rank = ?2 AND document_group = ?3 AND operator_group = ?4
                AND (queue.started_ms, queue.run) > (?5, ?6) ORDER BY queue.started_ms, queue.run LIMIT 1"
        );
        let (document, operator) = (&head.limits.document.group, &head.limits.operator.group);
        let values = params![name, head.rank, document, operator, head.started_ms, head.run.0];
        self.first(&sql, values, Head::read)
    }

    /// When the group of a run had its last turn.
    fn turn(&self, name: &str, head: &Head) -> Result<i64, StoreError> {
        let sql = "SELECT turn FROM queue_turns WHERE name = ?1 AND document_group = ?2 AND operator_group = ?3";
        let (document, operator) = (&head.limits.document.group, &head.limits.operator.group);
        Ok(self.first(sql, params![name, document, operator], |row| row.get(0))?.unwrap_or_default())
    }

    /// Why a run is queued; none if it is not.
    pub fn queued(&self, run: RunNo, now_ms: i64) -> Result<Option<Queued>, StoreError> {
        let sql = format!("SELECT {HEAD} WHERE queue.run = ?1 AND state = 1");
        let Some(head) = self.first(&sql, [run.0], Head::read)? else { return Ok(None) };
        let name: String = self.value("SELECT name FROM queue WHERE run = ?1", [run.0])?;
        let sql =
            "SELECT count(*) FROM queue WHERE state = 1 AND name = ?1 AND document_group = ?2 AND operator_group = ?3
            AND (rank, started_ms, run) < (?4, ?5, ?6)";
        let SlotLimits { document, operator } = &head.limits;
        let values = params![name, document.group, operator.group, head.rank, head.started_ms, head.run.0];
        let before: u64 = self.value(sql, values)?;
        let mut room = Room { store: self, name: &name, now_ms, driven: HashMap::new(), starts: HashMap::new() };
        let reason = match room.full_side(&head)? {
            Some((side, why)) => {
                let limit = head.limits.side(side);
                let of = if limit.group.is_empty() {
                    format!("of workflow `{name}`")
                } else {
                    format!("of group `{}`", limit.group)
                };
                let by = if side == Side::Operator { " (limit of the operator)" } else { "" };
                match why {
                    FullBecause::Concurrent { driven, limit } => {
                        format!("{driven} of {limit} runs {of} are running{by}")
                    }
                    FullBecause::Rate { rate, at_ms } => {
                        let wait_s = at_ms.saturating_sub(now_ms).max(0).saturating_add(999) / 1_000;
                        format!("the rate {rate} {of} is used up for {wait_s} s{by}")
                    }
                }
            }
            None if before > 0 => "other runs are before it".to_owned(),
            None => "it is next, and waits for a process that drives it".to_owned(),
        };
        let group = if document.group.is_empty() { &operator.group } else { &document.group };
        Ok(Some(Queued { position: before + 1, group: Some(group.clone()).filter(|group| !group.is_empty()), reason }))
    }
}

const HEAD: &str = "queue.run, rank, queue.started_ms, has_begun, owner, document_group, document_concurrent, document_rate,
    document_window_ms, operator_group, operator_concurrent, operator_rate, operator_window_ms FROM queue JOIN runs USING (run)";
const HEAD_ORDER: &str = "rank, document_group, operator_group, queue.started_ms, queue.run";

/// A queued run.
#[derive(Clone, Debug)]
struct Head {
    run: RunNo,
    rank: i64,
    started_ms: i64,
    has_begun: bool,
    owner: Option<i64>,
    limits: SlotLimits,
}

/// Heads are ordered by the keys before them.
impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.run == other.run
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.run.cmp(&other.run)
    }
}

impl Head {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let limit = |at: usize| -> rusqlite::Result<GroupLimit> {
            let (starts, window_ms): (Option<u32>, Option<u64>) = (row.get(at + 2)?, row.get(at + 3)?);
            let rate = starts.zip(window_ms).map(|(starts, window_ms)| Rate { starts, window_ms });
            Ok(GroupLimit { group: row.get(at)?, concurrent: row.get(at + 1)?, rate })
        };
        Ok(Self {
            run: RunNo(row.get(0)?),
            rank: row.get(1)?,
            started_ms: row.get(2)?,
            has_begun: row.get(3)?,
            owner: row.get(4)?,
            limits: SlotLimits { document: limit(5)?, operator: limit(9)? },
        })
    }
}

/// Whose limit it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Side {
    Document,
    Operator,
}

impl SlotLimits {
    fn side(&self, side: Side) -> &GroupLimit {
        match side {
            Side::Document => &self.document,
            Side::Operator => &self.operator,
        }
    }
}

/// Which process can admit a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taker {
    This,
    Another,
    None,
}

struct Takers<'s> {
    store: &'s Store,
    by: Admitting,
    alive: HashMap<i64, bool>,
    others_drive_all: Option<bool>,
}

impl Takers<'_> {
    fn of(&mut self, head: &Head) -> Result<Taker, StoreError> {
        match head.owner {
            Some(owner) if owner == self.by.owner => return Ok(Taker::This),
            Some(owner) if *self.alive.entry(owner).or_insert_with(|| self.store.is_alive(owner)) => {
                return Ok(Taker::Another);
            }
            _ if self.by.drives_all => return Ok(Taker::This),
            _ => {}
        }
        let others = if let Some(known) = self.others_drive_all {
            known
        } else {
            let sql = "SELECT owner FROM owners WHERE drives_all = 1 AND owner <> ?1";
            let owners: Vec<i64> = self.store.rows(sql, [self.by.owner], |row| row.get(0))?;
            *self.others_drive_all.insert(owners.into_iter().any(|owner| self.store.is_alive(owner)))
        };
        Ok(if others { Taker::Another } else { Taker::None })
    }
}

/// How much the limits of a workflow admit.
struct Room<'s> {
    store: &'s Store,
    name: &'s str,
    now_ms: i64,
    /// Driven runs by group, those that are admitted now among them.
    driven: HashMap<(Side, String), u32>,
    /// The number of starts that are admitted now, by group.
    starts: HashMap<(Side, String), u32>,
}

enum Verdict {
    Yes,
    Full,
    /// A rate admits it at this time.
    At(i64),
}

enum FullBecause {
    Concurrent { driven: u32, limit: u32 },
    Rate { rate: Rate, at_ms: i64 },
}

impl Room<'_> {
    fn admits(&mut self, head: &Head) -> Result<Verdict, StoreError> {
        Ok(match self.full_side(head)? {
            None => Verdict::Yes,
            Some((_, FullBecause::Concurrent { .. })) => Verdict::Full,
            Some((_, FullBecause::Rate { at_ms, .. })) => Verdict::At(at_ms),
        })
    }

    /// The first limit that does not admit a run. Concurrency comes first, because a run that ends is an event, and a time is not.
    fn full_side(&mut self, head: &Head) -> Result<Option<(Side, FullBecause)>, StoreError> {
        for side in [Side::Document, Side::Operator] {
            let GroupLimit { group, concurrent: Some(limit), .. } = head.limits.side(side) else { continue };
            let driven = self.driven(side, group)?;
            if driven >= *limit {
                return Ok(Some((side, FullBecause::Concurrent { driven, limit: *limit })));
            }
        }
        let mut latest = None;
        for side in [Side::Document, Side::Operator] {
            let GroupLimit { group, rate: Some(rate), .. } = head.limits.side(side) else { continue };
            if head.has_begun {
                continue;
            }
            let at_ms = self.free_at_ms(side, group, *rate)?;
            if at_ms > self.now_ms && latest.as_ref().is_none_or(|(known, _, _)| at_ms > *known) {
                latest = Some((at_ms, side, *rate));
            }
        }
        Ok(latest.map(|(at_ms, side, rate)| (side, FullBecause::Rate { rate, at_ms })))
    }

    fn driven(&mut self, side: Side, group: &str) -> Result<u32, StoreError> {
        let key = (side, group.to_owned());
        if let Some(known) = self.driven.get(&key) {
            return Ok(*known);
        }
        let sql = match side {
            Side::Document => "SELECT count(*) FROM queue WHERE state = 2 AND name = ?1 AND document_group = ?2",
            Side::Operator => "SELECT count(*) FROM queue WHERE state = 2 AND name = ?1 AND operator_group = ?2",
        };
        let driven = self.store.value(sql, params![self.name, group])?;
        self.driven.insert(key, driven);
        Ok(driven)
    }

    /// When a rate admits the next start: when the oldest of as many starts as it admits leaves the window.
    fn free_at_ms(&self, side: Side, group: &str, rate: Rate) -> Result<i64, StoreError> {
        let window_ms = i64::try_from(rate.window_ms).unwrap_or(i64::MAX);
        let now = self.starts.get(&(side, group.to_owned())).copied().unwrap_or_default();
        let Some(others) = rate.starts.checked_sub(now + 1) else { return Ok(self.now_ms.saturating_add(window_ms)) };
        let sql = "SELECT at_ms FROM queue_starts WHERE name = ?1 AND is_operator = ?2 AND in_group = ?3
            ORDER BY at_ms DESC LIMIT 1 OFFSET ?4";
        let values = params![self.name, side == Side::Operator, group, others];
        let oldest: Option<i64> = self.store.first(sql, values, |row| row.get(0))?;
        Ok(oldest.map_or(i64::MIN, |at_ms| at_ms.saturating_add(window_ms)))
    }

    fn add(&mut self, head: &Head) {
        for side in [Side::Document, Side::Operator] {
            let key = (side, head.limits.side(side).group.clone());
            if !head.has_begun {
                *self.starts.entry(key.clone()).or_default() += 1;
            }
            // It was counted when the limit was checked, if there is one.
            self.driven.entry(key).and_modify(|driven| *driven += 1);
        }
    }
}
