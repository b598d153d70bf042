//! The memory and the budget of one evaluation.

use std::cell::Cell;
use std::fmt::Write;

use bumpalo::Bump;

use crate::fault::{Outcome, fault};
use crate::value::{ListView, ObjectView, View, parse_json, push_text};
use crate::{Kind, limits};

/// Where an evaluation puts what it produces, and how much more it may do.
///
/// The memory is a bump arena that costs nothing until something is produced and is given back at once. Only plain
/// data may be put there: no destructor is run.
pub(crate) struct Work<'a> {
    pub(crate) bump: &'a Bump,
    steps: Cell<u64>,
    bytes: Cell<usize>,
}

impl<'a> Work<'a> {
    #[inline]
    pub(crate) fn new(bump: &'a Bump) -> Self {
        Self { bump, steps: Cell::new(limits::STEPS), bytes: Cell::new(limits::PRODUCED_BYTES) }
    }

    /// Counts elements that are looked at.
    pub(crate) fn spend(&self, steps: usize) -> Outcome<()> {
        match self.steps.get().checked_sub(steps as u64) {
            Some(left) => {
                self.steps.set(left);
                Ok(())
            }
            None => fault(Kind::StepLimit, format!("this looks at more than {} elements", limits::STEPS)),
        }
    }

    /// Counts bytes that are produced, before they are.
    pub(crate) fn reserve(&self, bytes: usize) -> Outcome<()> {
        match self.bytes.get().checked_sub(bytes) {
            Some(left) => {
                self.bytes.set(left);
                Ok(())
            }
            None => fault(Kind::SizeLimit, format!("this produces more than {} bytes", limits::PRODUCED_BYTES)),
        }
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

    /// The text form, without a copy when it is text already.
    pub(crate) fn text_form(&self, view: View<'a>) -> Outcome<&'a str> {
        if let Some(text) = view.as_str() {
            return Ok(text);
        }
        let mut out = Bounded { text: String::new(), work: self };
        match push_text(&mut out, view) {
            Ok(()) => Ok(self.bump.alloc_str(&out.text)),
            Err(_) => fault(Kind::SizeLimit, format!("this produces more than {} bytes", limits::PRODUCED_BYTES)),
        }
    }

    /// Reads JSON text; the error is for people.
    pub(crate) fn json(&self, text: &str) -> Outcome<Result<View<'a>, String>> {
        // A parsed value takes a few times the bytes of its text.
        self.reserve(text.len().saturating_mul(4))?;
        Ok(parse_json(text, self.bump).map_err(|error| error.to_string()))
    }
}

/// A text that stops growing when the budget is spent.
struct Bounded<'w, 'a> {
    text: String,
    work: &'w Work<'a>,
}

impl Write for Bounded<'_, '_> {
    fn write_str(&mut self, part: &str) -> std::fmt::Result {
        self.work.reserve(part.len()).map_err(|_| std::fmt::Error)?;
        self.text.push_str(part);
        Ok(())
    }
}
