//! Calls in flight: how many at a time, each a task of the runners' runtime.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use branchpoint_core::EffectNo;

use super::was_stopped;
use crate::script::Reply;
use crate::store::{RunNo, WorkflowNo};
use branchpoint_runners::judge;
use branchpoint_runners::{Answer, Call};
use branchpoint_runners::{CancellationToken, Runner, runtime};

/// How much is done at a time. What is over it waits; it is kept in the store all the while.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Calls of all runs together.
    pub calls: usize,
    /// Calls of all runs of one workflow.
    pub calls_per_workflow: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { calls: 256, calls_per_workflow: 256 }
    }
}

/// A call that has ended.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) run: RunNo,
    pub(super) workflow: WorkflowNo,
    pub(super) call: Call,
    pub(super) answer: Answer,
}

/// A call that may begin: whose it is, and the delayed answer of its run's script.
type Next = ((RunNo, WorkflowNo), Call, Option<Box<Reply>>);

/// A call that waits for its turn, or for the answer of its run's script.
struct Waiting {
    run: RunNo,
    call: Call,
    reply: Option<Box<Reply>>,
}

/// Who is told that a call has ended.
type Told = Arc<dyn Fn(Done) + Send + Sync>;

pub(super) struct Calls {
    outside: Arc<dyn Runner>,
    limits: Limits,
    told: Told,
    /// Calls that wait for their turn, by workflow. Some of them may have been withdrawn.
    waiting: BTreeMap<WorkflowNo, VecDeque<Waiting>>,
    /// The attempts that somebody waits for and that have not begun.
    wanted: HashMap<(RunNo, EffectNo), u32>,
    /// How many tasks are at work: one whose call was withdrawn counts until it has ended.
    tasks: usize,
    /// The same, by workflow.
    busy: HashMap<WorkflowNo, usize>,
    flying: HashMap<(RunNo, EffectNo), (u32, CancellationToken)>,
    /// The workflow whose turn was last: they take turns.
    last: Option<WorkflowNo>,
}

impl Calls {
    pub(super) fn new(outside: Arc<dyn Runner>, limits: Limits, told: Box<dyn Fn(Done) + Send + Sync>) -> Self {
        Self {
            outside,
            limits,
            told: told.into(),
            waiting: BTreeMap::new(),
            wanted: HashMap::new(),
            tasks: 0,
            busy: HashMap::new(),
            flying: HashMap::new(),
            last: None,
        }
    }

    pub(super) fn push(&mut self, run: RunNo, workflow: WorkflowNo, call: Call, reply: Option<Box<Reply>>) {
        self.wanted.insert((run, call.effect), call.attempt);
        self.waiting.entry(workflow).or_default().push_back(Waiting { run, call, reply });
    }

    /// The next call that may begin; workflows take turns, so that a busy one does not keep others waiting.
    pub(super) fn next(&mut self) -> Option<Next> {
        while self.tasks < self.limits.calls {
            let (workflow, Waiting { run, call, reply }) = self.first_waiting()?;
            let key = (run, call.effect);
            if self.wanted.get(&key) == Some(&call.attempt) {
                self.wanted.remove(&key);
                self.last = Some(workflow);
                return Some(((run, workflow), call, reply));
            }
        }
        None
    }

    fn first_waiting(&mut self) -> Option<(WorkflowNo, Waiting)> {
        let has_room = |(workflow, _): &(&WorkflowNo, &VecDeque<_>)| {
            self.busy.get(workflow).is_none_or(|busy| *busy < self.limits.calls_per_workflow)
        };
        let after = |(workflow, _): &(&WorkflowNo, &VecDeque<_>)| self.last.is_none_or(|last| **workflow > last);
        let first = self.waiting.iter().filter(has_room).find(after).or_else(|| self.waiting.iter().find(has_room));
        let workflow = *first?.0;
        let queue = self.waiting.get_mut(&workflow)?;
        let first = queue.pop_front()?;
        if queue.is_empty() {
            self.waiting.remove(&workflow);
        }
        Some((workflow, first))
    }

    /// Performs a call in a task of its own; one that needs no waiting is answered here. A script's answer is only waited for.
    pub(super) fn begin(
        &mut self,
        (run, workflow): (RunNo, WorkflowNo),
        call: Call,
        reply: Option<Box<Reply>>,
    ) -> Option<(Call, Answer)> {
        if reply.is_none()
            && let Some(answer) = self.outside.at_once(&call)
        {
            return Some((call, answer));
        }
        let cancel = CancellationToken::new();
        self.flying.insert((run, call.effect), (call.attempt, cancel.clone()));
        self.tasks += 1;
        *self.busy.entry(workflow).or_default() += 1;
        let (outside, told) = (Arc::clone(&self.outside), Arc::clone(&self.told));
        runtime().spawn(async move {
            let performed = call.clone();
            let work = runtime().spawn(async move {
                let answer = match reply {
                    Some(reply) => reply.after_delay(&performed, &cancel).await,
                    None => outside.perform(&performed, &cancel).await,
                };
                judged(performed, answer).await
            });
            // A defect of a runner is the failure of its call, not the end of everybody else's.
            let answer = work.await.unwrap_or_else(|_| Answer::failed("runner", "the runner of this call broke down"));
            told(Done { run, workflow, call, answer });
        });
        None
    }

