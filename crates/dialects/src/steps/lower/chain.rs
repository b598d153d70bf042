//! Lists of steps: chains, whose elements run one after the other, and fan-outs, whose elements run beside each other.

use branchpoint_core::ir::builder::ScopeSpec;
use branchpoint_core::ir::{Exit, ExprId, Failure, Mark, PlaceId, ScopeId, SlotId, Write};

use super::{Exits, Location, Lower};
use crate::steps::guard;
use crate::steps::tree::{Role, StepIndex};

impl Lower<'_, '_> {
    /// The `child_steps` of a step: the place where they begin, and the place for strands that skip them.
    pub(super) fn children(&mut self, index: StepIndex, at: Location, to: Exits) -> (PlaceId, PlaceId) {
        let steps = self.steps_of(index, Role::Children);
        if self.own.document.steps[index].kind.has_chain_below() {
            self.chain(&steps, at, to.next, to.blocked)
        } else {
            self.fan_out(index, &steps, at, to)
        }
    }

    /// Lowers a chain. `skipped` is the place for strands that entered skipping and still skip.
    pub(super) fn chain(
        &mut self,
        steps: &[StepIndex],
        at: Location,
        next: PlaceId,
        skipped: PlaceId,
    ) -> (PlaceId, PlaceId) {
        self.enroll(steps, at);
        let level = self.level();
        let revives = steps.iter().any(|step| self.own.plan.revives[*step]);
        let blocks = |lower: &Self, step: &StepIndex| {
            ["gate", "merge"].contains(&lower.own.document.steps[*step].kind.name) || lower.own.plan.revives[*step]
        };
        let first_block = steps.iter().position(|step| blocks(self, step));
        let mut skip = match first_block {
            Some(_) => self.end_of_blocked(next, revives.then_some((level, skipped))),
            None => skipped,
        };
        let mut after = next;
        for (position, step) in steps.iter().copied().enumerate().rev() {
            let into = self.step(step, at, Exits { next: after, blocked: skip, level });
            if self.own.plan.revives[step] {
                skip = into;
            } else if first_block.is_some_and(|first| revives || position > first) {
                skip = self.b.record(Mark::Skip(self.own.ids[step], "gate_blocked".into()), skip);
            }
            after = self.own.begins[step];
        }
        // Strands that enter skipping must not reach the end of strands blocked here, which makes them run again.
        (after, if revives { skip } else { skipped })
    }

