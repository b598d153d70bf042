//! Scripts of runs: whoever drives a scripted run, the script answers its calls and questions.
//!
//! Which answer a call gets follows from the journal alone: each call takes the next answer of its step when it is asked for, in
//! the order in which events are committed. A process that opens a run reads the journal of the run and its child runs, and
//! continues at the same answer.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use branchpoint_core::effect::Kind;
use branchpoint_core::{Approval, ApprovalKey, EffectNo, Event, RESUME, approvals};
use branchpoint_expr::{Object, Value};

use super::open::Open;
use super::{Act, ContinueWith, Host, Order, Refused};
use crate::recordings::{Happened, History, Vote};
use crate::script::{Reply, Script, written_votes};
use crate::store::{Packed, Packing, Run, RunNo, RunScript, Store, Trouble};
use branchpoint_runners::SecretStore;
use branchpoint_runners::{Answer, Call, Runner as _};
use branchpoint_runners::{MASK, Secrets};

/// How many answers to questions scripts give in one turn: an endless conversation must not stop the other runs.
const ANSWERS_A_TURN: usize = 256;

/// The script of a root run and its child runs, with the answers that are left.
pub(super) struct Scripted {
    script: Script,
    /// The ids of the steps of all programs of the workflow.
    steps: BTreeSet<Arc<str>>,
    /// Values that the identities of calls must not depend on.
    secrets: Secrets,
    /// Answers of calls that were in flight when the run was opened.
    reserved: BTreeMap<(RunNo, EffectNo, u32), Reply>,
    /// Answers to open questions.
    given: BTreeMap<(RunNo, ApprovalKey), Given>,
    /// The entries that open questions use, by step.
    asked: Vec<(Arc<str>, usize)>,
    /// Open questions that the script does not answer, or answered wrongly.
    unanswered: BTreeSet<(RunNo, ApprovalKey)>,
}

/// The answer of a script to a question.
enum Given {
    /// Every recipient says this, until the question is settled.
    Everyone(Value),
    /// Votes that are left, one after the other.
    Votes(VecDeque<Vote>),
}

impl Given {
    fn of(entry: &Value) -> Self {
        match written_votes(entry) {
            Some(votes) => Self::Votes(votes.into()),
            None => Self::Everyone(entry.get("$output").unwrap_or(entry).clone()),
        }
    }

    /// The next event for an approval; none if every answer was given.
    fn next(&mut self, approval: &Approval) -> Option<(Event, String)> {
        match self {
            Self::Everyone(said) => {
                let missing = approval.missing_voters();
                let user = missing.first().map(|user| &**user);
                let answerable = user.is_some() || approval.request.is_none();
                answerable.then(|| (approval.key.answer(user, said, None), format!("`{said}`")))
            }
            Self::Votes(votes) => {
                let Vote { user, choice, comment } = votes.pop_front()?;
                let event = approval.key.answer(Some(&user), &Value::from(&*choice), comment.as_deref());
                Some((event, format!("`{choice}` of {user}")))
            }
        }
    }
}

impl Scripted {
    /// The script of a root run, at the position that it was bound with.
    fn open(store: &Store, row: &Run, script: &Value, used: Option<&Value>) -> Result<Self, Trouble> {
        let mut script = Script::read(script).map_err(|wrong| unusable(row, wrong.to_string()))?;
        script.played_since(row.started_ms);
        if used.is_some_and(|used| !script.seek(used)) {
            return Err(unusable(row, "the recorded position does not belong to this script".into()));
        }
        let mut steps = BTreeSet::new();
        for part in store.parts(row.workflow)? {
            let program = store.program(row.workflow, &part)?;
            steps.extend(program.iter().flat_map(|program| program.steps.iter().map(|step| step.id.clone())));
        }
        Ok(Self {
            script,
            steps,
            secrets: Secrets::default(),
            reserved: BTreeMap::new(),
            given: BTreeMap::new(),
            asked: Vec::new(),
            unanswered: BTreeSet::new(),
        })
    }

