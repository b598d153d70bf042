//! The virtual object of a workflow: its document and programs, which never change.

use restate_sdk::prelude::*;

use crate::programs::{StoredSummary, StoredWorkflow};

const WORKFLOW: &str = "workflow";

/// The key of the entry in lists.
pub(crate) const SUMMARY: &str = "summary";

pub(crate) struct WorkflowObject;

#[restate_sdk::object(name = "Workflow", client_visibility = "pub(crate)", journal_retention = "0s")]
impl WorkflowObject {
    /// Saves the workflow once.
    #[handler]
    async fn save(&self, ctx: ObjectContext<'_>, stored: Json<StoredWorkflow>) -> Result<(), HandlerError> {
        let stored = stored.into_inner();
        if stored.content_hash() != stored.summary.hash || stored.number().0.to_string() != ctx.key() {
            return Err(TerminalError::new_with_code(400, "the workflow does not match its number").into());
        }
        match ctx.get::<Json<StoredSummary>>(SUMMARY).await?.map(Json::into_inner) {
            Some(present) if present.hash == stored.summary.hash => Ok(()),
            Some(present) => {
                let why = format!("the workflow has the number of another one, `{}`", present.name);
                Err(TerminalError::new_with_code(409, why).into())
            }
            None => {
                ctx.set(SUMMARY, Json(stored.summary.clone()));
                ctx.set(WORKFLOW, Json(stored));
                Ok(())
            }
        }
    }

    /// The workflow, if it is saved.
    #[handler]
    async fn load(&self, ctx: SharedObjectContext<'_>) -> Result<Json<Option<StoredWorkflow>>, HandlerError> {
        Ok(Json(ctx.get::<Json<StoredWorkflow>>(WORKFLOW).await?.map(Json::into_inner)))
    }
}
