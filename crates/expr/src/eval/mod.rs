//! The one evaluator. It reads borrowed values, allocates only what it must produce, and stops at its bounds.

pub(crate) mod access;
mod fold;
pub(crate) mod operators;
pub(crate) mod record;

use bumpalo::Bump;
use smallvec::SmallVec;

use crate::builtins::{self, OnNil};
use crate::context::Context;
use crate::fault::{Fault, Outcome, fault, wrong_kind};
use crate::program::{Access, Id, Ids, Node, Path, Program};
use crate::syntax::ast::Binary;
use crate::value::View;
use crate::work::Work;
use crate::Kind;
use record::Record;

/// Evaluates a program over a context. What it produces lives in `bump`.
#[inline]
pub(crate) fn evaluate<'a, C: Context + ?Sized, R: Record>(
    program: &'a Program,
    context: &'a C,
    bump: &'a Bump,
    record: &mut R,
) -> Outcome<View<'a>> {
    let locals = SmallVec::from_elem(View::Null, usize::from(program.locals));
    Evaluator { program, context, work: Work::new(bump), locals, record }.eval(program.root)
}

pub(crate) struct Evaluator<'a, 'r, C: ?Sized, R> {
    program: &'a Program,
    context: &'a C,
    work: Work<'a>,
    locals: SmallVec<[View<'a>; 4]>,
    record: &'r mut R,
}

impl<'a, C: Context + ?Sized, R: Record> Evaluator<'a, '_, C, R> {
    #[inline]
    fn eval(&mut self, id: Id) -> Outcome<View<'a>> {
        let result = match self.program.nodes[id as usize] {
            // The two leaves of nearly every condition are read without a further call.
            Node::Constant(constant) => Ok(self.program.constants[constant as usize].view()),
            Node::Path(path) => self.path(&self.program.paths[path as usize]),
            node => self.operation(node),
        };
        let result = result.map_err(|mut fault| {
            fault.node.get_or_insert(id);
            fault
        });
        self.record.note(id, &result);
        result
    }

    fn operation(&mut self, node: Node) -> Outcome<View<'a>> {
        match node {
            Node::Constant(constant) => Ok(self.program.constants[constant as usize].view()),
            Node::Path(path) => self.path(&self.program.paths[path as usize]),
            Node::Local(local) => Ok(self.locals[usize::from(local)]),
            Node::Member { object, key, access } => self.member(object, key, access),
            Node::Project { list, rest, local } => self.project(list, rest, local),
            Node::Slice { object, from, to } => self.slice(object, from, to),
            Node::Coerced(object) => {
                let object = self.eval(object)?;
                access::coerced_object(&self.work, object)
            }
            Node::Not(operand) => Ok(View::Bool(!self.truth(operand)?)),
            Node::Negate(operand) => operators::negate(self.eval(operand)?),
            Node::Plus(operand) => operators::plus(self.eval(operand)?),
            Node::Binary(operator, left, right) => self.binary(operator, left, right),
            Node::InSet { needle, set } => {
                let needle = self.eval(needle)?.as_str();
                Ok(View::Bool(needle.is_some_and(|needle| self.program.sets[set as usize].contains(needle))))
            }
            Node::Matches { text, pattern } => {
                let text = self.eval(text)?;
                operators::matches(text, &self.program.patterns[pattern as usize])
            }
            Node::And(parts) => self.and(parts),
            Node::Or(parts) => self.or(parts),
            Node::Every(parts) => self.group(parts, |all, one| all && one, true),
            Node::Some(parts) => self.group(parts, |any, one| any || one, false),
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
                self.work.list(&items)
            }
            Node::Object(entries) => self.object(entries),
            Node::Call { builtin, arguments } => self.call(builtin, arguments),
            Node::Fold { fold, list, body, extra, local } => self.fold(fold, list, body, extra, local),
            Node::Template(parts) => self.template(parts),
            Node::Test(test) => self.test(test),
        }
    }

    #[inline]
    fn path(&self, path: &'a Path) -> Outcome<View<'a>> {
        let name = &self.program.names[path.root as usize];
        let mut found = self.context.read(name);
        let mut coerce = path.coerce;
        for key in &path.keys {
            let Some(object) = found else { break };
            found = access::step(&self.work, object, key, path.access)?;
            if coerce {
                found = found.map(access::coerced);
                coerce = false;
            }
        }
        match found {
            Some(view) => Ok(view),
            None => access::missing(path.access, || name.text.to_string()),
        }
    }

    fn binary(&mut self, operator: Binary, left: Id, right: Id) -> Outcome<View<'a>> {
        let left = self.eval(left)?;
        let right = self.eval(right)?;
        operators::binary(&self.work, operator, left, right)
    }

    /// A condition: nil counts as false, anything else that is no boolean is an error.
    #[inline]
    fn truth(&mut self, id: Id) -> Outcome<bool> {
        match self.eval(id)? {
            View::Bool(bool) => Ok(bool),
            View::Null => Ok(false),
            other => wrong_kind("a condition", "a boolean", other),
        }
    }

    fn and(&mut self, parts: Ids) -> Outcome<View<'a>> {
        for part in self.program.list(parts) {
            if !self.truth(*part)? {
                return Ok(View::Bool(false));
            }
        }
        Ok(View::Bool(true))
    }

    fn or(&mut self, parts: Ids) -> Outcome<View<'a>> {
        for part in self.program.list(parts) {
            if self.truth(*part)? {
                return Ok(View::Bool(true));
            }
        }
        Ok(View::Bool(false))
    }

    /// A group evaluates all of its parts, so that an error always shows; the first in document order counts.
    fn group(&mut self, parts: Ids, join: fn(bool, bool) -> bool, start: bool) -> Outcome<View<'a>> {
        let mut joined = start;
        let mut first_fault: Option<Box<Fault>> = None;
        for part in self.program.list(parts) {
            match self.truth(*part) {
                Ok(holds) => joined = join(joined, holds),
                Err(fault) => {
                    first_fault.get_or_insert(fault);
                }
            }
        }
        match first_fault {
            Some(fault) => Err(fault),
            None => Ok(View::Bool(joined)),
        }
    }

    fn all(&mut self, ids: Ids) -> Outcome<SmallVec<[View<'a>; 4]>> {
        self.program.list(ids).iter().map(|id| self.eval(*id)).collect()
    }

    fn object(&mut self, entries: Ids) -> Outcome<View<'a>> {
        let mut object = indexmap::IndexMap::<&'a str, View<'a>, foldhash::fast::RandomState>::default();
        for entry in self.program.list(entries).chunks_exact(2) {
            let key = self.eval(entry[0])?;
            let key = match key {
                View::Int(_) | View::Float(_) | View::Str(_) | View::Text(_) => self.work.text_form(key)?,
                other => return wrong_kind("a key", "text or a number", other),
            };
            let value = self.eval(entry[1])?;
            object.insert(key, value);
        }
        self.work.object(&object.into_iter().collect::<Vec<_>>())
    }

    fn call(&mut self, builtin: u16, arguments: Ids) -> Outcome<View<'a>> {
        let builtin = &builtins::TABLE[usize::from(builtin)];
        let arguments = self.all(arguments)?;
        if builtin.on_nil != OnNil::Asks && arguments.iter().any(|argument| argument.is_null()) {
            return Ok(if builtin.on_nil == OnNil::False { View::Bool(false) } else { View::Null });
        }
        (builtin.run)(&self.work, &arguments)
    }

    fn template(&mut self, parts: Ids) -> Outcome<View<'a>> {
        let mut text = String::new();
        for part in self.program.list(parts) {
            let part = self.eval(*part)?;
            let part = self.work.text_form(part)?;
            self.work.reserve(part.len())?;
            text.push_str(part);
        }
        Ok(View::Str(self.work.bump.alloc_str(&text)))
    }

    fn test(&mut self, test: u32) -> Outcome<View<'a>> {
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
        test.holds(&self.work, left, right, now).map(View::Bool)
    }

    fn member(&mut self, object: Id, key: Id, access: Access) -> Outcome<View<'a>> {
        let object = self.eval(object)?;
        let key = self.eval(key)?;
        match access::dynamic_step(&self.work, object, key, access)? {
            Some(view) => Ok(view),
            None => access::missing(access, || crate::fault::shown(key)),
        }
    }

    fn slice(&mut self, object: Id, from: Option<Id>, to: Option<Id>) -> Outcome<View<'a>> {
        let object = self.eval(object)?;
        let mut bounds = [None, None];
        for (bound, id) in bounds.iter_mut().zip([from, to]) {
            if let Some(id) = id {
                match self.eval(id)? {
                    View::Null => return Ok(View::Null),
                    view => *bound = Some(builtins::integer("a slice", view)?),
                }
            }
        }
        access::slice(&self.work, object, bounds[0], bounds[1])
    }

    fn project(&mut self, list: Id, rest: Id, local: u16) -> Outcome<View<'a>> {
        let View::List(list) = self.eval(list)? else {
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