    /// Whether the script answers a call, be it with an error. Messages are logged in any case.
    fn answers(&self, call: &Call) -> bool {
        match &call.step {
            _ if self.script.recorded().is_some() => call.kind() != Kind::Notify,
            Some(step) => self.script.knows(step),
            None => self.script.knows(call.kind().as_str()) && !self.steps.contains(call.kind().as_str()),
        }
    }

    /// Whether a step that would call another workflow is answered instead.
    pub(super) fn replaces(&self, step: &Arc<str>) -> bool {
        self.script.recorded().map_or_else(|| self.script.knows(step), |recorded| recorded.outside.contains(step))
    }

    /// The facts that a recorded script was given.
    pub(super) fn facts(&self) -> Option<&Object> {
        self.script.recorded().map(|recorded| &recorded.facts)
    }

    /// Masks these values too in what calls were asked with.
    fn mask(&mut self, secrets: &[String]) {
        let new: Vec<String> = secrets.iter().filter(|value| !self.secrets.values().contains(value)).cloned().collect();
        if !new.is_empty() {
            self.secrets.add(new);
            self.script.mask_with(self.secrets.clone());
        }
    }

    /// Uses the answers that a journal has used from a place on. `until` limits it to the moment at which a run is forked:
    /// what was in flight then is done again, and its answers are available.
    fn replay(&mut self, history: &History, from: i64, until: Option<(RunNo, i64)>) {
        self.mask(history.secrets.values());
        self.script.hide(&history.secret_variables());
        let last = until.map_or(i64::MAX, |(_, last)| last);
        for item in history.items.iter().filter(|item| item.position > from && item.position <= last) {
            let ended = item.ended_at.is_some_and(|at| at <= last);
            let returned = until.is_none_or(|(top, last)| history.has_returned(item.run, top, last));
            match &item.happened {
                Happened::Called { call, .. } if self.answers(call) => {
                    if let Ok(reply) = self.script.reply(call)
                        && !(ended && returned)
                    {
                        self.reserved.insert((item.run, call.effect, call.attempt), reply);
                    }
                }
                Happened::Called { .. } => {}
                Happened::Asked { step, question, request, .. } => {
                    if let Some((entry, said)) = self.script.said_at(step, question)
                        && !(ended && returned)
                    {
                        self.asked.push((step.clone(), entry));
                        self.given.insert((item.run, ApprovalKey::Request(*request)), Given::of(&said));
                    }
                }
                Happened::Said { step, .. } => {
                    let name = if self.script.knows(step) { step } else { RESUME };
                    // Whether the answer came from the script or not, the question counts.
                    let _ = self.script.said(name, &Value::Null);
                }
            }
        }
    }

    /// Makes the answers of open calls and questions available again.
    fn give_back(&mut self, history: &History) {
        self.given.clear();
        for (step, entry) in std::mem::take(&mut self.asked) {
            self.script.give_back(&step, &[], entry);
        }
        for item in &history.items {
            let Happened::Called { call, .. } = &item.happened else { continue };
            if let Some(reply) = self.reserved.remove(&(item.run, call.effect, call.attempt)) {
                self.script.give_back(&call.name(), &call.path, reply.entry);
            }
        }
    }
}

fn unusable(row: &Run, reason: String) -> Trouble {
    Trouble::Script { run: row.id.clone(), reason }
}

/// The answers that a root run and its child runs have used. Calls and questions that are open use theirs again.
pub(crate) fn used_answers(store: &Store, row: &Run, bound: &RunScript) -> Result<Value, Trouble> {
    let mut scripted = Scripted::open(store, row, &bound.script, bound.used.as_ref())?;
    let history = store.history(row.run)?;
    scripted.replay(&history, bound.from_position, None);
    scripted.give_back(&history);
    Ok(scripted.script.position())
}

