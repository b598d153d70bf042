//! Scripts of runs: the script of a scripted run answers its calls and requests, whichever process drives the run.
//!
//! Each call uses the next entry of its step and place when it is requested. The store records the used entry with the event that
//! requested the call, so a process that opens the run continues at the same entry, and calls in flight keep theirs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use branchpoint_backend::{RunEvent, RunEventKind};
use branchpoint_core::effect::Kind;
use branchpoint_core::ir::Program;
use branchpoint_core::{Approval, ApprovalKey, Event, approvals};
use branchpoint_expr::{Object, Value};

use super::fork::ForkMoment;
use super::open::Open;
use super::run_place::RunPlace;
use super::{CallSource, Host, Order, Rejection, TurnOutput};
use crate::recordings::Vote;
use crate::script::{EntryKey, Script, scripted_answer, votes_in_entry};
use crate::store::{Packed, Packing, Run, RunNo, Store, StoreError, Taker, UsedEntry};
use branchpoint_runners::SecretStore;
use branchpoint_runners::{Answer, Call, MASK, Secrets};

/// The most answers to requests that scripts give in one turn, so that an endless conversation does not stop the other runs.
const ANSWERS_PER_TURN: usize = 256;

/// The script of a root run and its child runs, with its unused answers.
pub(super) struct Scripted {
    script: Script,
    /// All programs of the workflow.
    programs: Vec<Arc<Program>>,
    /// The entries that calls and requests had used when the script was loaded, by run, number and attempt.
    used: BTreeMap<(RunNo, u64, u32), EntryKey>,
    /// The answers to open requests.
    answers: BTreeMap<(RunNo, ApprovalKey), RequestAnswer>,
    /// Open requests that the script does not answer, or whose answer was rejected.
    unanswered: BTreeSet<(RunNo, ApprovalKey)>,
}

/// The next answer of a script to an approval.
struct NextAnswer {
    key: ApprovalKey,
    step: Arc<str>,
    event: Event,
    /// The answer as messages show it.
    shown: String,
    /// The choices and approvers, for the message about an answer that is rejected.
    valid: String,
}

/// The answers that an approval accepts, in brackets.
fn valid_answers(approval: &Approval) -> String {
    let (choices, approvers) = (approval.choices().join(", "), approval.recipients().join(", "));
    let parts = [("choices", choices), ("approvers", approvers)].into_iter().filter(|(_, names)| !names.is_empty());
    let parts: Vec<_> = parts.map(|(name, names)| format!("{name}: {names}")).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) }
}

/// The answer of a script to a request.
enum RequestAnswer {
    /// Every recipient gives this answer, until the request is settled.
    Everyone(Value),
    /// The remaining votes, one after the other.
    Votes(VecDeque<Vote>),
}

impl RequestAnswer {
    fn of(entry: &Value) -> Self {
        match votes_in_entry(entry) {
            Some(votes) => Self::Votes(votes.into()),
            None => Self::Everyone(entry.get("$output").unwrap_or(entry).clone()),
        }
    }

    /// The next event for an approval and its description; `None` if every answer was given.
    fn next(&mut self, approval: &Approval) -> Option<(Event, String)> {
        match self {
            Self::Everyone(answer) => {
                let missing = approval.missing_voters();
                let user = missing.first().map(|user| &**user);
                let answerable = user.is_some() || approval.request.is_none();
                answerable.then(|| (scripted_answer(approval, user, answer), format!("`{answer}`")))
            }
            Self::Votes(votes) => {
                let shown = |vote: &Vote| format!("`{}` of {}", vote.choice, vote.user);
                if let Some((delegation, vote)) =
                    votes.front().and_then(|vote| Some((vote.delegation(approval)?, vote)))
                {
                    return Some((delegation, shown(vote)));
                }
                let vote = votes.pop_front()?;
                Some((vote.event(approval), shown(&vote)))
            }
        }
    }
}

