//! The evaluator. It reads borrowed values, allocates only what it produces, and stops at its limits.

pub(crate) mod access;
mod blocks;
mod compound;
pub(crate) mod fast_path;
mod fold;
pub(crate) mod operators;
pub(crate) mod record;

use bumpalo::Bump;

use crate::Kind;
use crate::context::Context;
use crate::fault::{Outcome, fault, preview};
use crate::program::{Id, Key, Node, Path, Program};
use crate::syntax::ast::Binary;
use crate::value::{Value, View};
use crate::work::Work;
use blocks::Leaving;
use record::{NoRecording, Recorder};

/// Evaluates a program as a condition: nil counts as false, any other value that is not a boolean is an error.
///
/// Produced values live in `bump`.
#[inline]
pub(crate) fn holds<'a, C: Context + ?Sized, R: Recorder<'a>>(
    program: &'a Program,
    context: &'a C,
    bump: &'a Bump,
    record: &mut R,
) -> Outcome<bool> {
    let mut evaluator = Evaluator::new(program, context, bump, record);
    let result = evaluator.truth(program.root);
    if !R::ON {
        context.report_steps(evaluator.work.steps_used());
    }
    evaluator.with_location(result)
}

/// The longest condition that an error message quotes.
const NAMED_BYTES: usize = 200;

/// Evaluates one node of a program to a value of any kind.
pub(crate) fn value<C: Context + ?Sized>(program: &Program, root: Id, context: &C) -> Outcome<Value> {
    let bump = Bump::new();
    let mut record = NoRecording;
    let mut evaluator = Evaluator::new(program, context, &bump, &mut record);
    let result = evaluator.eval(root).and_then(|view| {
        evaluator.at = root;
        evaluator.work.value(view)
    });
    context.report_steps(evaluator.work.steps_used());
    evaluator.with_location(result)
}

/// The value at a path of a program.
pub(crate) fn read_path<'a, C: Context + ?Sized>(
    program: &'a Program,
    path: &'a Path,
    context: &'a C,
    bump: &'a Bump,
) -> Outcome<Value> {
    let mut record = NoRecording;
    let evaluator = Evaluator::new(program, context, bump, &mut record);
    let view = evaluator.path(path)?;
    evaluator.work.value(view)
}

/// Evaluates nodes by two functions: [`Evaluator::truth`] for nodes that are true or false, which moves no value through memory,
/// and [`Evaluator::eval`] for all nodes.
pub(crate) struct Evaluator<'a, 'r, C: ?Sized, R> {
    program: &'a Program,
    context: &'a C,
    work: Work<'a>,
    locals: Vec<View<'a>>,
    record: &'r mut R,
    /// The node whose operation runs, which locates a failure.
    at: Id,
    /// Set by `{{break}}` and `{{continue}}`.
    leaving: Option<Leaving>,
}