impl Host {
    /// Whether the script of a run replaces a call of another workflow.
    pub(super) fn is_replaced(&self, script: Option<RunNo>, call: &Call) -> bool {
        let scripted = script.and_then(|root| self.scripts.get(&root));
        scripted.is_some_and(|scripted| call.step.as_ref().is_some_and(|step| scripted.replaces(step)))
    }

    /// Lets the script of a run answer a call. Gives the call back if there is no script, or if it leaves the call to runners.
    pub(super) fn answer_call(&mut self, run: RunNo, call: Call) -> Option<Call> {
        let Some(open) = self.open.get(&run) else { return Some(call) };
        let Some(root) = open.script else { return Some(call) };
        let scripted = self.scripts.get_mut(&root).expect("the script of a run is loaded while the run is open");
        let reply = match scripted.reserved.remove(&(run, call.effect, call.attempt)) {
            Some(reply) => Ok(reply),
            None if !scripted.answers(&call) => return Some(call),
            None => {
                scripted.mask(&open.packing.secrets);
                scripted.script.at(open.state.now_ms());
                scripted.script.reply(&call)
            }
        };
        match reply {
            Ok(reply) if reply.is_delayed(&call) => {
                let workflow = open.workflow;
                self.acts.push(Act::Perform { run, workflow, call, reply: Some(Box::new(reply)) });
            }
            Ok(reply) => self.settle(run, &call, reply.answer),
            Err(why) => {
                // The workflow may handle the failure; whoever replays it must know that it took another course.
                self.note(run, &format!("{why}."));
                self.settle(run, &call, Answer::refused("step_failed", why));
            }
        }
        None
    }

    /// Gives the answers of scripts to the questions of the runs that took events in this turn.
    pub(super) fn answer_questions(&mut self, now_ms: i64) -> Result<(), Trouble> {
        let mut runs: Vec<RunNo> = std::mem::take(&mut self.answerable).into_iter().collect();
        let is_scripted = |run: &RunNo| self.open.get(run).is_some_and(|open| open.script.is_some());
        runs.extend(self.touched.iter().copied().filter(is_scripted));
        let mut left = ANSWERS_A_TURN;
        for run in runs {
            while left > 0 && self.answer_question(run, now_ms)? {
                left -= 1;
            }
            if left == 0 {
                self.answerable.insert(run);
            }
        }
        Ok(())
    }

