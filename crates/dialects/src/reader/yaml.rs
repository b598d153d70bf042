//! Turns the events of the YAML parser into parts.

use std::sync::Arc;

use branchpoint_expr::{Diagnostic, Kind, Shape, Span};
use granit_parser::{Event, Parser, ScalarStyle, StructureStyle, Tag, options};

use super::parts::{Bracket, Parts};
use super::scalar::{PlainScalar, plain, text_at};
use super::syntax_error::syntax_error;
use super::{Findings, limits, preview};

use crate::DocumentKinds as _;

/// The parts of a text, up to the first error.
pub(super) fn parts(source: &str, findings: &mut Findings) -> Parts {
    let mut reader = Reader { source, parts: Parts::of_bytes(source.len()), findings, documents: 0 };
    // The parser keeps its own stack, so deep nesting does not use the call stack.
    let options = options! {
        emit_comments: false,
        emit_unresolved_aliases: true,
        flow_nesting_limit: limits::DEPTH,
        block_nesting_limit: limits::DEPTH,
    };
    for event in Parser::new_from_str_with_options(source, options) {
        let outcome = match event {
            Ok((event, span)) => reader.take(event, &span),
            Err(error) => Err(syntax_error(source, &error, reader.parts.inside())),
        };
        if let Err(last) = outcome {
            reader.findings.push(last);
            break;
        }
    }
    reader.parts.close_all();
    reader.parts
}

struct Reader<'s, 'f> {
    source: &'s str,
    parts: Parts,
    findings: &'f mut Findings,
    documents: usize,
}

impl Reader<'_, '_> {
    /// Handles one event. An error ends the reading.
    fn take(&mut self, event: Event<'_>, place: &granit_parser::Span) -> Result<(), Diagnostic> {
        let span = bytes(place);
        match event {
            Event::DocumentStart(..) if self.documents > 0 => {
                let second = Diagnostic::error(Kind::Yaml, span, "a second document begins here");
                return Err(second.with_help("one text is one document: put this one in a file of its own"));
            }
            Event::DocumentStart(..) => self.documents += 1,
            Event::Scalar(text, style, anchor, tag) => {
                self.scalar(&text, style, tag.as_deref(), place)?;
                self.anchor(anchor);
            }
            Event::SequenceStart(style, anchor, tag) => {
                let block = style == StructureStyle::Block;
                let bracket = if block { Bracket::BlockList } else { Bracket::List };
                let span = if block { self.dash(span) } else { span };
                self.open(bracket, span, tag.as_deref(), place)?;
                self.anchor(anchor);
            }
            Event::MappingStart(style, anchor, tag) => {
                let block = style == StructureStyle::Block;
                let bracket = if block { Bracket::BlockObject } else { Bracket::Object };
                self.open(bracket, span, tag.as_deref(), place)?;
                self.anchor(anchor);
            }
            Event::SequenceEnd | Event::MappingEnd => self.parts.close(span),
            Event::Alias(anchor) => self.alias(anchor, span)?,
            Event::UnresolvedAlias(name) => {
                self.parts.refused(span)?;
                let message = format!("there is no anchor `&{}` before this alias", preview(&name));
                self.refuse(span, message, "text that begins with `*` must be in quotes");
            }
            _ => {}
        }
        Ok(())
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Diagnostic> {
        if !self.parts.alias(anchor, span)? {
            let name = preview(span.text(self.source));
            self.refuse(
                span,
                format!("the alias `{name}` is inside the value of its own anchor"),
                "write the value out",
            );
        }
        Ok(())
    }

    fn anchor(&mut self, id: usize) {
        if id > 0 {
            self.parts.anchor(id);
        }
    }

    fn refuse(&mut self, span: Span, message: String, help: impl Into<String>) {
        self.findings.push(Diagnostic::error(Kind::Yaml, span, message).with_help(help));
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        place: &granit_parser::Span,
    ) -> Result<(), Diagnostic> {
        let span = self.scalar_span(bytes(place), style);
        let quote = usize::from(matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted));
        let written: Arc<str> = text.into();
        let as_text = || text_at(self.source, &written, span.start as usize + quote);
        let shape = match tag {
            None if style == ScalarStyle::Plain => match plain(text) {
                PlainScalar::Value(shape) => shape,
                PlainScalar::Text => as_text(),
                PlainScalar::Unbounded => return self.parts.unbounded(written, span),
            },
            None => as_text(),
            Some(tag) => match resolve_tag(tag, text) {
                TaggedScalar::Text => as_text(),
                TaggedScalar::Value(shape) => shape,
                TaggedScalar::Clash => {
                    let message =
                        format!("`{}` is not what its tag `{}` says", preview(text), preview(&tag.original()));
                    self.refuse(span, message, "remove the tag, or change the value");
                    return self.parts.refused(span);
                }
                TaggedScalar::Unknown => {
                    self.refuse_tag(tag, place);
                    return self.parts.refused(span);
                }
            },
        };
        self.parts.scalar(written, shape, span)
    }

