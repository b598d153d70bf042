//! Steps that choose one of their arms. All arms meet again, then the `child_steps` run.

mod visits;

use branchpoint_core::ir::{ConditionId, DecisionKind, Mark, PlaceId, Write};
use branchpoint_expr::{Condition, Dialect, Located};
pub(super) use visits::ArmExits;

use super::{Exits, Location, Lower};
use crate::steps::condition;
use crate::steps::tree::{Role, StepIndex};

/// The largest number of skipped steps in other arms that are recorded individually; the trace derives more.
const MOST_MARKS: usize = 4096;

/// One arm: its marker in traces, its guard, and its position among the lists of the step.
struct ArmOf {
    marker: Option<String>,
    guard: Option<ConditionId>,
    steps: Vec<StepIndex>,
}

impl Lower<'_, '_> {
    pub(super) fn branching(&mut self, index: StepIndex, at: Location, to: Exits) -> PlaceId {
        let (children, skipped) = self.children(index, at, to);
        // A gap in the arm is a gap of the step, so it stays.
        let finish = self.finish_with(index, Vec::new(), children);
        let (begin, skipped) = self.arms_of(index, at, ArmExits { finish, children, skipped });
        self.begin(index, at, begin);
        skipped
    }

    /// Lowers the own work of a step that chooses an arm. Returns the places for strands that run it, and for those that skip it.
    pub(super) fn arms_of(&mut self, index: StepIndex, at: Location, arm_exits: ArmExits) -> (PlaceId, PlaceId) {
        let ArmExits { finish, skipped, .. } = arm_exits;
        let (probe, arms) = self.arms(index, at);
        let revives = arms.iter().any(|arm| arm.steps.iter().any(|step| self.own.plan.revives[*step]));
        let (begins, skipped) = if revives {
            self.visits(index, at, &arms, arm_exits)
        } else {
            (arms.iter().map(|arm| self.chain(&arm.steps, at, finish, finish).0).collect(), skipped)
        };
        let kind =
            if self.own.document.steps[index].is("switch") { DecisionKind::Switch } else { DecisionKind::Branch };
        let decision = self.b.decision(self.own.ids[index], kind);
        let (mut guarded, mut exits) = (Vec::new(), Vec::new());
        let mut otherwise = finish;
        for (position, (arm, begin)) in arms.iter().zip(begins).enumerate() {
            let marked_arm = self.mark_taken_arm(index, position, &arms, begin);
            match arm.guard {
                Some(guard) => guarded.push((guard, marked_arm)),
                None => otherwise = marked_arm,
            }
            let target = arm.steps.first().map(|step| &*self.own.document.steps[*step].id);
            exits.push(Some(match (&arm.marker, arm.guard) {
                (None, None) => self.b.default_branch(decision, "none", "there is no else", None),
                (name, guard) => self.b.branch(decision, name.as_deref().unwrap_or_default(), guard, target),
            }));
        }
        let failure = self.own.failures.get(&index).copied().unwrap_or_else(|| self.failure(index, at, None));
        let decide = self.b.decide(guarded, otherwise, Some(failure));
        self.b.decides(decide, decision, exits);
        (self.b.set(probe, decide, Some(failure)), skipped)
    }

    /// The writes before the arms are distinguished, and the arms with their guards; the last has none.
    fn arms(&mut self, index: StepIndex, at: Location) -> (Vec<Write>, Vec<ArmOf>) {
        let step = &self.own.document.steps[index];
        match step.kind.name {
            "switch" => self.cases(index, at),
            "if_else" => {
                let probe = step.get("input_template").map(|template| self.template(at.scope, template));
                let guard =
                    self.seeing(at, probe.is_some(), |lower| lower.condition(at.scope, &condition::of(step.located)));
                let then = self.arm(index, Some("then".into()), Some(guard), 0);
                let otherwise = self.arm(index, Some("else".into()), None, 1);
                (probe.into_iter().map(|probe| Write::Put(self.slots["probe"], probe)).collect(), vec![then, otherwise])
            }
            _ => {
                let elifs = step.get("elif").and_then(Located::items).unwrap_or_default();
                let guard = self.condition(at.scope, &condition::of(step.located));
                let mut arms = vec![self.arm(index, Some("then".into()), Some(guard), 0)];
                for (position, elif) in elifs.iter().enumerate() {
                    let guard = self.condition(at.scope, &condition::of(elif));
                    arms.push(self.arm(index, Some(format!("elif-{position}")), Some(guard), position + 1));
                }
                arms.push(self.arm(index, Some("else".into()), None, elifs.len() + 1));
                (Vec::new(), arms)
            }
        }
    }

    fn cases(&mut self, index: StepIndex, at: Location) -> (Vec<Write>, Vec<ArmOf>) {
        let step = &self.own.document.steps[index];
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
            arms.push(self.arm(index, name, Some(guard), position));
        }
        let has_else = !self.steps_of(index, Role::Arm(cases.len())).is_empty();
        arms.push(self.arm(index, has_else.then(|| "else".into()), None, cases.len()));
        (probe.into_iter().map(|probe| Write::Put(self.slots["probe"], probe)).collect(), arms)
    }

    fn arm(&self, index: StepIndex, marker: Option<String>, guard: Option<ConditionId>, position: usize) -> ArmOf {
        ArmOf { marker, guard, steps: self.steps_of(index, Role::Arm(position)) }
    }

    /// While a condition is compiled, `input` may be the rendered template instead of the step's input.
    fn seeing<T>(&mut self, at: Location, rendered: bool, compile: impl FnOnce(&mut Self) -> T) -> T {
        if rendered {
            self.b.name(at.scope, &["input"], self.slots["probe"]);
        }
        let compiled = compile(self);
        if rendered {
            self.b.name(at.scope, &["input"], self.slots["value"]);
        }
        compiled
    }

    /// Records in the trace which arm is chosen and which steps are skipped.
    fn mark_taken_arm(&mut self, index: StepIndex, position: usize, arms: &[ArmOf], begin: PlaceId) -> PlaceId {
        let place = self.b.set([], begin, None);
        if let Some(marker) = &arms[position].marker {
            self.b.mark(place, Mark::Branch(self.own.ids[index], marker.as_str().into()));
        }
        let others = arms.iter().enumerate().filter(|(other, _)| *other != position);
        let others: Vec<StepIndex> = others.flat_map(|(_, arm)| arm.steps.iter().copied()).collect();
        if others.len().saturating_mul(arms.len()) <= MOST_MARKS {
            for other in others.into_iter().filter(|other| !self.own.plan.revives[*other]) {
                self.b.mark(place, Mark::Skip(self.own.ids[other], "arm_not_taken".into()));
            }
        }
        place
    }
}
