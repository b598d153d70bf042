//! The memory and the budget of one evaluation.

use std::cell::{Cell, RefCell};
use std::fmt::{self, Write};
use std::sync::Arc;

use bumpalo::Bump;

use crate::fault::{Outcome, fault};
use crate::pattern::Pattern;
use crate::value::{
    ListView, Object, ObjectView, Value, View, parse_json, push_canonical, push_json, push_text, relate,
};
use crate::{Kind, limits};

/// Where an evaluation puts what it produces, and how much more it may do.
///
/// The memory is a bump arena that costs nothing until something is produced and is given back at once. Only plain
/// data may be put there: no destructor is run.
pub(crate) struct Work<'a> {
    pub(crate) bump: &'a Bump,
    steps: Cell<u64>,
    bytes: Cell<usize>,
    regex: Cell<u64>,
    /// What was read last from text, because a condition asks the same text again: a pattern that a predicate uses for
    /// every element, the JSON that a text holds.
    pattern: RefCell<Option<(&'a str, Pattern)>>,
    json: Cell<Option<(&'a str, Option<View<'a>>)>>,
}

impl<'a> Work<'a> {
    #[inline]
    pub(crate) fn new(bump: &'a Bump) -> Self {
        Self {
            bump,
            steps: Cell::new(limits::STEPS),
            bytes: Cell::new(limits::PRODUCED_BYTES),
            regex: Cell::new(limits::REGEX_STEPS),
            pattern: RefCell::new(None),
            json: Cell::new(None),
        }
    }

    /// Counts parts that are looked at.
    pub(crate) fn spend(&self, steps: usize) -> Outcome<()> {
        match self.steps.get().checked_sub(steps as u64) {
            Some(left) => {
                self.steps.set(left);
                Ok(())
            }
            None => fault(Kind::StepLimit, format!("this takes more than {} steps", limits::STEPS)),
        }
    }

    /// The work done so far, in steps: parts and bytes read, regular expression steps and bytes produced.
    pub(crate) fn spent(&self) -> u64 {
        let bytes = (limits::PRODUCED_BYTES - self.bytes.get()) / limits::BYTES_PER_STEP;
        let regex = (limits::REGEX_STEPS - self.regex.get()) / limits::REGEX_STEPS_PER_STEP;
        (limits::STEPS - self.steps.get()) + bytes as u64 + regex
    }

    /// Counts bytes of text that are looked at.
    #[inline]
    pub(crate) fn scan(&self, bytes: usize) -> Outcome<()> {
        if bytes < limits::BYTES_PER_STEP { Ok(()) } else { self.spend(bytes / limits::BYTES_PER_STEP) }
    }

    /// Counts bytes that are produced, before they are.
    pub(crate) fn reserve(&self, bytes: usize) -> Outcome<()> {
        self.left_after(bytes).map(|left| self.bytes.set(left))
    }

