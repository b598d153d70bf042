//! Compiles templates, which are text with placeholders, in the spelling of each dialect.
//!
//! A template is expanded once; the value of a placeholder is never expanded again. A text that is exactly one placeholder can
//! keep the value's type.

mod blocks;
mod escape;
mod functions;
mod pieces;
mod placeholders;
mod statements;

use crate::compile::Place;
use crate::diagnostic::Diagnostic;
use crate::dialect::Dialect;
use crate::located::{Located, Shape};
use crate::names;
use crate::program::{Access, Id, Node};
use crate::syntax::reference;
use crate::types::Types;
use crate::unit::{UNKNOWN, Unit, place_of};
use crate::value::Value;
use crate::{Kind, Span};
pub use escape::Escape;
pub use pieces::{Piece, Substitution};
use placeholders::Part;
pub(crate) use statements::Scope;

/// The result of a text that is exactly one placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Single {
    /// The value itself, with its type.
    Value,
    /// The value of an operand of a typed group, where every dialect has references.
    Operand,
    /// The text form, as for every other text with placeholders.
    Text,
}

/// A compiled template: its node, and whether it is a constant.
#[derive(Clone, Copy)]
pub(crate) struct Compiled {
    pub(crate) id: Id,
    pub(crate) literal: bool,
}

