//! Templates whose values are escaped for the language of the text, such as a shell, depending on the text around them.

use super::{
    Compiled,
    placeholders::{self, Part},
};
use crate::builtins;
use crate::compile::Place;
use crate::diagnostic::Diagnostic;
use crate::located::{Located, Shape};
use crate::program::{Id, Node};
use crate::unit::{UNKNOWN, Unit, place_of};
use crate::value::Value;
use crate::{Kind, Span};

/// Escapes the values of placeholders as words of a shell command, by the text around them.
///
/// A host implements it for the grammar of its shell; the escaping itself is [`shell_word`](crate::shell_word).
///
/// ```
/// use branchpoint_expr::{Dialect, Escape, Expression, Form, Located, Options, Value};
///
/// /// Allows values outside of double quotes only.
/// struct Plain(bool);
///
/// impl Escape for Plain {
///     fn text(&mut self, text: &str) {
///         self.0 ^= text.matches('"').count() % 2 == 1;
///     }
///
///     fn value(&mut self) -> Result<(&'static str, &'static str), String> {
///         if self.0 { Err("a value cannot stand in quotes".into()) } else { Ok(("", "")) }
///     }
///
///     fn help(&self) -> &'static str {
///         "remove the quotes"
///     }
/// }
///
/// let form = Form::Escaped(|| Box::new(Plain(false)));
/// let compile = |text: &str| {
///     Expression::with_form(&Located::from(&Value::from(text)), form, Options::dialect(Dialect::Steps))
/// };
/// let echo = compile("echo {{input}}")?;
/// assert_eq!(echo.value(&serde_json::json!({"input": "a b"}))?.to_string(), "echo 'a b'");
/// assert!(compile("echo \"{{input}}\"").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Escape {
    /// Processes literal text of the template.
    fn text(&mut self, text: &str);

    /// The text to insert before and after the escaped value at the current position.
    ///
    /// # Errors
    ///
    /// The reason why no value is allowed here.
    fn value(&mut self) -> Result<(&'static str, &'static str), String>;

    /// The remedy if no value is allowed.
    fn help(&self) -> &'static str;
}

impl Unit<'_> {
    /// Compiles a text, or a list of parts of one text. `escape` has the state after the text before it.
    pub(crate) fn escaped(&mut self, located: &Located, escape: &mut dyn Escape) -> Compiled {
        match &located.shape {
            Shape::Str { text, .. } => self.escaped_text(text, place_of(located), escape),
            Shape::List(parts) => {
                let ids: Vec<Id> = parts.iter().map(|part| self.escaped(part, escape).id).collect();
                Compiled { id: self.emit_all(Node::List, &ids, located.span), literal: false }
            }
            _ => {
                // The host inserts a value here later and escapes it the same way.
                self.around(escape, located.span);
                Compiled { id: self.program.constant(located.to_value(), located.span), literal: true }
            }
        }
    }

    fn escaped_text(&mut self, text: &str, place: Place, escape: &mut dyn Escape) -> Compiled {
        let parts = match placeholders::parts(text, self.dialect(), false) {
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
                    escape.text(range.text(text));
                    ids.push(self.program.constant(Value::from(range.text(text)), place.of(range)));
                }
                Part::Placeholder { content, start } => {
                    literal = false;
                    let shown = self.placeholder(content, start, place, false);
                    let at = place.of(Span::new(start, start + content.len()));
                    let (before, after) = self.around(escape, at);
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

    /// The text around a value at this position. Reports an error if no value is allowed.
    fn around(&mut self, escape: &mut dyn Escape, at: Span) -> (&'static str, &'static str) {
        escape.value().unwrap_or_else(|message| {
            self.findings.push(Diagnostic::error(Kind::BadTemplate, at, message).with_help(escape.help()));
            ("", "")
        })
    }

    /// Compiles the quoting of a value as one word of a shell command.
    fn word(&mut self, shown: Id) -> Id {
        let span = self.program.spans.get(shown as usize).copied().unwrap_or_default();
        let arguments = self.program.ids(&[shown]);
        self.program.emit(Node::Call { builtin: builtins::inner("shellQuote"), arguments }, span)
    }
}
