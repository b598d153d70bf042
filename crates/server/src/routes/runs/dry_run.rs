//! The path of a run that is not stored: nothing is performed, and the clock is virtual.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use axum::Json;
use axum::response::{IntoResponse, Response};
use branchpoint_backend::{Run, RunNo, RunTrace, RunView};
use branchpoint_core::ir::{Program, Status};
use branchpoint_core::{Approval, ApprovalKey, Records};
use branchpoint_expr::{Object, Value};
use branchpoint_host::{Script, SimulatedAnswer, VirtualDriver, votes_in_entry};
use branchpoint_runners::storage::Uploads;
use branchpoint_runners::{Answer, Secrets};
use serde::Serialize;
use utoipa::ToSchema;

use super::start::{StartRequest, values};
use super::step::{StepJson, StepWriter};
use crate::app::App;
use crate::prepared_workflows::{executable, prepare_unsaved};
use crate::problem::Problem;
use crate::time::now_ms;

/// The maximum number of ops of a dry run. A loop may have no end.
const MAX_OPS: u64 = 200_000;

/// The maximum number of steps in the response.
const MAX_STEPS: usize = 1_000;

/// The path of a run that was not stored.
#[derive(Serialize, ToSchema)]
pub(super) struct DryRun {
    dry_run: bool,
    #[schema(example = "completed")]
    status: &'static str,
    result: Value,
    /// The steps, in the order in which they began.
    steps: Vec<StepJson>,
    /// Steps for whose calls the script has no answer, with the kind of the call.
    missing: BTreeMap<String, String>,
    /// The steps whose approvals the script does not answer.
    waits_for: Vec<String>,
    /// Answers of the script that were rejected.
    rejected: Vec<String>,
}

/// Runs a workflow without performing or storing anything.
pub(super) async fn dry_run(app: &App, request: StartRequest, attachments: Uploads) -> Result<Response, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let script = shared.script_for(&request.workflow, request.script, false)?;
        let version = shared.find_version(backend, &request.workflow, request.version)?;
        let scripted = script.as_ref().map(|script| script.scripted_steps.clone()).unwrap_or_default();
        let executable = executable(backend, &version, scripted)?;
        let prepared = prepare_unsaved(&executable, version.workflow);
        let started = values(&shared, (&shared.host.user, true), &prepared, request.inputs, &attachments, "run")?;
        let mut script = script.map(|script| script.script).unwrap_or_default();
        let facts: Object = started.facts.into_iter().map(|(name, fact)| (name.into(), fact)).collect();
        let mut secrets = Secrets::of(&started.input);
        secrets.add(Secrets::of(&Value::from(facts.clone())).values());
        secrets.add(prepared.secrets.values());
        script.add_secrets(secrets.values());
        let is_recorded = script.recording().is_some();
        let children = if is_recorded { executable.children.clone() } else { BTreeMap::new() };
        let program = &executable.program;
        let facts = with_defaults(program, facts);
        let tried = attempt(program, &children, script, started.input, facts)?;
        Ok(Json(tried.response(program, &executable.document.text, &secrets)).into_response())
    })
    .await
}

/// Facts that the program names and the request does not have are null, or empty where the program expects an object.
fn with_defaults(program: &Program, mut facts: Object) -> Object {
    for name in &program.facts {
        let default = match &**name {
            "attachments" | "metadata" => Value::from(Object::default()),
            "run_id" => Value::from("run"),
            "user_attached" => Value::Bool(false),
            _ => Value::Null,
        };
        facts.entry(name.clone()).or_insert(default);
    }
    facts
}

/// A run that was tried.
struct Attempted {
    view: RunView,
    records: Records,
    missing: BTreeMap<String, String>,
    waits_for: Vec<String>,
    rejected: Vec<String>,
}