impl Scripted {
    /// Reads the script of a root run. The entries `used` are already used.
    fn open(store: &Store, row: &Run, script: &Value, used_entries: Vec<UsedEntry>) -> Result<Self, StoreError> {
        let mut script = Script::read(script).map_err(|wrong| unusable(row, wrong.to_string()))?;
        let mut used = BTreeMap::new();
        for UsedEntry { entry, taker } in used_entries {
            if script.use_entry(&entry).is_none() {
                return Err(unusable(row, format!("it has no entry {} of step `{}`", entry.index + 1, entry.step)));
            }
            used.insert((taker.run, taker.number, taker.attempt), entry);
        }
        let mut programs = Vec::new();
        for part in store.parts(row.workflow)? {
            programs.extend(store.shared_program(row.workflow, &part)?);
        }
        Ok(Self { script, programs, used, answers: BTreeMap::new(), unanswered: BTreeSet::new() })
    }

    /// Whether the script answers a call, possibly with an error. Messages are always logged.
    fn is_for(&self, call: &Call) -> bool {
        match &call.step {
            _ if self.script.recording().is_some() => call.kind() != Kind::Notify,
            Some(_) => self.script.has_step_of(call),
            None => self.script.has_step_of(call) && !self.is_step(call.kind().as_str()),
        }
    }

    /// Whether the workflow has a step with this id.
    fn is_step(&self, id: &str) -> bool {
        self.programs.iter().any(|program| program.steps.iter().any(|step| &*step.id == id))
    }

    /// Whether the script answers a step that would call another workflow.
    pub(super) fn replaces(&self, step: &Arc<str>) -> bool {
        self.script
            .recording()
            .map_or_else(|| self.script.has_step(step), |recorded| recorded.replaced_steps.contains(step))
    }

    /// Uses the next entry for an approval of a run at that place.
    fn use_approval_entry(&mut self, approval: &Approval, place: &RunPlace) -> Option<(EntryKey, Value)> {
        let RunPlace { callers, path } = place.within(&approval.path);
        let step = self.script.approval_step(approval);
        self.script.approval_entry(&step, &callers, &path, &approval.spec)
    }

    /// The facts of a recorded script.
    pub(super) fn facts(&self) -> Option<&Object> {
        self.script.recording().map(|recorded| &recorded.facts)
    }
}

fn unusable(row: &Run, reason: String) -> StoreError {
    StoreError::Script { run: row.id.clone(), reason }
}

impl Host {
    /// Whether the script of a run replaces a call of another workflow.
    pub(super) fn is_replaced(&self, script: Option<RunNo>, call: &Call) -> bool {
        let scripted = script.and_then(|root| self.scripts.get(&root));
        scripted.is_some_and(|scripted| call.step.as_ref().is_some_and(|step| scripted.replaces(step)))
    }

    /// Answers a call by the script of its run. Returns the call if there is no script, or if a runner must perform the call.
    pub(super) fn answer_call(&mut self, run: RunNo, call: Call) -> Option<Call> {
        let Some(open) = self.open.get(&run) else { return Some(call) };
        let Some(root) = open.script else { return Some(call) };
        let scripted = self.scripts.get_mut(&root).expect("the script of a run is loaded while the run is open");
        let taker = Taker { run, seq: open.state.seq(), number: call.effect.0, attempt: call.attempt };
        let reply = match scripted.used.remove(&(run, taker.number, taker.attempt)) {
            Some(entry) => {
                scripted.script.reply_with(entry, &call).expect("the entry was found when the script was loaded")
            }
            None if !scripted.is_for(&call) => return Some(call),
            None => {
                scripted.script.add_secrets(&open.packing.secrets);
                scripted.script.reply(&call)
            }
        };
        if let Ok(reply) = &reply {
            self.store.use_entry(root, UsedEntry { entry: reply.entry.clone(), taker });
        }
        match reply {
            Ok(reply) if reply.is_delayed(&call) => {
                let workflow = open.workflow;
                self.current.outputs.push(TurnOutput::Perform { run, workflow, call, reply: Some(Box::new(reply)) });
            }
            Ok(reply) => self.settle(run, &call, reply.answer),
            Err(why) => {
                // The workflow may handle the failure, so a message reports that the replay differs.
                self.note(run, &format!("{why}."));
                self.settle(run, &call, Answer::refused("step_failed", why));
            }
        }
        None
    }

