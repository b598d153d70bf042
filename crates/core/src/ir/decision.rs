//! The decisions of a document, and the places of a program that make them.
//!
//! Lowering adds conditions of its own to a program. Only the decisions in this table are explained to people.

use std::sync::Arc;

use branchpoint_expr::Condition;
use serde::{Deserialize, Serialize};

use super::{ConditionId, DecisionId, ExprId, Index, Program, StepId};

/// One decision of the document, with all its branches in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Decision {
    /// The step that decides.
    pub step: StepId,
    /// The kind of decision.
    pub kind: DecisionKind,
    /// The branches, in the order of evaluation.
    pub branches: Vec<Branch>,
    /// The inputs of a join: the names of a merge's edges or of a scope's entries, in their order.
    pub inputs: Vec<Arc<str>>,
    /// The rounds of a loop, the turns of a conversation or the retries so far.
    pub count: Option<Count>,
    /// The items of a loop over items.
    pub items: Option<Items>,
    /// The attempt that failed, for a decision about the attempt after it.
    pub attempt: Option<Attempt>,
    /// The error `{kind, message, step}` that led to the decision.
    pub error: Option<ExprId>,
    /// The note of a person's answer, for a decision made by an answer instead of conditions.
    pub answer: Option<ExprId>,
}

/// The kind of a decision, the same for all dialects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DecisionKind {
    /// The first of several conditions that is true.
    Branch,
    /// The first case that matches a value.
    Switch,
    /// Whether a run passes a gate.
    Gate,
    /// Whether a loop continues.
    Loop,
    /// Which state or step comes next.
    Transition,
    /// A request to people.
    Approval,
    /// Whether a step is retried.
    Retry,
    /// The inputs that arrived at a join.
    Join,
    /// The event that ended a wait.
    Wait,
    /// Whether a policy applies to a value.
    Policy,
    /// Whether a part has a budget left for its next call.
    Budget,
}

impl DecisionKind {
    /// The name in every output.
    ///
    /// ```
    /// assert_eq!(branchpoint_core::ir::DecisionKind::Loop.as_str(), "loop");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::Switch => "switch",
            Self::Gate => "gate",
            Self::Loop => "loop",
            Self::Transition => "transition",
            Self::Approval => "approval",
            Self::Retry => "retry",
            Self::Join => "join",
            Self::Wait => "wait",
            Self::Policy => "policy",
            Self::Budget => "budget",
        }
    }
}

/// One alternative of a decision.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Branch {
    /// The name in traces.
    pub name: Arc<str>,
    /// The condition in the document. A branch without a condition is chosen by a rule, or when no condition is true.
    pub condition: Option<ConditionId>,
    /// The test of a branch that a rule chooses, so that the decision can be evaluated again with other values.
    pub test: Option<ConditionId>,
    /// The condition or the rule in words; none for a default that needs no reason.
    pub text: Option<Arc<str>>,
    /// An expression for a text that is known only in the run; its value replaces `text`.
    pub reason: Option<ExprId>,
    /// Whether the branch is chosen when no condition is true.
    pub is_default: bool,
    /// The steps, states or nodes to which the branch leads.
    pub targets: Vec<Arc<str>>,
    /// An expression for a target that is known only in the run.
    pub leads_to: Option<ExprId>,
    /// Line and column of the condition in the document, counted from 1.
    pub position: Option<(u32, u32)>,
}

/// The number of rounds, turns or retries before a decision.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Count {
    /// The number so far.
    pub value: ExprId,
    /// The maximum.
    pub limit: Option<ExprId>,
    /// The counted unit.
    pub unit: Unit,
}

/// The unit that a decision counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Rounds of a loop.
    Round,
    /// Turns of a conversation.
    Turn,
    /// Retries of a step.
    Retry,
}

impl Unit {
    /// The name in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Round => "round",
            Self::Turn => "turn",
            Self::Retry => "retry",
        }
    }
}

/// The items of a loop whose rounds are not entries of a frame.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Items {
    /// The number of items.
    pub count: ExprId,
    /// The number of items that a limit omits.
    pub left_out: Option<ExprId>,
    /// The positions of failed items, as a list.
    pub failed: Option<ExprId>,
}

/// The last attempt, which failed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// The number of the attempt, counted from 1.
    pub number: ExprId,
    /// The maximum.
    pub limit: ExprId,
}

/// The decision that the op of a place makes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Decides {
    /// The decision.
    pub decision: DecisionId,
    /// The branch of each exit of the op, or none if the decision continues at a later place.
    ///
    /// The exits of `Decide` are its arms, `otherwise`, and its failure; an omitted failure is the end of the decision.
    /// Those of `Wait` are its arms, those of `Meet` are `next` and `none`, those of `Enter` are `next` and the failure.
    pub exits: Vec<Option<u32>>,
}

/// The loop whose rounds the frames or entries of a scope are.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Rounds {
    /// The step of the loop.
    pub step: StepId,
    /// The slot with the number of the round, from 0; none in a scope of items, whose entries are the rounds.
    pub round: Option<super::SlotId>,
    /// The slot of the list with the items of the rounds.
    pub items: Option<super::SlotId>,
}

impl Program {
    /// Stores line and column of every branch's condition, so that explanations do not need the document.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// let mut program = program;
    /// program.locate("if: score >= 5");
    /// ```
    pub fn locate(&mut self, source: &str) {
        let begins = std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1));
        let begins: Vec<usize> = begins.collect();
        let conditions = &self.conditions;
        for branch in self.decisions.iter_mut().flat_map(|decision| &mut decision.branches) {
            let span = branch.condition.and_then(|condition| conditions.get(condition.index())).map(Condition::span);
            let start = span.map(|span| span.start as usize).filter(|start| source.is_char_boundary(*start));
            branch.position = start.map(|start| {
                let line = begins.partition_point(|begin| *begin <= start);
                let column = source[begins[line - 1]..start].chars().count() + 1;
                let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
                (number(line), number(column))
            });
        }
    }
}
