//! Turns of agents that have tools. A turn is a child run of a program that a front-end builds; the program is found by its name.

use std::sync::Arc;

use branchpoint_expr::Value;

use super::Request;
use crate::ir::Effect;

/// The name of the agent program among the workflows that a run may call. No document can have this name. Runs keep the program that
/// they were started with, so an incompatible change of the program needs another name.
pub const AGENT: &str = "branchpoint:agent";

/// The maximum nesting depth of agents that are tools of agents.
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

    /// The name of the program for turns of this agent. The name includes the stop condition and the secrets, on which the program depends.
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