    /// Gives the answers of scripts to the requests of the runs that accepted events in this turn.
    pub(super) fn answer_requests(&mut self, now_ms: i64) -> Result<(), StoreError> {
        let mut runs: Vec<RunNo> = std::mem::take(&mut self.schedule.answerable).into_iter().collect();
        let is_scripted = |run: &RunNo| self.open.get(run).is_some_and(|open| open.script.is_some());
        runs.extend(self.current.touched.iter().copied().filter(is_scripted));
        let mut remaining = ANSWERS_PER_TURN;
        for run in runs {
            while remaining > 0 && self.answer_request(run, now_ms)? {
                remaining -= 1;
            }
            if remaining == 0 {
                self.schedule.answerable.insert(run);
            }
        }
        Ok(())
    }

    /// Gives one answer to a request of a run. Returns false if there is none.
    fn answer_request(&mut self, run: RunNo, now_ms: i64) -> Result<bool, StoreError> {
        while self.open.get(&run).is_some_and(|open| !open.state.is_unfinished()) && self.fire_due(run, now_ms)? {}
        let Some(NextAnswer { key, step, event, shown, valid }) = self.next_answer(run) else { return Ok(false) };
        if let Err(rejection) = self.apply(run, event, now_ms)? {
            let text = format!("The script's answer {shown} to step `{step}` was rejected: {rejection}{valid}.");
            self.note(run, &text);
            if let Some(scripted) = self.open[&run].script.and_then(|root| self.scripts.get_mut(&root)) {
                scripted.unanswered.insert((run, key));
            }
        }
        Ok(true)
    }

    /// Reports a message about a run. Answers of scripts may contain its secrets, which are masked.
    fn note(&mut self, run: RunNo, text: &str) {
        let sealed = self.open.get(&run).map(|open| open.packing.secrets.to_vec()).unwrap_or_default();
        let secrets =
            Secrets::from_values(sealed.into_iter().chain(self.settings.env_secrets.values().iter().cloned()));
        self.report(run, RunEventKind::Message(secrets.mask(text).into_owned()));
    }

    fn next_answer(&mut self, run: RunNo) -> Option<NextAnswer> {
        let open = self.open.get(&run).filter(|open| !open.state.is_unfinished() && !open.detached)?;
        let root = open.script?;
        let approvals = approvals(&open.program, &open.state, &open.requests);
        let scripted = self.scripts.get_mut(&root).expect("the script of a run is loaded while the run is open");
        for approval in approvals {
            let key = (run, approval.key.clone());
            if scripted.unanswered.contains(&key) {
                continue;
            }
            if !scripted.answers.contains_key(&key) {
                let number = if let ApprovalKey::Request(request) = &approval.key { request.0 } else { 0 };
                let taker = Taker { run, seq: open.state.seq(), number, attempt: 0 };
                let used = scripted.used.remove(&(run, number, 0)).filter(|_| number > 0);
                let answer = match used.and_then(|entry| scripted.script.use_entry(&entry)) {
                    Some(answer) => Some(answer),
                    None => scripted.use_approval_entry(&approval, &open.place).map(|(entry, answer)| {
                        self.store.use_entry(root, UsedEntry { entry, taker });
                        answer
                    }),
                };
                let Some(answer) = answer else {
                    if scripted.script.recording().is_some() {
                        let text =
                            format!("The recorded script has no answer to the request of step `{}`.", approval.step);
                        let (id, kind) = (open.id.clone(), RunEventKind::Message(text));
                        self.current.outputs.push(TurnOutput::Event(RunEvent { run, id, kind }));
                    }
                    scripted.unanswered.insert(key);
                    continue;
                };
                scripted.answers.insert(key.clone(), RequestAnswer::of(&answer));
            }
            let answer = scripted.answers.get_mut(&key).expect("it was just inserted");
            let Some((event, shown)) = answer.next(&approval) else {
                scripted.unanswered.insert(key);
                continue;
            };
            // A step may request an answer under the same key again, and then gets the next one.
            if !matches!(key.1, ApprovalKey::Request(_)) {
                scripted.answers.remove(&key);
            }
            let valid = valid_answers(&approval);
            return Some(NextAnswer { key: key.1, step: approval.step, event, shown, valid });
        }
        None
    }