fn attempt(
    program: &Program,
    children: &BTreeMap<std::sync::Arc<str>, Program>,
    mut script: Script,
    input: Value,
    facts: Object,
) -> Result<Attempted, Problem> {
    let records = Rc::new(RefCell::new(Records::of(program)));
    let collected = Rc::clone(&records);
    let listener = Box::new(move |note: &branchpoint_core::Note| {
        let _ = collected.borrow_mut().add(note);
    });
    let host = VirtualDriver::new(program, now_ms());
    let mut host = host.with_children(children).with_max_ops(MAX_OPS).with_note_listener(listener);
    let rejected = |reason| Problem::invalid_input(format!("The run cannot start: {reason}."));
    host.start(input, facts).map_err(rejected)?;
    let (mut missing, mut rejected) = (BTreeMap::new(), Vec::new());
    loop {
        let mut simulate = |call: &branchpoint_runners::Call| simulate(&mut script, call, &mut missing);
        host.run_until_idle(&mut simulate);
        match (host.status(), host.next_timer_ms()) {
            // The clock is virtual, so waits take no time.
            (Status::WaitingTimer, Some(due_ms)) => host.advance_clock_to(due_ms, &mut simulate),
            (Status::WaitingPeople, _) if answer_one(&mut host, &mut script, &mut rejected) => {}
            _ => break,
        }
    }
    let waits_for = host.approvals().iter().map(|approval| approval.step.to_string()).collect();
    let row = Run {
        run: RunNo(0),
        id: "run".into(),
        workflow: branchpoint_backend::WorkflowNo(0),
        part: String::new(),
        status: host.status(),
        seq: host.state().seq(),
        owner: None,
        parent: None,
        folder: String::new(),
        started_ms: 0,
        updated_ms: 0,
        waited_ms: 0,
        tags: branchpoint_backend::Tags::default(),
        priority: branchpoint_backend::Priority::default(),
        decision: None,
    };
    let view = RunView { row, program: std::sync::Arc::new(program.clone()), state: host.state().clone() };
    drop(host);
    Ok(Attempted { view, records: records.replace(Records::of(program)), missing, waits_for, rejected })
}

fn simulate(
    script: &mut Script,
    call: &branchpoint_runners::Call,
    missing: &mut BTreeMap<String, String>,
) -> SimulatedAnswer {
    let step = call.name();
    if script.has_step(&step) || script.recording().is_some() {
        return script.simulate(call);
    }
    missing.insert(step.to_string(), call.kind().as_str().to_owned());
    SimulatedAnswer { is_missing: true, ..Answer::Missing.into() }
}

/// Answers the oldest approval for which the script has an answer. Returns false if there is none.
fn answer_one(host: &mut VirtualDriver<'_>, script: &mut Script, rejected: &mut Vec<String>) -> bool {
    host.approvals().iter().any(|approval| answer(approval, host, script, rejected))
}

fn answer(approval: &Approval, host: &mut VirtualDriver<'_>, script: &mut Script, rejected: &mut Vec<String>) -> bool {
    let step = script.approval_step(approval);
    let entry = script.has_step(&step).then(|| script.approval_answer(&step, "", &approval.path, &approval.spec));
    let Some(entry) = entry.flatten() else {
        // A conversation without input gets null as its line.
        return approval.key == ApprovalKey::Line && host.answer(&approval.key, None, &Value::Null, None).is_ok();
    };
    let mut is_accepted = false;
    for (user, choice, comment) in votes_of(&entry, approval) {
        match host.answer(&approval.key, user.as_deref(), &choice, comment.as_deref()) {
            Ok(()) => is_accepted = true,
            // The votes before have settled it.
            Err(_) if is_accepted => break,
            Err(reason) => rejected.push(format!("`{choice}` for step `{}`: {reason}", approval.step)),
        }
    }
    let is_open = approval.request.is_some() && host.approvals().iter().any(|other| other.key == approval.key);
    is_accepted && !is_open
}

/// The votes of an entry: those that it lists, or the same of every approver who has not voted.
fn votes_of(entry: &Value, approval: &Approval) -> Vec<(Option<String>, Value, Option<String>)> {
    if let Some(votes) = votes_in_entry(entry) {
        let vote = |vote: branchpoint_host::Vote| {
            (Some(vote.user.to_string()), Value::from(&*vote.choice), vote.comment.map(|comment| comment.to_string()))
        };
        return votes.into_iter().map(vote).collect();
    }
    let choice = entry.get("$output").unwrap_or(entry).clone();
    if approval.request.is_none() {
        return vec![(None, choice, None)];
    }
    approval.missing_voters().into_iter().map(|user| (Some(user.to_string()), choice.clone(), None)).collect()
}

impl Attempted {
    fn response(self, program: &Program, text: &str, secrets: &Secrets) -> DryRun {
        let status = self.view.status();
        let result = self.view.result().unwrap_or_default();
        let trace = RunTrace::of_records(self.view, self.records.finish(program, status));
        let writer = StepWriter::unstored(&trace, secrets.clone(), text);
        DryRun {
            dry_run: true,
            status: status.as_str(),
            result: secrets.mask_value(&result),
            steps: (0..trace.records.len().min(MAX_STEPS)).map(|index| writer.step(index)).collect(),
            missing: self.missing,
            waits_for: self.waits_for,
            rejected: self.rejected.iter().map(|text| secrets.mask(text).into_owned()).collect(),
        }
    }
}
