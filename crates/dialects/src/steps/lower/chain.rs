//! Lists of steps: chains, whose elements run one after the other, and fan-outs, whose elements run beside each other.

use branchpoint_core::ir::builder::ScopeSpec;
use branchpoint_core::ir::{Exit, ExprId, Failure, Mark, PlaceId, ScopeId, SlotId, Write};

use super::{Lower, To, Where};
use crate::steps::guard;
use crate::steps::tree::{No, Role};

impl Lower<'_, '_> {
    /// The `child_steps` of a step: where they begin, and where strands come in that skip them.
    pub(super) fn children(&mut self, no: No, at: Where, to: To) -> (PlaceId, PlaceId) {
        let steps = self.steps_of(no, Role::Children);
        if self.own.document.steps[no].kind.has_chain_below() {
            self.chain(&steps, at, to.next, to.blocked)
        } else {
            self.fan_out(no, &steps, at, to)
        }
    }

    /// Lowers a chain. `skipped` is where strands go on that came in skipping and found nothing to run.
    pub(super) fn chain(&mut self, steps: &[No], at: Where, next: PlaceId, skipped: PlaceId) -> (PlaceId, PlaceId) {
        self.enroll(steps, at);
        let level = self.level();
        let revives = steps.iter().any(|step| self.own.plan.revives[*step]);
        let blocks = |lower: &Self, step: &No| {
            ["gate", "merge"].contains(&lower.own.document.steps[*step].kind.name) || lower.own.plan.revives[*step]
        };
        let first_block = steps.iter().position(|step| blocks(self, step));
        let mut skip = match first_block {
            Some(_) => self.end_of_blocked(next, revives.then_some((level, skipped))),
            None => skipped,
        };
        let mut after = next;
        for (position, step) in steps.iter().copied().enumerate().rev() {
            let into = self.step(step, at, To { next: after, blocked: skip, level });
            if self.own.plan.revives[step] {
                skip = into;
            } else if first_block.is_some_and(|first| revives || position > first) {
                skip = self.b.marked(Mark::Skip(self.own.ids[step], "gate_blocked".into()), skip);
            }
            after = self.own.begins[step];
        }
        // Who comes in skipping must not meet the end of those who were blocked here, which makes them run again.
        (after, if revives { skip } else { skipped })
    }

