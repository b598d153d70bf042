//! Performs calls: one invocation for each attempt, which records the answer and sends it to the run.

use std::sync::Arc;
use std::time::Duration;

use branchpoint_core::codec::decode_command;
use branchpoint_runners::{Answer, Call, CancellationToken};
use restate_sdk::prelude::*;

use crate::drive::settled_event;
use crate::messages::{DeliverMessage, Fact, PerformMessage, Performed};
use crate::run_object::RunClient;
use crate::shared::{Shared, now_ms};

/// How often a worker asks whether the run still waits for a call.
const WITHDRAWN_INTERVAL: Duration = Duration::from_secs(1);

/// How long a cancelled call may take to end its process or connection.
const CANCEL_GRACE: Duration = Duration::from_secs(2);

pub(crate) struct Calls {
    pub(crate) shared: Arc<Shared>,
}

#[restate_sdk::service(
    client_visibility = "pub(crate)",
    ingress_private,
    inactivity_timeout = "1 day",
    abort_timeout = "1 day",
    journal_retention = "0s",
    invocation_retry_policy(initial_interval = "50ms", factor = 2.0, max_interval = "5s")
)]
impl Calls {
    /// Performs an attempt. An attempt whose worker dies is performed again, under the same idempotency key.
    #[handler]
    async fn perform(&self, ctx: Context<'_>, message: Json<PerformMessage>) -> Result<(), HandlerError> {
        let message = message.into_inner();
        let run = message.run.clone();
        let call = self.call(message).await?;
        let (shared, name) = (self.shared.clone(), call.name().to_string());
        let perform = || async move {
            let answer = perform(shared, call.clone()).await;
            let settled = tokio::task::spawn_blocking(move || settled_event(&call, answer)).await?;
            Ok(Json(Performed { settled: Some(settled), at_ms: now_ms() }))
        };
        let Performed { settled, at_ms } = ctx.run(perform).name(name).await?.into_inner();
        if let Some(event) = settled {
            let message = DeliverMessage { fact: Fact::Event(event), at_ms: Some(at_ms) };
            let _ = ctx.object_client::<RunClient<'_>>(run).deliver(Json(message)).send();
        }
        Ok(())
    }
}

impl Calls {
    /// The call of a message, with the program that defines its effect.
    async fn call(&self, message: PerformMessage) -> Result<Call, HandlerError> {
        let programs = self.shared.programs(message.workflow).await?;
        let missing = || TerminalError::new_with_code(404, format!("the workflow has no part `{}`", message.part));
        let program = programs.get(&message.part).ok_or_else(missing)?;
        let command = decode_command(&message.command.0)?;
        let (run, folder) = (message.run.into(), message.folder.into());
        let call = Call::from_command(&program, &run, &folder, command);
        let call = call.ok_or_else(|| TerminalError::new("the command performs no call"))?;
        Ok(Call { callers: message.place.callers.into(), path: message.place.path, ..call })
    }
}

/// Performs a call until it is answered, its time limit is reached, or the run no longer waits for it.
async fn perform(shared: Arc<Shared>, call: Call) -> Answer {
    let cancel = CancellationToken::new();
    let limit = call.attempt_limit_ms().map(Duration::from_millis);
    let (effect, attempt, run) = (call.effect.0, call.attempt, call.run.clone());
    let (client, runner, token) = (shared.client.clone(), shared.runner.clone(), cancel.clone());
    let mut work = tokio::spawn(async move { runner.perform(&call, &token).await });
    let withdrawn = async {
        loop {
            tokio::time::sleep(WITHDRAWN_INTERVAL).await;
            // While the server is not reachable, the call continues.
            if let Ok(false) = client.waits_for(&run, effect, attempt).await {
                return;
            }
        }
    };
    let overdue = async {
        match limit {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    let panicked = |_| Answer::failed("runner", "the runner of this call panicked");
    tokio::select! {
        answer = &mut work => return answer.unwrap_or_else(panicked),
        () = withdrawn => {}
        () = overdue => {}
    }
    cancel.cancel();
    if tokio::time::timeout(CANCEL_GRACE, &mut work).await.is_err() {
        work.abort();
    }
    Answer::Missing
}
