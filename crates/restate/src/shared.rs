//! What the handlers of a worker share.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use branchpoint_runners::Runner;
use branchpoint_runners::agent::AgentLimits;
use restate_sdk::prelude::{HandlerError, TerminalError};

use crate::client::Client;
use crate::programs::{ProgramCache, ProgramError, Programs};

pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) cache: ProgramCache,
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) agents: AgentLimits,
}

impl Shared {
    /// The programs of a workflow. A workflow that is not stored never will be, so the invocation fails instead of being repeated.
    pub(crate) async fn programs(&self, workflow: i64) -> Result<Arc<Programs>, HandlerError> {
        self.cache.get(workflow).await.map_err(|error| match error {
            ProgramError::Missing(_) => TerminalError::new_with_code(404, error.to_string()).into(),
            error => error.into(),
        })
    }
}

/// The time of this machine, in milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