    /// Notes that a call has ended. False: nobody waits for it.
    pub(super) fn ended(&mut self, done: &Done) -> bool {
        self.tasks = self.tasks.saturating_sub(1);
        if let Some(busy) = self.busy.get_mut(&done.workflow) {
            *busy = busy.saturating_sub(1);
        }
        let key = (done.run, done.call.effect);
        let waited = self.flying.get(&key).is_some_and(|(attempt, ..)| *attempt == done.call.attempt);
        if waited {
            self.flying.remove(&key);
        }
        waited
    }

    /// Nobody waits for a call any more. One that has not begun is passed over when its turn comes.
    pub(super) fn withdraw(&mut self, run: RunNo, effect: EffectNo) {
        self.wanted.remove(&(run, effect));
        if let Some((_, cancel)) = self.flying.remove(&(run, effect)) {
            cancel.cancel();
        }
    }

    /// Whether nobody waits for any call.
    pub(super) fn is_empty(&self) -> bool {
        self.flying.is_empty()
    }

    /// Whether a task is still at work, be it on a call that was withdrawn.
    pub(super) fn is_any_at_work(&self) -> bool {
        self.tasks > 0
    }

    pub(super) fn stop_all(&mut self) {
        self.flying.values().for_each(|(_, cancel)| cancel.cancel());
    }
}

/// Judges an answer off the host's thread, which belongs to all runs, and off the runtime's: a large answer takes a while. An
/// answer of a call that was cancelled stays as it is, because the driver must recognise it.
async fn judged(call: Call, answer: Answer) -> Answer {
    if was_stopped(&answer) {
        return answer;
    }
    let judging = runtime().spawn_blocking(move || {
        let usage = answer.usage();
        Answer::Judged { result: judge(&call, answer), usage }
    });
    judging.await.unwrap_or_else(|_| Answer::failed("runner", "the response of this call could not be judged"))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use branchpoint_core::effect::{Kind, Response};
    use branchpoint_core::ir::Effect;
    use branchpoint_core::ir::builder::effect;
    use branchpoint_expr::Value;
    use branchpoint_runners::Performing;
    use serde_json::json;

    use super::*;

    struct Says(Answer);

    impl Runner for Says {
        fn perform<'c>(&'c self, _: &'c Call, _: &'c CancellationToken) -> Performing<'c> {
            Box::pin(std::future::ready(self.0.clone()))
        }

        fn fact(&self, _: &str) -> Value {
            Value::Null
        }
    }

    fn call(schema: &serde_json::Value) -> Call {
        let response = Response { output_schema: Some(Value::from(schema)), ..Response::default() };
        Call::first(Effect { response, ..effect(Kind::Tool) }, Value::Null)
    }

    /// What reaches the driver when a call is answered so.
    fn arrives(spec: &serde_json::Value, answer: Answer) -> Answer {
        let (sender, done) = channel();
        let told = Box::new(move |done: Done| sender.send(done.answer).expect("the test waits"));
        let mut calls = Calls::new(Arc::new(Says(answer)), Limits::default(), told);
        assert!(calls.begin((RunNo(1), WorkflowNo(1)), call(spec), None).is_none());
        done.recv().expect("the call ends")
    }

    #[test]
    fn answers_are_judged_on_the_thread_of_their_call() {
        let spec = json!({"type": "array", "items": {"type": "integer"}});
        let kind = |answer: Answer| match arrives(&spec, answer) {
            Answer::Judged { result, .. } => result.map_err(|failed| failed.kind.to_string()),
            other => panic!("{other:?}"),
        };
        let list = |item: Value, length: usize| Answer::data(Value::from(vec![item; length]));
        assert_eq!(kind(list(Value::Int(1), 2)), Ok(Value::from(&json!([1, 1]))));
        assert_eq!(kind(list(Value::from("x"), 2)), Err("output_schema".into()));
        assert_eq!(kind(list(Value::Int(1), 2_500_000)), Err("schema_limit".into()));
        assert_eq!(arrives(&spec, Answer::Never), Answer::Never);
    }
}
