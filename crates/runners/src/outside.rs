//! Who performs calls for a host: the world outside of runs.

use branchpoint_expr::Value;

use crate::cancel::Stop;
use crate::runner::{Answer, Call};

/// Performs calls on many threads at once. It reports what came back, as it came; whether that is good is told by
/// [`crate::judge`].
pub trait Outside: Send + Sync {
    /// Performs one attempt, however long it takes. It ends early when it is told to stop.
    fn perform(&self, call: &Call, stop: &Stop) -> Answer;

    /// Answers a call that needs no waiting: the host asks on its own thread, before it hands the call to another.
    fn at_once(&self, _call: &Call) -> Option<Answer> {
        None
    }

    /// What the host knows under a name; null if it knows nothing.
    fn fact(&self, name: &str) -> Value;

    /// The next line of the user, if one is attached and has more to say.
    fn line(&self) -> Option<String> {
        None
    }
}

impl<O: Outside + ?Sized> Outside for std::sync::Arc<O> {
    fn perform(&self, call: &Call, stop: &Stop) -> Answer {
        (**self).perform(call, stop)
    }

    fn at_once(&self, call: &Call) -> Option<Answer> {
        (**self).at_once(call)
    }

    fn fact(&self, name: &str) -> Value {
        (**self).fact(name)
    }

    fn line(&self) -> Option<String> {
        (**self).line()
    }
}
