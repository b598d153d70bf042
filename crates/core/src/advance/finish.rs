//! How a run ends: by its own verdict, by a failure, by order, by reaching a bound. After a failure or a cancel the program may
//! say a last word, once.

use std::sync::Arc;

use branchpoint_expr::{Kind, Value};

use super::{Machine, scope_view};
use crate::RunKinds as _;
use crate::command::Command;
use crate::ir::{Failure, PlaceId, Program, SlotId, Status};
use crate::request::object;
use crate::state::{Entry, EntryResult, FinalResult};
use crate::state_size::{bytes, results_bytes};

impl Machine<'_> {
    /// The run ends: everything in it is withdrawn, and nothing is accepted any more.
    pub(super) fn finish(&mut self, status: Status, result: Value) {
        if let Some(root) = self.state.root() {
            self.take_frame(root);
        }
        for timer in std::mem::take(&mut self.state.timers).into_keys() {
            self.outcome.commands.push(Command::ClearTimer { timer });
        }
        for (_, payload) in std::mem::take(&mut self.state.mailbox) {
            self.state.release(bytes(&payload));
        }
        self.state.ready.clear();
        self.state.ended = Some(FinalResult { status, result: result.clone() });
        self.outcome.commands.push(Command::Finish { status, result });
    }

    /// A bound of the run is reached. That is an outcome, not a crash, and it is final: a last word would need the very thing
    /// that has run out.
    pub(super) fn exhausted(&mut self, limit: &str) {
        let message = format!("the run has reached its limit of {limit}");
        self.finish(Status::Failed, scope_view::error_object("exhausted", &message, None));
    }

    /// The run has executed as many ops as it may. Like [`Self::exhausted`], this is final.
    pub(super) fn out_of_ops(&mut self) {
        let bounds = [self.program.limits.ops, self.state.max_ops].into_iter().filter(|bound| *bound > 0);
        let bound = bounds.min().unwrap_or_default();
        let message =
            format!("the run has executed {bound} operations, which is its limit; look for a loop that does not end");
        self.finish(Status::Failed, scope_view::error_object("op_limit", &message, None));
    }

    /// Whether the values of the run are too large together.
    pub(super) fn is_outgrown(&self) -> bool {
        self.state.size_bytes() > self.program.limits.state_bytes()
    }

    /// Ends a run whose values are too large together. Final, too: whatever handles an error would have to keep them.
    pub(super) fn outgrown(&mut self) {
        let limit = self.program.limits.state_bytes();
        let message = format!(
            "the run keeps more than {limit} bytes of values, counting repeated parts each time; \
             keep less in variables, or run fewer branches and items at once"
        );
        self.finish(Status::Failed, scope_view::error_object(Kind::StateLimit.as_str(), &message, None));
    }

    /// Everything is withdrawn; then the program may say its last word. A second cancel does not wait for that.
    pub(super) fn cancel(&mut self, reason: Option<Arc<str>>) {
        let again = self.state.cancelling.is_some();
        let reason = reason.map_or(Value::Null, Value::Str);
        let reason = self.state.cancelling.get_or_insert(reason).clone();
        match self.program.on_cancel {
            Some(place) if !again => self.restart_root(place, None),
            _ => self.finish_cancelled(reason),
        }
    }

    pub(super) fn finish_cancelled(&mut self, reason: Value) {
        self.finish(Status::Cancelled, Value::from(object([("reason", reason)])));
    }

    /// The root has failed: its `fail` is run, unless it ran already. A run that was cancelled ends as cancelled, whatever
    /// becomes of its last word.
    pub(super) fn root_failed(&mut self, error: Value) {
        if let Some(reason) = self.state.cancelling.clone() {
            return self.finish_cancelled(reason);
        }
        match self.program.scope(Program::ROOT).fail {
            Some(Failure { to, error: slot }) if !self.state.last_word => {
                self.restart_root(to, slot.map(|slot| (slot, error)));
            }
            _ => self.finish(Status::Failed, error),
        }
    }

    /// Withdraws everything and goes on at one place of the root; the root's slots stay.
    fn restart_root(&mut self, place: PlaceId, written: Option<(SlotId, Value)>) {
        let root = self.state.root().expect("a run that has not ended has its root");
        self.withdraw_entries(root);
        self.state.last_word = true;
        let frame = self.state.frames.get_mut(&root).expect("it was just found");
        let backoff = frame.backoff.take();
        let results = std::mem::replace(&mut frame.results, vec![EntryResult::Open]);
        // When the last word fails, the run does not begin anew.
        frame.attempt = u32::MAX;
        frame.next_entry = 1;
        frame.entries.insert(0, Entry::default());
        self.state.release(results_bytes(&results));
        if let Some(timer) = backoff {
            self.clear_timer(timer);
        }
        self.spawn(root, 0, &[place], &[]);
        let strand = self.state.ready.last().copied();
        if let (Some((slot, error)), Some(strand)) = (written, strand) {
            self.write(strand, slot, Some(error));
        }
    }
}
