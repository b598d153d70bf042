//! Declaration of the decisions of a document. Only declared decisions are explained.
//!
//! ```
//! use branchpoint_core::ir::DecisionKind;
//! use branchpoint_core::ir::builder::{Builder, ROOT};
//! use branchpoint_core::ir::Status;
//! use branchpoint_expr::{Dialect, Value};
//!
//! let mut b = Builder::new();
//! let score = b.input();
//! b.name(ROOT, &["score"], score);
//! let step = b.step("tier", "conditional", None, (0, 10));
//! let result = b.read(score);
//! let (send, drop) = (b.close(Status::Completed, result), b.close(Status::Completed, result));
//! let good = b.condition(ROOT, "score >= 5", Dialect::Machine)?;
//! let decide = b.decide([(good, send)], drop, None);
//!
//! let tier = b.decision(step, DecisionKind::Branch);
//! let then = b.branch(tier, "then", Some(good), Some("send"));
//! let otherwise = b.branch(tier, "else", None, Some("drop"));
//! b.decides(decide, tier, [Some(then), Some(otherwise)]);
//! b.begin(ROOT, &[decide]);
//! assert_eq!(b.finish().unwrap().decisions[0].branches[0].text.as_deref(), Some("score >= 5"));
//! # Ok::<(), branchpoint_expr::Problems>(())
//! ```

use std::sync::Arc;

use super::super::validate::{Defect, DefectKind};
use super::super::{
    Branch, ConditionId, Count, Decides, Decision, DecisionId, DecisionKind, ExprId, Index, PlaceId, StepId, Unit,
};
use super::{Builder, count, push};

impl Builder {
    /// Adds a decision of a step, without branches.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let step = b.step("tier", "conditional", None, (0, 10));
    /// let tier = b.decision(step, DecisionKind::Branch);
    /// assert!(b.decision_mut(tier).branches.is_empty());
    /// ```
    pub fn decision(&mut self, step: StepId, kind: DecisionKind) -> DecisionId {
        let decision = Decision {
            step,
            kind,
            branches: Vec::new(),
            inputs: Vec::new(),
            count: None,
            items: None,
            attempt: None,
            error: None,
            answer: None,
        };
        DecisionId(push(&mut self.program.decisions, decision))
    }

    /// Adds a branch to a decision. `condition` is exactly the condition of the document, even if the op evaluates it together with a
    /// generated one. A branch without a condition is chosen when no condition is true.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// # let step = b.step("tier", "conditional", None, (0, 10));
    /// let tier = b.decision(step, DecisionKind::Branch);
    /// let good = b.condition(ROOT, "1 < 2", Dialect::Machine)?;
    /// let then = b.branch(tier, "then", Some(good), Some("send"));
    /// assert_eq!(b.branch_mut(tier, then).text.as_deref(), Some("1 < 2"));
    /// # Ok::<(), branchpoint_expr::Problems>(())
    /// ```
    pub fn branch(
        &mut self,
        decision: DecisionId,
        name: &str,
        condition: Option<ConditionId>,
        target: Option<&str>,
    ) -> u32 {
        let compiled = condition.and_then(|condition| self.program.conditions.get(condition.index()));
        let text = compiled.map(|condition| condition.text().into());
        let is_default = condition.is_none();
        self.push_branch(decision, Branch { condition, text, is_default, ..rule(name, "", target) })
    }

    /// Adds the branch that is chosen when no condition is true, with a reason such as "the state succeeded".
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// # let step = b.step("tier", "conditional", None, (0, 10));
    /// let tier = b.decision(step, DecisionKind::Branch);
    /// let next = b.default_branch(tier, "next", "the state succeeded", Some("send"));
    /// assert!(b.branch_mut(tier, next).is_default);
    /// ```
    pub fn default_branch(&mut self, decision: DecisionId, name: &str, reason: &str, target: Option<&str>) -> u32 {
        let branch = rule(name, reason, target);
        self.push_branch(decision, Branch { is_default: true, ..branch })
    }

    /// Adds a branch that a rule chooses instead of a condition, such as "after 5 rounds".
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// # let step = b.step("tier", "loop", None, (0, 10));
    /// let rounds = b.decision(step, DecisionKind::Loop);
    /// let limit = b.rule_branch(rounds, "limit", "after 5 rounds", None);
    /// assert!(!b.branch_mut(rounds, limit).is_default);
    /// ```
    pub fn rule_branch(&mut self, decision: DecisionId, name: &str, rule: &str, target: Option<&str>) -> u32 {
        self.push_branch(decision, self::rule(name, rule, target))
    }

