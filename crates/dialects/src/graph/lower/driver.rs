//! The driver: it enters the scope of the lines, decides what follows when all of them have ended, waits for answers, and closes.

use std::collections::BTreeSet;

use branchpoint_core::ir::{Arm, OnEarly, PlaceId, Status, Write};
use branchpoint_expr::{Object, Value};

use super::super::raw::NodeData;
use super::Lower;
use crate::inputs::DeclaredInputs;

impl Lower<'_> {
    /// The beginnings of the run: the driver, and the strand that receives notices of subagents.
    pub(super) fn driver(&mut self, start: usize, reached: &BTreeSet<usize>) -> [PlaceId; 2] {
        let dispatch = self.dispatch(reached);
        self.b.begin(self.own.live, &[dispatch]);
        let enter = self.b.enter(self.own.live);
        self.after_lines(start, enter);
        let begin = self.formula_with("{node: id, how: 'run'}", &[], &[self.id(start)]);
        let mut writes = vec![Write::Put(self.slots["begin"], begin)];
        writes.extend(self.fresh_line("nil"));
        let graph = self.own.graph;
        if graph.inputs.is_none() {
            writes.push(self.store("started", "given.input"));
        }
        let first = self.b.set(writes, enter, None);
        let first = graph.inputs.as_ref().map_or(first, |declared| self.check_inputs(declared, first));
        [first, self.listener()]
    }

    /// Fills in the default of a declared input and checks it; a run with wrong inputs ends before its start.
    fn check_inputs(&mut self, declared: &DeclaredInputs, first: PlaceId) -> PlaceId {
        declared.add_views(&mut self.b);
        self.slots.add_to_root(&mut self.b, [("problems", None)]);
        let error = ", error: {kind: problems[0].kind, message: join(map(problems, .message), '; '), nodeId: nil}";
        let rejected = self.close_with(Status::Failed, &result("'rejected'", "nil", "[]", "false", error));
        let wrong = self.test("len(problems) > 0");
        let checked = self.b.decide([(wrong, rejected)], first, None);
        let settings = Value::from(SETTINGS.map(Value::from).to_vec());
        let values = [("declared", declared.list.clone()), ("settings", settings)];
        let writes = [
            self.store_with("started", "withDefaults({input: given.input}, declared).input", &[], &values),
            self.store_with("problems", "inputProblems(putPath(fromPairs(filter(toPairs(given ?? {}), {not (#[0] in settings)})), ['input'], started), \
                 declared)", &[], &values),
        ];
        self.b.set(writes, checked, None)
    }

    /// The initial values of a line.
    fn fresh_line(&mut self, prev: &str) -> [Write; 3] {
        [self.store("prev", prev), self.store("clean", "true"), self.store("under_way", "true")]
    }

    /// The scope is entered for one node, or for the answer to one.
    fn dispatch(&mut self, reached: &BTreeSet<usize>) -> PlaceId {
        let mut arms = Vec::new();
        for node in reached {
            let values = [self.id(*node)];
            arms.push((
                self.test_with("begin.node == id && begin.how == 'run'", &[], &values),
                self.own.entries[*node],
            ));
            if matches!(self.own.graph.nodes[*node].data, NodeData::Approval(_, None)) {
                arms.push((self.test_with("begin.node == id", &[], &values), self.settle_approval(*node)));
            }
        }
        self.b.decide(arms, self.own.end, None)
    }

    /// All lines have ended: the run has failed, continues with deferred nodes, waits, or is complete.
    fn after_lines(&mut self, start: usize, enter: PlaceId) {
        let values = [self.id(start)];
        let failed =
            self.formula_with(&result("'failed'", "error.nodeId", "[]", "false", ", error: error"), &[], &values);
        let failed = self.b.close(Status::Failed, failed);
        let completed = self.formula_with(&result("'completed'", "nil", "[]", "false", ""), &[], &values);
        let completed = self.b.close(Status::Completed, completed);
        let deferred = self.go_on_with_deferred(enter);
        let paused = self.pause(enter);
        let arms = [
            (self.test("mode == 'failed'"), failed),
            (self.test("mode == 'running' && len(deferred) > 0"), deferred),
            (self.test("len(waiting) > 0"), paused),
        ];
        let around = self.b.next(self.own.live);
        self.b.at(around).decide(arms, completed, None);
        let view = format!(
            "mode == 'failed' ? {} : {}",
            result("mode", "error.nodeId", "[]", "false", ", error: error"),
            result("mode", "mode == 'paused' ? waiting[0].nodeId : id", WAITING, "mode == 'paused'", ""),
        );
        let view = self.formula_with(&view, &[], &values);
        self.b.view("result", view);
    }

    fn go_on_with_deferred(&mut self, enter: PlaceId) -> PlaceId {
        let mut writes = vec![self.store("begin", "{node: deferred[0].nodeId, how: 'run'}")];
        writes.extend(self.fresh_line("deferred[0].previousOutput"));
        writes.push(self.store("deferred", "deferred[1:]"));
        self.b.set(writes, enter, None)
    }

    /// The oldest pending approval is current. One that waited behind another is logged again when it becomes current.
    fn pause(&mut self, enter: PlaceId) -> PlaceId {
        let wait = self.wait(enter);
        let prompts = self.own.graph.nodes.iter().filter_map(|node| match &node.data {
            NodeData::Approval(prompt, None) => Some((node.id.clone(), prompt.clone())),
            _ => None,
        });
        let prompts = Value::from(prompts.collect::<Object>());
        let open = self.formula_with(
            "map(waiting, {{id: .nodeId, prompt: string(get(prompts, .nodeId) ?? '')}})",
            &[],
            &[("prompts", prompts.clone())],
        );
        self.b.view("approvals", open);
        let entry = self.formula_with(
            "{timestamp: time, nodeId: waiting[0].nodeId, type: 'wait_input', \
             content: string(get(prompts, waiting[0].nodeId) ?? '')}",
            &[],
            &[("prompts", prompts)],
        );
        let front = "concat([{nodeId: waiting[0].nodeId, previousOutput: waiting[0].previousOutput, front: true}], waiting[1:])";
        let again = [Write::Push(self.slots["logs"], entry), self.store("waiting", front)];
        let again = self.b.set(again, wait, None);
        let is_logged = self.test("waiting[0].front");
        let next = self.b.decide([(is_logged, wait)], again, None);
        self.assign("mode", "'paused'", next)
    }

    /// Waits for `{input, id?}`. An answer without a decision, or to an approval that is not pending, is rejected and changes nothing.
    fn wait(&mut self, enter: PlaceId) -> PlaceId {
        self.slots.add_to_root(&mut self.b, [("got", None)]);
        self.slots.add_locals(&mut self.b, ["chosen", "answer"]);

        let mut writes = vec![
            self.store("answer", "approvalAnswer(got.input)"),
            self.store("chosen", "got.id == nil ? 0 : findIndex(waiting, .nodeId == got.id)"),
            self.store("begin", "{node: waiting[chosen].nodeId, how: answer.decision}"),
        ];
        writes.extend(self.fresh_line("waiting[chosen].previousOutput"));
        let received =
            self.formula("{timestamp: time, nodeId: begin.node, type: 'input_received', content: toJSON(answer)}");
        writes.extend([
            self.store("waiting", "concat(waiting[:chosen], waiting[chosen + 1:])"),
            self.store("state", "putPath(state, [begin.node + '_approval'], answer)"),
            Write::Push(self.slots["logs"], received),
            self.store("mode", "'running'"),
        ]);
        let next = self.b.set(writes, enter, None);
        let payload = self.b.payload();
        let check =
            "approvalAnswer(payload.input) != nil && (payload.id == nil || any(waiting, .nodeId == payload.id))";
        let check = self.test_with(check, &[("payload", payload)], &[]);
        let signal = self.b.signal("resume", OnEarly::Reject);
        self.b.wait([Arm::Signal { signal, check: Some(check), into: Some(self.slots["got"]), next }], None)
    }
}

/// Settings of the installation that a run can be started with beside its inputs.
const SETTINGS: [&str; 4] = ["runId", "model", "reasoningEffort", "stepLimit"];

/// The ids of the approvals that wait, oldest first.
const WAITING: &str = "map(waiting, .nodeId)";

fn result(status: &str, current: &str, waiting: &str, waits: &str, error: &str) -> String {
    format!(
        "{{runId: given.runId, status: {status}, logs: logs, state: state, waitingForInput: {waits}, \
         currentNodeId: {current}, waiting: {waiting}, deferred: deferred{error}}}"
    )
}
