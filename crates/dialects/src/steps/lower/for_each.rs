//! Loops over items: a frame for each iteration, with slots of its own.

use branchpoint_core::ir::builder::ScopeSpec;
use branchpoint_core::ir::{
    DecisionId, DecisionKind, Exit, Failure, Items, Mark, OnFail, PlaceId, Rounds, ScopeId, Write,
};
use branchpoint_expr::Value;

use super::{Location, Lower};
use crate::steps::tree::{Role, Step, StepIndex};
use crate::steps::{attachments, guard};

/// How many iterations run at once, unless the step says otherwise.
const WIDTH: i64 = 8;

/// The target of a loop without items with `fail_on_empty`.
const EMPTY_FAILS: &str = "the step fails (for_each_empty)";

impl Lower<'_, '_> {
    pub(super) fn for_each(&mut self, index: StepIndex, at: Location, finish: PlaceId) -> PlaceId {
        let failure = self.failure(index, at, Some(finish));
        let results = self.b.read(self.slots["answer"]);
        let writes = self.hold(results);
        let after = self.b.set(writes, finish, None);
        self.counters_around(index);
        let step = &self.own.document.steps[index];
        let width = if step.flag("parallel", false) { step.int("max_concurrency").unwrap_or(WIDTH) } else { 1 };
        let spec = ScopeSpec {
            width: u32::try_from(width).unwrap_or(u32::MAX),
            on_fail: (!step.flag("fail_fast", true)).then_some(OnFail::Keep),
            rounds: Some(Rounds { step: self.own.ids[index], round: None, items: None }),
            ..self.frame(index, after, failure)
        };
        let scope = self.scope_in(at, spec);
        let items = self.b.read(self.slots["probe"]);
        let place = self.iteration(index, at, scope);
        let (item, item_index) = (self.own.items[&index], self.own.rounds[&index]);
        self.b.each(scope, items, item, item_index, place);
        let enter = self.b.enter(scope);
        let decision = self.b.decision(self.own.ids[index], DecisionKind::Loop);
        let none =
            self.b.rule_branch(decision, "empty", "there are no items", fails_on_empty(step).then_some(EMPTY_FAILS));
        let (end, failed) = if step.flag("fail_fast", true) {
            ("every item is done", Some("an item failed"))
        } else {
            ("every item has ended", None)
        };
        let end = self.b.rule_branch(decision, "end", end, None);
        let fails = Some(guard::fails(failed));
        let failed = guard::failing(failed, step).map(|rule| self.b.rule_branch(decision, "failed", &rule, fails));
        self.b.decides(enter, decision, [Some(end), failed]);
        self.looked_at(index, at, enter, (finish, failure), (decision, none))
    }

    /// One iteration: the item is the current value, and the results of steps are in its own slots.
    fn iteration(&mut self, index: StepIndex, at: Location, scope: ScopeId) -> PlaceId {
        let id = self.own.document.steps[index].id.clone();
        let slot = |lower: &mut Self, property: &str| {
            let slot = lower.b.slot(scope, &format!("{id}.{property}"), None);
            lower.b.name(scope, &["step", &id, property], slot);
            slot
        };
        let (item, item_index) = (slot(self, "item"), slot(self, "item_index"));
        self.own.items.insert(index, item);
        self.own.rounds.insert(index, item_index);
        self.own.bodies.insert(index, scope);
        self.keep_in(scope, Some(index));
        self.edges_in(scope, Some(index));
        let inside = Location { scope, home: scope };
        debug_assert!(inside.home != at.home, "an iteration is a home of its own");
        let tail = self.b.read(self.slots["value"]);
        let done = self.b.leave(scope, Exit::Done(Some(tail)));
        let (begin, _) = self.chain(&self.steps_of(index, Role::Body), inside, done, done);
        let item = self.b.read(item);
        let mut writes = self.hold(item);
        // An item that is an attachment is the one that its steps work on.
        writes.extend(self.own.plan.has_files.then(|| self.store("files", "attachmentsIn(value) ?? files")));
        writes.extend(self.no_gap());
        self.b.set(writes, begin, None)
    }

