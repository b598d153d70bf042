//! Evaluates functions with a predicate, such as `all`, `map` and `reduce`.

use indexmap::IndexMap;

use super::record::Recorder;
use super::{Evaluator, operators};
use crate::builtins::{Fold, sort_by_keys};
use crate::context::Context;
use crate::fault::{Outcome, wrong_kind};
use crate::program::Id;
use crate::syntax::ast::Binary;
use crate::value::{ListView, View};

impl<'a, C: Context + ?Sized, R: Recorder<'a>> Evaluator<'a, '_, C, R> {
    pub(super) fn fold(
        &mut self,
        id: Id,
        fold: Fold,
        list_id: Id,
        body: Option<Id>,
        extra_id: Option<Id>,
        local: u16,
    ) -> Outcome<View<'a>> {
        let list = self.eval(list_id)?;
        let extra = extra_id.map(|extra| self.eval(extra)).transpose()?;
        self.at = id;
        let list = match list {
            View::List(list) => list,
            View::Null => return Ok(View::Null),
            other => return wrong_kind("a predicate function", "a list", other),
        };
        // The nodes of the predicate lie between the list and the predicate itself.
        let before = extra_id.unwrap_or(list_id).max(list_id);
        let weight = body.map_or(1, |body| body.saturating_sub(before) as usize);
        let over = Iteration { list, body, local, weight };
        match fold {
            Fold::All => Ok(View::Bool(self.hit(&over, false)?.is_none())),
            Fold::Any => Ok(View::Bool(self.hit(&over, true)?.is_some())),
            Fold::None => Ok(View::Bool(self.hit(&over, true)?.is_none())),
            Fold::One => Ok(View::Bool(self.count(&over)? == 1)),
            Fold::Count => Ok(View::Int(self.count(&over)?)),
            Fold::Find => Ok(self.hit(&over, true)?.and_then(|at| list.get(at)).unwrap_or(View::Null)),
            Fold::FindIndex => Ok(self.hit(&over, true)?.map_or(View::Null, index)),
            Fold::FindLast => Ok(self.last_hit(&over)?.and_then(|at| list.get(at)).unwrap_or(View::Null)),
            Fold::FindLastIndex => Ok(self.last_hit(&over)?.map_or(View::Null, index)),
            Fold::Filter => self.filter(&over),
            Fold::Map => self.map(&over).and_then(|mapped| self.work.list(&mapped)),
            Fold::Sum => self.sum(&over),
            Fold::SortBy => self.sort_by(&over, extra),
            Fold::GroupBy => self.group_by(&over),
            Fold::Reduce => self.reduce(&over, extra),
        }
    }

    /// The body's value for one element, or the element itself if there is no body.
    fn value_at(&mut self, over: &Iteration<'a>, at: usize) -> Outcome<View<'a>> {
        let item = self.enter(over, at)?;
        match over.body {
            Some(body) => self.eval(body),
            None => Ok(item),
        }
    }

    /// Sets `#` and `#index` to an element.
    fn enter(&mut self, over: &Iteration<'a>, at: usize) -> Outcome<View<'a>> {
        self.work.spend(over.weight)?;
        let item = over.list.get(at).unwrap_or(View::Null);
        self.locals[usize::from(over.local)] = item;
        self.locals[usize::from(over.local) + 1] = index(at);
        Ok(item)
    }

    fn holds_at(&mut self, over: &Iteration<'a>, at: usize) -> Outcome<bool> {
        let Some(body) = over.body else {
            self.work.spend(1)?;
            return match over.list.get(at) {
                Some(View::Bool(bool)) => Ok(bool),
                None | Some(View::Null) => Ok(false),
                Some(other) => wrong_kind("count()", "booleans", other),
            };
        };
        self.enter(over, at)?;
        self.truth(body)
    }

    /// The position of the first element for which the predicate returns `wanted`.
    fn hit(&mut self, over: &Iteration<'a>, wanted: bool) -> Outcome<Option<usize>> {
        for at in 0..over.list.len() {
            if self.holds_at(over, at)? == wanted {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    fn last_hit(&mut self, over: &Iteration<'a>) -> Outcome<Option<usize>> {
        for at in (0..over.list.len()).rev() {
            if self.holds_at(over, at)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    fn count(&mut self, over: &Iteration<'a>) -> Outcome<i64> {
        let mut count = 0;
        for at in 0..over.list.len() {
            count += i64::from(self.holds_at(over, at)?);
        }
        Ok(count)
    }

    fn filter(&mut self, over: &Iteration<'a>) -> Outcome<View<'a>> {
        let mut matching = Vec::new();
        for at in 0..over.list.len() {
            if self.holds_at(over, at)? {
                self.work.check_room(matching.len() + 1)?;
                matching.extend(over.list.get(at));
            }
        }
        self.work.list(&matching)
    }

    fn map(&mut self, over: &Iteration<'a>) -> Outcome<Vec<View<'a>>> {
        let mut mapped = Vec::new();
        for at in 0..over.list.len() {
            self.work.check_room(mapped.len() + 1)?;
            mapped.push(self.value_at(over, at)?);
        }
        Ok(mapped)
    }

    fn sum(&mut self, over: &Iteration<'a>) -> Outcome<View<'a>> {
        let mut sum = View::Int(0);
        for at in 0..over.list.len() {
            let value = self.value_at(over, at)?;
            if value.as_str().is_some() {
                return wrong_kind("sum()", "numbers", value);
            }
            sum = operators::compute(&self.work, Binary::Add, sum, value)?;
        }
        Ok(sum)
    }

    fn sort_by(&mut self, over: &Iteration<'a>, direction: Option<View<'a>>) -> Outcome<View<'a>> {
        let keys = self.map(over)?;
        let keyed = keys.into_iter().zip(over.list.iter()).collect();
        let sorted = sort_by_keys("sortBy()", keyed, direction)?;
        self.work.list(&sorted)
    }

    fn group_by(&mut self, over: &Iteration<'a>) -> Outcome<View<'a>> {
        let mut groups = IndexMap::<&'a str, Vec<View<'a>>, foldhash::fast::RandomState>::default();
        for at in 0..over.list.len() {
            self.work.check_room(at + 1)?;
            let key = self.value_at(over, at)?;
            groups.entry(self.work.text_form(key)?).or_default().extend(over.list.get(at));
        }
        let entries: Outcome<Vec<_>> =
            groups.into_iter().map(|(key, items)| Ok((key, self.work.list(&items)?))).collect();
        self.work.object(&entries?)
    }

    /// Folds the list. Without a start value, the first element is the start.
    fn reduce(&mut self, over: &Iteration<'a>, start: Option<View<'a>>) -> Outcome<View<'a>> {
        let (mut accumulated, first) = match start {
            Some(start) => (start, 0),
            None => (over.list.get(0).unwrap_or(View::Null), 1),
        };
        for at in first..over.list.len() {
            self.locals[usize::from(over.local) + 2] = accumulated;
            accumulated = self.value_at(over, at)?;
        }
        Ok(accumulated)
    }
}

/// A list and the expression that is evaluated for its elements.
struct Iteration<'a> {
    list: ListView<'a>,
    body: Option<Id>,
    local: u16,
    /// The cost of one element: the number of nodes of the body.
    weight: usize,
}

fn index(at: usize) -> View<'static> {
    View::Int(i64::try_from(at).unwrap_or(i64::MAX))
}
