//! The one evaluator. It reads borrowed values, allocates only what it must produce, and stops at its bounds.

pub(crate) mod access;
mod fold;
pub(crate) mod operators;
pub(crate) mod quick;
pub(crate) mod record;

use bumpalo::Bump;
use smallvec::SmallVec;

use crate::Kind;
use crate::builtins::{self, OnNil};
use crate::context::Context;
use crate::fault::{Fault, Outcome, fault, shown, wrong_kind};
use crate::program::{Access, Id, Ids, Key, Node, Path, Program};
use crate::syntax::ast::Binary;
use crate::value::View;
use crate::work::Work;
use record::Record;

/// Evaluates a program over a context. What it produces lives in `bump`.
#[inline]
pub(crate) fn evaluate<'a, C: Context + ?Sized, R: Record>(
    program: &'a Program,
    context: &'a C,
    bump: &'a Bump,
    record: &mut R,
) -> Outcome<View<'a>> {
    let mut evaluator = Evaluator::new(program, context, bump, record);
    let result = evaluator.eval(program.root);
    evaluator.placed(result)
}

/// Evaluates a program as a condition: nil counts as false, anything else that is no boolean is an error.
#[inline]
pub(crate) fn holds<'a, C: Context + ?Sized, R: Record>(
    program: &'a Program,
    context: &'a C,
    bump: &'a Bump,
    record: &mut R,
) -> Outcome<bool> {
    let mut evaluator = Evaluator::new(program, context, bump, record);
    let result = evaluator.truth(program.root);
    evaluator.placed(result)
}

/// Two ways to evaluate a node, so that the common case moves nothing through memory: [`Evaluator::truth`] for what is
/// true or false, [`Evaluator::eval`] for everything.
pub(crate) struct Evaluator<'a, 'r, C: ?Sized, R> {
    program: &'a Program,
    context: &'a C,
    work: Work<'a>,
    locals: Vec<View<'a>>,
    record: &'r mut R,
    /// The node whose own operation runs: where a failure happened.
    at: Id,
}

impl<'a, 'r, C: Context + ?Sized, R: Record> Evaluator<'a, 'r, C, R> {
    #[inline]
    fn new(program: &'a Program, context: &'a C, bump: &'a Bump, record: &'r mut R) -> Self {
        let locals = vec![View::Null; usize::from(program.locals)];
        Self { program, context, work: Work::new(bump), locals, record, at: program.root }
    }