    /// Loads the script of a run that is being opened. `None` means that the calls of the run are executed.
    pub(super) fn load_script(&mut self, row: &Run) -> Result<Option<RunNo>, StoreError> {
        let root = self.store.root_of(row.run)?;
        if self.scripts.contains_key(&root) {
            return Ok(Some(root));
        }
        let Some(bound) = self.store.script(root)?.filter(|script| script.live_ms.is_none()) else { return Ok(None) };
        let root_row = self.store.row(root)?;
        let scripted = self.open_script(&root_row, &bound.script, self.store.used_entries(root)?)?;
        self.scripts.insert(root, scripted);
        Ok(Some(root))
    }

    fn open_script(&self, row: &Run, script: &Value, used: Vec<UsedEntry>) -> Result<Scripted, StoreError> {
        let mut scripted = Scripted::open(&self.store, row, script, used)?;
        let variable =
            |name: &str| (self.settings.facts)(&crate::recordings::fact_of(name)).as_str().map(ToOwned::to_owned);
        scripted.script.resolve_variables(variable).map_err(|missing| unusable(row, missing.to_string()))?;
        scripted.script.add_secrets(self.settings.env_secrets.values());
        Ok(scripted)
    }

    /// The stored form of a script. Secrets of the environment that appear in it are added to the secrets of its run.
    pub(super) fn packed_script(
        &self,
        script: &Value,
        secrets: &mut Vec<String>,
    ) -> Result<Packed, branchpoint_core::codec::CodecError> {
        let mut packing = Packing::new(secrets.as_slice());
        let mut packed = packing.value(script)?;
        let exposed = self.settings.env_secrets.exposed_in(&packed, &packing);
        if !exposed.is_empty() {
            secrets.extend(exposed);
            packing = Packing::new(secrets.as_slice());
            packed = packing.value(script)?;
        }
        Ok(packed)
    }

    /// Binds a script to a new run.
    pub(super) fn bind_script(&mut self, row: &Run, script: &Value, packed: Packed) -> Result<RunNo, StoreError> {
        let scripted = self.open_script(row, script, Vec::new())?;
        self.store.bind_script(row.run, packed, Vec::new());
        self.scripts.insert(row.run, scripted);
        Ok(row.run)
    }

    /// Binds the script of the original run to its fork. Entries that were used at the moment of the fork stay used.
    pub(super) fn fork_script(
        &mut self,
        from: &Run,
        moment: &ForkMoment,
        open: &Open,
        fork: &Run,
        with: &CallSource,
    ) -> Result<Option<RunNo>, StoreError> {
        let root = self.store.root_of(from.run)?;
        let Some(bound) = self.store.script(root)? else { return Ok(None) };
        let mut used = Vec::new();
        for entry in self.store.used_entries(root)? {
            if self.was_used(entry.taker, from.run, moment)? {
                used.push(UsedEntry { taker: Taker::default(), ..entry });
            }
        }
        let packed = open.packing.value(&bound.script);
        let packed = packed.map_err(|error| StoreError::Bytes { run: fork.id.clone(), error })?;
        self.store.bind_script(fork.run, packed, used.clone());
        if *with == CallSource::Runners || bound.live_ms.is_some() {
            self.store.set_live_later(fork.run, fork.started_ms);
            return Ok(None);
        }
        let scripted = self.open_script(&self.store.row(root)?, &bound.script, used)?;
        self.scripts.insert(fork.run, scripted);
        Ok(Some(fork.run))
    }

    /// Whether an entry was used at the moment of a fork. The entries of calls in flight are available, because these are repeated.
    fn was_used(&self, taker: Taker, from: RunNo, moment: &ForkMoment) -> Result<bool, StoreError> {
        if taker.run == RunNo::default() {
            return Ok(true);
        }
        if taker.run == from {
            return Ok(taker.seq <= moment.events && moment.has_ended(taker.number, taker.attempt));
        }
        // A descendant counts as the call of the forked run that it belongs to.
        let mut run = taker.run;
        while let Some(parent) = self.store.row(run)?.parent {
            if parent.run == from {
                return Ok(moment.has_ended(parent.effect, parent.attempt));
            }
            run = parent.run;
        }
        Ok(self.store.position_of(taker.run, taker.seq)? <= self.store.position_of(from, moment.events)?)
    }

