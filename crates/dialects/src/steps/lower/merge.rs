//! Joins and merges. A join is a write, never a jump: the merge's own strand always comes, with or without a value.

use branchpoint_core::ir::{DecisionKind, Mark, PlaceId, Write};

use super::{Lower, To, Where};
use crate::steps::tree::No;

impl Lower<'_, '_> {
    /// A join hands its value to the merge; over its own way nothing goes on.
    pub(super) fn join(&mut self, no: No, to: To) -> PlaceId {
        let joined = self.text_value("joined");
        let finish = self.finish_with(no, vec![Write::Put(self.l.gap, joined)], to.next);
        let value = self.at_hand("");
        let input = self.b.read(self.l.value);
        let mut writes = self.begin_writes(no);
        writes.push(Write::Put(self.edges[&no], value));
        writes.extend(self.kept.get(&no).map(|kept| Write::Put(kept.input, input)));
        let place = self.b.at(self.begins[no]).set(writes, finish, None);
        self.b.mark(place, Mark::Begin(self.ids[no], Some(input)));
        to.blocked
    }

    pub(super) fn merge(&mut self, no: No, at: Where, to: To) -> PlaceId {
        let (children, skipped) = self.children(no, at, to);
        let finish = self.finish(no, children);
        let run = if self.is_scripted(no) { self.ask(no, at, finish) } else { self.rendered(no, at, finish) };
        let merged = self.merged(no, run);
        let nothing = self.give_up(no, to, skipped, "merge_without_value");
        self.b.mark(nothing, Mark::Skip(self.ids[no], "merge_without_value".into()));
        let own = self.b.reserve();
        let joins = self.plan.joins.get(&no).cloned().unwrap_or_default();
        let mut feeding: Vec<No> = joins.iter().copied().chain([no]).collect();
        // The numbers of steps are the order of the text, in which values are taken.
        feeding.sort_unstable();
        let places = |lower: &Self, from: No| if from == no { own } else { lower.begins[from] };
        let edges: Vec<_> = feeding.iter().map(|from| (self.edges[from], places(self, *from))).collect();
        let meet = self.b.meet(edges, merged, nothing);
        let decision = self.b.decision(self.ids[no], DecisionKind::Join);
        let names = feeding.iter().map(|from| match if *from == no { self.document.before(no) } else { Some(*from) } {
            Some(step) => self.document.steps[step].id.clone(),
            None => "input".into(),
        });
        let names: Vec<_> = names.collect();
        self.b.inputs(decision, names);
        let exits = [("merged", "at least one input arrived"), ("skipped", "no input arrived")]
            .map(|(name, rule)| Some(self.b.rule_branch(decision, name, rule, None)));
        self.b.decides(meet, decision, exits);
        let value = self.at_hand("");
        self.b.at(own).set([Write::Put(self.edges[&no], value)], meet, None);
        let empty_handed = self.when("g != nil", &[("g", self.l.gap)]);
        let arrive = self.b.decide([(empty_handed, meet)], own, None);
        let writes = self.begin_writes(no);
        self.b.at(self.begins[no]).set(writes, arrive, None);
        if joins.is_empty() { skipped } else { meet }
    }

    /// What came over the edges becomes the value at hand: one as it is, several as lines of text.
    fn merged(&mut self, no: No, run: PlaceId) -> PlaceId {
        let joins = self.plan.joins.get(&no).cloned().unwrap_or_default();
        let mut feeding: Vec<No> = joins.into_iter().chain([no]).collect();
        feeding.sort_unstable();
        let keys: Vec<String> = (0..feeding.len()).map(|at| format!("e{at}")).collect();
        let names: Vec<_> = keys.iter().zip(&feeding).map(|(key, from)| (&**key, self.edges[from])).collect();
        let came = self.inner(&format!("filter([{}], # != nil)", keys.join(", ")), &names);
        let names = [("c", self.l.probe)];
        let value = self.inner("len(c) == 1 ? c[0].v : joinTexts(map(c, .v))", &names);
        let kind = self.inner(r#"len(c) == 1 ? c[0].k : "text/plain""#, &names);
        let input = self.b.read(self.l.value);
        let mut begun = vec![Write::Clear(self.l.gap)];
        begun.extend(self.kept.get(&no).map(|kept| Write::Put(kept.input, input)));
        let begin = self.b.set(begun, run, None);
        self.b.mark(begin, Mark::Begin(self.ids[no], Some(input)));
        let mut writes =
            vec![Write::Put(self.l.probe, came), Write::Put(self.l.value, value), Write::Put(self.l.kind, kind)];
        if self.plan.has_files {
            let files = self.inner("len(c) == 1 ? c[0].f : nil", &names);
            writes.push(Write::Put(self.l.files, files));
        }
        if self.plan.has_revivals() {
            writes.push(Write::Clear(self.l.skipping));
        }
        self.b.set(writes, begin, None)
    }
}
