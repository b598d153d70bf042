//! Sessions that outlive the process: each request is stored before it is answered.

use std::time::Duration;

use anyhow::Result;
use branchpoint_backend::{Backend, Document, Session, SessionOptions, SessionRequest, SessionResponse, Workflow};
use branchpoint_core::ir::Program;

use super::Gates;
use crate::project::{Project, StoreArguments};
use crate::time;

/// The stored sessions of a document.
pub(crate) struct StoredSessions {
    pub(crate) backend: Box<dyn Backend>,
    session: Session,
}

impl StoredSessions {
    /// Stores the document, and drives its sessions for a command.
    pub(crate) fn open(
        (project, store, command): (&Project, &StoreArguments, &str),
        document: &Document,
        program: &Program,
        options: SessionOptions,
    ) -> Result<Self> {
        let backend = crate::backend::drive_sessions(project, store, command)?;
        let children = std::collections::BTreeMap::new();
        let workflow = backend.save(Workflow { document, program, children: &children }, time::now_ms())?;
        let document = document.name.clone();
        Ok(Self { backend, session: Session { name: String::new(), document, workflow, options } })
    }

    /// A session by its name.
    pub(crate) fn session(&self, name: &str) -> Session {
        Session { name: name.to_owned(), ..self.session.clone() }
    }
}

impl Gates for StoredSessions {
    fn close(&mut self) -> Result<()> {
        Ok(self.backend.stop(Duration::ZERO)?)
    }

    fn request(&mut self, session: &str, request: SessionRequest) -> Result<SessionResponse> {
        Ok(self.backend.request_session(&self.session(session), request)?)
    }
}
