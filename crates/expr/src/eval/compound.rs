//! Evaluates nodes with several parts: groups, objects, calls, templates, clauses, slices, projections.

use smallvec::SmallVec;

use super::record::Recorder;
use super::{Evaluator, access};
use crate::Kind;
use crate::builtins;
use crate::context::Context;
use crate::fault::{Fault, Outcome, fault, preview, wrong_kind};
use crate::function::{Function, OnNil};
use crate::program::{Access, FIRST_HOST_FUNCTION, Id, Ids};
use crate::value::View;

impl<'a, C: Context + ?Sized, R: Recorder<'a>> Evaluator<'a, '_, C, R> {
    pub(super) fn and(&mut self, parts: Ids) -> Outcome<bool> {
        for part in self.program.list(parts) {
            if !self.truth(*part)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn or(&mut self, parts: Ids) -> Outcome<bool> {
        for part in self.program.list(parts) {
            if self.truth(*part)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Evaluates all parts of a group, so that an error is never hidden. The first error in document order is the result.
    pub(super) fn group(&mut self, parts: Ids, join: fn(bool, bool) -> bool, start: bool) -> Outcome<bool> {
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

    pub(super) fn all(&mut self, ids: Ids) -> Outcome<SmallVec<[View<'a>; 4]>> {
        self.program.list(ids).iter().map(|id| self.eval(*id)).collect()
    }

    pub(super) fn object(&mut self, id: Id, entries: Ids) -> Outcome<View<'a>> {
        let mut object = Vec::new();
        for entry in self.program.list(entries).chunks_exact(2) {
            let key = self.eval(entry[0])?;
            self.at = entry[0];
            let key = match key {
                View::Int(_) | View::Float(_) | View::Str(_) | View::Text(_) => self.work.text_form(key)?,
                other => return wrong_kind("a key", "text or a number", other),
            };
            let value = self.eval(entry[1])?;
            object.push((key, value));
        }
        self.at = id;
        self.work.object_of(object)
    }

    pub(super) fn call(&mut self, id: Id, builtin: u16, arguments: Ids) -> Outcome<View<'a>> {
        let arguments = self.all(arguments)?;
        self.at = id;
        let function = match builtin.checked_sub(FIRST_HOST_FUNCTION) {
            None => &builtins::TABLE[usize::from(builtin)],
            Some(position) => self.host_function(position, arguments.len())?,
        };
        if function.on_nil != OnNil::Call && arguments.iter().any(|argument| argument.is_null()) {
            return Ok(if function.on_nil == OnNil::False { View::Bool(false) } else { View::Null });
        }
        self.work.spend(function.cost)?;
        self.work.scan(arguments.iter().filter_map(|argument| argument.as_str()).map(str::len).sum())?;
        function.run(&self.work, &arguments)
    }

    /// Looks up a host function and checks the number of arguments again, because the program may have been compiled elsewhere.
    fn host_function(&self, position: u16, given: usize) -> Outcome<&'a Function> {
        let name = &self.program.host_functions[usize::from(position)];
        match self.context.environment().functions.get(name) {
            Some(function) if (usize::from(function.least)..=usize::from(function.most)).contains(&given) => {
                Ok(function)
            }
            Some(_) => fault(Kind::WrongArity, format!("{name}() does not take {given} arguments")),
            None => fault(Kind::UnknownFunction, format!("{name}() is not registered for this evaluation")),
        }
    }

    pub(super) fn template(&mut self, id: Id, parts: Ids) -> Outcome<View<'a>> {
        let mut text = String::new();
        for part in self.program.list(parts) {
            let part = self.eval(*part)?;
            self.at = id;
            let part = self.work.text_form(part)?;
            self.work.reserve(part.len())?;
            text.push_str(part);
            if self.leaving.is_some() {
                break;
            }
        }
        Ok(View::Str(self.work.bump.alloc_str(&text)))
    }

    pub(super) fn replace(&mut self, id: Id, text: Id, replacement: u32) -> Outcome<View<'a>> {
        let text = self.eval(text)?;
        self.at = id;
        let text = self.work.text_form(text)?;
        let (pattern, substitution) = &self.program.replacements[replacement as usize];
        self.work.text(&self.work.replace(pattern, text, substitution)?)
    }

    pub(super) fn test(&mut self, id: Id, test: u32) -> Outcome<bool> {
        let test = &self.program.clauses[test as usize];
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

    pub(super) fn member(&mut self, id: Id, object: Id, key: Id, access: Access) -> Outcome<View<'a>> {
        let object = self.eval(object)?;
        let key = self.eval(key)?;
        self.at = id;
        match access::dynamic_step(&self.work, object, key, access)? {
            Some(view) => Ok(view),
            None => access::missing(access, || preview(key)),
        }
    }

    pub(super) fn slice(&mut self, id: Id, object: Id, from: Option<Id>, to: Option<Id>) -> Outcome<View<'a>> {
        let object = self.eval(object)?;
        let mut bounds = [None, None];
        for (bound, bound_id) in bounds.iter_mut().zip([from, to]) {
            if let Some(bound_id) = bound_id {
                match self.eval(bound_id)? {
                    View::Null => return Ok(View::Null),
                    view => {
                        self.at = id;
                        *bound = Some(view.expect_integer("a slice")?);
                    }
                }
            }
        }
        self.at = id;
        access::slice(&self.work, object, bounds[0], bounds[1])
    }

    pub(super) fn project(&mut self, id: Id, list_id: Id, rest: Id, local: u16, access: Access) -> Outcome<View<'a>> {
        let list = self.eval(list_id)?;
        self.at = id;
        let View::List(list) = list else {
            return access::missing(access, || "`[*]` takes a list, and this".into());
        };
        let weight = rest.saturating_sub(list_id) as usize;
        let mut items = Vec::new();
        for item in list.iter() {
            self.work.spend(weight)?;
            self.work.check_room(items.len() + 1)?;
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
