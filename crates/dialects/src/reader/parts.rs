//! A document as a flat list of parts, in the order of the text.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_expr::{Diagnostic, Kind, Shape, Span};

use super::limits::{ALIAS_BYTES, DEPTH, NODES};

use crate::DocumentKinds as _;

/// Values, keys and closing brackets together are at most three times the values, so what is longer is refused before
/// it is counted exactly.
const MAX_PARTS: usize = 3 * NODES;

/// A part and its place.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) what: What,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum What {
    /// Anything but a list or an object. It is resolved here and not where it is used: an alias shares it.
    Scalar { written: Arc<str>, shape: Shape },
    /// A number that JSON does not have. It can be a key, like any number, but not a value.
    Unbounded(Arc<str>),
    /// Something that was refused already: null, and nothing more is said of it.
    Refused,
    /// A list or an object begins; what belongs to it follows up to its `Close`.
    Open(Bracket),
    /// The innermost list or object ends.
    Close,
    /// The part with this index, once more.
    Alias(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bracket {
    List,
    Object,
    /// Without brackets, by indentation: it ends with its last value, not with its `Close`, before which blank lines and
    /// comments may stand.
    BlockList,
    BlockObject,
}

/// The list of parts, kept in balance: it can be built at any moment, with [`Parts::close_all`].
#[derive(Debug, Default)]
pub(super) struct Parts {
    list: Vec<Part>,
    /// The indices of what is open.
    open: Vec<usize>,
    anchors: BTreeMap<usize, usize>,
}

impl Parts {
    /// With room for what a text of so many bytes usually holds: to move a long list takes time.
    pub(super) fn of_bytes(bytes: usize) -> Self {
        Self { list: Vec::with_capacity((bytes / 8).min(MAX_PARTS)), ..Self::default() }
    }

    pub(super) fn list(&self) -> &[Part] {
        &self.list
    }

    /// The innermost list or object that is open, and where it was opened.
    pub(super) fn inside(&self) -> Option<(Bracket, Span)> {
        match self.open.last().map(|index| &self.list[*index]) {
            Some(Part { what: What::Open(bracket), span }) => Some((*bracket, *span)),
            _ => None,
        }
    }

    pub(super) fn scalar(&mut self, written: Arc<str>, shape: Shape, span: Span) -> Result<(), Diagnostic> {
        self.push(What::Scalar { written, shape }, span)
    }

    pub(super) fn unbounded(&mut self, written: Arc<str>, span: Span) -> Result<(), Diagnostic> {
        self.push(What::Unbounded(written), span)
    }

    pub(super) fn open(&mut self, bracket: Bracket, span: Span) -> Result<(), Diagnostic> {
        if self.open.len() == DEPTH {
            return Err(too_deep(span));
        }
        self.push(What::Open(bracket), span)?;
        self.open.push(self.list.len() - 1);
        Ok(())
    }

    /// Closes the innermost list or object. It takes no limit into account: whatever is open can be closed.
    pub(super) fn close(&mut self, span: Span) {
        assert!(self.open.pop().is_some(), "a parser closes only what it opened");
        self.list.push(Part { what: What::Close, span });
    }

    /// Names the latest part.
    pub(super) fn anchor(&mut self, id: usize) {
        self.anchors.insert(id, self.list.len() - 1);
    }

    /// The part of this name, once more. `false` if it is still open, because then it would contain itself.
    pub(super) fn alias(&mut self, id: usize, span: Span) -> Result<bool, Diagnostic> {
        match self.anchors.get(&id) {
            Some(target) if !self.open.contains(target) => self.push(What::Alias(*target), span).map(|()| true),
            _ => self.refused(span).map(|()| false),
        }
    }

    pub(super) fn refused(&mut self, span: Span) -> Result<(), Diagnostic> {
        self.push(What::Refused, span)
    }

    /// Closes what is open, so that the parts before a syntax error can be looked at.
    pub(super) fn close_all(&mut self) {
        let end = self.list.last().map_or(Span::default(), |part| Span { start: part.span.end, ..part.span });
        while !self.open.is_empty() {
            self.close(end);
        }
    }

    fn push(&mut self, what: What, span: Span) -> Result<(), Diagnostic> {
        if self.list.len() >= MAX_PARTS {
            return Err(too_many(span));
        }
        self.list.push(Part { what, span });
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
