//! The records of runs in responses.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_backend::{Backend, OpenApprovals, Run, RunTrace, RunView};
use branchpoint_core::ir::Status;
use branchpoint_core::{Event, StepRecord, StepStatus, Usage};
use branchpoint_expr::{Object, Value, preview};
use branchpoint_runners::Secrets;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::catalogue::Version;
use crate::problem::Problem;
use crate::time::{now_ms, rfc3339};

/// The tokens and the cost of calls.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
pub(crate) struct UsageRecord {
    tokens: u64,
    /// The cost in millionths of a dollar.
    cost_micros: u64,
}

impl From<Usage> for UsageRecord {
    fn from(usage: Usage) -> Self {
        Self { tokens: usage.tokens, cost_micros: usage.cost_micros }
    }
}

/// An error of a run or of a step.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ErrorRecord {
    pub(crate) kind: String,
    pub(crate) message: String,
    /// The step that failed.
    pub(crate) step: Option<String>,
}

/// The latest decision of a run.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct LastDecision {
    step: String,
    branch: Option<String>,
    sentence: Option<String>,
}

impl LastDecision {
    /// Reads the text of a row: the step, the branch and the reason, `tier → high: the reason`.
    fn parse(text: &str) -> Self {
        let (head, sentence) = match text.split_once(": ") {
            Some((head, sentence)) => (head, Some(sentence.to_owned())),
            None => (text, None),
        };
        // Positions and rounds follow in parentheses: `high (branch 1 of 2)`.
        let head = head.rsplit_once(" (").filter(|(_, detail)| detail.ends_with(')')).map_or(head, |(head, _)| head);
        let (step, branch) = match head.split_once(" → ") {
            Some((step, branch)) => (step, Some(branch.to_owned())),
            None => (head, None),
        };
        Self { step: step.to_owned(), branch, sentence }
    }
}

/// What a run waits for.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct WaitsFor {
    /// The key of the approval.
    approval: Option<String>,
    /// The end of the wait.
    until: Option<String>,
    /// The approvers who have not voted; null if anyone can answer.
    people: Option<Vec<String>>,
}

/// A run in a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Run)]
pub(crate) struct RunRecord {
    pub(crate) id: String,
    /// The name of the workflow.
    pub(crate) workflow: String,
    /// The version of the workflow.
    version: u32,
    dialect: String,
    #[schema(value_type = crate::schemas::RunStatus, example = "completed")]
    status: &'static str,
    started: String,
    /// The time of the latest event.
    updated: String,
    ended: Option<String>,
    /// The duration without waits for people.
    active_ms: i64,
    /// The duration of waits for people.
    waited_ms: i64,
    usage: UsageRecord,
    last_decision: Option<LastDecision>,
    tags: Vec<String>,
    /// The priority in queues, from -100 to 100.
    priority: i64,
    /// The steps that run or wait now.
    current: Vec<String>,
    waiting_for: Option<WaitsFor>,
    error: Option<ErrorRecord>,
    /// The run that called this run.
    parent: Option<String>,
    /// What answers the calls: `none` for runners, `script`, or `recording`.
    #[schema(value_type = crate::schemas::AnsweredBy)]
    script: &'static str,
    /// Whether a process drives the run.
    driven: bool,
}

/// A run with everything that is not in its trace.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct RunDetail {
    #[serde(flatten)]
    run: RunRecord,
    input: Value,
    result: Value,
    /// The facts that the run was started with.
    facts: Value,
    /// The flags that policies have set.
    flags: Value,
    /// The hash of the workflow with its programs.
    program_hash: String,
    /// The number of events.
    seq: u64,
    /// Why the run is queued; null if it is not.
    queued: Option<QueuedRecord>,
    /// The first runs that this run called.
    children: Vec<RunRecord>,
    /// The number of runs that this run called.
    children_total: usize,
    /// The calls in flight.
    calls_in_flight: Vec<CallInFlight>,
    /// Why the secrets of the run are not available, or why the run cannot be read.
    problem: Option<String>,
}

