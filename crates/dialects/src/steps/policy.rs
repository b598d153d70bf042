//! Policies: which steps they cover, and what they do there.

use std::sync::Arc;

use branchpoint_expr::Located;

use super::tree::{Document, Role, Step, StepIndex};
use super::types::Family;
use crate::fields::Access;

/// One policy of a document or a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy<'d> {
    pub(super) located: &'d Located,
}

/// Which value of a step run a policy is evaluated over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Input,
    Output,
}

/// The consequence of a policy that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Action {
    Block,
    Mask,
    Flag,
    Ask,
}

impl Action {
    pub(super) const WORDS: &'static [&'static str] = &["block", "mask", "flag", "ask"];

    pub(super) fn as_str(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}

impl<'d> Policy<'d> {
    pub(super) fn name(self) -> &'d str {
        self.located.str("name").map_or("", |name| &**name)
    }

    pub(super) fn stage(self) -> Option<Stage> {
        match &**self.located.str("on")? {
            "input" => Some(Stage::Input),
            "output" => Some(Stage::Output),
            _ => None,
        }
    }

    pub(super) fn action(self) -> Option<Action> {
        let word = self.located.str("then")?;
        [Action::Block, Action::Mask, Action::Flag, Action::Ask].into_iter().find(|action| action.as_str() == &**word)
    }

    pub(super) fn message(self) -> Option<&'d Arc<str>> {
        self.located.str("message")
    }
}

/// The policies that a document or a step has itself.
pub(super) fn of(holder: &Located) -> impl Iterator<Item = Policy<'_>> {
    holder.list("policies").iter().filter(|item| item.is_object()).map(|located| Policy { located })
}

/// Whether the policies around a step apply to it: it makes a value of its own.
pub(super) fn makes_value(step: &Step<'_>) -> bool {
    match step.kind.family {
        Family::Effect(_) => !step.is("wait"),
        Family::Pure => ["text", "regex_replace", "display_result"].contains(&step.kind.name),
        Family::Control => step.is("human_in_the_loop"),
    }
}

/// Whether a step has steps inside whose runs its policies cover.
pub(super) fn has_inside(step: &Step<'_>) -> bool {
    ["if_else", "conditional", "switch", "for_each", "while", "parallel"].contains(&step.kind.name)
}

/// The policies that cover a step, in the order of their evaluation: those of the document, then those around, then its own.
pub(super) fn covering<'d>(document: &Document<'d>, index: StepIndex) -> Vec<Policy<'d>> {
    let step = &document.steps[index];
    if !makes_value(step) {
        return Vec::new();
    }
    let is_inside = |role: Role| matches!(role, Role::Arm(_) | Role::Body | Role::Branch(_));
    let around =
        document.around(index).filter(|(holder, list)| is_inside(list.role) && has_inside(&document.steps[*holder]));
    let mut holders: Vec<&'d Located> = around.map(|(holder, _)| document.steps[holder].located).collect();
    holders.insert(0, step.located);
    holders.push(document.located);
    holders.into_iter().rev().flat_map(of).collect()
}

/// All policies of a document.
pub(super) fn all<'d>(document: &'d Document<'_>) -> impl Iterator<Item = Policy<'d>> {
    std::iter::once(document.located).chain(document.steps.iter().map(|step| step.located)).flat_map(of)
}
