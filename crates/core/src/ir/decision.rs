//! The decisions that a document's author wrote, and where a program takes them.
//!
//! A program decides more than its author did: lowering adds conditions of its own. Only what is in this table is ever
//! explained to people.

use std::sync::Arc;

use branchpoint_expr::Condition;
use serde::{Deserialize, Serialize};

use super::{ConditionId, DecisionId, ExprId, Index, Program, StepId};

/// One decision of the document, with all its branches in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Decision {
    /// The step that decides.
    pub step: StepId,
    /// What kind of decision it is.
    pub kind: DecisionKind,
    /// Its branches, in the order in which they are evaluated.
    pub branches: Vec<Branch>,
    /// What a join waits for: the names of a merge's edges or of a scope's entries, in their order.
    pub inputs: Vec<Arc<str>>,
    /// The rounds of a loop, the turns of a conversation or the retries so far.
    pub count: Option<Count>,
    /// The items of a loop over items.
    pub items: Option<Items>,
    /// The attempt that failed, for a decision about the attempt after it.
    pub attempt: Option<Attempt>,
    /// Why something failed, as `{kind, message, step}`.
    pub error: Option<ExprId>,
    /// The note of a person's answer, for a decision that an answer takes instead of conditions.
    pub answer: Option<ExprId>,
}

/// What kind of decision it is: one set of words for all dialects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DecisionKind {
    /// The first of several conditions that is true.
    Branch,
    /// The first case that matches a value.
    Switch,
    /// Whether something may pass.
    Gate,
    /// Whether a loop continues.
    Loop,
    /// Which state or step comes next.
    Transition,
    /// A request to people.
    Approval,
    /// Whether something is attempted again.
    Retry,
    /// What arrived where several lines of execution come together.
    Join,
    /// What ended a wait.
    Wait,
    /// Whether a policy applies to a value.
    Policy,
}

impl DecisionKind {
    /// The word for it in every output.
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
        }
    }
}

/// One alternative of a decision.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Branch {
    /// Its name in traces.
    pub name: Arc<str>,
    /// The author's condition. Without one it is taken by a rule, or when no condition is true.
    pub condition: Option<ConditionId>,
    /// The test of a branch that a rule takes, so that the decision can be taken again with other values.
    pub test: Option<ConditionId>,
    /// The condition or the rule in words; none for a default that needs no reason.
    pub text: Option<Arc<str>>,
    /// The rule in words that are known only in the run; they replace `text`.
    pub reason: Option<ExprId>,
    /// Whether it is taken when no condition is true.
    pub is_default: bool,
    /// The steps, states or nodes that it leads to.
    pub targets: Vec<Arc<str>>,
    /// The one that it leads to, where that is known only in the run.
    pub leads_to: Option<ExprId>,
    /// Line and column of the condition in the document, counted from 1.
    pub position: Option<(u32, u32)>,
}

/// How many rounds, turns or retries were made before a decision.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Count {
    /// The number so far.
    pub value: ExprId,
    /// The most there may be.
    pub limit: Option<ExprId>,
    /// What is counted.
    pub unit: Unit,
}

/// What a decision counts.
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
    /// The word for it in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Round => "round",
            Self::Turn => "turn",
            Self::Retry => "retry",
        }
    }
}

/// The items of a loop, where its rounds are not entries of a frame.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Items {
    /// How many the loop goes over.
    pub count: ExprId,
    /// How many a limit leaves out.
    pub left_out: Option<ExprId>,
    /// The positions of those that failed, as a list.
    pub failed: Option<ExprId>,
}

/// An attempt that failed and is not followed by another one.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// Its number, counted from 1.
    pub number: ExprId,
    /// The most there may be.
    pub limit: ExprId,
}

/// The decision that the op of a place takes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Decides {
    /// Which.
    pub decision: DecisionId,
    /// By exit of the op: the branch that it stands for, or none where the decision continues at a later place.
    ///
    /// The exits of `Decide` are its arms, `otherwise`, and its failure; an omitted failure is the end of the decision.
    /// Those of `Wait` are its arms, those of `Meet` are `next` and `none`, those of `Enter` are `next` and the failure.
    pub exits: Vec<Option<u32>>,
}

/// The loop whose rounds the frames or entries of a scope are.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Rounds {
    /// The step that loops.
    pub step: StepId,
    /// The slot that counts the rounds, from 0; none in a scope of items, whose entries are the rounds.
    pub round: Option<super::SlotId>,
    /// The slot of the list whose elements are the items of the rounds that `round` counts.
    pub items: Option<super::SlotId>,
}

impl Program {
    /// Notes line and column of every branch's condition, so that an explanation needs no document.
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
