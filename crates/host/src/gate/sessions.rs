//! Many sessions of one gate, by id.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Gate, Session, SessionRejection, SessionRequest, SessionResponse};

/// The sessions of a gate. A request with a new id opens one, and one that has expired is opened anew.
#[derive(Debug)]
pub struct Sessions<'p> {
    gate: Gate<'p>,
    open: BTreeMap<Arc<str>, Session>,
}

impl<'p> Sessions<'p> {
    /// Creates an empty set of sessions.
    ///
    /// ```
    /// use branchpoint_core::ir::Program;
    /// use branchpoint_host::gate::*;
    ///
    /// fn sessions<'p>(gate: Gate<'p>) -> Sessions<'p> {
    ///     Sessions::new(gate)
    /// }
    /// ```
    pub fn new(gate: Gate<'p>) -> Self {
        Self { gate, open: BTreeMap::new() }
    }

    /// Sends a request to a session; see [`Gate::request`].
    ///
    /// ```
    /// use branchpoint_core::ir::Program;
    /// use branchpoint_host::gate::*;
    ///
    /// fn request(sessions: &mut Sessions<'_>, request: SessionRequest) -> Result<SessionResponse, SessionRejection> {
    ///     sessions.request("s-1", request, 1_000)
    /// }
    /// ```
    pub fn request(
        &mut self,
        id: &str,
        request: impl Into<SessionRequest>,
        now_ms: i64,
    ) -> Result<SessionResponse, SessionRejection> {
        if id.is_empty() {
            return Err(SessionRejection::NoId);
        }
        if let Some(session) = self.open.get_mut(id) {
            return self.gate.request(session, request, now_ms);
        }
        let mut session = self.gate.open(None, now_ms)?;
        let response = self.gate.request(&mut session, request, now_ms);
        self.open.insert(id.into(), session);
        response
    }

    /// Removes expired sessions. Returns how many there were.
    ///
    /// ```
    /// use branchpoint_core::ir::Program;
    /// use branchpoint_host::gate::*;
    ///
    /// fn clean(sessions: &mut Sessions<'_>, now_ms: i64) {
    ///     println!("{} sessions have expired", sessions.remove_expired(now_ms));
    /// }
    /// ```
    pub fn remove_expired(&mut self, now_ms: i64) -> usize {
        let before = self.open.len();
        self.open.retain(|_, session| !session.is_expired(now_ms));
        before - self.open.len()
    }

    /// Updates all sessions to a changed document. They keep their state.
    ///
    /// ```
    /// use branchpoint_core::ir::Program;
    /// use branchpoint_host::gate::*;
    ///
    /// fn adopt<'p>(sessions: &mut Sessions<'p>, changed: Gate<'p>) -> Result<(), SessionRejection> {
    ///     sessions.adopt(changed)
    /// }
    /// ```
    pub fn adopt(&mut self, changed: Gate<'p>) -> Result<(), SessionRejection> {
        for session in self.open.values_mut() {
            self.gate.adopt(session, &changed)?;
        }
        self.gate = changed;
        Ok(())
    }

    /// The number of sessions.
    ///
    /// ```
    /// use branchpoint_core::ir::Program;
    /// use branchpoint_host::gate::*;
    ///
    /// fn report(sessions: &Sessions<'_>) {
    ///     println!("{} sessions", sessions.len());
    /// }
    /// ```
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether there are no sessions.
    ///
    /// ```
    /// use branchpoint_core::ir::Program;
    /// use branchpoint_host::gate::*;
    ///
    /// fn can_stop(sessions: &Sessions<'_>) -> bool {
    ///     sessions.is_empty()
    /// }
    /// ```
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}
