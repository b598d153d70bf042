//! Joins and merges. A join is a write, never a jump: the merge's own strand always arrives, with or without a value.

use branchpoint_core::ir::{DecisionKind, Mark, PlaceId, Write};

use super::{Exits, Location, Lower};
use crate::steps::tree::StepIndex;

impl Lower<'_, '_> {
    /// A join delivers its value to the merge; its own line ends.
    pub(super) fn join(&mut self, index: StepIndex, to: Exits) -> PlaceId {
        let joined = self.store("gap", r#""joined""#);
        let finish = self.finish_with(index, vec![joined], to.next);
        let value = self.at_hand("");
        let input = self.b.read(self.slots["value"]);
        let mut writes = self.begin_writes(index);
        writes.push(Write::Put(self.own.edges[&index], value));
        writes.extend(self.own.step_slots.get(&index).map(|step_slots| Write::Put(step_slots.input, input)));
        let place = self.b.at(self.own.begins[index]).set(writes, finish, None);
        self.b.mark(place, Mark::Begin(self.own.ids[index], Some(input)));
        to.blocked
    }

    pub(super) fn merge(&mut self, index: StepIndex, at: Location, to: Exits) -> PlaceId {
        let (children, skipped) = self.children(index, at, to);
        let finish = self.finish(index, children);
        let run = if self.is_scripted(index) {
            self.call_runner(index, at, finish)
        } else {
            self.rendered(index, at, finish)
        };
        let nothing = self.give_up(index, to, skipped, "merge_without_value");
        self.b.mark(nothing, Mark::Skip(self.own.ids[index], "merge_without_value".into()));
        let own = self.b.reserve();
        let joins = self.own.plan.joins.get(&index).cloned().unwrap_or_default();
        let mut feeding: Vec<StepIndex> = joins.iter().copied().chain([index]).collect();
        // Step indices are in the order of the text, which is the order of values.
        feeding.sort_unstable();
        let merged = self.merged(index, &feeding, run);
        let places = |lower: &Self, from: StepIndex| if from == index { own } else { lower.own.begins[from] };
        let edges: Vec<_> = feeding.iter().map(|from| (self.own.edges[from], places(self, *from))).collect();
        let meet = self.b.meet(edges, merged, nothing);
        let decision = self.b.decision(self.own.ids[index], DecisionKind::Join);
        let names = feeding.iter().map(|from| {
            match if *from == index { self.own.document.before(index) } else { Some(*from) } {
                Some(step) => self.own.document.steps[step].id.clone(),
                None => "input".into(),
            }
        });
        let names: Vec<_> = names.collect();
        self.b.inputs(decision, names);
        let exits = [("merged", "at least one input arrived"), ("skipped", "no input arrived")]
            .map(|(name, rule)| Some(self.b.rule_branch(decision, name, rule, None)));
        self.b.decides(meet, decision, exits);
        let value = self.at_hand("");
        self.b.at(own).set([Write::Put(self.own.edges[&index], value)], meet, None);
        let nothing_delivered = self.test("gap != nil");
        let arrive = self.b.decide([(nothing_delivered, meet)], own, None);
        let writes = self.begin_writes(index);
        self.b.at(self.own.begins[index]).set(writes, arrive, None);
        if joins.is_empty() { skipped } else { meet }
    }

    /// Makes the delivered values the current value: one unchanged, several as lines of text.
    fn merged(&mut self, index: StepIndex, feeding: &[StepIndex], run: PlaceId) -> PlaceId {
        let keys: Vec<String> = (0..feeding.len()).map(|at| format!("e{at}")).collect();
        let names: Vec<_> = keys.iter().zip(feeding).map(|(key, from)| (&**key, self.own.edges[from])).collect();
        let delivered = format!("filter([{}], # != nil)", keys.join(", "));
        let mut writes = vec![
            self.store_with("probe", &delivered, &names, &[]),
            self.store("value", "len(probe) == 1 ? probe[0].v : joinTexts(map(probe, .v))"),
            self.store("kind", r#"len(probe) == 1 ? probe[0].k : "text/plain""#),
        ];
        let input = self.b.read(self.slots["value"]);
        let mut begun = vec![Write::Clear(self.slots["gap"])];
        begun.extend(self.own.step_slots.get(&index).map(|step_slots| Write::Put(step_slots.input, input)));
        let begin = self.b.set(begun, run, None);
        self.b.mark(begin, Mark::Begin(self.own.ids[index], Some(input)));
        if self.own.plan.has_files {
            writes.push(self.store("files", "len(probe) == 1 ? probe[0].f : joinAttachments(map(probe, .f))"));
        }
        writes.extend(self.selected_by(index));
        writes.extend(self.not_skipping());
        self.b.set(writes, begin, None)
    }
}
