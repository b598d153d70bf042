//! Calls in flight: how many at a time, each a task of the runners' runtime.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use branchpoint_core::EffectNo;

use super::is_cancelled;
use crate::script::Reply;
use crate::store::{RunNo, WorkflowNo};
use branchpoint_runners::judge;
use branchpoint_runners::{Answer, Call};
use branchpoint_runners::{CancellationToken, Runner, runtime};

/// How many calls are performed at a time. Further calls wait; the store keeps them.
#[derive(Clone, Copy, Debug)]
pub struct CallLimits {
    /// Calls of all runs together.
    pub calls: usize,
    /// Calls of all runs of one workflow.
    pub calls_per_workflow: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { calls: 256, calls_per_workflow: 256 }
    }
}

/// An ended call with its answer.
#[derive(Debug)]
pub(super) struct EndedCall {
    pub(super) run: RunNo,
    pub(super) workflow: WorkflowNo,
    pub(super) call: Call,
    pub(super) answer: Answer,
}

/// A call that may begin, with its run and workflow, and the delayed reply of its run's script.
type ReadyCall = ((RunNo, WorkflowNo), Call, Option<Box<Reply>>);

/// A call that waits for its turn, or for the reply of its run's script.
struct Waiting {
    run: RunNo,
    call: Call,
    reply: Option<Box<Reply>>,
}

/// Receives every call that has ended.
type OnEnd = Arc<dyn Fn(EndedCall) + Send + Sync>;

pub(super) struct Calls {
    runner: Arc<dyn Runner>,
    limits: CallLimits,
    on_end: OnEnd,
    /// Calls that wait for their turn, by workflow. Some of them may have been withdrawn.
    waiting: BTreeMap<WorkflowNo, VecDeque<Waiting>>,
    /// Attempts that have not begun and were not withdrawn.
    pending: HashMap<(RunNo, EffectNo), u32>,
    /// Number of running tasks. The task of a withdrawn call counts until it has ended.
    tasks: usize,
    /// Number of running tasks by workflow.
    busy: HashMap<WorkflowNo, usize>,
    /// Calls in flight, with their attempt and what cancels them.
    in_flight: HashMap<(RunNo, EffectNo), (u32, CancellationToken)>,
    /// The workflow of the last call, because workflows take turns.
    last: Option<WorkflowNo>,
}

impl Calls {
    pub(super) fn new(
        runner: Arc<dyn Runner>,
        limits: CallLimits,
        on_end: Box<dyn Fn(EndedCall) + Send + Sync>,
    ) -> Self {
        Self {
            runner,
            limits,
            on_end: on_end.into(),
            waiting: BTreeMap::new(),
            pending: HashMap::new(),
            tasks: 0,
            busy: HashMap::new(),
            in_flight: HashMap::new(),
            last: None,
        }
    }

    pub(super) fn push(&mut self, run: RunNo, workflow: WorkflowNo, call: Call, reply: Option<Box<Reply>>) {
        self.pending.insert((run, call.effect), call.attempt);
        self.waiting.entry(workflow).or_default().push_back(Waiting { run, call, reply });
    }

