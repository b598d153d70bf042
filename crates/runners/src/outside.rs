//! The trait of runners: they perform the calls of runs.

use std::future::Future;
use std::pin::Pin;

use branchpoint_expr::Value;
use tokio_util::sync::CancellationToken;

use crate::runner::{Answer, Call};

/// An attempt that is being performed.
pub type Performing<'c> = Pin<Box<dyn Future<Output = Answer> + Send + 'c>>;

/// Performs calls, many at a time. It reports what came back, as it came; [`crate::judge`] decides whether that is good.
pub trait Outside: Send + Sync {
    /// Performs one attempt, however long it takes. It ends early when it is cancelled.
    fn perform<'c>(&'c self, call: &'c Call, cancel: &'c CancellationToken) -> Performing<'c>;

    /// Answers a call that needs no waiting: the host asks on its own thread, before it hands the call to the runtime.
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
    fn perform<'c>(&'c self, call: &'c Call, cancel: &'c CancellationToken) -> Performing<'c> {
        (**self).perform(call, cancel)
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
