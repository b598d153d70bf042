//! A session on Restate under a virtual clock.

use std::collections::BTreeMap;

use branchpoint_backend::{Document, Rejection, RunNo, Start, Workflow};
use branchpoint_core::Rejected;
use branchpoint_core::ir::Program;
use branchpoint_expr::Value;
use branchpoint_host::OrderResult;
use branchpoint_host::VirtualHost;
use branchpoint_host::gate::{
    Gate, SessionAction, SessionOptions, SessionResponse, session_event, session_input, session_response,
};
use branchpoint_host::host::{TurnOutput, new_id};

use crate::restate::SteppedHost;

/// A session, whose run is replaced by a new one when it expires.
pub(super) struct RestateSession<'p> {
    host: SteppedHost,
    program: &'p Program,
    options: SessionOptions,
    run: RunNo,
}

impl<'p> RestateSession<'p> {
    pub(super) fn new(gate: &Gate<'_>, program: &'p Program, state: Option<Value>) -> Result<Self, String> {
        let mut session =
            Self { host: SteppedHost::default(), program, options: gate.options().clone(), run: RunNo::default() };
        session.open(state.unwrap_or_default(), 0)?;
        Ok(session)
    }

    fn open(&mut self, state: Value, now_ms: i64) -> Result<(), String> {
        let text = |text: &str| text.to_owned();
        let document = Document { name: text("session"), dialect: text("session"), origin: text(""), text: text("") };
        let workflow = Workflow { document: &document, program: self.program, children: &BTreeMap::new() };
        let workflow = self.host.save(workflow, now_ms);
        let input = session_input(&self.options, state).map_err(|error| error.to_string())?;
        let id = format!("session-{}", new_id(now_ms).map_err(|error| error.to_string())?);
        self.host.start(Start::new(workflow, id, input));
        self.run = self.outcome(now_ms).map_err(|error| error.to_string())?.run;
        Ok(())
    }

    pub(super) fn request(&mut self, action: &SessionAction, now_ms: i64) -> Result<SessionResponse, String> {
        loop {
            self.host.send(self.run, session_event(action.clone(), None));
            match self.outcome(now_ms) {
                Ok(_) => {}
                Err(Rejection::Rejected(Rejected::Ended)) => {
                    self.open(Value::Null, now_ms)?;
                    continue;
                }
                Err(rejection) => return Err(rejection.to_string()),
            }
            let state = self.host.stored_state(self.run);
            return session_response(self.program, &state, &[]).map_err(|error| error.to_string());
        }
    }

    /// The outcome of the queued order.
    fn outcome(&mut self, now_ms: i64) -> OrderResult {
        let outputs = self.host.turn(now_ms);
        let done = outputs.into_iter().find_map(|output| match output {
            TurnOutput::OrderDone { outcome, .. } => Some(outcome),
            _ => None,
        });
        done.expect("an order has an outcome after one turn")
    }
}
