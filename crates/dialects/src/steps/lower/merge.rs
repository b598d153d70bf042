//! Joins and merges. A join is a write, never a jump: the merge's own strand always comes, with or without a value.

use branchpoint_core::ir::{DecisionKind, Mark, PlaceId, Write};

use super::{Lower, To, Where};
use crate::steps::tree::No;

impl Lower<'_, '_> {
    /// A join hands its value to the merge; over its own way nothing goes on.
    pub(super) fn join(&mut self, no: No, to: To) -> PlaceId {
        let joined = self.put("gap", r#""joined""#);
        let finish = self.finish_with(no, vec![joined], to.next);
        let value = self.at_hand("");
        let input = self.b.read(self.slots["value"]);
        let mut writes = self.begin_writes(no);
        writes.push(Write::Put(self.own.edges[&no], value));
        writes.extend(self.own.kept.get(&no).map(|kept| Write::Put(kept.input, input)));
        let place = self.b.at(self.own.begins[no]).set(writes, finish, None);
        self.b.mark(place, Mark::Begin(self.own.ids[no], Some(input)));
        to.blocked
    }

    pub(super) fn merge(&mut self, no: No, at: Where, to: To) -> PlaceId {
        let (children, skipped) = self.children(no, at, to);
        let finish = self.finish(no, children);
        let run = if self.is_scripted(no) { self.ask(no, at, finish) } else { self.rendered(no, at, finish) };
        let nothing = self.give_up(no, to, skipped, "merge_without_value");
        self.b.mark(nothing, Mark::Skip(self.own.ids[no], "merge_without_value".into()));
        let own = self.b.reserve();
        let joins = self.own.plan.joins.get(&no).cloned().unwrap_or_default();
        let mut feeding: Vec<No> = joins.iter().copied().chain([no]).collect();
        // The numbers of steps are the order of the text, in which values are taken.
        feeding.sort_unstable();
        let merged = self.merged(no, &feeding, run);
        let places = |lower: &Self, from: No| if from == no { own } else { lower.own.begins[from] };
        let edges: Vec<_> = feeding.iter().map(|from| (self.own.edges[from], places(self, *from))).collect();
        let meet = self.b.meet(edges, merged, nothing);
        let decision = self.b.decision(self.own.ids[no], DecisionKind::Join);
        let names =
            feeding.iter().map(|from| match if *from == no { self.own.document.before(no) } else { Some(*from) } {
                Some(step) => self.own.document.steps[step].id.clone(),
                None => "input".into(),
            });
        let names: Vec<_> = names.collect();
        self.b.inputs(decision, names);
        let exits = [("merged", "at least one input arrived"), ("skipped", "no input arrived")]
            .map(|(name, rule)| Some(self.b.rule_branch(decision, name, rule, None)));
        self.b.decides(meet, decision, exits);
        let value = self.at_hand("");
        self.b.at(own).set([Write::Put(self.own.edges[&no], value)], meet, None);
        let empty_handed = self.test("gap != nil");
        let arrive = self.b.decide([(empty_handed, meet)], own, None);
        let writes = self.begin_writes(no);
        self.b.at(self.own.begins[no]).set(writes, arrive, None);
        if joins.is_empty() { skipped } else { meet }
    }

    /// What came over the edges becomes the value at hand: one as it is, several as lines of text.
    fn merged(&mut self, no: No, feeding: &[No], run: PlaceId) -> PlaceId {
        let keys: Vec<String> = (0..feeding.len()).map(|at| format!("e{at}")).collect();
        let names: Vec<_> = keys.iter().zip(feeding).map(|(key, from)| (&**key, self.own.edges[from])).collect();
        let came = format!("filter([{}], # != nil)", keys.join(", "));
        let mut writes = vec![
            self.put_with("probe", &came, &names, &[]),
            self.put("value", "len(probe) == 1 ? probe[0].v : joinTexts(map(probe, .v))"),
            self.put("kind", r#"len(probe) == 1 ? probe[0].k : "text/plain""#),
        ];
        let input = self.b.read(self.slots["value"]);
        let mut begun = vec![Write::Clear(self.slots["gap"])];
        begun.extend(self.own.kept.get(&no).map(|kept| Write::Put(kept.input, input)));
        let begin = self.b.set(begun, run, None);
        self.b.mark(begin, Mark::Begin(self.own.ids[no], Some(input)));
        if self.own.plan.has_files {
            writes.push(self.put("files", "len(probe) == 1 ? probe[0].f : joinAttachments(map(probe, .f))"));
        }
        writes.extend(self.selected_by(no));
        writes.extend(self.not_skipping());
        self.b.set(writes, begin, None)
    }
}
