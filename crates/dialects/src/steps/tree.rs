//! A document as a table of steps in the order of the text, linked by indices.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_expr::{Located, Span};

use super::types::StepType;
use crate::fields::Access;
use crate::inputs::DeclaredInputs;

/// The workflow of a `call_agent` that names no agent.
const DEFAULT_AGENT: &str = "default";

/// The index of a step in the table.
pub(super) type StepIndex = usize;

/// A document with its table of steps.
#[derive(Debug)]
pub(super) struct Document<'d> {
    pub(super) located: &'d Located,
    /// All steps, in the order of the text.
    pub(super) steps: Vec<Step<'d>>,
    /// The root chain.
    pub(super) root: List,
    /// The steps that run when the budget of the document is used up, after all others in the table.
    pub(super) on_budget: List,
    /// The steps by id.
    pub(super) ids: BTreeMap<Arc<str>, StepIndex>,
    /// The declared inputs, if any are.
    pub(super) inputs: Option<DeclaredInputs>,
}

/// The step in the document, with spans.
#[derive(Debug)]
pub(super) struct Step<'d> {
    pub(super) id: Arc<str>,
    pub(super) kind: &'static StepType,
    pub(super) located: &'d Located,
    /// The enclosing step, and the index of its list with this step.
    pub(super) parent: Option<(StepIndex, usize)>,
    /// The lists of steps in it, in the order of the text.
    pub(super) lists: Vec<List>,
    /// The index after the last step in it: the steps inside a step are contiguous in the table.
    pub(super) end: StepIndex,
}

/// A list of steps.
#[derive(Debug)]
pub(super) struct List {
    pub(super) role: Role,
    pub(super) steps: Vec<StepIndex>,
}

/// The role of a list of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The document itself.
    Root,
    /// `child_steps`.
    Children,
    /// An arm of a step that branches: the then-arm first, cases in order, the else-arm last.
    Arm(usize),
    /// The body of a loop.
    Body,
    /// A branch of a parallel step.
    Branch(usize),
    /// The steps that handle an error.
    OnError,
    /// The steps that run when a budget is used up.
    OnBudget,
}

impl Document<'_> {
    pub(super) fn find(&self, id: &str) -> Option<StepIndex> {
        self.ids.get(id).copied()
    }

    /// The list with a step.
    pub(super) fn list_of(&self, index: StepIndex) -> &List {
        match self.steps[index].parent {
            None if self.on_budget.steps.first().is_some_and(|first| *first <= index) => &self.on_budget,
            None => &self.root,
            Some((parent, list)) => &self.steps[parent].lists[list],
        }
    }

    /// The list of the document that contains a step or a step around it.
    pub(super) fn top_list(&self, index: StepIndex) -> &List {
        let outermost = self.around(index).last().map_or(index, |(holder, _)| holder);
        self.list_of(outermost)
    }

    /// The step whose output is the input of a step: the previous one in its chain, else the enclosing one.
    pub(super) fn before(&self, index: StepIndex) -> Option<StepIndex> {
        let list = self.list_of(index);
        let position = list.steps.iter().position(|step| *step == index);
        let earlier = position.and_then(|at| list.steps.get(at.checked_sub(1)?).copied());
        earlier.filter(|_| self.is_chain(self.parent(index), list)).or_else(|| self.parent(index))
    }

    pub(super) fn parent(&self, index: StepIndex) -> Option<StepIndex> {
        self.steps[index].parent.map(|(parent, _)| parent)
    }

    /// The enclosing steps of a step, the innermost first, each with the list that contains it.
    pub(super) fn around(&self, index: StepIndex) -> impl Iterator<Item = (StepIndex, &List)> {
        let outward = std::iter::successors(self.steps[index].parent, |(parent, _)| self.steps[*parent].parent);
        outward.map(|(parent, list)| (parent, &self.steps[parent].lists[list]))
    }

    /// Whether the elements of a list run one after the other.
    pub(super) fn is_chain(&self, holder: Option<StepIndex>, list: &List) -> bool {
        list.role != Role::Children || holder.is_none_or(|holder| self.steps[holder].kind.has_chain_below())
    }

    /// Whether two steps are elements of one list. Their indices are in the order of the list.
    pub(super) fn are_siblings(&self, left: StepIndex, right: StepIndex) -> bool {
        self.steps[left].parent == self.steps[right].parent && self.list_of(left).role == self.list_of(right).role
    }
}

impl<'d> Step<'d> {
    pub(super) fn list(&self, role: Role) -> Option<&List> {
        self.lists.iter().find(|list| list.role == role)
    }

    /// The value of a field, under its name or an alias. Null is absent.
    pub(super) fn get(&self, name: &str) -> Option<&'d Located> {
        let aliases = self.kind.fields.iter().flat_map(|table| table.iter()).filter(|field| field.is_alias);
        let older = aliases.filter(|field| field.replaces == Some(name)).map(|field| field.name);
        std::iter::once(name).chain(older).find_map(|name| self.located.given(name))
    }

    pub(super) fn text(&self, name: &str) -> Option<&'d Arc<str>> {
        self.get(name).and_then(Located::text)
    }

    pub(super) fn flag(&self, name: &str, default: bool) -> bool {
        self.located.flag(name).unwrap_or(default)
    }

    pub(super) fn int(&self, name: &str) -> Option<i64> {
        self.located.int(name)
    }

    /// The name of the workflow that a step calls, and its place; none if the step calls no workflow.
    pub(super) fn callee(&self) -> Option<(Arc<str>, Span)> {
        let field = match self.kind.name {
            "call_workflow" => "workflow",
            "call_agent" => "agent",
            _ => return None,
        };
        match self.get(field) {
            Some(name) => name.text().map(|text| (Arc::clone(text), name.span)),
            None => self.is("call_agent").then(|| (DEFAULT_AGENT.into(), self.span())),
        }
    }

    pub(super) fn span(&self) -> Span {
        self.located.span
    }

    /// Whether its type has this name.
    pub(super) fn is(&self, name: &str) -> bool {
        self.kind.name == name
    }
}