    fn open(
        &mut self,
        bracket: Bracket,
        span: Span,
        tag: Option<&Tag>,
        place: &granit_parser::Span,
    ) -> Result<(), Diagnostic> {
        if let Some(tag) = tag {
            let (fits, kind) = match bracket {
                Bracket::List | Bracket::BlockList => ("seq", "a list"),
                Bracket::Object | Bracket::BlockObject => ("map", "an object"),
            };
            match tag.core_suffix() {
                Some(suffix) if suffix == fits => {}
                Some(_) => {
                    let message = format!("{kind} is not what its tag `{}` says", preview(&tag.original()));
                    self.refuse(tag_span(place), message, "remove the tag, or change the value");
                }
                None if tag.original() == "!" => {}
                None => self.refuse_tag(tag, place),
            }
        }
        self.parts.open(bracket, span)
    }

    fn refuse_tag(&mut self, tag: &Tag, place: &granit_parser::Span) {
        let message = format!("the tag `{}` has no meaning here", preview(&tag.original()));
        self.refuse(tag_span(place), message, "remove it; text that begins with `!` must be in quotes");
    }

    /// The span of a scalar as its author sees it.
    fn scalar_span(&self, span: Span, style: ScalarStyle) -> Span {
        let text = span.text(self.source);
        match style {
            // The parser includes the blank lines after the text.
            ScalarStyle::Literal | ScalarStyle::Folded => {
                Span::new(span.start as usize, span.start as usize + text.trim_end().len())
            }
            // A missing value has the position after the colon, not before it.
            ScalarStyle::Plain if text.is_empty() && self.rest(span.start).starts_with(':') => {
                Span::new(span.start as usize + 1, span.start as usize + 1)
            }
            _ => span,
        }
    }

    /// The span of the first dash of a list. If the list is not indented more than its key,
    /// the parser returns the position after the dash.
    fn dash(&self, span: Span) -> Span {
        let (Some((Bracket::BlockObject, _)), Some(key)) = (self.parts.inside(), self.parts.list().last()) else {
            return span;
        };
        let between = self.source.get(key.span.end as usize..span.start as usize).unwrap_or("");
        let starts_line = |at: usize| between[..at].trim_end_matches([' ', '\t']).ends_with(['\n', '\r']);
        match between.rmatch_indices('-').find(|(at, _)| starts_line(*at)) {
            Some((at, _)) => Span::new(key.span.end as usize + at, span.end as usize),
            None => span,
        }
    }

    fn rest(&self, at: u32) -> &str {
        self.source.get(at as usize..).unwrap_or("")
    }
}

enum TaggedScalar {
    Value(Shape),
    Text,
    Clash,
    Unknown,
}

/// Resolves the tag of a scalar. The tag `!` disables type detection, so the value is text.
fn resolve_tag(tag: &Tag, text: &str) -> TaggedScalar {
    let value = match plain(text) {
        PlainScalar::Value(shape) => Some(shape),
        PlainScalar::Unbounded | PlainScalar::Text => None,
    };
    match (tag.core_suffix(), value) {
        (Some("str"), _) => TaggedScalar::Text,
        (Some("null"), Some(shape @ Shape::Null))
        | (Some("bool"), Some(shape @ Shape::Bool(_)))
        | (Some("int"), Some(shape @ Shape::Int(_)))
        | (Some("float"), Some(shape @ (Shape::Int(_) | Shape::Float(_)))) => TaggedScalar::Value(shape),
        (Some(_), _) => TaggedScalar::Clash,
        (None, _) if tag.original() == "!" => TaggedScalar::Text,
        (None, _) => TaggedScalar::Unknown,
    }
}

fn tag_span(place: &granit_parser::Span) -> Span {
    place.tag_span().map_or(bytes(place), |span| bytes(&span))
}

/// The byte range of a parser span. The parser counts bytes for any text in memory.
fn bytes(place: &granit_parser::Span) -> Span {
    let range = place.byte_range().expect("a text in memory has byte offsets");
    Span::new(range.start, range.end)
}
