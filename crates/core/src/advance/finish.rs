//! The end of a run: by its verdict, by a failure, by a cancellation or by a limit. After a failure or a cancellation, the program may
//! run its cleanup once.

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
    /// Ends the run: withdraws all work. The run accepts no more events.
    pub(super) fn finish(&mut self, status: Status, result: Value) {
        if let Some(root) = self.state.root() {
            self.close_frame(root);
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

    /// Ends a run that has reached a limit. The failure is final and runs no cleanup, because the cleanup would exceed the limit too.
    pub(super) fn exhausted(&mut self, limit: &str) {
        let message = format!("the run has reached its limit `{limit}`");
        self.finish(Status::Failed, scope_view::error_object("exhausted", &message, None));
    }

    /// Ends a run that has executed its maximum number of ops. Like [`Self::exhausted`], this is final.
    pub(super) fn out_of_ops(&mut self) {
        let bounds = [self.program.limits.ops, self.state.max_ops].into_iter().filter(|bound| *bound > 0);
        let bound = bounds.min().unwrap_or_default();
        let message =
            format!("the run has executed {bound} operations, which is its limit; look for a loop that does not end");
        self.finish(Status::Failed, scope_view::error_object("op_limit", &message, None));
    }

    /// Whether the values of the run exceed the size limit together.
    pub(super) fn is_too_large(&self) -> bool {
        self.state.size_bytes() > self.program.limits.state_bytes()
    }

    /// Ends a run whose values exceed the size limit together. This is final too, because a cleanup would have to store the values.
    pub(super) fn finish_too_large(&mut self) {
        let limit = self.program.limits.state_bytes();
        let message = format!(
            "the values of the run exceed {limit} bytes, counting repeated parts each time; \
             store less in variables, or run fewer branches and items at once"
        );
        self.finish(Status::Failed, scope_view::error_object(Kind::StateLimit.as_str(), &message, None));
    }

    /// Cancels the run: withdraws all work, then runs the cleanup of the program. A second cancellation skips the cleanup.
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

    /// Handles the failure of the root: runs its `fail`, unless it has run before. A cancelled run ends as cancelled, even if its cleanup
    /// fails.
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

    /// Withdraws all work and continues at one place of the root. The slots of the root keep their values.
    fn restart_root(&mut self, place: PlaceId, written: Option<(SlotId, Value)>) {
        let root = self.state.root().expect("a run that has not ended has its root");
        self.withdraw_entries(root);
        self.state.last_word = true;
        let frame = self.state.frames.get_mut(&root).expect("the root frame exists");
        let backoff = frame.backoff.take();
        let results = std::mem::replace(&mut frame.results, vec![EntryResult::Open]);
        // A failure of the cleanup does not restart the run.
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