    /// Whether a list of so many elements could still be produced: asked while it is gathered, paid when it is made.
    pub(crate) fn room(&self, elements: usize) -> Outcome<()> {
        self.left_after(elements.saturating_mul(size_of::<View<'_>>())).map(drop)
    }

    fn left_after(&self, bytes: usize) -> Outcome<usize> {
        self.bytes.get().checked_sub(bytes).map_or_else(too_large, Ok)
    }

    pub(crate) fn text(&self, text: &str) -> Outcome<View<'a>> {
        self.reserve(text.len())?;
        Ok(View::Str(self.bump.alloc_str(text)))
    }

    pub(crate) fn list(&self, items: &[View<'a>]) -> Outcome<View<'a>> {
        self.reserve(size_of_val(items))?;
        Ok(View::List(ListView::Made(self.bump.alloc_slice_copy(items))))
    }

    /// An object of keys that the caller knows to be unique.
    pub(crate) fn object(&self, entries: &[(&'a str, View<'a>)]) -> Outcome<View<'a>> {
        self.reserve(size_of_val(entries))?;
        Ok(View::Object(ObjectView::Made(self.bump.alloc_slice_copy(entries))))
    }

    /// The value of a key.
    pub(crate) fn field(&self, object: ObjectView<'a>, key: &str) -> Outcome<Option<View<'a>>> {
        let cost = object.lookup_cost();
        if cost > 1 {
            self.spend(cost)?;
        }
        Ok(object.get(key))
    }

    /// Structural equality.
    #[inline(always)]
    pub(crate) fn equal(&self, left: &View<'_>, right: &View<'_>) -> Outcome<bool> {
        relate::equal(left, right, &|parts, depth| {
            check_depth(depth)?;
            self.spend(parts)
        })
    }

    /// The text form, without a copy when it is text already.
    pub(crate) fn text_form(&self, view: View<'a>) -> Outcome<&'a str> {
        match view.as_str() {
            Some(text) => Ok(text),
            None => self.written(|out| push_text(out, view)).map(|text| &*self.bump.alloc_str(&text)),
        }
    }

    /// Compact JSON, text in quotes.
    pub(crate) fn json_form(&self, view: View<'a>) -> Outcome<&'a str> {
        self.written(|out| push_json(out, view)).map(|text| &*self.bump.alloc_str(&text))
    }

    /// A text that equal values, and only they, have in common.
    pub(crate) fn canonical(&self, view: View<'_>) -> Outcome<String> {
        self.written(|out| push_canonical(out, view))
    }

    fn written(&self, write: impl FnOnce(&mut Bounded) -> fmt::Result) -> Outcome<String> {
        let mut out = Bounded { text: String::new(), most: self.bytes.get(), full: false };
        match write(&mut out) {
            Ok(()) => self.reserve(out.text.len()).map(|()| out.text),
            Err(_) if out.full => too_large(),
            Err(_) => too_deep(),
        }
    }

    /// An owned copy. Parts that are shared already stay shared, and count as often as they are there.
    pub(crate) fn value(&self, view: View<'_>) -> Outcome<Value> {
        let value = self.owned(view, 0)?;
        if value.size().bytes > limits::VALUE_BYTES {
            return fault(Kind::ValueLimit, limits::value_message(limits::VALUE_BYTES));
        }
        Ok(value)
    }

    fn owned(&self, view: View<'_>, depth: u16) -> Outcome<Value> {
        match view {
            View::Str(text) => self.reserve(text.len())?,
            View::List(list @ (ListView::Json(_) | ListView::Made(_) | ListView::Range(..))) => {
                check_depth(depth)?;
                self.reserve(list.len().saturating_mul(size_of::<Value>()))?;
                let items: Outcome<Vec<_>> = list.iter().map(|item| self.owned(item, depth + 1)).collect();
                return items.map(Value::from);
            }
            View::Object(object @ (ObjectView::Json(_) | ObjectView::Made(_))) => {
                check_depth(depth)?;
                self.reserve(object.len().saturating_mul(size_of::<(Arc<str>, Value)>()))?;
                let entries: Outcome<Object> = object
                    .iter()
                    .map(|(key, value)| {
                        self.reserve(key.len())?;
                        Ok((key.into(), self.owned(value, depth + 1)?))
                    })
                    .collect();
                return entries.map(Value::from);
            }
            _ => {}
        }
        Ok(view.to_value())
    }

    /// Reads JSON text; the error is for people.
    pub(crate) fn json(&self, text: &str) -> Outcome<Result<View<'a>, String>> {
        // A parsed value takes a few times the bytes of its text.
        self.reserve(text.len().saturating_mul(4))?;
        Ok(parse_json(text, self.bump).map_err(|error| error.to_string()))
    }

    /// The list or object that a text holds as JSON.
    pub(crate) fn json_inside(&self, text: &'a str) -> Outcome<Option<View<'a>>> {
        if !text.trim_start().starts_with(['{', '[']) {
            return Ok(None);
        }
        if let Some((known, inside)) = self.json.get()
            && std::ptr::eq(known, text)
        {
            return Ok(inside);
        }
        let inside = self.json(text)?.ok();
        self.json.set(Some((text, inside)));
        Ok(inside)
    }

    /// Whether a pattern is found in a text.
    pub(crate) fn search(&self, pattern: &Pattern, text: &str) -> Outcome<bool> {
        self.spend_regex(pattern.cost(text))?;
        Ok(pattern.is_match(text)?)
    }

    /// A text with every match of a pattern replaced.
    pub(crate) fn replace(&self, pattern: &Pattern, text: &str, substitution: &str) -> Outcome<String> {
        self.spend_regex(pattern.cost(text))?;
        Ok(pattern.replace_all(text, substitution, self.bytes.get())?)
    }

    /// A pattern of RE2 that is known only now.
    pub(crate) fn re2(&self, text: &'a str) -> Outcome<Pattern> {
        if let Some((known, pattern)) = &*self.pattern.borrow()
            && *known == text
        {
            return Ok(pattern.clone());
        }
        self.compile(text)?;
        let pattern = Pattern::re2(text)?;
        self.pattern.replace(Some((text, pattern.clone())));
        Ok(pattern)
    }

    /// A pattern of Python that is known only now.
    pub(crate) fn python(&self, text: &str) -> Outcome<Pattern> {
        self.compile(text)?;
        Ok(Pattern::python(text)?)
    }

    fn compile(&self, text: &str) -> Outcome<()> {
        let parts = 1 + text.len() as u64 / limits::REGEX_COMPILE_BYTES;
        self.spend_regex(parts.saturating_mul(limits::REGEX_COMPILE_STEPS))
    }

    fn spend_regex(&self, steps: u64) -> Outcome<()> {
        match self.regex.get().checked_sub(steps) {
            Some(left) => {
                self.regex.set(left);
                Ok(())
            }
            None => Err(crate::pattern::PatternError::TooMuchWork.into()),
        }
    }
}

/// Whether something nested so deeply may be looked into.
pub(crate) fn check_depth(depth: u16) -> Outcome<()> {
    if depth < limits::DEPTH { Ok(()) } else { too_deep() }
}

#[cold]
fn too_large<T>() -> Outcome<T> {
    fault(Kind::SizeLimit, format!("this produces more than {} bytes", limits::PRODUCED_BYTES))
}

#[cold]
fn too_deep<T>() -> Outcome<T> {
    fault(Kind::DepthLimit, format!("this value is nested more than {} levels deep", limits::DEPTH))
}

/// A text that stops growing when the budget is spent.
struct Bounded {
    text: String,
    most: usize,
    full: bool,
}

impl Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.full = self.text.len() + part.len() > self.most;
        if self.full {
            return Err(fmt::Error);
        }
        self.text.push_str(part);
        Ok(())
    }
}
