//! Evaluates `range` blocks of templates, with `break` and `continue`.

use super::Evaluator;
use super::record::Recorder;
use crate::Kind;
use crate::context::Context;
use crate::fault::{Outcome, fault, wrong_kind};
use crate::program::Id;
use crate::value::{ListView, View};

/// The maximum number of rounds of one range.
const MAX_ROUNDS: usize = 10_000;
/// The longest text of a template with blocks, in bytes.
const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// What a `{{break}}` or `{{continue}}` leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    /// The round of a range.
    Round,
    /// The range.
    Range,
}

impl<'a, C: Context + ?Sized, R: Recorder<'a>> Evaluator<'a, '_, C, R> {
    pub(super) fn range(&mut self, id: Id, over_id: Id, body: Id, otherwise: Id, local: u16) -> Outcome<View<'a>> {
        let over = self.eval(over_id)?;
        self.at = id;
        let rounds = self.rounds(over)?;
        if rounds.is_empty() {
            return self.eval(otherwise);
        }
        let weight = body.saturating_sub(over_id) as usize;
        let mut text = String::new();
        for (key, item) in rounds {
            self.work.spend(weight)?;
            self.locals[usize::from(local)] = item;
            self.locals[usize::from(local) + 1] = key;
            let round = self.eval(body)?;
            self.at = id;
            let round = self.work.text_form(round)?;
            self.work.reserve(round.len())?;
            text.push_str(round);
            check_length(text.len())?;
            if self.leaving.take() == Some(Leaving::Range) {
                break;
            }
        }
        Ok(View::Str(self.work.bump.alloc_str(&text)))
    }

    /// The keys and elements of the value that a range repeats over, in order.
    fn rounds(&self, over: View<'a>) -> Outcome<Vec<(View<'a>, View<'a>)>> {
        let index = |at: usize| View::Int(i64::try_from(at).unwrap_or(i64::MAX));
        let list = match over {
            View::Null => return Ok(Vec::new()),
            View::List(list) => list,
            View::Int(count) => ListView::Range(0, count.saturating_sub(1)),
            View::Object(object) => {
                self.check_rounds(object.len())?;
                return Ok(object.iter().map(|(key, value)| (View::Str(key), value)).collect());
            }
            other => return wrong_kind("`range`", "a list, an object or a whole number", other),
        };
        self.check_rounds(list.len())?;
        Ok(list.iter().enumerate().map(|(at, item)| (index(at), item)).collect())
    }

    fn check_rounds(&self, rounds: usize) -> Outcome<()> {
        self.work.spend(rounds)?;
        if rounds <= MAX_ROUNDS {
            return Ok(());
        }
        fault(Kind::TemplateLimit, format!("a `range` has at most {MAX_ROUNDS} rounds, but this one has {rounds}"))
    }

    /// Evaluates a template with blocks and checks the length of its text.
    pub(super) fn bounded(&mut self, id: Id, text: Id) -> Outcome<View<'a>> {
        let view = self.eval(text)?;
        self.at = id;
        check_length(view.as_str().map_or(0, str::len))?;
        Ok(view)
    }
}

fn check_length(bytes: usize) -> Outcome<()> {
    if bytes <= MAX_TEXT_BYTES {
        return Ok(());
    }
    fault(Kind::TemplateLimit, format!("the text of a template with blocks exceeds {MAX_TEXT_BYTES} bytes"))
}