    /// The end of a blocked chain: its tail is empty text, and nothing is delivered.
    fn end_of_blocked(&mut self, next: PlaceId, skipped: Option<(i64, PlaceId)>) -> PlaceId {
        let mut writes = self.hold_nothing();
        writes.push(self.store("gap", r#""blocked""#));
        writes.extend(self.not_skipping());
        let end = self.b.set(writes, next, None);
        match skipped {
            // Strands that began to skip in this chain stop skipping; strands that entered skipping continue.
            Some((level, skipped)) => {
                let began_here = self.test_with("skipping == level", &[], &[("level", level.into())]);
                self.b.decide([(began_here, end)], skipped, None)
            }
            None => end,
        }
    }

    /// Lowers the children that run beside each other, in a scope of their own.
    pub(super) fn fan_out(
        &mut self,
        index: StepIndex,
        steps: &[StepIndex],
        at: Location,
        to: Exits,
    ) -> (PlaceId, PlaceId) {
        if steps.is_empty() {
            return (to.next, to.blocked);
        }
        let revives = steps.iter().any(|step| self.own.plan.revives[*step]);
        let tail = self.tail(to, revives);
        let spec = ScopeSpec { into: Some(self.slots["answer"]), next: Some(tail), ..ScopeSpec::default() };
        let scope = self.scope_in(at, spec);
        self.edges_in(scope, Some(index));
        let inside = Location { scope, ..at };
        self.enroll(steps, inside);
        let delivered = self.deliver(scope);
        let entries = self.entries(scope, steps.to_vec(), revives, |lower, step, nothing| {
            let level = lower.level();
            let to = Exits { next: delivered, blocked: nothing, level };
            let into = lower.step(step, inside, to);
            (lower.own.begins[step], into, lower.own.plan.revives[step])
        });
        self.b.begin(scope, &entries);
        let enter = self.b.enter(scope);
        (enter, if revives { enter } else { to.blocked })
    }

    /// The places where the entries of a scope begin. A strand that skips begins elsewhere than one that runs.
    pub(super) fn entries<T>(
        &mut self,
        scope: ScopeId,
        parts: Vec<T>,
        revives: bool,
        mut lower: impl FnMut(&mut Self, T, PlaceId) -> (PlaceId, PlaceId, bool),
    ) -> Vec<PlaceId> {
        let nothing = self.b.reserve();
        let mut entries = Vec::new();
        for part in parts {
            let (begin, skipped, revived) = lower(self, part, nothing);
            entries.push(if revives {
                let skips = self.test("skipping != nil");
                self.b.decide([(skips, if revived { skipped } else { nothing })], begin, None)
            } else {
                begin
            });
        }
        self.b.at(nothing).leave(scope, Exit::Done(None));
        entries
    }

    /// The scope of a step with nested steps, whose values go to the slot `answer`.
    pub(super) fn frame(&self, index: StepIndex, after: PlaceId, failure: Failure) -> ScopeSpec {
        let time_limit_ms = self.own.document.steps[index].get("timeout").and_then(guard::duration_ms);
        let into = Some(self.slots["answer"]);
        ScopeSpec { into, time_limit_ms, next: Some(after), fail: Some(failure), ..ScopeSpec::default() }
    }

    pub(super) fn scope_in(&mut self, at: Location, spec: ScopeSpec) -> ScopeId {
        let scope = self.b.scope(at.scope, spec);
        self.own.parents.insert(scope, at.scope);
        scope
    }

    /// The end of a branch: it delivers its value, or that there is none.
    fn deliver(&mut self, scope: ScopeId) -> PlaceId {
        if !self.own.plan.has_gaps {
            let value = self.at_hand("");
            return self.b.leave(scope, Exit::Done(Some(value)));
        }
        let value = self.at_hand(r#""d": true, "#);
        let nothing = self.formula(r#"{"j": gap == "joined"}"#);
        let value = self.b.leave(scope, Exit::Done(Some(value)));
        let nothing = self.b.leave(scope, Exit::Done(Some(nothing)));
        let gap = self.test("gap != nil");
        self.b.decide([(gap, nothing)], value, None)
    }

    /// After a fan-out: the value of the last branch that delivered; else the current value, which is that of the step above.
    fn tail(&mut self, to: Exits, revives: bool) -> PlaceId {
        let newest = if self.own.plan.has_gaps { "findLast(answer, .d == true)" } else { "answer[-1]" };
        let mut writes = vec![self.store("answer", newest)];
        writes.extend(self.take_up(self.slots["answer"]));
        writes.extend(self.no_gap());
        writes.extend(self.not_skipping());
        let pick = self.b.set(writes, to.next, None);
        if !self.own.plan.has_gaps {
            return pick;
        }
        let joined = self.assign("gap", r#""joined""#, to.next);
        let mut arms = vec![(self.test("any(answer, .d == true)"), pick)];
        if revives {
            arms.push((self.test("skipping != nil"), to.blocked));
        }
        arms.push((self.test("any(answer, .j == true)"), joined));
        self.b.decide(arms, to.next, None)
    }

    /// Defines the place where a step begins: its input is stored if it is used. Lists below it begin with its
    /// value, so earlier gaps no longer matter.
    pub(super) fn begin(&mut self, index: StepIndex, at: Location, next: PlaceId) {
        let input = self.b.read(self.slots["value"]);
        let mut writes = self.begin_writes(index);
        writes.extend(self.no_gap());
        writes.extend(self.selected_by(index));
        writes.extend(self.sent_with(index, at.scope));
        if let Some(step_slots) = self.own.step_slots.get(&index) {
            writes.push(Write::Put(step_slots.input, input));
            // The latest run of a step may have neither.
            let facts = step_slots.facts.into_iter().flatten().map(|(_, slot)| slot);
            writes.extend(facts.chain([step_slots.error]).map(Write::Clear));
        }
        let place = self.b.at(self.own.begins[index]).set(writes, next, None);
        self.b.mark(place, Mark::Begin(self.own.ids[index], Some(input)));
    }

    /// The writes for a step that a retry goes back to.
    pub(super) fn begin_writes(&mut self, index: StepIndex) -> Vec<Write> {
        let Some(slot) = self.own.again.get(&index).copied() else { return Vec::new() };
        let input = self.at_hand(r#""g": gap, "#);
        vec![Write::Put(slot, input)]
    }

    /// The end of a step's own work: the current value is its output.
    pub(super) fn finish(&mut self, index: StepIndex, next: PlaceId) -> PlaceId {
        let writes = self.no_gap().into_iter().collect();
        self.finish_with(index, writes, next)
    }

    /// The attachments that the output of a step has: those of the manifest that it is, else those of the step's input.
    pub(super) fn emitted(&mut self, index: StepIndex) -> Vec<Write> {
        if !self.own.plan.has_files {
            return Vec::new();
        }
        let slot = self.own.step_slots.get(&index).and_then(|step_slots| step_slots.files);
        let newest = slot.map(|slot| self.store(slot, "attachmentsIn(value)"));
        newest.into_iter().chain([self.store("files", "attachmentsIn(value) ?? files")]).collect()
    }

    /// Clears the gap: there is a current value again.
    pub(super) fn no_gap(&self) -> Option<Write> {
        self.own.plan.has_gaps.then_some(Write::Clear(self.slots["gap"]))
    }

    pub(super) fn finish_with(&mut self, index: StepIndex, mut writes: Vec<Write>, next: PlaceId) -> PlaceId {
        let output = self.b.read(self.slots["value"]);
        if let Some(step_slots) = self.own.step_slots.get(&index) {
            writes.push(Write::Put(step_slots.output, output));
        }
        writes.extend(self.emitted(index));
        let place = self.b.set(writes, next, None);
        let kind = self.b.read(self.slots["kind"]);
        self.b.mark(place, Mark::ContentType(self.own.ids[index], kind));
        self.b.mark(place, Mark::End(self.own.ids[index], Some(output)))
    }

    /// What a strand carries, as an object: the value, its content type, attachments. `more` are further fields.
    pub(super) fn at_hand(&mut self, more: &str) -> ExprId {
        let files = if self.own.plan.has_files { r#", "f": files"# } else { "" };
        self.formula(&format!(r#"{{{more}"v": value, "k": kind{files}}}"#))
    }

    /// Writes that restore the object of [`Self::at_hand`] from a slot.
    pub(super) fn take_up(&mut self, from: SlotId) -> Vec<Write> {
        let files = self.own.plan.has_files.then_some(("files", "from.f"));
        let carried = [("value", "from.v"), ("kind", "from.k")].into_iter().chain(files);
        carried.map(|(slot, text)| self.store_with(slot, text, &[("from", from)], &[])).collect()
    }

    /// Writes that set the current value, with its content type.
    pub(super) fn hold(&mut self, value: ExprId) -> Vec<Write> {
        let kind = self.store("kind", r#"type(value) == "string" ? "text/plain" : "application/json""#);
        vec![Write::Put(self.slots["value"], value), kind]
    }

    /// Writes that set the current value to empty text.
    pub(super) fn hold_nothing(&mut self) -> Vec<Write> {
        vec![self.store("value", r#""""#), self.store("kind", r#""text/plain""#)]
    }

    /// Ends skipping.
    pub(super) fn not_skipping(&self) -> Option<Write> {
        self.own.plan.has_revivals().then_some(Write::Clear(self.slots["skipping"]))
    }
}
