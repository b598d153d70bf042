//! A document as a table of steps, in the order of the text. The tree is in their numbers.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_expr::{Located, Span};

use super::types::StepType;
use crate::fields::Access;
use crate::inputs::Declared;

/// The workflow of a `call_agent` that names no agent.
const DEFAULT_AGENT: &str = "default";

/// A step of the table.
pub(super) type No = usize;

/// A document whose steps are known.
#[derive(Debug)]
pub(super) struct Document<'d> {
    pub(super) located: &'d Located,
    /// All steps, in the order of the text.
    pub(super) steps: Vec<Step<'d>>,
    /// The root chain.
    pub(super) root: List,
    /// The steps by id.
    pub(super) ids: BTreeMap<Arc<str>, No>,
    /// The declared inputs, if any are.
    pub(super) inputs: Option<Declared>,
}

/// What stands in the document, with the places of everything.
#[derive(Debug)]
pub(super) struct Step<'d> {
    pub(super) id: Arc<str>,
    pub(super) kind: &'static StepType,
    pub(super) located: &'d Located,
    /// The step around it, and the number of the list of it that holds this one.
    pub(super) parent: Option<(No, usize)>,
    /// The lists of steps in it, in the order of the text.
    pub(super) lists: Vec<List>,
    /// The number after the last step in it: what stands in a step stands together in the table.
    pub(super) end: No,
}

/// A list of steps.
#[derive(Debug)]
pub(super) struct List {
    pub(super) role: Role,
    pub(super) steps: Vec<No>,
}

/// What a list of steps is for.
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
    /// What handles an error.
    OnError,
}

impl Document<'_> {
    pub(super) fn find(&self, id: &str) -> Option<No> {
        self.ids.get(id).copied()
    }

    /// The list that holds a step.
    pub(super) fn list_of(&self, no: No) -> &List {
        match self.steps[no].parent {
            None => &self.root,
            Some((parent, list)) => &self.steps[parent].lists[list],
        }
    }

    /// The step whose value a step begins with: the one before it in a chain, else the one around it.
    pub(super) fn before(&self, no: No) -> Option<No> {
        let list = self.list_of(no);
        let position = list.steps.iter().position(|step| *step == no);
        let earlier = position.and_then(|at| list.steps.get(at.checked_sub(1)?).copied());
        earlier.filter(|_| self.is_chain(self.parent(no), list)).or_else(|| self.parent(no))
    }

    pub(super) fn parent(&self, no: No) -> Option<No> {
        self.steps[no].parent.map(|(parent, _)| parent)
    }

    /// The steps around a step, the innermost first, each with the list of it that leads here.
    pub(super) fn around(&self, no: No) -> impl Iterator<Item = (No, &List)> {
        let outward = std::iter::successors(self.steps[no].parent, |(parent, _)| self.steps[*parent].parent);
        outward.map(|(parent, list)| (parent, &self.steps[parent].lists[list]))
    }

    /// Whether the elements of a list run one after the other.
    pub(super) fn is_chain(&self, holder: Option<No>, list: &List) -> bool {
        list.role != Role::Children || holder.is_none_or(|holder| self.steps[holder].kind.has_chain_below())
    }

    /// Whether two steps are elements of one list. Their numbers tell which comes first.
    pub(super) fn are_siblings(&self, left: No, right: No) -> bool {
        self.steps[left].parent == self.steps[right].parent
    }
}

impl<'d> Step<'d> {
    pub(super) fn list(&self, role: Role) -> Option<&List> {
        self.lists.iter().find(|list| list.role == role)
    }

    /// What a field holds, under its own name or an older one. Null is absent.
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