    /// The end of a chain that was blocked: its tail is empty text, and nothing has come over this way.
    fn end_of_blocked(&mut self, next: PlaceId, skipped: Option<(i64, PlaceId)>) -> PlaceId {
        let mut writes = self.hold_nothing();
        writes.push(self.put("gap", r#""blocked""#));
        writes.extend(self.not_skipping());
        let end = self.b.set(writes, next, None);
        match skipped {
            // Those who began to skip in this chain end with it; those who came in skipping go on so.
            Some((level, skipped)) => {
                let began_here = self.test_with("skipping == level", &[], &[("level", level.into())]);
                self.b.decide([(began_here, end)], skipped, None)
            }
            None => end,
        }
    }

    /// Lowers the children that run beside each other, in a scope of their own.
    pub(super) fn fan_out(&mut self, no: No, steps: &[No], at: Where, to: To) -> (PlaceId, PlaceId) {
        if steps.is_empty() {
            return (to.next, to.blocked);
        }
        let revives = steps.iter().any(|step| self.own.plan.revives[*step]);
        let tail = self.tail(to, revives);
        let spec = ScopeSpec { into: Some(self.slots["answer"]), next: Some(tail), ..ScopeSpec::default() };
        let scope = self.scope_in(at, spec);
        self.edges_in(scope, Some(no));
        let inside = Where { scope, ..at };
        self.enroll(steps, inside);
        let delivered = self.deliver(scope);
        let entries = self.entries(scope, steps.to_vec(), revives, |lower, step, nothing| {
            let level = lower.level();
            let to = To { next: delivered, blocked: nothing, level };
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

    /// The scope of a step that runs others in it: their values go to the slot `answer`.
    pub(super) fn frame(&self, no: No, after: PlaceId, failure: Failure) -> ScopeSpec {
        let time_limit_ms = self.own.document.steps[no].get("timeout").and_then(guard::duration_ms);
        let into = Some(self.slots["answer"]);
        ScopeSpec { into, time_limit_ms, next: Some(after), fail: Some(failure), ..ScopeSpec::default() }
    }

    pub(super) fn scope_in(&mut self, at: Where, spec: ScopeSpec) -> ScopeId {
        let scope = self.b.scope(at.scope, spec);
        self.own.parents.insert(scope, at.scope);
        scope
    }

    /// The end of a branch: it hands its value on, or says that nothing came.
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

    /// After a fan-out: the value of the last branch that delivered; else that of the step above, which is still at hand.
    fn tail(&mut self, to: To, revives: bool) -> PlaceId {
        let newest = if self.own.plan.has_gaps { "findLast(answer, .d == true)" } else { "answer[-1]" };
        let mut writes = vec![self.put("answer", newest)];
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

    /// Defines where a step begins: what it began with is kept if something asks for it. Lists below it begin with its
    /// value, so what has not come over the way to it is no matter any more.
    pub(super) fn begin(&mut self, no: No, next: PlaceId) {
        let input = self.b.read(self.slots["value"]);
        let mut writes = self.begin_writes(no);
        writes.extend(self.no_gap());
        writes.extend(self.selected_by(no));
        writes.extend(self.sent_with(no));
        if let Some(kept) = self.own.kept.get(&no) {
            writes.push(Write::Put(kept.input, input));
            // The newest run of a step may leave neither.
            let facts = kept.facts.into_iter().flatten().map(|(_, slot)| slot);
            writes.extend(facts.chain([kept.error]).map(Write::Clear));
        }
        let place = self.b.at(self.own.begins[no]).set(writes, next, None);
        self.b.mark(place, Mark::Begin(self.own.ids[no], Some(input)));
    }

    /// What a step that a retry goes back to has to remember.
    pub(super) fn begin_writes(&mut self, no: No) -> Vec<Write> {
        let Some(slot) = self.own.again.get(&no).copied() else { return Vec::new() };
        let input = self.at_hand(r#""g": gap, "#);
        vec![Write::Put(slot, input)]
    }

    /// The end of a step's own work: the value at hand is its output.
    pub(super) fn finish(&mut self, no: No, next: PlaceId) -> PlaceId {
        let writes = self.no_gap().into_iter().collect();
        self.finish_with(no, writes, next)
    }

    /// The attachments that the output of a step has: those of the manifest that it is, else those of the step's input.
    pub(super) fn emitted(&mut self, no: No) -> Vec<Write> {
        if !self.own.plan.has_files {
            return Vec::new();
        }
        let slot = self.own.kept.get(&no).and_then(|kept| kept.files);
        let newest = slot.map(|slot| self.put(slot, "attachmentsIn(value)"));
        newest.into_iter().chain([self.put("files", "attachmentsIn(value) ?? files")]).collect()
    }

    /// From here on there is a value at hand again.
    pub(super) fn no_gap(&self) -> Option<Write> {
        self.own.plan.has_gaps.then_some(Write::Clear(self.slots["gap"]))
    }

    pub(super) fn finish_with(&mut self, no: No, mut writes: Vec<Write>, next: PlaceId) -> PlaceId {
        let output = self.b.read(self.slots["value"]);
        if let Some(kept) = self.own.kept.get(&no) {
            writes.push(Write::Put(kept.output, output));
        }
        writes.extend(self.emitted(no));
        let place = self.b.set(writes, next, None);
        let kind = self.b.read(self.slots["kind"]);
        self.b.mark(place, Mark::ContentType(self.own.ids[no], kind));
        self.b.mark(place, Mark::End(self.own.ids[no], Some(output)))
    }

    /// What a strand carries, as an object: the value, its content type, attachments. `more` are further fields.
    pub(super) fn at_hand(&mut self, more: &str) -> ExprId {
        let files = if self.own.plan.has_files { r#", "f": files"# } else { "" };
        self.formula(&format!(r#"{{{more}"v": value, "k": kind{files}}}"#))
    }

    /// Writes that take up what [`Self::at_hand`] made, from a slot that holds it.
    pub(super) fn take_up(&mut self, from: SlotId) -> Vec<Write> {
        let files = self.own.plan.has_files.then_some(("files", "from.f"));
        let carried = [("value", "from.v"), ("kind", "from.k")].into_iter().chain(files);
        carried.map(|(slot, text)| self.put_with(slot, text, &[("from", from)], &[])).collect()
    }

    /// Writes that make a value the one at hand, with the content type that such values have.
    pub(super) fn hold(&mut self, value: ExprId) -> Vec<Write> {
        let kind = self.put("kind", r#"type(value) == "string" ? "text/plain" : "application/json""#);
        vec![Write::Put(self.slots["value"], value), kind]
    }

    /// Writes that make empty text the value at hand.
    pub(super) fn hold_nothing(&mut self) -> Vec<Write> {
        vec![self.put("value", r#""""#), self.put("kind", r#""text/plain""#)]
    }

    /// From here on nothing is skipped.
    pub(super) fn not_skipping(&self) -> Option<Write> {
        self.own.plan.has_revivals().then_some(Write::Clear(self.slots["skipping"]))
    }
}
