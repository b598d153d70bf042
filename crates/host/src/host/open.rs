//! Open runs: runs in memory, loaded from their snapshot and the events after it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use branchpoint_core::ir::{Program, Status};
use branchpoint_core::{Command, EffectNo, Event, Fold, RequestNo, State};
use branchpoint_expr::Value;

use super::last_decision::TurnDecisions;
use super::run_place::RunPlace;
use super::timers::Timers;
use super::wind_down::responds_to;
use super::{Host, Order, Rejection, Requester, TurnOutput};
use crate::store::{Packing, Parent, Part, Run, RunNo, Store, StoreError, WorkflowNo};
use branchpoint_runners::{Call, Secrets};

/// A run in memory.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) id: Arc<str>,
    pub(super) workflow: WorkflowNo,
    pub(super) folder: Arc<str>,
    pub(super) program: Arc<Program>,
    pub(super) packing: Packing,
    pub(super) state: State,
    pub(super) parent: Option<Parent>,
    pub(super) place: RunPlace,
    /// The root run whose script answers the calls of this one.
    pub(super) script: Option<RunNo>,
    /// The open requests of a scripted run to people. Its script answers them in the turn that requests them.
    pub(super) requests: BTreeMap<RequestNo, Value>,
    /// The status in its row, and whether this process is the owner in its row.
    pub(super) row: (Status, bool),
    pub(super) timers: Timers,
    pub(super) flights: BTreeMap<EffectNo, Flight>,
    /// Events that arrived while the last one was unfinished.
    pub(super) waiting: VecDeque<(Event, Requester)>,
    /// Calls that wait for a slot of the run.
    pub(super) held: Vec<Call>,
    /// The bytes of the newest snapshot, and the bytes and ops of the events after it.
    pub(super) snapshot_bytes: usize,
    pub(super) tail_bytes: usize,
    pub(super) tail_ops: u64,
    /// Whether its notes are reported to listeners.
    pub(super) watched: bool,
    /// Whether another process performs its calls.
    pub(super) detached: bool,
    /// Its decisions in this turn.
    pub(super) decisions: TurnDecisions,
    /// Whether it accepted events in this turn.
    pub(super) touched: bool,
    /// The last turn in which it accepted events.
    pub(super) turn: u64,
}

/// A pending call of a run.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) attempt: u32,
    /// The child run of the call, if it has one.
    pub(super) child: Option<(RunNo, Box<Call>)>,
}

impl Open {
    pub(super) fn new(row: &Run, program: Arc<Program>, packing: Packing) -> Self {
        Self {
            id: row.id.as_str().into(),
            workflow: row.workflow,
            folder: row.folder.as_str().into(),
            program,
            packing,
            state: State::new(),
            parent: row.parent,
            place: RunPlace::default(),
            script: None,
            requests: BTreeMap::new(),
            row: (row.status, false),
            timers: Timers::default(),
            flights: BTreeMap::new(),
            waiting: VecDeque::new(),
            held: Vec::new(),
            snapshot_bytes: 0,
            tail_bytes: 0,
            tail_ops: 0,
            watched: false,
            detached: false,
            decisions: TurnDecisions::default(),
            touched: false,
            turn: 0,
        }
    }

    /// The call that a command of this run requests.
    pub(super) fn call(&self, command: Command) -> Option<Call> {
        let call = self.place.locate(Call::from_command(&self.program, &self.id, &self.folder, command)?);
        Some(Call { sealed: Secrets::from_values(self.packing.secrets.iter().cloned()), ..call })
    }

    /// Whether an event has to wait until the last one is finished. Only a cancellation does not.
    pub(super) fn makes_wait(&self, event: &Event) -> bool {
        self.state.is_unfinished() && !matches!(event, Event::Cancel { .. })
    }

    /// Whether it only waits for people, timers or signals.
    pub(super) fn is_idle(&self) -> bool {
        // The process that drives a scripted run drives its child runs too.
        let with_parent = self.script.is_some() && self.parent.is_some();
        let busy = !self.flights.is_empty() || !self.waiting.is_empty() || self.state.is_unfinished() || self.touched;
        !busy && !with_parent
    }
}

