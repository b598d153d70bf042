//! Turns of agents that have tools. Such a turn is a run of its own, of a program that the front-ends build; its name says which.

use std::sync::Arc;

use branchpoint_expr::Value;

use super::Request;
use crate::ir::Effect;

/// The name of the program among the workflows that a run may call. No document can have this name. Runs keep the program that they
/// were started with: once there is a release, a program that is given something else gets another name.
pub const AGENT: &str = "branchpoint:agent";

/// How deep agents may be nested as tools, and runs around them.
pub const AGENT_DEPTH: u32 = 16;

impl Effect {
    /// The condition that ends a turn of this agent, if its document has one.
    ///
    /// ```
    /// use branchpoint_core::{effect::Kind, ir::builder::effect};
    ///
    /// assert_eq!(effect(Kind::Model).stop_when(), None);
    /// ```
    pub fn stop_when(&self) -> Option<Value> {
        let Ok(Request::Model(request)) = self.request() else { return None };
        Some(request.stop_when).filter(|stop| *stop != Value::Null)
    }

    /// The name of the program for turns of this agent. Equal conditions and secrets have equal programs, so the name follows from them.
    ///
    /// ```
    /// use branchpoint_core::effect::{AGENT, Kind};
    /// use branchpoint_core::ir::builder::effect;
    ///
    /// assert_eq!(&*effect(Kind::Model).agent_program(), AGENT);
    /// ```
    pub fn agent_program(&self) -> Arc<str> {
        let until = self.stop_when().map(|stop| format!(" until {stop:?}")).unwrap_or_default();
        let with = self.secrets.iter().map(|secret| format!(" with {secret}")).collect::<Vec<_>>().concat();
        format!("{AGENT}{until}{with}").into()
    }
}