    /// Changes the source of a resumed run's calls, within the transaction that claims it.
    pub(super) fn change_script(
        &mut self,
        run: RunNo,
        with: CallSource,
        now_ms: i64,
    ) -> Result<Result<(), Rejection>, StoreError> {
        match with {
            CallSource::Script => Ok(Ok(())),
            CallSource::Runners => self.continue_live(run, now_ms),
            CallSource::NewScript(script) => self.rebind_script(run, &script, &[]),
            CallSource::ScriptOf(other) => self.inherit_script(run, other),
        }
    }

    /// Continues a scripted run without its script. Rejected while another process drives the run.
    fn continue_live(&mut self, run: RunNo, now_ms: i64) -> Result<Result<(), Rejection>, StoreError> {
        let root = match self.root_to_change(run)? {
            Ok(root) => root,
            Err(rejection) => return Ok(Err(rejection)),
        };
        self.store.set_live(root, now_ms)?;
        self.scripts.remove(&root);
        Ok(Ok(()))
    }

    /// Continues a run with another script.
    fn rebind_script(
        &mut self,
        run: RunNo,
        script: &Value,
        used: &[UsedEntry],
    ) -> Result<Result<(), Rejection>, StoreError> {
        let root = match self.root_to_change(run)? {
            Ok(root) => root,
            Err(rejection) => return Ok(Err(rejection)),
        };
        let mut secrets = self.packing(root)?.secrets.to_vec();
        let sealed = secrets.len();
        let packed = match self.packed_script(script, &mut secrets) {
            Ok(packed) => packed,
            Err(error) => return Ok(Err(Rejection::Unstorable(error.to_string()))),
        };
        if secrets.len() > sealed {
            self.seal(root, &secrets)?;
        }
        self.store.write_script(root, &packed, used)?;
        self.scripts.remove(&root);
        Ok(Ok(()))
    }

    /// Continues a run with the script of another run, at the entry that the other run has reached.
    fn inherit_script(&mut self, run: RunNo, other: RunNo) -> Result<Result<(), Rejection>, StoreError> {
        let root = self.store.root_of(other)?;
        let Some(bound) = self.store.script(root)? else { return Ok(Ok(())) };
        let used = self.store.used_entries(root)?.into_iter();
        let used: Vec<UsedEntry> = used.map(|used| UsedEntry { taker: Taker::default(), ..used }).collect();
        self.rebind_script(run, &bound.script, &used)
    }

    /// The root run of a run whose script is changed. Rejected while a process drives either of them.
    fn root_to_change(&self, run: RunNo) -> Result<Result<RunNo, Rejection>, StoreError> {
        let root = self.store.root_of(run)?;
        for run in [run, root] {
            if self.open.contains_key(&run)
                || self.store.row(run)?.owner.is_some_and(|owner| self.store.is_alive(owner))
            {
                return Ok(Err(Rejection::Driven));
            }
        }
        Ok(Ok(root))
    }

    /// The secrets for child runs of a scripted run. A replay sends nothing, so missing secrets are replaced by the mask.
    pub(super) fn secrets_for(&self, script: Option<RunNo>) -> SecretStore {
        let recorded =
            script.and_then(|root| self.scripts.get(&root)).is_some_and(|scripted| scripted.facts().is_some());
        let secrets = Arc::clone(&self.settings.secrets);
        if recorded { Arc::new(move |name| secrets(name).or_else(|| Some(MASK.to_owned()))) } else { secrets }
    }

    /// Drops a script that no open run needs.
    pub(super) fn drop_script(&mut self, script: Option<RunNo>) {
        if let Some(root) = script
            && !self.open.values().any(|open| open.script == Some(root))
        {
            self.scripts.remove(&root);
        }
    }
}

impl Order {
    /// The order of this process to open a run.
    pub(super) fn wake(run: RunNo) -> Self {
        Self::Wake { run, watched: false, with: CallSource::Script, requester: super::Requester::None }
    }
}
