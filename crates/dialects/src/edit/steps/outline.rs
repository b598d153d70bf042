//! The steps of a document with their paths.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_expr::{Dialect, Located, Span};

use crate::changes::parts::Parts;
use crate::edit::EditError;
use crate::export;
use crate::path::{Segment, at};
use crate::steps::{current_type, has_chain_below};

/// The steps of a document, in the order of the text.
pub(super) struct Outline {
    /// The path of the workflow in the document; not empty in an exported agent.
    pub(super) root: Vec<Segment>,
    pub(super) steps: Vec<OutlineStep>,
}

pub(super) struct OutlineStep {
    pub(super) id: Arc<str>,
    pub(super) is_named: bool,
    /// The type, by its current name.
    pub(super) kind: Arc<str>,
    pub(super) parent: Option<usize>,
    /// The path of the list that contains it.
    pub(super) list: Vec<Segment>,
    /// The position in the list.
    pub(super) index: usize,
    pub(super) path: Vec<Segment>,
    pub(super) span: Span,
}

impl OutlineStep {
    /// Whether it is one of the steps at a path, or inside of one.
    pub(super) fn is_in(&self, path: &[Segment]) -> bool {
        self.path.starts_with(path)
    }
}

impl Outline {
    pub(super) fn of(document: &Located) -> Self {
        let root: Vec<Segment> = match export::written_definition(document) {
            Some(_) => vec!["agent".into(), "definition".into()],
            None => Vec::new(),
        };
        let mut unnamed = 0;
        let parts = at(document, &root).map(|definition| Parts::of(definition, Dialect::Steps)).unwrap_or_default();
        let step = |part: &crate::changes::parts::Part<'_>| {
            unnamed += usize::from(!part.is_named);
            let path: Vec<Segment> = root.iter().chain(&part.path).cloned().collect();
            let (last, list) = path.split_last().expect("a step is in a list");
            OutlineStep {
                id: if part.is_named { part.id.clone() } else { format!("step_{unnamed}").into() },
                is_named: part.is_named,
                kind: current_type(&part.kind).unwrap_or(&part.kind).into(),
                parent: part.parent,
                list: list.to_vec(),
                index: if let Segment::Index(index) = last { *index } else { 0 },
                span: at(document, &path).map(|step| step.span).unwrap_or_default(),
                path,
            }
        };
        let steps = parts.steps.iter().map(step).collect();
        Self { root, steps }
    }

    pub(super) fn find(&self, id: &str) -> Option<&OutlineStep> {
        self.steps.iter().find(|step| &*step.id == id)
    }

    pub(super) fn step(&self, id: &str) -> Result<&OutlineStep, EditError> {
        self.find(id).ok_or_else(|| EditError::step(id))
    }

    pub(super) fn ids(&self) -> BTreeSet<Arc<str>> {
        self.steps.iter().map(|step| step.id.clone()).collect()
    }

    /// The step at a path.
    pub(super) fn at(&self, path: &[Segment]) -> Option<&OutlineStep> {
        self.steps.iter().find(|step| step.path == path)
    }

    /// The innermost step around a place of the text.
    pub(super) fn around(&self, span: Span) -> Option<&OutlineStep> {
        let encloses = |step: &&OutlineStep| step.span.start <= span.start && span.end <= step.span.end;
        self.steps.iter().filter(encloses).min_by_key(|step| step.span.end - step.span.start)
    }

    /// Whether the steps of a list run one after the other. Other steps run side by side.
    pub(super) fn is_chain(&self, list: &[Segment]) -> bool {
        let Some((Segment::Key(key), holder)) = list.split_last() else { return true };
        if !["child_steps", "steps"].contains(&&**key) {
            return true;
        }
        self.at(holder).is_none_or(|holder| has_chain_below(&holder.kind))
    }
}