/// Why a run waits in a queue.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct QueuedRecord {
    /// The position in the queue, counted from 1.
    position: u64,
    /// The group of runs that the limit counts.
    group: Option<String>,
    reason: String,
}

/// A call in flight.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct CallInFlight {
    step: String,
    kind: String,
    since: String,
}

/// The most called runs in the record of a run. `GET /runs/{run}/children` lists all.
const MAX_CHILDREN: usize = 50;

/// A loaded run, or why it cannot be read.
type Loaded = Result<RunView, String>;

/// Reads records of runs.
pub(crate) struct RunReader<'r> {
    app: &'r App,
    backend: &'r dyn Backend,
    owners: Vec<i64>,
}

impl<'r> RunReader<'r> {
    pub(crate) fn new(app: &'r App, backend: &'r dyn Backend) -> Result<Self, Problem> {
        let owners = backend.drivers()?.into_iter().map(|driver| driver.owner).collect();
        Ok(Self { app, backend, owners })
    }

    fn load(&self, run: &Run) -> Result<Loaded, Problem> {
        match self.backend.load_stored(run.run) {
            Ok(view) => Ok(Ok(view)),
            Err(error) if error.is_of_one_run() => Ok(Err(error.to_string())),
            Err(error) => Err(error.into()),
        }
    }

    /// The record of a run.
    pub(crate) fn record(&self, run: &Run) -> Result<RunRecord, Problem> {
        let (loaded, secrets) = (self.load(run)?, self.backend.secrets(run.run)?);
        self.with_view(run, &loaded, &secrets)
    }

    fn with_view(&self, run: &Run, loaded: &Loaded, secrets: &Secrets) -> Result<RunRecord, Problem> {
        let status = if run.status == Status::Running { self.backend.status(run.run)? } else { run.status };
        let (current, waiting_for) = self.waits(run, status, secrets)?;
        Ok(RunRecord {
            usage: loaded.as_ref().map(|view| view.state.usage()).unwrap_or_default().into(),
            current,
            waiting_for,
            error: error_of(loaded, secrets),
            ..self.of_row(run, status)?
        })
    }

    /// The record of a run from its row alone.
    fn of_row(&self, run: &Run, status: Status) -> Result<RunRecord, Problem> {
        let version = self.app.version(self.backend, run.workflow)?;
        let parent = run.parent.map(|parent| self.backend.row(parent.run)).transpose()?;
        Ok(RunRecord {
            id: run.id.clone(),
            workflow: name_of(run, &version),
            version: version.version,
            dialect: version.dialect.to_string(),
            status: status.as_str(),
            started: rfc3339(run.started_ms),
            updated: rfc3339(run.updated_ms),
            ended: status.is_final().then(|| rfc3339(run.updated_ms)),
            active_ms: active_ms(run, status),
            waited_ms: run.waited_ms,
            usage: Usage::default().into(),
            last_decision: run.decision.as_deref().map(LastDecision::parse),
            tags: run.tags.as_slice().to_vec(),
            priority: run.priority.get(),
            current: Vec::new(),
            waiting_for: None,
            error: None,
            parent: parent.map(|parent| parent.id),
            script: self.script(run)?,
            driven: run.owner.is_some_and(|owner| self.owners.contains(&owner)),
        })
    }

