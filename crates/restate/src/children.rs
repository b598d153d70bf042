//! Child runs: a call of another workflow is a run of its own, whose id follows from its parent's call.

use std::sync::Arc;

use branchpoint_core::codec::{encode_event, encode_value};
use branchpoint_core::effect::Kind;
use branchpoint_core::{Event, Stamp};
use branchpoint_expr::{Object, Value};
use branchpoint_runners::agent::{AgentLimits, Notice, is_agent_program};
use branchpoint_runners::{Answer, Call, child_run};

use crate::messages::{Blob, Fact, ParentMessage, Place, StartMessage};
use crate::transition::{Output, Transition};

/// The fact that has the possible approvers.
const ACCOUNT: &str = "account";

/// The start of the child run of a call, or the answer of a call that cannot start one.
pub(crate) fn start(
    transition: &Transition,
    agents: AgentLimits,
    call: &Call,
    part: &Arc<str>,
) -> Result<StartMessage, Answer> {
    if call.kind() == Kind::Run && !call.definition.secrets.is_empty() {
        return Err(Answer::impossible("step_failed", "a run on Restate cannot pass secrets to another workflow"));
    }
    let impossible = |why: String| Answer::impossible("step_failed", why);
    let (input, facts) = child_run::start(call, agents).map_err(|error| impossible(error.to_string()))?;
    let mut facts: Object = facts.into_iter().map(|(name, fact)| (name.into(), fact)).collect();
    let record = &transition.record;
    // Approvals of the child know the approvers of its parent, and who started it.
    if let Some(account) = record.state.facts(&transition.program).and_then(|facts| facts.get(ACCOUNT)) {
        facts.entry(ACCOUNT.into()).or_insert_with(|| account.clone());
    }
    let stored = |value: &Value| encode_value(value).map(Blob).map_err(|error| impossible(error.to_string()));
    Ok(StartMessage {
        workflow: record.header.workflow,
        part: part.to_string(),
        input: stored(&input)?,
        facts: Some(stored(&Value::from(facts))?),
        folder: record.header.folder.clone(),
        depth: record.state.depth() + 1,
        budget: record.state.left_for(call.effect),
        max_ops: record.header.max_ops,
        parent: Some(ParentMessage {
            id: record.header.id.clone(),
            effect: call.effect.0,
            attempt: call.attempt,
            place: called_by(call),
            agent_run: transition.agent_run(),
        }),
        tags: Vec::new(),
        at_ms: record.state.now_ms(),
        stepped: record.header.stepped,
    })
}

/// The place of the child run of a call.
fn called_by(call: &Call) -> Place {
    let step = call.name();
    let callers = if call.callers.is_empty() { step.to_string() } else { format!("{}/{step}", call.callers) };
    Place { callers, path: call.path.clone() }
}

impl Transition {
    /// The run that the outermost agent belongs to.
    fn agent_run(&self) -> Option<String> {
        let header = &self.record.header;
        if is_agent_program(&header.part) {
            return header.parent.as_ref().and_then(|parent| parent.agent_run.clone());
        }
        Some(header.id.clone())
    }

    /// Sends the notice of an agent that a turn of another agent has called, at its start or with its result. Its key prevents a second
    /// delivery.
    pub(crate) fn notify_of_agent(&mut self, call: &Call, result: Option<&Value>) {
        let Some(Notice { signal, event, payload }) = Notice::of(call, result) else { return };
        let Some(run) = self.agent_run() else { return };
        let key = format!("{event} {} {} {}", call.run, call.effect.0, call.attempt);
        self.send(run, &Event::Signal { name: signal, payload, sender: None, key: Some(key.into()) });
    }

    /// Cancels the child run of an attempt.
    pub(crate) fn cancel_child(&mut self, effect: u64, attempt: u32) {
        let id = child_run::id(&self.record.header.id, effect, attempt);
        self.send(id, &Event::Cancel { reason: None });
    }

    fn send(&mut self, run: String, event: &Event) {
        // A notice that cannot be stored is dropped: it changes nothing but what people see.
        if let Ok(bytes) = encode_event(&Stamp::default(), event) {
            self.outputs.push_back(Output::Deliver(run, Fact::Event(Blob(bytes))));
        }
    }
}