impl Unit<'_> {
    /// Compiles a document's value. Every text in it can have placeholders; keys are literal.
    pub(crate) fn template_value(&mut self, located: &Located, single: Single) -> Compiled {
        let (ids, wrap): (Vec<Compiled>, fn(crate::program::Ids) -> Node) = match &located.shape {
            Shape::Str { text, .. } => return self.template_text(text, place_of(located), single),
            Shape::List(items) => (items.iter().map(|item| self.template_value(item, single)).collect(), Node::List),
            Shape::Object(fields) => {
                let mut ids = Vec::new();
                for field in fields {
                    let key = self.program.constant(Value::Str(field.key.clone()), field.key_span);
                    ids.push(Compiled { id: key, literal: true });
                    ids.push(self.template_value(&field.value, single));
                }
                (ids, Node::Object)
            }
            _ => {
                let id = self.program.constant(located.to_value(), located.span);
                return Compiled { id, literal: true };
            }
        };
        if ids.iter().all(|compiled| compiled.literal) {
            let id = self.program.constant(located.to_value(), located.span);
            return Compiled { id, literal: true };
        }
        let ids: Vec<_> = ids.into_iter().map(|compiled| compiled.id).collect();
        Compiled { id: self.emit_all(wrap, &ids, located.span), literal: false }
    }

    /// Compiles a text with placeholders.
    pub(crate) fn template_text(&mut self, text: &str, place: Place, single: Single) -> Compiled {
        let parts = match placeholders::parts(text, self.dialect(), single == Single::Operand) {
            Ok(parts) => parts,
            Err(finding) => {
                self.refuse(*finding, place);
                return Compiled { id: UNKNOWN, literal: false };
            }
        };
        self.unclosed(text, &parts, place);
        let span = place.of(Span::new(0, text.len()));
        if parts.iter().all(|part| matches!(part, Part::Text(_))) {
            return Compiled { id: self.program.constant(Value::from(text), span), literal: true };
        }
        if self.dialect() == Dialect::Machine && blocks::has_blocks(&parts) {
            return Compiled { id: self.blocks(text, &parts, place), literal: false };
        }
        if single != Single::Text
            && let Some((content, start)) = placeholders::only(&parts, text)
        {
            return Compiled { id: self.placeholder(content, start, place, true), literal: false };
        }
        let ids: Vec<_> = parts
            .iter()
            .map(|part| match *part {
                Part::Text(range) => self.program.constant(Value::from(range.text(text)), place.of(range)),
                Part::Placeholder { content, start } => self.placeholder(content, start, place, false),
            })
            .collect();
        Compiled { id: self.emit_all(Node::Template, &ids, span), literal: false }
    }

    fn refuse(&mut self, finding: Diagnostic, place: Place) {
        let name = match self.dialect() {
            Dialect::Flow => Kind::BadExpression,
            _ => Kind::BadTemplate,
        };
        let span = place.of(finding.span);
        self.findings.push(Diagnostic { span, ..finding }.renamed(name));
    }

    /// Warns about `{{` that is not closed and so stays in the text, which is rarely what the author wants.
    fn unclosed(&mut self, text: &str, parts: &[Part<'_>], place: Place) {
        let Some(Part::Text(last)) = parts.last().filter(|_| matches!(self.dialect(), Dialect::Steps | Dialect::Flow))
        else {
            return;
        };
        let Some(open) = last.text(text).find("{{").map(|at| last.start as usize + at) else { return };
        let inside = &text[open + 2..];
        let rest = inside.trim_start();
        let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || "_.-$[]".contains(*c)).collect();
        // JSON and prose also contain braces. A placeholder begins with a name, directly or with nothing after it.
        let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '$');
        let behind = rest[name.len()..].trim_start();
        let is_alone = rest.len() == inside.len() || behind.is_empty() || behind.starts_with(['}', '|', '\n']);
        if !is_name || !is_alone {
            return;
        }
        let span = place.of(Span::new(open, open + 2));
        self.warn(Kind::UnclosedPlaceholder, span, "`{{` is not closed, so it stays in the text").help =
            Some(format!("write `{{{{{name}}}}}`"));
    }

    /// Compiles the content of braces. `alone` means that it is the whole text, whose value is kept.
    fn placeholder(&mut self, content: &str, start: usize, place: Place, alone: bool) -> Id {
        let inner = place.after(u32::try_from(start).unwrap_or(u32::MAX));
        let span = inner.of(Span::new(0, content.len()));
        match self.dialect() {
            Dialect::Flow => self.expression(content, inner).0,
            Dialect::Machine => self.machine_placeholder(content, inner, alone),
            Dialect::Steps => self.steps_placeholder(content, inner, alone),
            Dialect::Session => self.named_reference(content, inner, Access::Nil),
            Dialect::Graph if content != placeholders::PREVIOUS => self.named_reference(content, inner, Access::Nil),
            Dialect::Graph => {
                let previous = self.known_path(&[content], Access::Nil, span);
                let nothing = self.program.constant(Value::from(""), span);
                self.program.emit(Node::Coalesce(previous, nothing), span)
            }
        }
    }

    /// Compiles a placeholder of `machine`. A missing value is an error in text, and nil in operands, as in expressions.
    fn machine_placeholder(&mut self, content: &str, place: Place, alone: bool) -> Id {
        let access = if alone { Access::Nil } else { Access::Required };
        match functions::parse(content) {
            Ok(Some(pipeline)) => self.pipeline(&pipeline, place),
            Ok(None) => self.template_reference(content, place, access),
            Err(finding) => {
                self.refuse(*finding, place);
                UNKNOWN
            }
        }
    }

    /// Compiles a plain reference.
    pub(crate) fn named_reference(&mut self, content: &str, place: Place, access: Access) -> Id {
        let in_template = self.dialect() == Dialect::Machine;
        let parsed = reference::parse(content, 0).map(|mut reference| {
            if in_template {
                names::canonical(&mut reference, true);
            }
            reference
        });
        match parsed {
            Ok(reference) => {
                if let Some(property) = in_template.then(|| names::unknown_state_property(&reference)).flatten() {
                    self.refuse(*property, place);
                    return UNKNOWN;
                }
                self.uncoerced(|unit| unit.compile_tree(Ok(reference), place, access)).0
            }
            Err(finding) => {
                self.refuse(*finding, place);
                UNKNOWN
            }
        }
    }

    /// Removes coercion from compiled paths, because only conditions coerce inputs.
    fn uncoerced(&mut self, compile: impl FnOnce(&mut Self) -> (Id, Types)) -> (Id, Types) {
        let paths = self.program.paths.len();
        let (id, types) = compile(self);
        for path in &mut self.program.paths[paths..] {
            path.coerce = false;
        }
        match self.program.nodes.get(id as usize) {
            Some(Node::Coerced(inner)) => (*inner, types),
            _ => (id, types),
        }
    }

    /// Compiles a placeholder of `steps`. A missing value is empty in text, and nil in operands.
    fn steps_placeholder(&mut self, content: &str, place: Place, alone: bool) -> Id {
        let access = if alone { Access::JsonText } else { Access::Blank };
        let name = content.trim();
        let span = place.of(Span::new(0, content.len()));
        // Clocks of a time zone and attachments are names that the host resolves.
        let opaque = ["datetime ", "date ", "attachments["].iter().any(|prefix| name.starts_with(prefix));
        if opaque {
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            return self.known_path(&[&name], access, span);
        }
        if let Ok(reference) = reference::parse(content, 0) {
            return self.compile_tree(Ok(reference), place, access).0;
        }
        let message = format!("`{name}` is not a reference, so this is always empty");
        let help = match name.split_once('|') {
            Some((reference, filter)) => format!(
                "templates of this dialect have no filters: write `{{{{{}}}}}`; a condition can call `{}({})`",
                reference.trim(),
                filter.trim(),
                reference.trim()
            ),
            None => "write one reference, such as `{{input}}` or `{{step.ID.output}}`".into(),
        };
        self.warn(Kind::UnknownReference, span, message).help = Some(help);
        self.program.constant(if alone { Value::Null } else { Value::from("") }, span)
    }
}
