//! Shell commands with placeholders: what a placeholder gives is one word, also where the author has put quotes around it.

use super::{
    Compiled,
    scan::{self, Part},
};
use crate::builtins;
use crate::compile::Place;
use crate::diagnostic::Diagnostic;
use crate::located::{Located, Shape};
use crate::program::{Id, Node};
use crate::unit::{UNKNOWN, Unit, place_of};
use crate::value::Value;
use crate::{Kind, Span, shell};

impl Unit<'_> {
    /// Compiles a command that has come so far: a text, or a list of parts that become one.
    pub(super) fn command(&mut self, located: &Located, command: &mut shell::Command) -> Compiled {
        match &located.shape {
            Shape::Str { text, .. } => self.command_text(text, place_of(located), command),
            Shape::List(parts) => {
                let parts: Vec<Compiled> = parts.iter().map(|part| self.command(part, command)).collect();
                let ids: Vec<Id> = parts.iter().map(|part| part.id).collect();
                Compiled { id: self.emit_all(Node::List, &ids, located.span), literal: false }
            }
            _ => {
                // Whoever puts something here later quotes it in the same way.
                self.around(command, located.span);
                command.put_in();
                Compiled { id: self.program.constant(located.to_value(), located.span), literal: true }
            }
        }
    }

    fn command_text(&mut self, text: &str, place: Place, command: &mut shell::Command) -> Compiled {
        let parts = match scan::parts(text, self.dialect(), false) {
            Ok(parts) => parts,
            Err(finding) => {
                self.refuse(*finding, place);
                return Compiled { id: UNKNOWN, literal: false };
            }
        };
        let span = place.of(Span::new(0, text.len()));
        let mut ids = Vec::new();
        let mut literal = true;
        for part in parts {
            match part {
                Part::Text(range) => {
                    command.read(range.text(text));
                    ids.push(self.program.constant(Value::from(range.text(text)), place.of(range)));
                }
                Part::Placeholder { content, start } => {
                    literal = false;
                    let shown = self.placeholder(content, start, place, false);
                    let at = place.of(Span::new(start, start + content.len()));
                    let (before, after) = self.around(command, at);
                    command.put_in();
                    let quote = |unit: &mut Self, quote: &str| unit.program.constant(Value::from(quote), at);
                    ids.extend((!before.is_empty()).then(|| quote(self, before)));
                    ids.push(self.word(shown));
                    ids.extend((!after.is_empty()).then(|| quote(self, after)));
                }
            }
        }
        if literal {
            return Compiled { id: self.program.constant(Value::from(text), span), literal };
        }
        Compiled { id: self.emit_all(Node::Template, &ids, span), literal }
    }

    /// What stands around a word at this place. Where none can stand, that is told.
    fn around(&mut self, command: &shell::Command, at: Span) -> (&'static str, &'static str) {
        command.around().unwrap_or_else(|place| {
            let message = format!("a value cannot be put into {place}, where the shell does not read quotes");
            let finding = Diagnostic::error(Kind::BadTemplate, at, message);
            self.findings.push(finding.with_help("hand it over in `env` or `stdin`"));
            ("", "")
        })
    }

    /// A value as one word of a shell command.
    fn word(&mut self, shown: Id) -> Id {
        let span = self.program.spans.get(shown as usize).copied().unwrap_or_default();
        let arguments = self.program.ids(&[shown]);
        self.program.emit(Node::Call { builtin: builtins::inner("shellQuote"), arguments }, span)
    }
}
