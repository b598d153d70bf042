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
    pub fn new(gate: Gate<'p>) -> Self {
        Self { gate, open: BTreeMap::new() }
    }

    /// Sends a request to a session; see [`Gate::request`].
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
    pub fn remove_expired(&mut self, now_ms: i64) -> usize {
        let before = self.open.len();
        self.open.retain(|_, session| !session.is_expired(now_ms));
        before - self.open.len()
    }

    /// Updates all sessions to a changed document. They keep their state.
    pub fn adopt(&mut self, changed: Gate<'p>) -> Result<(), SessionRejection> {
        for session in self.open.values_mut() {
            self.gate.adopt(session, &changed)?;
        }
        self.gate = changed;
        Ok(())
    }

    /// The number of sessions.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether there are no sessions.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}