    fn script(&self, run: &Run) -> Result<&'static str, Problem> {
        if !self.backend.is_scripted(run.run)? {
            return Ok("none");
        }
        let script = self.backend.script(run.run)?;
        Ok(if script.is_some_and(|script| script.is_recorded) { "recording" } else { "script" })
    }

    /// The steps that wait, and what the first of them waits for.
    fn waits(&self, run: &Run, status: Status, secrets: &Secrets) -> Result<(Vec<String>, Option<WaitsFor>), Problem> {
        match status {
            Status::WaitingPeople => {
                let OpenApprovals { open, .. } = self.backend.approvals(run.run)?;
                let steps = open.iter().map(|open| secrets.mask(&open.approval.step).into_owned()).collect();
                let first = open.first().map(|open| WaitsFor {
                    approval: Some(crate::routes::approvals::key_of(open)),
                    until: open.approval.deadline_ms().map(rfc3339),
                    people: (open.approval.request.is_some())
                        .then(|| open.approval.missing_voters().iter().map(ToString::to_string).collect()),
                });
                Ok((steps, first))
            }
            Status::WaitingTimer => {
                let until = self.backend.next_due_ms(run.run)?.map(rfc3339);
                Ok((Vec::new(), Some(WaitsFor { approval: None, until, people: None })))
            }
            _ => Ok((Vec::new(), None)),
        }
    }

    /// The record of a run that a client may look at: with its latest decision and its current steps.
    pub(crate) fn live_record(&self, run: &Run, with_steps: bool) -> Result<RunRecord, Problem> {
        let mut record = self.record(run)?;
        if with_steps && let Ok(trace) = self.app.trace(self.backend, run) {
            record.last_decision = last_decision(&trace, &self.backend.secrets(run.run)?);
            record.current = current(&trace);
        }
        Ok(record)
    }

    /// A run as it was when its start was stored: nothing is loaded and nothing replayed.
    pub(crate) fn accepted(app: &'r App, backend: &'r dyn Backend, run: &Run) -> Result<RunDetail, Problem> {
        let reader = Self { app, backend, owners: run.owner.into_iter().collect() };
        let secrets = backend.secrets(run.run)?;
        let (input, facts) = start_of(backend, run)?;
        let version = app.version(backend, run.workflow)?;
        let stored = Run { updated_ms: run.started_ms, waited_ms: 0, decision: None, ..run.clone() };
        Ok(RunDetail {
            input: secrets.mask_value(&input),
            result: Value::Null,
            facts: secrets.mask_value(&Value::from(facts)),
            flags: Value::Null,
            program_hash: version.hash.to_string(),
            seq: 1,
            queued: reader.queued(run, &secrets)?,
            children_total: 0,
            children: Vec::new(),
            calls_in_flight: Vec::new(),
            problem: None,
            run: RunRecord { driven: true, ..reader.of_row(&stored, Status::Running)? },
        })
    }

    fn queued(&self, run: &Run, secrets: &Secrets) -> Result<Option<QueuedRecord>, Problem> {
        let queued = self.backend.queued(run.run, now_ms())?;
        Ok(queued.map(|queued| QueuedRecord {
            position: queued.position,
            group: queued.group.map(|group| secrets.mask(&group).into_owned()),
            reason: secrets.mask(&queued.reason).into_owned(),
        }))
    }

    /// A run with its input, its result and its trace.
    pub(crate) fn detail(&self, run: &Run) -> Result<RunDetail, Problem> {
        let secrets = self.backend.secrets(run.run)?;
        let loaded = self.load(run)?;
        let mut record = self.with_view(run, &loaded, &secrets)?;
        let trace = loaded.as_ref().ok().map(|_| self.app.trace(self.backend, run)).transpose()?;
        if let Some(trace) = &trace {
            record.last_decision = last_decision(trace, &secrets);
            record.current = current(trace);
        }
        let (input, facts) = start_of(self.backend, run)?;
        let children = self.backend.children(run.run)?;
        let view = loaded.as_ref().ok();
        let version = self.app.version(self.backend, run.workflow)?;
        let problem = match &loaded {
            Err(problem) => Some(problem.clone()),
            Ok(_) => self.backend.unavailable_secrets(run.run)?,
        };
        Ok(RunDetail {
            input: secrets.mask_value(&input),
            result: secrets.mask_value(&view.and_then(RunView::result).unwrap_or_default()),
            facts: secrets.mask_value(&Value::from(facts)),
            flags: secrets.mask_value(&view.map(flags).unwrap_or_default()),
            program_hash: version.hash.to_string(),
            seq: run.seq,
            queued: self.queued(run, &secrets)?,
            children_total: children.len(),
            children: children.iter().take(MAX_CHILDREN).map(|child| self.record(child)).collect::<Result<_, _>>()?,
            calls_in_flight: trace.as_ref().map(|trace| calls_in_flight(trace)).unwrap_or_default(),
            problem,
            run: record,
        })
    }
}

