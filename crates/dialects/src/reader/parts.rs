//! A document as a flat list of parts, in the order of the text.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_expr::{Diagnostic, Kind, Shape, Span};

use super::limits::{ALIAS_BYTES, DEPTH, NODES};

use crate::DocumentKinds as _;

/// Values, keys and closing brackets together are at most three times the values, so a longer list is rejected before
/// it is counted exactly.
const MAX_PARTS: usize = 3 * NODES;

/// A part and its span.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) kind: PartKind,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum PartKind {
    /// Any value but a list or an object. It is resolved here, so that aliases share the result.
    Scalar { written: Arc<str>, shape: Shape },
    /// A number outside of JSON. It can be a key, like any number, but not a value.
    Unbounded(Arc<str>),
    /// A value that was reported already. It reads as null without further findings.
    Refused,
    /// The beginning of a list or an object. Its parts follow up to its `Close`.
    Open(Bracket),
    /// The end of the innermost list or object.
    Close,
    /// A repetition of the part with this index.
    Alias(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bracket {
    List,
    Object,
    /// A list without brackets. It ends with its last value and not with its `Close`, because blank lines and comments
    /// can be between them.
    BlockList,
    BlockObject,
}

/// The list of parts. [`Parts::close_all`] balances it at any moment, so that a tree can be built.
#[derive(Debug, Default)]
pub(super) struct Parts {
    list: Vec<Part>,
    /// The indices of the open lists and objects.
    open: Vec<usize>,
    anchors: BTreeMap<usize, usize>,
}

impl Parts {
    /// A list with the usual capacity for a text of this size, because moving a long list takes time.
    pub(super) fn of_bytes(bytes: usize) -> Self {
        Self { list: Vec::with_capacity((bytes / 8).min(MAX_PARTS)), ..Self::default() }
    }

    pub(super) fn list(&self) -> &[Part] {
        &self.list
    }

    /// The innermost open list or object and its position.
    pub(super) fn inside(&self) -> Option<(Bracket, Span)> {
        match self.open.last().map(|index| &self.list[*index]) {
            Some(Part { kind: PartKind::Open(bracket), span }) => Some((*bracket, *span)),
            _ => None,
        }
    }

    pub(super) fn scalar(&mut self, written: Arc<str>, shape: Shape, span: Span) -> Result<(), Diagnostic> {
        self.push(PartKind::Scalar { written, shape }, span)
    }

    pub(super) fn unbounded(&mut self, written: Arc<str>, span: Span) -> Result<(), Diagnostic> {
        self.push(PartKind::Unbounded(written), span)
    }

    pub(super) fn open(&mut self, bracket: Bracket, span: Span) -> Result<(), Diagnostic> {
        if self.open.len() == DEPTH {
            return Err(too_deep(span));
        }
        self.push(PartKind::Open(bracket), span)?;
        self.open.push(self.list.len() - 1);
        Ok(())
    }

    /// Closes the innermost list or object, regardless of limits.
    pub(super) fn close(&mut self, span: Span) {
        assert!(self.open.pop().is_some(), "a parser closes only what it opened");
        self.list.push(Part { kind: PartKind::Close, span });
    }

    /// Names the latest part.
    pub(super) fn anchor(&mut self, id: usize) {
        self.anchors.insert(id, self.list.len() - 1);
    }

    /// Adds an alias of the anchor. Returns `false` if the anchor is still open, because it would contain itself.
    pub(super) fn alias(&mut self, id: usize, span: Span) -> Result<bool, Diagnostic> {
        match self.anchors.get(&id) {
            Some(target) if !self.open.contains(target) => self.push(PartKind::Alias(*target), span).map(|()| true),
            _ => self.refused(span).map(|()| false),
        }
    }

    pub(super) fn refused(&mut self, span: Span) -> Result<(), Diagnostic> {
        self.push(PartKind::Refused, span)
    }

    /// Closes all open lists and objects, so that the parts before a syntax error can be used.
    pub(super) fn close_all(&mut self) {
        let end = self.list.last().map_or(Span::default(), |part| Span { start: part.span.end, ..part.span });
        while !self.open.is_empty() {
            self.close(end);
        }
    }

    fn push(&mut self, kind: PartKind, span: Span) -> Result<(), Diagnostic> {
        if self.list.len() >= MAX_PARTS {
            return Err(too_many(span));
        }
        self.list.push(Part { kind, span });
        Ok(())
    }
}

pub(super) fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::error(Kind::DepthLimit, span, format!("nested more than {DEPTH} levels deep"))
        .with_help("flatten the document")
}

pub(super) fn too_many(span: Span) -> Diagnostic {
    Diagnostic::error(Kind::NodeLimit, span, format!("the document has more than {NODES} values"))
        .with_help("split it; a value that an alias stands for counts each time")
}

pub(super) fn too_much_from_aliases(span: Span) -> Diagnostic {
    let message = format!("the aliases of the document add more than {ALIAS_BYTES} bytes, up to this one");
    Diagnostic::error(Kind::AliasLimit, span, message)
        .with_help("keep the repeated text in one place, such as an input or a variable, and refer to it")
}