    /// Sets an expression for the text of a branch's rule, if the text is known only in the run.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// # let step = b.step("tier", "loop", None, (0, 10));
    /// let rounds = b.decision(step, DecisionKind::Loop);
    /// let limit = b.rule_branch(rounds, "limit", "", None);
    /// let reason = b.value("after 5 rounds");
    /// b.reason(rounds, limit, reason);
    /// ```
    pub fn reason(&mut self, decision: DecisionId, branch: u32, reason: ExprId) {
        self.branch_mut(decision, branch).reason = Some(reason);
    }

    /// A branch, for fields that few branches have.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// # let step = b.step("tier", "conditional", None, (0, 10));
    /// let tier = b.decision(step, DecisionKind::Branch);
    /// let otherwise = b.branch(tier, "else", None, None);
    /// b.branch_mut(tier, otherwise).targets.push("drop".into());
    /// ```
    pub fn branch_mut(&mut self, decision: DecisionId, branch: u32) -> &mut Branch {
        &mut self.decision_mut(decision).branches[branch as usize]
    }

    fn push_branch(&mut self, decision: DecisionId, branch: Branch) -> u32 {
        let text = branch.text.as_ref().map_or(0, |text| text.len());
        self.size.add(super::size::PLACE_BYTES + (branch.name.len() + text) as u64);
        let branches = &mut self.decision_mut(decision).branches;
        branches.push(branch);
        count(branches.len() - 1)
    }

    /// Sets the names of the inputs of a join, in the order of the merge's edges or of the scope's entries.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// # let step = b.step("join", "merge", None, (0, 10));
    /// let join = b.decision(step, DecisionKind::Join);
    /// b.inputs(join, ["left", "right"]);
    /// assert_eq!(b.decision_mut(join).inputs.len(), 2);
    /// ```
    pub fn inputs(&mut self, decision: DecisionId, names: impl IntoIterator<Item = impl Into<Arc<str>>>) {
        self.decision_mut(decision).inputs = names.into_iter().map(Into::into).collect();
    }

    /// A decision, for fields that few decisions have.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// # let step = b.step("tier", "conditional", None, (0, 10));
    /// let tier = b.decision(step, DecisionKind::Branch);
    /// b.decision_mut(tier).answer = None;
    /// ```
    pub fn decision_mut(&mut self, decision: DecisionId) -> &mut Decision {
        &mut self.program.decisions[decision.index()]
    }

    /// Sets the number of rounds, turns or retries before the decision, and their maximum.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// # let step = b.step("tier", "loop", None, (0, 10));
    /// let rounds = b.decision(step, DecisionKind::Loop);
    /// let (done, limit) = (b.value(0), b.value(5));
    /// b.counts(rounds, Unit::Round, done, limit);
    /// ```
    pub fn counts(&mut self, decision: DecisionId, unit: Unit, value: ExprId, limit: ExprId) {
        self.decision_mut(decision).count = Some(Count { value, limit: Some(limit), unit });
    }

    /// Declares that the op of a place makes a decision. Each exit of the op means a branch, or none if the decision continues at a later
    /// place; see [`Decides::exits`]. Returns the place.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// # let step = b.step("tier", "conditional", None, (0, 10));
    /// # let (yes, no) = (b.reserve(), b.reserve());
    /// let good = b.condition(ROOT, "1 < 2", Dialect::Machine)?;
    /// let decide = b.decide([(good, yes)], no, None);
    /// let tier = b.decision(step, DecisionKind::Branch);
    /// let branches = [b.branch(tier, "then", Some(good), None), b.branch(tier, "else", None, None)];
    /// b.decides(decide, tier, branches.map(Some));
    /// # Ok::<(), branchpoint_expr::Problems>(())
    /// ```
    pub fn decides(&mut self, place: PlaceId, decision: DecisionId, exits: impl Into<Vec<Option<u32>>>) -> PlaceId {
        if let Some(label) = self.labels.get_mut(place.index()) {
            label.decides = Some(Decides { decision, exits: exits.into() });
        } else {
            let message = "a decision names a place that does not exist";
            self.wrong.push(Defect::new(DefectKind::NoSuchId, Some(place), message));
        }
        place
    }
}

fn rule(name: &str, rule: &str, target: Option<&str>) -> Branch {
    Branch {
        name: name.into(),
        condition: None,
        test: None,
        text: Some(rule.into()),
        reason: None,
        is_default: false,
        targets: target.into_iter().map(Into::into).collect(),
        leads_to: None,
        position: None,
    }
}