/// The name of the workflow of a run; for a program of another workflow that it called, the name of that workflow.
pub(crate) fn name_of(run: &Run, version: &Version) -> String {
    if run.part.is_empty() { version.name.to_string() } else { run.part.clone() }
}

/// The time that a run has worked.
fn active_ms(run: &Run, status: Status) -> i64 {
    let is_at_rest = status.is_final() || status == Status::WaitingPeople;
    let until_ms = if is_at_rest { run.updated_ms } else { now_ms().max(run.updated_ms) };
    until_ms - run.started_ms - run.waited_ms
}

fn error_of(loaded: &Loaded, secrets: &Secrets) -> Option<ErrorRecord> {
    match loaded {
        Err(problem) => Some(ErrorRecord { kind: "damaged".into(), message: problem.clone(), step: None }),
        Ok(view) => view.failure().map(|failure| ErrorRecord {
            kind: secrets.mask(&failure.kind).into_owned(),
            message: secrets.mask(&failure.message).into_owned(),
            step: failure.step.map(|step| secrets.mask(&step).into_owned()),
        }),
    }
}

/// The flags that policies have set: `{step, policy, on, message}` each.
fn flags(view: &RunView) -> Value {
    view.view("flags").or_else(|| view.result()?.get("flags").cloned()).unwrap_or_default()
}

/// The input and the facts that a run was started with.
pub(crate) fn start_of(backend: &dyn Backend, run: &Run) -> Result<(Value, Object), Problem> {
    let first = match backend.first_event(run.run) {
        Err(error) if error.is_of_one_run() => None,
        first => first?,
    };
    Ok(match first {
        Some(Event::Start { input, facts, .. }) => (input, facts),
        _ => Default::default(),
    })
}

/// The latest decision of a trace.
pub(crate) fn last_decision(trace: &RunTrace, secrets: &Secrets) -> Option<LastDecision> {
    let decisions = trace.records.iter().flat_map(|record| &record.decisions);
    let decided = decisions.filter(|decided| decided.chosen.is_some()).max_by_key(|decided| decided.at_ms)?;
    let sentence = decided.sentence().render(|value| preview(&secrets.mask_value(value)));
    Some(LastDecision {
        step: id_of(trace, decided.step).to_string(),
        branch: decided.chosen().map(|branch| secrets.mask(&branch.name).into_owned()),
        sentence: Some(secrets.mask(&sentence).into_owned()),
    })
}

fn id_of(trace: &RunTrace, step: branchpoint_core::ir::StepId) -> Arc<str> {
    use branchpoint_core::ir::Index as _;
    trace.view.program.steps[step.index()].id.clone()
}

fn is_open(record: &StepRecord) -> bool {
    matches!(record.status, StepStatus::Running | StepStatus::Waiting(_))
}

/// The maximum number of steps that are listed as current.
const MAX_CURRENT: usize = 50;

/// The innermost steps that run or wait.
pub(crate) fn current(trace: &RunTrace) -> Vec<String> {
    let is_innermost = |index: &usize| {
        is_open(&trace.records[*index]) && !trace.children[*index].iter().any(|child| is_open(&trace.records[*child]))
    };
    let open = (0..trace.records.len()).filter(is_innermost);
    let mut steps = BTreeSet::new();
    for index in open {
        steps.insert(trace.step_id(index).to_owned());
        if steps.len() == MAX_CURRENT {
            break;
        }
    }
    steps.into_iter().collect()
}

/// The attempts that have not ended.
fn calls_in_flight(trace: &RunTrace) -> Vec<CallInFlight> {
    use branchpoint_core::ir::Index as _;
    let attempts = trace.records.iter().filter(|record| is_open(record)).filter_map(|record| {
        let attempt = record.attempts.last().filter(|attempt| attempt.ended_ms.is_none())?;
        let step = &trace.view.program.steps[record.step.index()];
        Some(CallInFlight { step: step.id.to_string(), kind: step.kind.to_string(), since: rfc3339(attempt.began_ms) })
    });
    attempts.take(MAX_CURRENT).collect()
}