    /// Gives one answer to a question of a run. False: there is none to give.
    fn answer_question(&mut self, run: RunNo, now_ms: i64) -> Result<bool, Trouble> {
        while self.open.get(&run).is_some_and(|open| !open.state.is_unfinished()) && self.fire_due(run, now_ms)? {}
        let Some((key, step, event, shown)) = self.next_answer(run) else { return Ok(false) };
        if let Err(refused) = self.apply(run, event, now_ms)? {
            let text = format!("The script's answer {shown} to step `{step}` was rejected: {refused}.");
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
        let secrets = Secrets::from_values(sealed.into_iter().chain(self.private.values().iter().cloned()));
        self.acts.push(Act::Noted { run, text: secrets.mask(text).into_owned() });
    }

    fn next_answer(&mut self, run: RunNo) -> Option<(ApprovalKey, Arc<str>, Event, String)> {
        let open = self.open.get(&run).filter(|open| !open.state.is_unfinished() && !open.detached)?;
        let root = open.script?;
        let now_ms = open.state.now_ms();
        let approvals = approvals(&open.program, &open.state, &open.questions);
        let scripted = self.scripts.get_mut(&root).expect("the script of a run is loaded while the run is open");
        for approval in approvals {
            let key = (run, approval.key.clone());
            if scripted.unanswered.contains(&key) {
                continue;
            }
            if !scripted.given.contains_key(&key) {
                let name = scripted.script.key_of(&approval);
                scripted.script.at(now_ms);
                let Some(said) = scripted.script.said(&name, &approval.spec) else {
                    if scripted.script.recorded().is_some() {
                        let text =
                            format!("The recorded script has no answer to the question of step `{}`.", approval.step);
                        self.acts.push(Act::Noted { run, text });
                    }
                    scripted.unanswered.insert(key);
                    continue;
                };
                scripted.given.insert(key.clone(), Given::of(&said));
            }
            let given = scripted.given.get_mut(&key).expect("it was just inserted");
            let Some((event, shown)) = given.next(&approval) else {
                scripted.unanswered.insert(key);
                continue;
            };
            // A step may ask again under the same key, and then takes the next answer.
            if !matches!(key.1, ApprovalKey::Request(_)) {
                scripted.given.remove(&key);
            }
            return Some((key.1, approval.step, event, shown));
        }
        None
    }

    /// The script of a run that is opened, loaded if it is not. None: the calls of the run are executed.
    pub(super) fn load_script(&mut self, row: &Run) -> Result<Option<RunNo>, Trouble> {
        let root = self.store.root_of(row.run)?;
        if self.scripts.contains_key(&root) {
            return Ok(Some(root));
        }
        let Some(bound) = self.store.script(root)?.filter(|script| script.live_ms.is_none()) else { return Ok(None) };
        let root_row = self.store.row(root)?;
        let mut scripted = self.open_script(&root_row, &bound.script, bound.used.as_ref())?;
        scripted.replay(&self.store.history(root)?, bound.from_position, None);
        self.scripts.insert(root, scripted);
        Ok(Some(root))
    }

    fn open_script(&self, row: &Run, script: &Value, used: Option<&Value>) -> Result<Scripted, Trouble> {
        let mut scripted = Scripted::open(&self.store, row, script, used)?;
        let variable = |name: &str| (self.facts)(&crate::recordings::fact_of(name)).as_str().map(ToOwned::to_owned);
        scripted.script.look_up(variable).map_err(|missing| unusable(row, missing.to_string()))?;
        scripted.mask(self.private.values());
        Ok(scripted)
    }

    /// The stored form of a script, and the secrets of its run: those of the environment that stand in the script are sealed too.
    pub(super) fn packed_script(
        &self,
        script: &Value,
        secrets: &mut Vec<String>,
    ) -> Result<Packed, branchpoint_core::codec::CodecError> {
        let mut packing = Packing::new(secrets.as_slice());
        let mut packed = packing.value(script)?;
        let found = self.private.found(&packed, &packing);
        if !found.is_empty() {
            secrets.extend(found);
            packing = Packing::new(secrets.as_slice());
            packed = packing.value(script)?;
        }
        Ok(packed)
    }

    /// Binds a script to a run that begins. Its calls are answered from now on.
    pub(super) fn bind_script(&mut self, row: &Run, script: &Value, packed: Packed) -> Result<RunNo, Trouble> {
        let scripted = self.open_script(row, script, None)?;
        self.store.bind_script(row.run, packed, 0, None);
        self.scripts.insert(row.run, scripted);
        Ok(row.run)
    }

    /// Gives a forked run the script of its origin, as far as it was used after the first events of the origin.
    pub(super) fn fork_script(
        &mut self,
        from: &Run,
        events: u64,
        open: &Open,
        fork: &Run,
        with: &ContinueWith,
    ) -> Result<Option<RunNo>, Trouble> {
        let root = self.store.root_of(from.run)?;
        let Some(bound) = self.store.script(root)? else { return Ok(None) };
        let root_row = self.store.row(root)?;
        let mut scripted = self.open_script(&root_row, &bound.script, bound.used.as_ref())?;
        let history = self.store.history(root)?;
        let last = self.store.position_of(from.run, events)?;
        scripted.replay(&history, bound.from_position, Some((from.run, last)));
        scripted.give_back(&history);
        let packed = open.packing.value(&bound.script);
        let packed = packed.map_err(|error| Trouble::Bytes { run: fork.id.clone(), error })?;
        self.store.bind_script(fork.run, packed, open.state.seq(), Some(&scripted.script.position()));
        if *with == ContinueWith::Runners || bound.live_ms.is_some() {
            self.store.set_live_later(fork.run, fork.started_ms);
            return Ok(None);
        }
        self.scripts.insert(fork.run, scripted);
        Ok(Some(fork.run))
    }

    /// Changes who answers the calls of a run that is continued, inside the transaction that claims it.
    pub(super) fn change_script(
        &mut self,
        run: RunNo,
        with: ContinueWith,
        now_ms: i64,
    ) -> Result<Result<(), Refused>, Trouble> {
        match with {
            ContinueWith::Script => Ok(Ok(())),
            ContinueWith::Runners => self.continue_live(run, now_ms),
            ContinueWith::NewScript(script) => self.rebind_script(run, &script, None),
            ContinueWith::ScriptOf(other) => self.inherit_script(run, other),
        }
    }

    /// Continues a scripted run without its script. Refused while another process drives the run.
    fn continue_live(&mut self, run: RunNo, now_ms: i64) -> Result<Result<(), Refused>, Trouble> {
        let root = match self.root_to_change(run)? {
            Ok(root) => root,
            Err(refused) => return Ok(Err(refused)),
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
        used: Option<&Value>,
    ) -> Result<Result<(), Refused>, Trouble> {
        let root = match self.root_to_change(run)? {
            Ok(root) => root,
            Err(refused) => return Ok(Err(refused)),
        };
        let mut secrets = self.packing(root)?.secrets.to_vec();
        let sealed = secrets.len();
        let packed = match self.packed_script(script, &mut secrets) {
            Ok(packed) => packed,
            Err(error) => return Ok(Err(Refused::Unstorable(error.to_string()))),
        };
        if secrets.len() > sealed {
            self.seal(root, &secrets)?;
        }
        self.store.rebind_script(root, &packed, used)?;
        self.scripts.remove(&root);
        Ok(Ok(()))
    }

    /// Continues a run with the script of another, where the other run has stopped.
    fn inherit_script(&mut self, run: RunNo, other: RunNo) -> Result<Result<(), Refused>, Trouble> {
        let root = self.store.root_of(other)?;
        let Some(bound) = self.store.script(root)? else { return Ok(Ok(())) };
        let root_row = self.store.row(root)?;
        let mut scripted = self.open_script(&root_row, &bound.script, bound.used.as_ref())?;
        scripted.replay(&self.store.history(root)?, bound.from_position, None);
        self.rebind_script(run, &bound.script, Some(&scripted.script.position()))
    }

    /// The root run of a run whose script can be changed: no process drives either of them.
    fn root_to_change(&self, run: RunNo) -> Result<Result<RunNo, Refused>, Trouble> {
        let root = self.store.root_of(run)?;
        for run in [run, root] {
            if self.open.contains_key(&run)
                || self.store.row(run)?.owner.is_some_and(|owner| self.store.is_alive(owner))
            {
                return Ok(Err(Refused::Driven));
            }
        }
        Ok(Ok(root))
    }

    /// Where child runs of a scripted run find secrets. Nothing leaves a recorded run, so a secret that is not set is not needed.
    pub(super) fn secrets_for(&self, script: Option<RunNo>) -> SecretStore {
        let recorded =
            script.and_then(|root| self.scripts.get(&root)).is_some_and(|scripted| scripted.facts().is_some());
        let secrets = Arc::clone(&self.secrets);
        if recorded { Arc::new(move |name| secrets(name).or_else(|| Some(MASK.to_owned()))) } else { secrets }
    }

    /// Forgets scripts that no open run needs.
    pub(super) fn drop_script(&mut self, script: Option<RunNo>) {
        if let Some(root) = script
            && !self.open.values().any(|open| open.script == Some(root))
        {
            self.scripts.remove(&root);
        }
    }
}

impl Order {
    /// A run is opened by its own process to be performed again.
    pub(super) fn wake(run: RunNo) -> Self {
        Self::Wake { run, watched: false, with: ContinueWith::Script, asker: super::Asker::Nobody }
    }
}
