//! Steps that pick one of their arms. All arms lead back together, then the `child_steps` run.

mod visits;

use branchpoint_core::ir::{ConditionId, DecisionKind, Mark, PlaceId, Write};
use branchpoint_expr::{Condition, Dialect, Located};
use visits::Beyond;

use super::{Lower, To, Where};
use crate::steps::condition;
use crate::steps::tree::{No, Role};

/// Steps in arms not taken are told one by one as long as they are few; beyond, the trace derives them.
const MOST_MARKS: usize = 4096;

/// One arm: its marker in traces, what it takes to be picked, and its place among the lists of the step.
struct ArmOf {
    marker: Option<String>,
    guard: Option<ConditionId>,
    steps: Vec<No>,
}

impl Lower<'_, '_> {
    pub(super) fn branching(&mut self, no: No, at: Where, to: To) -> PlaceId {
        let (children, skipped) = self.children(no, at, to);
        // What has not come over an arm has not come over the step: the gap stays as the arm left it.
        let finish = self.finish_with(no, Vec::new(), children);
        let (probe, arms) = self.arms(no, at);
        let revives = arms.iter().any(|arm| arm.steps.iter().any(|step| self.own.plan.revives[*step]));
        let (begins, skipped) = if revives {
            self.visits(no, at, &arms, Beyond { finish, children, skipped })
        } else {
            (arms.iter().map(|arm| self.chain(&arm.steps, at, finish, finish).0).collect(), skipped)
        };
        let kind = if self.own.document.steps[no].is("switch") { DecisionKind::Switch } else { DecisionKind::Branch };
        let decision = self.b.decision(self.own.ids[no], kind);
        let (mut guarded, mut exits) = (Vec::new(), Vec::new());
        let mut otherwise = finish;
        for (position, (arm, begin)) in arms.iter().zip(begins).enumerate() {
            let taken = self.taken(no, position, &arms, begin);
            match arm.guard {
                Some(guard) => guarded.push((guard, taken)),
                None => otherwise = taken,
            }
            let target = arm.steps.first().map(|step| &*self.own.document.steps[*step].id);
            exits.push(Some(match (&arm.marker, arm.guard) {
                (None, None) => self.b.default_branch(decision, "none", "there is no else", None),
                (name, guard) => self.b.branch(decision, name.as_deref().unwrap_or_default(), guard, target),
            }));
        }
        let failure = self.failure(no, at, None);
        let decide = self.b.decide(guarded, otherwise, Some(failure));
        self.b.decides(decide, decision, exits);
        let begin = self.b.set(probe, decide, Some(failure));
        self.begin(no, begin);
        skipped
    }

    /// What has to be computed before the arms can be told apart, and the arms with their guards; the last has none.
    fn arms(&mut self, no: No, at: Where) -> (Vec<Write>, Vec<ArmOf>) {
        let step = &self.own.document.steps[no];
        match step.kind.name {
            "switch" => self.cases(no, at),
            "if_else" => {
                let probe = step.get("input_template").map(|template| self.template(at.scope, template));
                let guard =
                    self.seeing(at, probe.is_some(), |lower| lower.condition(at.scope, &condition::of(step.located)));
                let then = self.arm(no, Some("then".into()), Some(guard), 0);
                let otherwise = self.arm(no, Some("else".into()), None, 1);
                (probe.into_iter().map(|probe| Write::Put(self.slots["probe"], probe)).collect(), vec![then, otherwise])
            }
            _ => {
                let elifs = step.get("elif").and_then(Located::items).unwrap_or_default();
                let guard = self.condition(at.scope, &condition::of(step.located));
                let mut arms = vec![self.arm(no, Some("then".into()), Some(guard), 0)];
                for (position, elif) in elifs.iter().enumerate() {
                    let guard = self.condition(at.scope, &condition::of(elif));
                    arms.push(self.arm(no, Some(format!("elif-{position}")), Some(guard), position + 1));
                }
                arms.push(self.arm(no, Some("else".into()), None, elifs.len() + 1));
                (Vec::new(), arms)
            }
        }
    }

    fn cases(&mut self, no: No, at: Where) -> (Vec<Write>, Vec<ArmOf>) {
        let step = &self.own.document.steps[no];
        let written = step.get("discriminator").filter(|text| text.text().is_none_or(|text| !text.trim().is_empty()));
        let probe = written.map(|template| self.template(at.scope, template));
        let cases = step.get("cases").and_then(Located::items).unwrap_or_default();
        let mut arms = Vec::new();
        for (position, case) in cases.iter().enumerate() {
            let guard = self.seeing(at, probe.is_some(), |lower| {
                let compiled = lower
                    .b
                    .condition_with(at.scope, Dialect::Steps, |options| Condition::case(step.located, case, options));
                compiled.expect("the rules refuse what does not compile")
            });
            let name = case.get("name").and_then(Located::text).map(ToString::to_string);
            arms.push(self.arm(no, name, Some(guard), position));
        }
        let has_else = !self.steps_of(no, Role::Arm(cases.len())).is_empty();
        arms.push(self.arm(no, has_else.then(|| "else".into()), None, cases.len()));
        (probe.into_iter().map(|probe| Write::Put(self.slots["probe"], probe)).collect(), arms)
    }

    fn arm(&self, no: No, marker: Option<String>, guard: Option<ConditionId>, position: usize) -> ArmOf {
        ArmOf { marker, guard, steps: self.steps_of(no, Role::Arm(position)) }
    }

    /// While a condition is compiled, `input` may be what was rendered for it instead of the step's input.
    fn seeing<T>(&mut self, at: Where, rendered: bool, compile: impl FnOnce(&mut Self) -> T) -> T {
        if rendered {
            self.b.name(at.scope, &["input"], self.slots["probe"]);
        }
        let compiled = compile(self);
        if rendered {
            self.b.name(at.scope, &["input"], self.slots["value"]);
        }
        compiled
    }

    /// An arm is taken: the trace is told which, and which steps are not run for it.
    fn taken(&mut self, no: No, position: usize, arms: &[ArmOf], begin: PlaceId) -> PlaceId {
        let place = self.b.set([], begin, None);
        if let Some(marker) = &arms[position].marker {
            self.b.mark(place, Mark::Branch(self.own.ids[no], marker.as_str().into()));
        }
        let others = arms.iter().enumerate().filter(|(other, _)| *other != position);
        let others: Vec<No> = others.flat_map(|(_, arm)| arm.steps.iter().copied()).collect();
        if others.len().saturating_mul(arms.len()) <= MOST_MARKS {
            for other in others.into_iter().filter(|other| !self.own.plan.revives[*other]) {
                self.b.mark(place, Mark::Skip(self.own.ids[other], "arm_not_taken".into()));
            }
        }
        place
    }
}
