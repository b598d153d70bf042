//! The tree of a list of parts.

use std::collections::HashMap;
use std::sync::Arc;

use branchpoint_expr::{Diagnostic, Field, Kind, Located, Shape, Span};

use super::limits::{ALIAS_BYTES, ALIAS_PART_BYTES, DEPTH, NODES};
use super::parts::{Bracket, Part, Parts, What, too_deep, too_many, too_much_from_aliases};
use super::{Findings, shown};

use crate::DocumentKinds as _;

/// Builds the tree; none if there are no parts, or a limit is exceeded.
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
            if !findings.told.iter().any(|finding| finding.kind == limit.kind) {
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
    /// The next part.
    at: usize,
    /// Where the latest value ends in the source. For an alias that is not where the value stands.
    end: u32,
    depth: usize,
    nodes: usize,
    /// How many aliases are being expanded. What is wrong in there was told at the definition.
    aliases: usize,
    /// How many bytes aliases have added.
    alias_bytes: usize,
}

impl<'p> Builder<'p, '_> {
    /// Builds the next value. An error is a limit, which ends everything. The recursion ends at the depth limit.
    fn value(&mut self) -> Result<Located, Diagnostic> {
        let part = self.take();
        if let What::Alias(target) = part.what {
            return self.alias(target, part.span);
        }
        self.nodes += 1;
        if self.nodes > NODES {
            return Err(too_many(part.span));
        }
        if self.aliases > 0 {
            self.add_from_alias(part)?;
        }
        let shape = match &part.what {
            What::Open(bracket) => return self.collection(*bracket, part.span),
            What::Scalar { shape, .. } => shape.clone(),
            What::Unbounded(written) => {
                let message = format!("`{}` is not a number that JSON has", shown(written));
                let help = "write a number in digits, or put it in quotes to make it text";
                self.refuse(Kind::Yaml, part.span, message, help);
                Shape::Null
            }
            What::Refused => Shape::Null,
            What::Alias(_) | What::Close => unreachable!("taken above; a collection takes its own end"),
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
        let close = self.take().span;
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
                // The text breaks off between the key and its value.
                break;
            }
            let value = self.value()?;
            let Some((key, key_span)) = key else { continue };
            match earlier(&fields, &mut index, &key) {
                Some(first) => self.refuse_second(&key, first, key_span),
                None => fields.push(Field { key, key_span, value }),
            }
        }
        Ok(fields)
    }

    /// Counts what an alias adds to the document with one part.
    fn add_from_alias(&mut self, part: &Part) -> Result<(), Diagnostic> {
        let text = match &part.what {
            What::Scalar { written, .. } | What::Unbounded(written) => written.len(),
            _ => 0,
        };
        self.alias_bytes = self.alias_bytes.saturating_add(text + ALIAS_PART_BYTES);
        if self.alias_bytes > ALIAS_BYTES { Err(too_much_from_aliases(part.span)) } else { Ok(()) }
    }

    /// Takes a key; none if it cannot be one.
    fn key(&mut self) -> Result<Option<(Arc<str>, Span)>, Diagnostic> {
        let part = self.take();
        self.end = part.span.end;
        let meant = match part.what {
            What::Alias(target) => &self.parts[target],
            _ => part,
        };
        if self.aliases > 0 || !std::ptr::eq(part, meant) {
            self.add_from_alias(meant).map_err(|limit| Diagnostic { span: part.span, ..limit })?;
        }
        Ok(self.key_of(part, meant))
    }

    /// The key that a part means; none if it cannot be one.
    fn key_of(&mut self, part: &'p Part, meant: &'p Part) -> Option<(Arc<str>, Span)> {
        match &meant.what {
            What::Scalar { shape: Shape::Null, .. } => {
                let help = "write the key, or put it in quotes to make it text";
                self.refuse(Kind::BadField, part.span, "a key is null".into(), help);
                None
            }
            What::Scalar { written, .. } | What::Unbounded(written) => Some((Arc::clone(written), part.span)),
            What::Refused => None,
            What::Open(_) | What::Alias(_) | What::Close => {
                let span = if std::ptr::eq(part, meant) { self.skip(part.span) } else { part.span };
                let around = self.source.get(span.start.saturating_sub(1) as usize..).unwrap_or("");
                let template = around.starts_with("{{") || span.text(self.source).starts_with("{{");
                let help =
                    if template { "text that begins with `{{` must be in quotes" } else { "write the key as text" };
                self.refuse(Kind::BadField, span, "a list or an object cannot be a key".into(), help);
                None
            }
        }
    }

    /// Passes over a list or an object that was just opened.
    fn skip(&mut self, open: Span) -> Span {
        let mut depth = 1;
        let mut span = open;
        while depth > 0 {
            let part = self.take();
            span = span.to(part.span);
            match part.what {
                What::Open(_) => depth += 1,
                What::Close => depth -= 1,
                _ => {}
            }
        }
        span
    }

    fn refuse_second(&mut self, key: &str, first: Span, second: Span) {
        // To count lines takes time, and what is not told needs no places.
        let places = if self.aliases == 0 && !self.findings.is_full() {
            let (line, column) = first.line_column(self.source);
            let (again, column_again) = second.line_column(self.source);
            format!(": at line {line}, column {column} and at line {again}, column {column_again}")
        } else {
            String::new()
        };
        let message = format!("the key `{}` is given twice{places}", shown(key));
        self.refuse(Kind::BadField, second, message, "remove one of the two, or rename it");
    }

    fn refuse(&mut self, kind: Kind, span: Span, message: String, help: &str) {
        if self.aliases == 0 {
            self.findings.push(Diagnostic::error(kind, span, message).with_help(help));
        }
    }

    fn at_close(&self) -> bool {
        matches!(self.parts[self.at].what, What::Close)
    }

    fn take(&mut self) -> &'p Part {
        self.at += 1;
        &self.parts[self.at - 1]
    }
}

/// The place of the same key before. Most objects are small enough to look through; others get an index.
fn earlier(fields: &[Field], index: &mut HashMap<Arc<str>, Span>, key: &str) -> Option<Span> {
    const SMALL: usize = 16;
    if fields.len() <= SMALL {
        return fields.iter().find(|field| &*field.key == key).map(|field| field.key_span);
    }
    for field in &fields[index.len()..] {
        index.insert(Arc::clone(&field.key), field.key_span);
    }
    index.get(key).copied()
}
