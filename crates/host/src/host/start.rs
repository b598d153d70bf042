//! Starts runs.

use std::fmt::Write;

use branchpoint_backend::BackendError;
use branchpoint_core::Event;
use branchpoint_core::ir::Status;
use branchpoint_expr::{Object, Value};

use super::open::Open;
use super::run_place::RunPlace;
use super::scripted::Scripted;
use super::turn::OPS_PER_EVENT;
use super::{Accepted, Host, Rejection, Requester, Start};
use crate::store::{Key, Packing, Run, RunNo, StoreError, random};
use branchpoint_runners::Secrets;

/// The default limit of ops of a run: many minutes of work without a single effect.
pub const MAX_OPS: u64 = 100_000_000;

/// Generates a unique run id from the time and random bits, in letters and digits that are not easily confused.
///
/// ```
/// use branchpoint_host::host::new_id;
///
/// assert_ne!(new_id(1).unwrap(), new_id(1).unwrap());
/// ```
pub fn new_id(now_ms: i64) -> Result<String, BackendError> {
    const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let chance = u64::from_le_bytes(random()?);
    let mut id = String::new();
    let time = u64::try_from(now_ms).unwrap_or_default();
    let digits = |number: u64, count: u32| (0..count).rev().map(move |digit| (number >> (5 * digit)) & 31);
    for digit in digits(time, 9).chain(digits(chance, 8)) {
        // Writing to a string cannot fail.
        let _ = write!(id, "{}", char::from(LETTERS[usize::try_from(digit).unwrap_or_default()]));
    }
    Ok(id)
}

impl Host {
    pub(super) fn begin_run(&mut self, start: Start, requester: Requester, now_ms: i64) -> Result<(), StoreError> {
        let watched = start.watched;
        let begun = self.begin_new(start, RunPlace::default(), now_ms)?;
        if let Ok(Accepted { run, new: false }) = begun
            && let Some(open) = self.open.get_mut(&run)
        {
            open.watched |= watched;
        }
        self.answer(requester, begun);
        Ok(())
    }

    pub(super) fn begin_new(
        &mut self,
        start: Start,
        place: RunPlace,
        now_ms: i64,
    ) -> Result<Result<Accepted, Rejection>, StoreError> {
        let Some(program) = self.program(start.workflow, &start.part)? else {
            return Ok(Err(Rejection::NoPart(start.part.to_string())));
        };
        if let Some(run) = self.run_of_id(&start.id)? {
            return Ok(Ok(Accepted { run, new: false }));
        }
        let mut secrets = start.secrets;
        secrets.add(Secrets::in_program(&program).values());
        let mut secrets = secrets.values().to_vec();
        let packed = match start.script.as_ref().map(|script| self.packed_script(script, &mut secrets)).transpose() {
            Ok(packed) => packed,
            Err(error) => return Ok(Err(Rejection::Unstorable(error.to_string()))),
        };
        let run = self.new_number(&start.id)?;
        let row = Run {
            run,
            id: start.id.clone(),
            workflow: start.workflow,
            part: start.part.to_string(),
            status: Status::Running,
            seq: 0,
            owner: Some(self.owner.number),
            parent: start.parent,
            folder: start.folder.to_string(),
            started_ms: now_ms,
            updated_ms: now_ms,
            waited_ms: 0,
            tags: start.tags,
            priority: start.priority,
            decision: None,
        };
        let script = match start.script.as_ref().zip(packed) {
            Some((script, packed)) => match self.bind_script(&row, script, packed) {
                Ok(root) => Some(root),
                Err(error) if error.is_of_one_run() => {
                    self.discard_new(&start.id, run);
                    return Ok(Err(Rejection::Broken(error.to_string())));
                }
                Err(error) => return Err(error),
            },
            None => start.parent.and_then(|parent| self.open.get(&parent.run)).and_then(|parent| parent.script),
        };
        self.store.insert_run_later(row.clone(), program.semantics);
        self.store.attach_later(run, start.attachments);
        match self.seal(run, &secrets) {
            Err(error @ StoreError::Sealed(_)) => {
                self.drop_script(script);
                self.discard_new(&start.id, run);
                return Ok(Err(Rejection::Broken(error.to_string())));
            }
            sealed => sealed?,
        }
        let recorded = script.and_then(|root| self.scripts.get(&root)).and_then(Scripted::facts);
        let facts = program.facts.iter().map(|name| {
            let given = start.facts.get(&**name).or_else(|| recorded?.get(name)).cloned();
            let fact = given.unwrap_or_else(|| match &**name {
                "run_id" => Value::from(start.id.as_str()),
                "working_dir" if !start.folder.is_empty() => Value::from(&*start.folder),
                name => (self.settings.facts)(name),
            });
            (name.clone(), fact)
        });
        let facts: Object = facts.collect();
        let limits = if start.parent.is_some() {
            None
        } else {
            let secrets = Secrets::from_values(secrets.clone());
            self.limits_of_start(start.workflow, &program, (&start.input, &facts), &secrets)?
        };
        let packing = Packing::new(secrets);
        self.share_secrets(&packing);
        let mut open = Open::new(&row, program, packing);
        (open.script, open.place) = (script, place);
        (open.watched, open.detached, open.row) = (start.watched, start.detached, (Status::Running, true));
        self.open.insert(run, Box::new(open));
        // A run with limits executes its first op, which marks where it begins, and the rest when it has a slot.
        let fuel = if limits.is_some() { 1 } else { OPS_PER_EVENT };
        if let Some(limits) = limits {
            self.enqueue(run, limits);
        }
        let event = Event::Start {
            input: start.input,
            facts,
            depth: start.depth,
            max_ops: self.settings.max_ops,
            budget: start.budget,
        };
        let begun = self.apply_with(run, event, now_ms, fuel)?;
        if begun.is_err() {
            self.open.remove(&run);
            self.slots.remove(run);
            self.drop_script(script);
            self.discard_new(&start.id, run);
        } else if start.detached {
            self.unload_now(run)?;
        }
        Ok(begun.map(|()| Accepted { run, new: true }))
    }

    /// The run with this id, in the store or new in this turn.
    pub(super) fn run_of_id(&self, id: &str) -> Result<Option<RunNo>, StoreError> {
        match self.current.new_ids.get(id) {
            Some(run) => Ok(Some(*run)),
            None => Ok(self.store.run(id)?.map(|row| row.run)),
        }
    }

    /// A number for a new run with this id. If another process has used the id when the turn is written, the run is discarded.
    pub(super) fn new_number(&mut self, id: &str) -> Result<RunNo, StoreError> {
        let number = match self.current.numbers.pop_front() {
            Some(number) => number,
            None => self.store.reserve_runs(1)?.start,
        };
        self.current.new_ids.insert(id.to_owned(), RunNo(number));
        Ok(RunNo(number))
    }

    /// Discards the writes of a rejected new run.
    pub(super) fn discard_new(&mut self, id: &str, run: RunNo) {
        self.store.discard_unwritten(run);
        self.current.new_ids.remove(id);
    }

    /// Seals the secrets of a run.
    pub(super) fn seal(&mut self, run: RunNo, secrets: &[String]) -> Result<(), StoreError> {
        if secrets.is_empty() {
            return Ok(());
        }
        self.store.seal(&Key::for_sealing(&self.store)?, run, secrets)
    }
}
