//! Compiles statements of templates: blocks, variables, and references to `.` and `$x`.

use super::blocks::{self, Action, Block, Statement};
use super::placeholders::Part;
use crate::Kind;
use crate::compile::Place;
use crate::diagnostic::{Diagnostic, Span};
use crate::limits;
use crate::program::{Access, Id, Node};
use crate::syntax::reference;
use crate::unit::{UNKNOWN, Unit};
use crate::value::Value;

/// The maximum number of variables of a template.
const MAX_VARIABLES: u16 = 1000;

/// The variables that a statement can read in addition to the names of the dialect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    variables: Vec<(String, u16)>,
    /// The local of `.` inside `range` and `with`.
    dot: Option<u16>,
    pub(super) is_in_block: bool,
}

impl Unit<'_> {
    /// Compiles a text with blocks.
    pub(super) fn blocks(&mut self, text: &str, parts: &[Part<'_>], place: Place) -> Id {
        let span = place.of(Span::new(0, text.len()));
        match blocks::statements(text, parts) {
            Ok(statements) => {
                let body = self.body(&statements, place, span);
                self.program.emit(Node::Bounded(body), span)
            }
            Err(finding) => {
                self.refuse(*finding, place);
                UNKNOWN
            }
        }
    }

    /// Compiles statements in their own scope.
    fn body(&mut self, statements: &[Statement<'_>], place: Place, span: Span) -> Id {
        let outer = self.scope.clone();
        let ids: Vec<Id> = statements.iter().map(|statement| self.statement(statement, place)).collect();
        self.scope = outer;
        self.emit_all(Node::Template, &ids, span)
    }

    fn statement(&mut self, statement: &Statement<'_>, place: Place) -> Id {
        match statement {
            Statement::Text(text, start) => {
                self.program.constant(Value::from(*text), place.of(Span::new(*start, start + text.len())))
            }
            Statement::Value(action) => self.action(*action, place),
            Statement::Set { variable, declares, value } => {
                let id = self.action(*value, place);
                let span = place.of(value.span());
                let local = if *declares { self.declare(variable, span) } else { self.variable(variable, span) };
                local.map_or(UNKNOWN, |local| self.program.emit(Node::Assign { local, value: id }, span))
            }
            Statement::If(block) => self.choice(block, place, false),
            Statement::With(block) => self.choice(block, place, true),
            Statement::Range(block) => self.range(block, place),
            Statement::Break(span) => self.program.emit(Node::Leave { all: true }, place.of(*span)),
            Statement::Continue(span) => self.program.emit(Node::Leave { all: false }, place.of(*span)),
        }
    }

    fn action(&mut self, action: Action<'_>, place: Place) -> Id {
        self.machine_placeholder(action.content, place.after(offset(action.start)), false)
    }

    /// Compiles `if` and `with`. In the first body of `with`, `.` is the value.
    fn choice(&mut self, block: &Block<'_>, place: Place, is_dot: bool) -> Id {
        let outer = self.scope.clone();
        let span = place.of(block.head.span());
        let value = self.action(block.head, place);
        let Some(local) = self.local(span) else { return UNKNOWN };
        self.scope.variables.extend(block.variables.first().map(|name| ((*name).to_owned(), local)));
        self.scope.is_in_block = true;
        let otherwise_scope = self.scope.clone();
        if is_dot {
            self.scope.dot = Some(local);
        }
        let then = self.body(&block.body, place, span);
        self.scope = otherwise_scope;
        let otherwise = self.body(&block.otherwise, place, span);
        self.scope = outer;
        let local_value = self.program.emit(Node::Local(local), span);
        let filled = self.program.emit(Node::Filled(local_value), span);
        let chosen = self.program.emit(Node::Conditional(filled, then, otherwise), span);
        self.program.emit(Node::Let { local, value, body: chosen }, span)
    }

    fn range(&mut self, block: &Block<'_>, place: Place) -> Id {
        let outer = self.scope.clone();
        let span = place.of(block.head.span());
        let over = self.action(block.head, place);
        let (Some(local), Some(_)) = (self.local(span), self.local(span)) else { return UNKNOWN };
        self.scope.is_in_block = true;
        let otherwise = self.body(&block.otherwise, place, span);
        let names: &[(&str, u16)] = match block.variables[..] {
            [item] => &[(item, local)],
            [key, item] => &[(key, local + 1), (item, local)],
            _ => &[],
        };
        self.scope.variables.extend(names.iter().map(|(name, local)| ((*name).to_owned(), *local)));
        self.scope.dot = Some(local);
        let body = self.body(&block.body, place, span);
        self.scope = outer;
        self.program.emit(Node::Range { over, body, otherwise, local }, span)
    }

    fn declare(&mut self, name: &str, span: Span) -> Option<u16> {
        let local = self.local(span)?;
        self.scope.variables.push((name.to_owned(), local));
        Some(local)
    }

    fn variable(&mut self, name: &str, span: Span) -> Option<u16> {
        let variable = self.scope.variables.iter().rev().find(|(known, _)| known == name).map(|(_, local)| *local);
        if variable.is_none() && self.findings.len() < limits::FINDINGS {
            let names: Vec<String> = self.scope.variables.iter().map(|(name, _)| format!("${name}")).collect();
            let message = format!("unknown variable `${name}`");
            let finding = Diagnostic::error(Kind::UnknownName, span, message).renamed(Kind::BadTemplate);
            let finding = if names.is_empty() {
                finding.with_help(format!("declare it first: `{{{{${name} := value}}}}`"))
            } else {
                finding.suggest(&format!("${name}"), names.iter().map(String::as_str))
            };
            self.findings.push(finding);
        }
        variable
    }

    /// Reserves a local for a value.
    pub(super) fn local(&mut self, span: Span) -> Option<u16> {
        if self.program.locals >= MAX_VARIABLES {
            let message = format!("the template has more than {MAX_VARIABLES} variables and blocks");
            self.findings.push(Diagnostic::error(Kind::TemplateLimit, span, message).renamed(Kind::BadTemplate));
            return None;
        }
        self.program.locals += 1;
        Some(self.program.locals - 1)
    }

    /// Compiles a reference: a variable, a part of `.`, or a name of the dialect, which `$.` always refers to.
    pub(super) fn template_reference(&mut self, content: &str, place: Place, access: Access) -> Id {
        let written = content.trim();
        let place = place.after(offset(content.len() - content.trim_start().len()));
        let span = place.of(Span::new(0, written.len()));
        if let Some(rest) = written.strip_prefix("$.") {
            return self.named_reference(rest, place.after(2), access);
        }
        if let Some(rest) = written.strip_prefix('$') {
            let length = rest.find(['.', '[']).unwrap_or(rest.len());
            let local = self.variable(&rest[..length], span);
            return local.map_or(UNKNOWN, |local| self.inside(local, &rest[length..], span, access));
        }
        match (self.scope.dot, written.strip_prefix('.')) {
            (Some(dot), Some(rest)) => {
                let keys = if rest.is_empty() || rest.starts_with('[') { rest } else { written };
                self.inside(dot, keys, span, access)
            }
            _ => self.named_reference(content, place, access),
        }
    }

    /// Compiles the part of a local at keys such as `.name[0]`.
    fn inside(&mut self, local: u16, keys: &str, span: Span, access: Access) -> Id {
        let mut id = self.program.emit(Node::Local(local), span);
        if keys.is_empty() {
            return id;
        }
        match reference::keys(keys) {
            Ok(keys) => {
                for key in keys {
                    let key = self.program.constant(key, span);
                    id = self.program.emit(Node::Member { object: id, key, access }, span);
                }
                id
            }
            Err(finding) => {
                self.findings.push(Diagnostic { span, ..*finding }.renamed(Kind::BadTemplate));
                UNKNOWN
            }
        }
    }
}

fn offset(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
