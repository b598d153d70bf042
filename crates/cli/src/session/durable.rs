//! Sessions that outlive the process: each line is kept before it is answered.

use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use branchpoint_backend::{Backend, Workflow};
use branchpoint_core::ir::Program;
use branchpoint_host::gate::{Answer, Gate, KeptSessions, Request};

use super::{Arguments, Gates, answered, document};
use crate::project::Project;
use crate::{backend, exit, moment};

/// How often requests of other processes are looked for while nothing is typed.
const NAP: Duration = Duration::from_millis(50);

impl Gates for KeptSessions<'_> {
    fn request(&mut self, session: &str, request: Request, key: Option<&str>, explain: bool) -> Result<Answer> {
        Ok(KeptSessions::request(self, session, request, key, moment::now_ms(), explain)?)
    }
}

pub(super) fn run(arguments: &Arguments, text: &str, program: &Program, gate: Gate<'_>) -> Result<ExitCode> {
    let store = backend::open(&Project::find()?, &arguments.store)?;
    let document = document(&arguments.file.display().to_string(), text);
    let now_ms = moment::now_ms();
    let children = std::collections::BTreeMap::new();
    let workflow = store.save(Workflow { document: &document, program, children: &children }, now_ms)?;
    let mut sessions = backend::sessions(store, "session", gate, workflow, document.name)?;
    // Lines are read apart, because others may send something to a session while nobody types.
    let (lines, read) = sync_channel(1);
    thread::spawn(move || {
        while let Some(line) = super::next_line().transpose() {
            // After a line that cannot be read there is no way to find the next one.
            let is_last = line.is_err();
            if lines.send(line).is_err() || is_last {
                return;
            }
        }
    });
    let mut refused = false;
    loop {
        match read.recv_timeout(NAP) {
            Ok(line) => {
                refused |= answered(&mut sessions, &line?, arguments.id.as_deref(), arguments.explain)?;
            }
            Err(RecvTimeoutError::Timeout) => sessions.tend(moment::now_ms())?,
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    sessions.close()?;
    Ok(if refused { ExitCode::from(exit::USAGE) } else { ExitCode::SUCCESS })
}