    /// Removes the next call that may begin. Workflows take turns, so that a busy one does not delay the others.
    pub(super) fn next(&mut self) -> Option<ReadyCall> {
        while self.tasks < self.limits.calls {
            let (workflow, Waiting { run, call, reply }) = self.first_waiting()?;
            let key = (run, call.effect);
            if self.pending.get(&key) == Some(&call.attempt) {
                self.pending.remove(&key);
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

    /// Performs a call in a task of its own. A call that needs no waiting is answered at once; a script's reply is only delayed.
    pub(super) fn begin(
        &mut self,
        (run, workflow): (RunNo, WorkflowNo),
        call: Call,
        reply: Option<Box<Reply>>,
    ) -> Option<(Call, Answer)> {
        if reply.is_none()
            && let Some(answer) = self.runner.answer_immediately(&call)
        {
            return Some((call, answer));
        }
        let cancel = CancellationToken::new();
        self.in_flight.insert((run, call.effect), (call.attempt, cancel.clone()));
        self.tasks += 1;
        *self.busy.entry(workflow).or_default() += 1;
        let (runner, on_end) = (Arc::clone(&self.runner), Arc::clone(&self.on_end));
        runtime().spawn(async move {
            let performed = call.clone();
            let work = runtime().spawn(async move {
                let answer = match reply {
                    Some(reply) => reply.after_delay(&performed, &cancel).await,
                    None => runner.perform(&performed, &cancel).await,
                };
                judge_answer(performed, answer).await
            });
            // A panic of a runner fails its own call and no other.
            let answer = work.await.unwrap_or_else(|_| Answer::failed("runner", "the runner of this call panicked"));
            on_end(EndedCall { run, workflow, call, answer });
        });
        None
    }

    /// Records that a call has ended. Returns false if the call was withdrawn.
    pub(super) fn finish(&mut self, ended: &EndedCall) -> bool {
        self.tasks = self.tasks.saturating_sub(1);
        if let Some(busy) = self.busy.get_mut(&ended.workflow) {
            *busy = busy.saturating_sub(1);
        }
        let key = (ended.run, ended.call.effect);
        let is_awaited = self.in_flight.get(&key).is_some_and(|(attempt, ..)| *attempt == ended.call.attempt);
        if is_awaited {
            self.in_flight.remove(&key);
        }
        is_awaited
    }

    /// Cancels a call. A call that has not begun is skipped when its turn comes.
    pub(super) fn withdraw(&mut self, run: RunNo, effect: EffectNo) {
        self.pending.remove(&(run, effect));
        if let Some((_, cancel)) = self.in_flight.remove(&(run, effect)) {
            cancel.cancel();
        }
    }

    /// Whether no call is in flight, except withdrawn ones.
    pub(super) fn is_empty(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Whether a task is still running, also for a call that was withdrawn.
    pub(super) fn has_tasks(&self) -> bool {
        self.tasks > 0
    }

    pub(super) fn cancel_all(&mut self) {
        self.in_flight.values().for_each(|(_, cancel)| cancel.cancel());
    }
}

/// Judges an answer on a blocking thread, because a large one takes time that belongs to all runs.
///
/// The answer of a cancelled call is not judged, because the driver must recognise it.
async fn judge_answer(call: Call, answer: Answer) -> Answer {
    if is_cancelled(&answer) {
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
    use branchpoint_runners::AnswerFuture;
    use serde_json::json;

    use super::*;

    struct FixedAnswer(Answer);

    impl Runner for FixedAnswer {
        fn perform<'c>(&'c self, _: &'c Call, _: &'c CancellationToken) -> AnswerFuture<'c> {
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

    /// The answer that reaches the driver when the runner gives `answer`.
    fn received(spec: &serde_json::Value, answer: Answer) -> Answer {
        let (sender, answers) = channel();
        let on_end = Box::new(move |ended: EndedCall| sender.send(ended.answer).expect("the test waits"));
        let mut calls = Calls::new(Arc::new(FixedAnswer(answer)), CallLimits::default(), on_end);
        assert!(calls.begin((RunNo(1), WorkflowNo(1)), call(spec), None).is_none());
        answers.recv().expect("the call ends")
    }

    #[test]
    fn answers_are_judged_on_the_thread_of_their_call() {
        let spec = json!({"type": "array", "items": {"type": "integer"}});
        let kind = |answer: Answer| match received(&spec, answer) {
            Answer::Judged { result, .. } => result.map_err(|failed| failed.kind.to_string()),
            other => panic!("{other:?}"),
        };
        let list = |item: Value, length: usize| Answer::data(Value::from(vec![item; length]));
        assert_eq!(kind(list(Value::Int(1), 2)), Ok(Value::from(&json!([1, 1]))));
        assert_eq!(kind(list(Value::from("x"), 2)), Err("output_schema".into()));
        assert_eq!(kind(list(Value::Int(1), 2_500_000)), Err("schema_limit".into()));
        assert_eq!(received(&spec, Answer::Missing), Answer::Missing);
    }
}