impl Host {
    /// Loads a claimed run into memory and performs its pending calls again, except for a run whose secrets are unavailable.
    pub(super) fn open_with(
        &mut self,
        row: &Run,
        unavailable_secrets: Option<Packing>,
    ) -> Result<Result<(), Rejection>, StoreError> {
        let run = row.run;
        let Some(program) = self.program(row.workflow, &row.part.as_str().into())? else {
            return Ok(Err(Rejection::NoPart(row.part.clone())));
        };
        let detached = unavailable_secrets.is_some();
        let packing = unavailable_secrets.map_or_else(|| self.packing(run), Ok)?;
        let stored = self.store.stored_run(run, &packing)?;
        let script = if detached || row.status.is_final() { None } else { self.load_script(row)? };
        let mut open = Box::new(Open::new(row, program, packing));
        if script.is_some() {
            let requests = self.store.approval_records(run)?.into_iter().filter(|record| record.closed_ms.is_none());
            open.requests = requests.map(|record| (record.request, record.spec)).collect();
        }
        open.script = script;
        open.place = self.place_of(row)?;
        open.detached = detached;
        open.snapshot_bytes = stored.snapshot_bytes;
        open.tail_bytes = stored.tail_bytes;
        let ops = stored.state.ops();
        open.state =
            Fold::new(&open.program, stored.state, stored.tail).finish().map_err(StoreError::in_journal_of(&row.id))?;
        open.tail_ops = open.state.ops().saturating_sub(ops);
        open.row = (row.status, !row.status.is_final());
        open.timers = open.state.timers().collect();
        open.touched = true;
        open.turn = self.counters.turns;
        let pending = self.store.pending(run, &open.packing)?;
        // Events may have been sent to it while another process drove it.
        let sent = self.store.sent_to_run(run)?;
        self.schedule.timers.extend(open.timers.in_order().map(|(due_ms, timer)| (due_ms, run, timer)));
        let is_unfinished = open.state.is_unfinished();
        self.current.touched.push(run);
        self.open.insert(run, open);
        if row.parent.is_none() && !row.status.is_final() {
            self.load_slot(run)?;
        }
        if self.awaits_slot(run) {
            self.need_slot(run);
        } else if is_unfinished {
            self.schedule.unfinished.push_back(run);
        }
        let recorded: BTreeSet<_> = sent.iter().filter_map(|(_, _, event)| responds_to(event)).collect();
        self.perform_again(run, pending, &recorded);
        for (item, run, event) in sent {
            self.queue_sent(item, run, event);
        }
        Ok(Ok(()))
    }

    /// Performs the calls that a run waits for, except those whose response is recorded.
    fn perform_again(&mut self, run: RunNo, pending: Vec<Command>, recorded: &BTreeSet<(EffectNo, u32)>) {
        for command in pending {
            let Some(open) = self.open.get_mut(&run) else { return };
            let Some(call) = open.call(command) else { continue };
            open.flights.insert(call.effect, Flight { attempt: call.attempt, child: None });
            if !recorded.contains(&(call.effect, call.attempt)) {
                self.perform(run, call);
            }
        }
    }

    /// Performs a call: as a child run if it calls a program of the workflow, else by the run's script or by a runner.
    pub(super) fn perform(&mut self, run: RunNo, call: Call) {
        let Some(open) = self.open.get(&run) else { return };
        if open.detached || self.winding_down {
            return;
        }
        let (workflow, script) = (open.workflow, open.script);
        let Some(call) = self.hold(run, call) else { return };
        if !self.is_replaced(script, &call) && self.is_child(workflow, &call) {
            self.schedule.queue.push_back(Order::Child(run, Box::new(call)));
        } else if let Some(call) = self.answer_call(run, call) {
            self.current.outputs.push(TurnOutput::Perform { run, workflow, call, reply: None });
        }
    }

    /// A program of a workflow; `None` if it has no such part.
    pub(super) fn program(&mut self, workflow: WorkflowNo, part: &Part) -> Result<Option<Arc<Program>>, StoreError> {
        if let Some(cached) = self.programs.get(&(workflow, part.clone())) {
            return Ok(Some(cached.clone()));
        }
        let Some(program) = self.store.shared_program(workflow, part)? else { return Ok(None) };
        self.programs.insert((workflow, part.clone()), program.clone());
        Ok(Some(program))
    }

    pub(super) fn packing(&self, run: RunNo) -> Result<Packing, StoreError> {
        let packing = self.store.packing_with_key(run)?;
        self.share_secrets(&packing);
        Ok(packing)
    }
}

impl Store {
    /// The state of a run that this process does not drive.
    pub(super) fn state_of(&self, row: &Run, program: &Program) -> Result<State, StoreError> {
        let packing = self.packing(row.run)?;
        let stored = self.stored_run(row.run, &packing)?;
        let state = Fold::new(program, stored.state, stored.tail).finish();
        state.map_err(|error| match &packing.unavailable_secrets {
            // Without its secrets, the replay may have made other decisions.
            Some(why) => StoreError::Sealed(why.to_string()),
            None => StoreError::in_journal_of(&row.id)(error),
        })
    }
}
