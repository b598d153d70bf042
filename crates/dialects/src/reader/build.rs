//! Builds the tree of values from the list of parts.

use std::collections::HashMap;
use std::sync::Arc;

use branchpoint_expr::{Diagnostic, Field, Kind, Located, Shape, Span};

use super::limits::{ALIAS_BYTES, ALIAS_PART_BYTES, DEPTH, NODES};
use super::parts::{Bracket, Part, PartKind, Parts, too_deep, too_many, too_much_from_aliases};
use super::{Findings, preview};

use crate::DocumentKinds as _;

/// Builds the tree. Returns `None` if there are no parts or a limit is exceeded.
pub(super) fn tree(source: &str, parts: &Parts, findings: &mut Findings) -> Option<Located> {
    if parts.list().is_empty() {
        return None;
    }
    let mut builder = Builder {
        source,
        parts: parts.list(),
        findings,
        at: 0,
        end: 0,
        depth: 0,
        nodes: 0,
        aliases: 0,
        alias_bytes: 0,
    };
    match builder.value() {
        Ok(root) => Some(root),
        Err(limit) => {
            // The parts may have ended at the same limit.
            if !findings.reported.iter().any(|finding| finding.kind == limit.kind) {
                findings.push(limit);
            }
            None
        }
    }
}

struct Builder<'p, 'f> {
    source: &'p str,
    parts: &'p [Part],
    findings: &'f mut Findings,
    /// Index of the next part.
    at: usize,
    /// The end of the latest value in the source. For an alias, this is the end of the alias and not of its definition.
    end: u32,
    depth: usize,
    nodes: usize,
    /// The number of aliases that are being expanded. Their problems are reported at the definition.
    aliases: usize,
    /// The number of bytes that aliases have added.
    alias_bytes: usize,
}