    /// Checks the items before the loop begins.
    fn looked_at(
        &mut self,
        index: StepIndex,
        at: Location,
        enter: PlaceId,
        (finish, failure): (PlaceId, Failure),
        (decision, none): (DecisionId, u32),
    ) -> PlaceId {
        let step = &self.own.document.steps[index];
        let empty = if fails_on_empty(step) {
            let (kind, message) = ("for_each_empty", "there is nothing to loop over");
            let error = self.loop_error(kind, message, step);
            self.b.decision_mut(decision).error = Some(error);
            self.fault(kind, message, failure)
        } else {
            let none = self.b.value(Value::from(Vec::new()));
            let writes = self.hold(none);
            let place = self.b.set(writes, finish, None);
            for skipped in self.steps_of(index, Role::Body) {
                self.b.mark(place, Mark::Skip(self.own.ids[skipped], "loop_empty".into()));
            }
            place
        };
        let fault = self.assign("failed", r#"{"kind": probe.fault, "message": probe.message}"#, failure.to);
        let arms = [(self.test(r#"type(probe) == "map""#), fault), (self.test("len(probe) == 0"), empty)];
        let decide = self.b.decide(arms, enter, Some(failure));
        let count = self.formula(r#"type(probe) == "array" ? len(probe) : 0"#);
        self.b.decision_mut(decision).items = Some(Items { count, left_out: None, failed: None });
        self.b.decides(decide, decision, [None, Some(none), None]);
        let bound = |name: &str| step.int(name).map_or("nil".to_owned(), |bound| bound.to_string());
        let items = format!("loopItems(probe, {}, {})", bound("offset"), bound("limit"));
        let mut writes = self.listed(step, at);
        writes.push(self.store("probe", &items));
        self.b.set(writes, decide, Some(failure))
    }

    /// The text with the items of the loop, or the attachments that its rules select.
    fn listed(&mut self, step: &Step<'_>, at: Location) -> Vec<Write> {
        if !step.flag("iterate_attachments", false) {
            let listed = match step.get("input_template") {
                Some(template) => self.template(at.scope, template),
                None => self.b.read(self.slots["value"]),
            };
            return vec![Write::Put(self.slots["probe"], listed)];
        }
        self.picked(step)
    }

    /// Puts the attachments that the rules of a step select into the slot `probe`.
    pub(super) fn picked(&mut self, step: &Step<'_>) -> Vec<Write> {
        let rules = attachments::rules(step);
        let mut writes = self.sources(&rules);
        writes.push(self.store_with("probe", "pickAttachments(RULES, outcomes)", &[], &[("RULES", rules)]));
        writes
    }

    /// Puts the lists that attachment rules choose from into the slot `outcomes`, as an object by source.
    fn sources(&mut self, rules: &Value) -> Vec<Write> {
        let given = ("given", self.own.named["attachments"]);
        let names = [given, ("start", self.b.input())];
        let sources = r#"{"input": files, "agent": given.agent ?? attachmentsIn(start)}"#;
        let mut writes = vec![self.store_with("outcomes", sources, &names, &[])];
        let mut seen = Vec::new();
        for rule in rules.as_list().unwrap_or_default() {
            let source = rule.get("source").and_then(Value::as_str).unwrap_or_default();
            let Some(id) = source.strip_prefix("step:") else { continue };
            if seen.contains(&source) {
                continue;
            }
            seen.push(source);
            let files = self
                .own
                .document
                .find(id)
                .and_then(|step| self.own.step_slots.get(&step))
                .and_then(|step_slots| step_slots.files);
            let source = [("SOURCE", Value::from(source))];
            let (names, text) = match files {
                Some(own) => (vec![given, ("own", own)], "putPath(outcomes, [SOURCE], own ?? given[SOURCE])"),
                None => (vec![given], "putPath(outcomes, [SOURCE], given[SOURCE])"),
            };
            writes.push(self.store_with("outcomes", text, &names, &source));
        }
        writes
    }
}

fn fails_on_empty(step: &Step<'_>) -> bool {
    step.flag("fail_on_empty", false)
}