impl<'a, 'r, C: Context + ?Sized, R: Recorder<'a>> Evaluator<'a, 'r, C, R> {
    #[inline]
    fn new(program: &'a Program, context: &'a C, bump: &'a Bump, record: &'r mut R) -> Self {
        let locals = vec![View::Null; usize::from(program.locals)];
        Self {
            program,
            context,
            work: Work::new(bump, &context.environment().limits),
            locals,
            record,
            at: program.root,
            leaving: None,
        }
    }

    #[inline]
    fn with_location<T>(&self, result: Outcome<T>) -> Outcome<T> {
        match result {
            Ok(value) => Ok(value),
            Err(mut fault) => {
                fault.node = Some(self.at);
                // `not_boolean` is about the whole condition; a part that is not a boolean is an operand of the wrong kind.
                if fault.kind == Kind::NotBoolean && self.at != self.program.root {
                    fault.kind = Kind::WrongKind;
                }
                Err(fault)
            }
        }
    }

    #[inline]
    fn eval(&mut self, id: Id) -> Outcome<View<'a>> {
        if R::ON {
            let result = self.unrecorded(id);
            self.record.note(id, &result);
            return result;
        }
        self.unrecorded(id)
    }

    #[inline]
    fn unrecorded(&mut self, id: Id) -> Outcome<View<'a>> {
        match self.program.nodes[id as usize] {
            Node::Constant(constant) => Ok(self.program.constants[constant as usize].view()),
            Node::Path(path) => {
                self.at = id;
                self.path(&self.program.paths[path as usize])
            }
            node => self.operation(id, node),
        }
    }

    /// Evaluates a node as a condition: nil counts as false, any other value that is not a boolean is an error.
    #[inline]
    fn truth(&mut self, id: Id) -> Outcome<bool> {
        if R::ON { self.recorded_truth(id) } else { self.unrecorded_truth(id) }
    }

    fn recorded_truth(&mut self, id: Id) -> Outcome<bool> {
        if self.program.nodes[id as usize].is_test() {
            let result = self.unrecorded_truth(id);
            self.record.note_truth(id, &result);
            return result;
        }
        // An explanation shows nil as nil, although it counts as false.
        let value = self.unrecorded(id);
        let note = value.as_ref().copied().map_err(|_| ());
        let result = self.as_truth(id, value);
        match (&result, note) {
            (Ok(_), Ok(value)) => self.record.note(id, &Ok(value)),
            _ => self.record.note_truth(id, &result),
        }
        result
    }

    fn unrecorded_truth(&mut self, id: Id) -> Outcome<bool> {
        match self.program.nodes[id as usize] {
            Node::And(parts) => self.and(parts),
            Node::Or(parts) => self.or(parts),
            Node::Not(operand) => Ok(!self.truth(operand)?),
            Node::Compare(compare) => {
                let compare = &self.program.compares[compare as usize];
                self.binary_test(id, compare.operator, compare.left, compare.right)
            }
            Node::Binary(operator, left, right) if operator.is_test() => self.binary_test(id, operator, left, right),
            Node::InSet { needle, set } => {
                let Some(needle) = self.eval(needle)?.as_str() else { return Ok(false) };
                self.at = id;
                self.work.scan(needle.len())?;
                Ok(self.program.sets[set as usize].contains(needle))
            }
            Node::Matches { text, pattern } => {
                let text = self.eval(text)?;
                self.at = id;
                operators::matches(&self.work, text, &self.program.patterns[pattern as usize])
            }
            Node::Every(parts) => self.group(parts, |all, one| all && one, true),
            Node::Some(parts) => self.group(parts, |any, one| any || one, false),
            Node::Clause(test) => self.test(id, test),
            Node::Filled(value) => Ok(operators::is_filled(self.eval(value)?)),
            _ => {
                let value = self.unrecorded(id);
                self.as_truth(id, value)
            }
        }
    }

    #[inline]
    fn as_truth(&mut self, id: Id, value: Outcome<View<'a>>) -> Outcome<bool> {
        match value? {
            View::Bool(bool) => Ok(bool),
            View::Null => Ok(false),
            other => {
                self.at = id;
                let text = self.program.written_text(id).filter(|text| text.len() <= NAMED_BYTES);
                let name = text.map_or_else(|| "the condition".to_owned(), |text| format!("`{text}`"));
                fault(Kind::NotBoolean, format!("{name} is {}, but a condition must be true or false", preview(other)))
            }
        }
    }

    fn binary_test(&mut self, id: Id, operator: Binary, left: Id, right: Id) -> Outcome<bool> {
        let left = self.eval(left)?;
        let right = self.eval(right)?;
        self.at = id;
        operators::test(&self.work, operator, &left, &right)
    }

    fn operation(&mut self, id: Id, node: Node) -> Outcome<View<'a>> {
        match node {
            Node::Constant(_) | Node::Path(_) => unreachable!("leaves are read before operations"),
            Node::And(_)
            | Node::Or(_)
            | Node::Not(_)
            | Node::Compare(_)
            | Node::InSet { .. }
            | Node::Matches { .. }
            | Node::Every(_)
            | Node::Some(_)
            | Node::Filled(_)
            | Node::Clause(_) => self.unrecorded_truth(id).map(View::Bool),
            Node::Binary(operator, ..) if operator.is_test() => self.unrecorded_truth(id).map(View::Bool),
            Node::Local(local) => Ok(self.locals[usize::from(local)]),
            Node::Member { object, key, access } => self.member(id, object, key, access),
            Node::Project { list, rest, local, access } => self.project(id, list, rest, local, access),
            Node::Slice { object, from, to } => self.slice(id, object, from, to),
            Node::Coerced(object) => {
                let object = self.eval(object)?;
                self.at = id;
                access::coerce_object(&self.work, object)
            }
            Node::Negate(operand) => {
                let operand = self.eval(operand)?;
                self.at = id;
                operators::negate(operand)
            }
            Node::Plus(operand) => {
                let operand = self.eval(operand)?;
                self.at = id;
                operators::plus(operand)
            }
            Node::Binary(operator, left, right) => {
                let left = self.eval(left)?;
                let right = self.eval(right)?;
                self.at = id;
                operators::compute(&self.work, operator, left, right)
            }
            Node::Both(left, right) => {
                let value = self.eval(left)?;
                if operators::is_falsy(value) { Ok(value) } else { self.eval(right) }
            }
            Node::Either(left, right) => {
                let value = self.eval(left)?;
                if operators::is_falsy(value) { self.eval(right) } else { Ok(value) }
            }
            Node::Coalesce(left, right) => match self.eval(left)? {
                View::Null => self.eval(right),
                value => Ok(value),
            },
            Node::Conditional(condition, then, otherwise) => {
                let chosen = if self.truth(condition)? { then } else { otherwise };
                self.eval(chosen)
            }
            Node::Elvis(left, right) => {
                if self.truth(left)? {
                    Ok(View::Bool(true))
                } else {
                    self.eval(right)
                }
            }
            Node::Let { local, value, body } => {
                self.locals[usize::from(local)] = self.eval(value)?;
                self.eval(body)
            }
            Node::Sequence(first, rest) => {
                self.eval(first)?;
                self.eval(rest)
            }
            Node::List(items) => {
                let items = self.all(items)?;
                self.at = id;
                self.work.list(&items)
            }
            Node::Object(entries) => self.object(id, entries),
            Node::Call { builtin, arguments } => self.call(id, builtin, arguments),
            Node::Fold { fold, list, body, extra, local } => self.fold(id, fold, list, body, extra, local),
            Node::Replace { text, replacement } => self.replace(id, text, replacement),
            Node::Template(parts) => self.template(id, parts),
            Node::Assign { local, value } => {
                self.locals[usize::from(local)] = self.eval(value)?;
                Ok(View::Str(""))
            }
            Node::Range { over, body, otherwise, local } => self.range(id, over, body, otherwise, local),
            Node::Leave { all } => {
                self.leaving = Some(if all { Leaving::Range } else { Leaving::Round });
                Ok(View::Str(""))
            }
            Node::Bounded(text) => self.bounded(id, text),
        }
    }

    fn path(&self, path: &'a Path) -> Outcome<View<'a>> {
        let Some(root) = self.context.read(&path.root) else {
            return Self::missing(path);
        };
        let mut view = root.view();
        let mut coerce = path.coerce;
        for key in path.keys.iter() {
            let part = match (&view, key) {
                (View::Object(object), Key::Field(field)) => object.get(field),
                _ => access::step(&self.work, view, key, path.access)?,
            };
            view = match part {
                Some(part) if coerce => access::coerce(part),
                Some(part) => part,
                None => return Self::missing(path),
            };
            coerce = false;
        }
        Ok(view)
    }

    #[cold]
    fn missing(path: &Path) -> Outcome<View<'a>> {
        access::missing(path.access, || path.to_string())
    }
}