impl<'p> Builder<'p, '_> {
    /// Builds the next value. An error is an exceeded limit and ends the build. The depth limit bounds the recursion.
    fn value(&mut self) -> Result<Located, Diagnostic> {
        let part = self.next_part();
        if let PartKind::Alias(target) = part.kind {
            return self.alias(target, part.span);
        }
        self.nodes += 1;
        if self.nodes > NODES {
            return Err(too_many(part.span));
        }
        if self.aliases > 0 {
            self.add_from_alias(part)?;
        }
        let shape = match &part.kind {
            PartKind::Open(bracket) => return self.collection(*bracket, part.span),
            PartKind::Scalar { shape, .. } => shape.clone(),
            PartKind::Unbounded(written) => {
                let message = format!("`{}` is not a number that JSON has", preview(written));
                let help = "write a number in digits, or put it in quotes to make it text";
                self.refuse(Kind::Yaml, part.span, message, help);
                Shape::Null
            }
            PartKind::Refused => Shape::Null,
            PartKind::Alias(_) | PartKind::Close => unreachable!("taken above; a collection takes its own end"),
        };
        self.end = part.span.end;
        Ok(Located { shape, span: part.span })
    }

    fn alias(&mut self, target: usize, span: Span) -> Result<Located, Diagnostic> {
        let after = std::mem::replace(&mut self.at, target);
        self.aliases += 1;
        let value = self.value().map_err(|limit| Diagnostic { span, ..limit })?;
        self.aliases -= 1;
        (self.at, self.end) = (after, span.end);
        Ok(value)
    }

    fn collection(&mut self, bracket: Bracket, open: Span) -> Result<Located, Diagnostic> {
        if self.depth == DEPTH {
            return Err(too_deep(open));
        }
        self.depth += 1;
        let shape = match bracket {
            Bracket::List | Bracket::BlockList => {
                let mut items = Vec::new();
                while !self.at_close() {
                    items.push(self.value()?);
                }
                Shape::List(items)
            }
            Bracket::Object | Bracket::BlockObject => Shape::Object(self.fields()?),
        };
        self.depth -= 1;
        let close = self.next_part().span;
        if matches!(bracket, Bracket::List | Bracket::Object) {
            self.end = close.end;
        }
        Ok(Located { shape, span: Span { start: open.start, end: self.end } })
    }

    fn fields(&mut self) -> Result<Vec<Field>, Diagnostic> {
        let mut fields: Vec<Field> = Vec::new();
        let mut index = HashMap::new();
        while !self.at_close() {
            let key = self.key()?;
            if self.at_close() {
                // The text ends between the key and its value.
                break;
            }
            let value = self.value()?;
            let Some((key, key_span)) = key else { continue };
            match first_occurrence(&fields, &mut index, &key) {
                Some(first) => self.report_duplicate(&key, first, key_span),
                None => fields.push(Field { key, key_span, value }),
            }
        }
        Ok(fields)
    }

    /// Counts the bytes that an alias adds to the document with one part.
    fn add_from_alias(&mut self, part: &Part) -> Result<(), Diagnostic> {
        let text = match &part.kind {
            PartKind::Scalar { written, .. } | PartKind::Unbounded(written) => written.len(),
            _ => 0,
        };
        self.alias_bytes = self.alias_bytes.saturating_add(text + ALIAS_PART_BYTES);
        if self.alias_bytes > ALIAS_BYTES { Err(too_much_from_aliases(part.span)) } else { Ok(()) }
    }

    /// Reads a key. Returns `None` if the part cannot be a key.
    fn key(&mut self) -> Result<Option<(Arc<str>, Span)>, Diagnostic> {
        let part = self.next_part();
        self.end = part.span.end;
        let resolved = match part.kind {
            PartKind::Alias(target) => &self.parts[target],
            _ => part,
        };
        if self.aliases > 0 || !std::ptr::eq(part, resolved) {
            self.add_from_alias(resolved).map_err(|limit| Diagnostic { span: part.span, ..limit })?;
        }
        Ok(self.key_of(part, resolved))
    }

    /// The key of a part whose alias is resolved. Returns `None` if the part cannot be a key.
    fn key_of(&mut self, part: &'p Part, resolved: &'p Part) -> Option<(Arc<str>, Span)> {
        match &resolved.kind {
            PartKind::Scalar { shape: Shape::Null, .. } => {
                let help = "write the key, or put it in quotes to make it text";
                self.refuse(Kind::BadField, part.span, "a key is null".into(), help);
                None
            }
            PartKind::Scalar { written, .. } | PartKind::Unbounded(written) => Some((Arc::clone(written), part.span)),
            PartKind::Refused => None,
            PartKind::Open(_) | PartKind::Alias(_) | PartKind::Close => {
                let span = if std::ptr::eq(part, resolved) { self.skip(part.span) } else { part.span };
                let around = self.source.get(span.start.saturating_sub(1) as usize..).unwrap_or("");
                let template = around.starts_with("{{") || span.text(self.source).starts_with("{{");
                let help =
                    if template { "text that begins with `{{` must be in quotes" } else { "write the key as text" };
                self.refuse(Kind::BadField, span, "a list or an object cannot be a key".into(), help);
                None
            }
        }
    }

    /// Skips the list or object that was just opened and returns its span.
    fn skip(&mut self, open: Span) -> Span {
        let mut depth = 1;
        let mut span = open;
        while depth > 0 {
            let part = self.next_part();
            span = span.to(part.span);
            match part.kind {
                PartKind::Open(_) => depth += 1,
                PartKind::Close => depth -= 1,
                _ => {}
            }
        }
        span
    }

    fn report_duplicate(&mut self, key: &str, first: Span, second: Span) {
        // Counting lines takes time, so only reported findings get positions.
        let places = if self.aliases == 0 && !self.findings.is_full() {
            let (line, column) = first.line_column(self.source);
            let (again, column_again) = second.line_column(self.source);
            format!(": at line {line}, column {column} and at line {again}, column {column_again}")
        } else {
            String::new()
        };
        let message = format!("the key `{}` is given twice{places}", preview(key));
        self.refuse(Kind::BadField, second, message, "remove one of the two, or rename it");
    }

    fn refuse(&mut self, kind: Kind, span: Span, message: String, help: &str) {
        if self.aliases == 0 {
            self.findings.push(Diagnostic::error(kind, span, message).with_help(help));
        }
    }

    fn at_close(&self) -> bool {
        matches!(self.parts[self.at].kind, PartKind::Close)
    }

    fn next_part(&mut self) -> &'p Part {
        self.at += 1;
        &self.parts[self.at - 1]
    }
}

/// The span of an earlier occurrence of the key. Small objects are searched; large ones get an index.
fn first_occurrence(fields: &[Field], index: &mut HashMap<Arc<str>, Span>, key: &str) -> Option<Span> {
    const SMALL: usize = 16;
    if fields.len() <= SMALL {
        return fields.iter().find(|field| &*field.key == key).map(|field| field.key_span);
    }
    for field in &fields[index.len()..] {
        index.insert(Arc::clone(&field.key), field.key_span);
    }
    index.get(key).copied()
}
