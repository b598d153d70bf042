//! The beginning of every node, and the continuation of lines.

use branchpoint_core::ir::{Mark, PlaceId, Write};
use branchpoint_expr::Value;

use super::super::raw::NodeData;
use super::super::wiring::NodeBranch;
use super::Lower;

impl Lower<'_> {
    /// A node begins unless the run has failed; on a paused run it is deferred; at the limit the run fails.
    pub(super) fn node(&mut self, node: usize) {
        let graph = self.own.graph;
        let begins = match &graph.nodes[node].data {
            NodeData::Start(initial) => self.start(node, initial),
            NodeData::Agent(agent) => self.agent(node, agent),
            NodeData::If(conditions) => self.choice(node, conditions),
            NodeData::Approval(prompt, None) => self.approval(node, prompt),
            NodeData::Approval(prompt, Some(rules)) => self.ruled_approval(node, prompt, rules),
            NodeData::End | NodeData::Refused => self.end_node(node),
        };
        let check_limit = self.check_limit(node, begins);
        let deferred = self.defer(node);
        // An approval of the fan-out that was under way when the run paused starts to wait too.
        let is_approval = matches!(graph.nodes[node].data, NodeData::Approval(_, None));
        let paused = if is_approval { "mode == 'paused' && !under_way" } else { "mode == 'paused'" };
        let arms = [(self.test("mode == 'failed'"), self.own.end), (self.test(paused), deferred)];
        let entry = self.own.entries[node];
        self.b.at(entry).decide(arms, check_limit, None);
    }

    fn check_limit(&mut self, node: usize, begins: PlaceId) -> PlaceId {
        let values = [self.id(node)];
        let message = "'the run has reached its limit of ' + string(given.stepLimit ?? 10000) + ' node runs'";
        let mut writes = vec![self.log("error", message, &values)];
        writes.extend(self.fail("'step_limit'", message, &values));
        let error = self.b.read(self.slots["error"]);
        let failed = self.b.record(Mark::Fail(self.own.steps[node], error), self.own.end);
        let over = self.b.set(writes, failed, None);
        let counted = self.assign("runs", "runs + 1", begins);
        let spent = self.test("runs >= (given.stepLimit ?? 10000)");
        self.b.decide([(spent, over)], counted, None)
    }

    fn defer(&mut self, node: usize) -> PlaceId {
        let entry = self.formula_with("{nodeId: id, previousOutput: prev}", &[], &[self.id(node)]);
        self.b.set([Write::Push(self.slots["deferred"], entry)], self.own.end, None)
    }

    /// The output of a start is the input of the run, or else the text of the document, each time.
    fn start(&mut self, node: usize, initial: &Value) -> PlaceId {
        let values = [self.id(node), ("initial", initial.clone())];
        let mut writes = vec![self.begin_log(node), self.store_with("prev", "started ?? initial ?? ''", &[], &values)];
        writes.extend(self.keep_output(node));
        let next = self.follow(node, &NodeBranch::Every);
        let place = self.b.set(writes, next, None);
        self.begin_mark(node, place);
        let output = self.formula_with("started ?? initial ?? ''", &[], &values);
        self.b.mark(place, Mark::End(self.own.steps[node], Some(output)))
    }

    fn end_node(&mut self, node: usize) -> PlaceId {
        let writes = [self.begin_log(node)];
        let place = self.b.set(writes, self.own.end, None);
        self.begin_mark(node, place);
        self.b.mark(place, Mark::End(self.own.steps[node], None))
    }

    pub(super) fn begin_log(&mut self, node: usize) -> Write {
        let values = [self.id(node), ("label", self.label(node))];
        self.log("step_start", "label", &values)
    }

    pub(super) fn begin_mark(&mut self, node: usize, place: PlaceId) -> PlaceId {
        let input = self.b.read(self.slots["prev"]);
        self.b.mark(place, Mark::Begin(self.own.steps[node], Some(input)))
    }

    fn label(&self, node: usize) -> Value {
        match &self.own.graph.nodes[node].data {
            NodeData::Agent(agent) => Value::Str(agent.name.clone()),
            _ => Value::from(self.own.graph.nodes[node].kind),
        }
    }

    /// The line's output is the node's; as long as the line has not forked, it is the run's as well.
    pub(super) fn keep_output(&mut self, node: usize) -> [Write; 2] {
        let values = [self.id(node)];
        [
            self.store_with("state", "putPath(state, [id], prev)", &[], &values),
            self.store("state", "clean ? putPath(state, ['previous_output'], prev) : state"),
        ]
    }

    /// Continues a line: not at all, at one node, or at several, which forks it.
    pub(super) fn follow(&mut self, node: usize, node_branch: &NodeBranch) -> PlaceId {
        let next: Vec<PlaceId> =
            self.own.graph.after(node, node_branch).into_iter().map(|node| self.own.entries[node]).collect();
        match next[..] {
            [] => self.own.end,
            [only] => only,
            _ => {
                let fork = self.b.fork(next);
                self.assign("clean", "false", fork)
            }
        }
    }
}