    #[inline]
    fn placed<T>(&self, result: Outcome<T>) -> Outcome<T> {
        match result {
            Ok(value) => Ok(value),
            Err(mut fault) => {
                fault.node = Some(self.at);
                // Only the whole condition has a result; a part that is no boolean is an operand of the wrong kind.
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

    /// A condition: nil counts as false, anything else that is no boolean is an error.
    #[inline]
    fn truth(&mut self, id: Id) -> Outcome<bool> {
        if R::ON {
            let result = self.unrecorded_truth(id);
            self.record.note_truth(id, &result);
            return result;
        }
        self.unrecorded_truth(id)
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
                let needle = self.eval(needle)?.as_str();
                Ok(needle.is_some_and(|needle| self.program.sets[set as usize].contains(needle)))
            }
            Node::Matches { text, pattern } => {
                let text = self.eval(text)?;
                self.at = id;
                operators::matches(text, &self.program.patterns[pattern as usize])
            }
            Node::Every(parts) => self.group(parts, |all, one| all && one, true),
            Node::Some(parts) => self.group(parts, |any, one| any || one, false),
            Node::Test(test) => self.test(id, test),
            _ => match self.unrecorded(id)? {
                View::Bool(bool) => Ok(bool),
                View::Null => Ok(false),
                other => {
                    self.at = id;
                    fault(Kind::NotBoolean, format!("a condition is true or false, and this is {}", shown(other)))
                }
            },
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
            | Node::Test(_) => self.unrecorded_truth(id).map(View::Bool),
            Node::Binary(operator, ..) if operator.is_test() => self.unrecorded_truth(id).map(View::Bool),
            Node::Local(local) => Ok(self.locals[usize::from(local)]),
            Node::Member { object, key, access } => self.member(id, object, key, access),
            Node::Project { list, rest, local } => self.project(id, list, rest, local),
            Node::Slice { object, from, to } => self.slice(id, object, from, to),
            Node::Coerced(object) => {
                let object = self.eval(object)?;
                self.at = id;
                access::coerced_object(&self.work, object)
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
            Node::Elvis(left, right) => match self.eval(left)? {
                View::Null | View::Bool(false) => self.eval(right),
                value => Ok(value),
            },
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
        }
    }

    fn path(&self, path: &'a Path) -> Outcome<View<'a>> {
        let Some(root) = self.context.read(&path.root) else {
            return self.missing(path);
        };
        let mut view = root.view();
        let mut coerce = path.coerce;
        for key in &path.keys {
            let found = match (&view, key) {
                (View::Object(object), Key::Field(field)) => object.get(field),
                _ => access::step(&self.work, view, key, path.access)?,
            };
            view = match found {
                Some(found) if coerce => access::coerced(found),
                Some(found) => found,
                None => return self.missing(path),
            };
            coerce = false;
        }
        Ok(view)
    }

    #[cold]
    fn missing(&self, path: &Path) -> Outcome<View<'a>> {
        access::missing(path.access, || self.program.path_text(path))
    }

    fn and(&mut self, parts: Ids) -> Outcome<bool> {
        for part in self.program.list(parts) {
            if !self.truth(*part)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn or(&mut self, parts: Ids) -> Outcome<bool> {
        for part in self.program.list(parts) {
            if self.truth(*part)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A group evaluates all of its parts, so that an error always shows; the first in document order counts.
    fn group(&mut self, parts: Ids, join: fn(bool, bool) -> bool, start: bool) -> Outcome<bool> {
        let mut joined = start;
        let mut first: Option<(Box<Fault>, Id)> = None;
        for part in self.program.list(parts) {
            match self.truth(*part) {
                Ok(holds) => joined = join(joined, holds),
                Err(fault) => {
                    first.get_or_insert((fault, self.at));
                }
            }
        }
        match first {
            Some((fault, at)) => {
                self.at = at;
                Err(fault)
            }
            None => Ok(joined),
        }
    }

    fn all(&mut self, ids: Ids) -> Outcome<SmallVec<[View<'a>; 4]>> {
        self.program.list(ids).iter().map(|id| self.eval(*id)).collect()
    }

    fn object(&mut self, id: Id, entries: Ids) -> Outcome<View<'a>> {
        let mut object = indexmap::IndexMap::<&'a str, View<'a>, foldhash::fast::RandomState>::default();
        for entry in self.program.list(entries).chunks_exact(2) {
            let key = self.eval(entry[0])?;
            self.at = entry[0];
            let key = match key {
                View::Int(_) | View::Float(_) | View::Str(_) | View::Text(_) => self.work.text_form(key)?,
                other => return wrong_kind("a key", "text or a number", other),
            };
            let value = self.eval(entry[1])?;
            object.insert(key, value);
        }
        self.at = id;
        self.work.object(&object.into_iter().collect::<Vec<_>>())
    }

    fn call(&mut self, id: Id, builtin: u16, arguments: Ids) -> Outcome<View<'a>> {
        let builtin = &builtins::TABLE[usize::from(builtin)];
        let arguments = self.all(arguments)?;
        if builtin.on_nil != OnNil::Asks && arguments.iter().any(|argument| argument.is_null()) {
            return Ok(if builtin.on_nil == OnNil::False { View::Bool(false) } else { View::Null });
        }
        self.at = id;
        (builtin.run)(&self.work, &arguments)
    }

    fn template(&mut self, id: Id, parts: Ids) -> Outcome<View<'a>> {
        let mut text = String::new();
        for part in self.program.list(parts) {
            let part = self.eval(*part)?;
            self.at = id;
            let part = self.work.text_form(part)?;
            self.work.reserve(part.len())?;
            text.push_str(part);
        }
        Ok(View::Str(self.work.bump.alloc_str(&text)))
    }

    fn replace(&mut self, id: Id, text: Id, replacement: u32) -> Outcome<View<'a>> {
        let text = self.eval(text)?;
        self.at = id;
        let text = self.work.text_form(text)?;
        let (pattern, substitution) = &self.program.replacements[replacement as usize];
        match pattern.replace_all(text, substitution, crate::limits::PRODUCED_BYTES) {
            Ok(replaced) => self.work.text(&replaced),
            Err(error) => Err(operators::pattern_fault(error)),
        }
    }

    fn test(&mut self, id: Id, test: u32) -> Outcome<bool> {
        let test = &self.program.tests[test as usize];
        let left = self.eval(test.left)?;
        let right = match test.right {
            Some(right) => self.eval(right)?,
            None => View::Null,
        };
        let now = match test.now {
            Some(now) => self.eval(now)?,
            None => View::Null,
        };
        self.at = id;
        test.holds(&self.work, left, right, now)
    }

    fn member(&mut self, id: Id, object: Id, key: Id, access: Access) -> Outcome<View<'a>> {
        let object = self.eval(object)?;
        let key = self.eval(key)?;
        self.at = id;
        match access::dynamic_step(&self.work, object, key, access)? {
            Some(view) => Ok(view),
            None => access::missing(access, || crate::fault::shown(key)),
        }
    }

    fn slice(&mut self, id: Id, object: Id, from: Option<Id>, to: Option<Id>) -> Outcome<View<'a>> {
        let object = self.eval(object)?;
        let mut bounds = [None, None];
        for (bound, bound_id) in bounds.iter_mut().zip([from, to]) {
            if let Some(bound_id) = bound_id {
                match self.eval(bound_id)? {
                    View::Null => return Ok(View::Null),
                    view => {
                        self.at = id;
                        *bound = Some(builtins::integer("a slice", view)?);
                    }
                }
            }
        }
        self.at = id;
        access::slice(&self.work, object, bounds[0], bounds[1])
    }

    fn project(&mut self, id: Id, list: Id, rest: Id, local: u16) -> Outcome<View<'a>> {
        let list = self.eval(list)?;
        self.at = id;
        let View::List(list) = list else {
            return fault(Kind::MissingVariable, "`[*]` takes a list, and this is none");
        };
        self.work.spend(list.len())?;
        let mut items = Vec::new();
        for item in list.iter() {
            self.locals[usize::from(local)] = item;
            match self.eval(rest) {
                Ok(view) => items.push(view),
                Err(fault) if fault.kind == Kind::MissingVariable => {}
                Err(fault) => return Err(fault),
            }
        }
        self.work.list(&items)
    }
}
