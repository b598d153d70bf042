//! Runs `session-runs.json` and `session-load.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use branchpoint_core::{State, ir::Program, view};
use branchpoint_dialects::{Loaded, load as load_document};
use branchpoint_expr::{Dialect, Object, Severity, Value};
use branchpoint_host::gate::{Gate, SESSION_TTL_S, Session, SessionAction, SessionResponse, StoredSessions};
use branchpoint_host::host::{DrivenRuns, Host};
use branchpoint_host::store::{Document, Durability, Store, Workflow};

mod restate_session;

use restate_session::RestateSession;

use super::hosting::{Directory, Hosting, hosting};
use super::{Verdict, object, verdict, verdict_of};

const HOUR_MS: i64 = 3_600_000;

/// The name of the session, and of its document.
const NAME: &str = "vector";

/// Runs a session: sends its events, and queries it after each.
pub(super) fn run(vector: &Value) -> Verdict {
    let orchestration = vector.get("orchestration").cloned().unwrap_or_default();
    let loaded = loaded(&orchestration);
    let got = match &loaded.program {
        None => object([("status", Value::from("REJECTED")), ("error", Value::from(first_error(&loaded)))]),
        Some(program) => match run_session(program, vector) {
            Ok((last, trace)) if vector.get("trace").is_none_or(|expected| *expected == trace) => last,
            Ok((last, trace)) => object([("last", last), ("trace", trace)]),
            Err(error) => Value::from(error),
        },
    };
    verdict(vector, &got)
}

/// The view after the last event, and the trace.
fn run_session(program: &Program, vector: &Value) -> Result<(Value, Value), String> {
    let tools: Vec<&str> = list(vector, "allTools").iter().filter_map(Value::as_str).collect();
    let gate = Gate::new(program, Some(&tools), SESSION_TTL_S).map_err(|error| error.to_string())?;
    let mut now_ms = 0;
    let mut player = Player::new(gate, program, vector.get("initialState").cloned())?;
    let mut trace = Vec::new();
    let mut last = None;
    for event in list(vector, "events") {
        match request(event) {
            Some(request) => drop(player.request(request, now_ms)?),
            None => now_ms += SESSION_TTL_S * HOUR_MS,
        }
        let answer = player.request(SessionAction::Query, now_ms)?;
        trace.push(part(&answer, &["activeStep", "allowedTools"]));
        last = Some(answer);
    }
    let last = match last {
        Some(last) => last,
        None => player.request(SessionAction::Query, now_ms)?,
    };
    Ok((part(&last, &["activeStep", "allowedTools", "recentlyUsedTools", "sequenceIndex"]), Value::from(trace)))
}

/// A session on the configured host.
enum Player<'p> {
    InMemory(Gate<'p>, Box<Session>),
    Restate(Box<RestateSession<'p>>),
    Stored { gate: Gate<'p>, program: &'p Program, folder: Directory, sessions: Option<Box<StoredSessions<'p>>> },
}

impl<'p> Player<'p> {
    fn new(gate: Gate<'p>, program: &'p Program, state: Option<Value>) -> Result<Self, String> {
        if hosting() == Hosting::Plain {
            let session = gate.open(state, 0).map_err(|error| error.to_string())?;
            return Ok(Self::InMemory(gate, Box::new(session)));
        }
        if hosting() == Hosting::Restate {
            return RestateSession::new(&gate, program, state).map(|session| Self::Restate(Box::new(session)));
        }
        let folder = Directory::new();
        let mut sessions = stored_sessions(&folder, gate.clone(), program, 0);
        if let Some(state) = state {
            sessions.restore(NAME, state, 0).map_err(|error| error.to_string())?;
        }
        Ok(Self::Stored { gate, program, folder, sessions: Some(Box::new(sessions)) })
    }

    fn request(&mut self, request: SessionAction, now_ms: i64) -> Result<SessionResponse, String> {
        match self {
            Self::InMemory(gate, session) => gate.request(session, request, now_ms).map_err(|error| error.to_string()),
            Self::Restate(session) => session.request(&request, now_ms),
            Self::Stored { gate, program, folder, sessions } => {
                let reopened = || Box::new(stored_sessions(folder, gate.clone(), program, now_ms));
                let open = sessions.take().unwrap_or_else(reopened);
                let open = sessions.insert(open);
                let answer = open.request(NAME, request, now_ms).map_err(|error| error.to_string());
                if hosting() == Hosting::Crashing {
                    *sessions = None;
                }
                answer
            }
        }
    }
}

/// Opens the sessions in the store of a folder, like a new process.
fn stored_sessions<'p>(folder: &Directory, gate: Gate<'p>, program: &'p Program, now_ms: i64) -> StoredSessions<'p> {
    let store = Store::open(&folder.0.join("store.db"), Durability::Normal).expect("the store opens");
    let text = |text: &str| text.to_owned();
    let document = Document { name: text(NAME), dialect: text("session"), origin: text(""), text: text("") };
    let workflow = Workflow { document: &document, program, children: &BTreeMap::new() };
    let workflow = store.save(workflow, now_ms).expect("the document is stored");
    let host = Host::new(store, "vectors", DrivenRuns::Requested, Arc::new(|_| Value::Null), now_ms);
    StoredSessions::new(host.expect("the host starts"), gate, workflow, text(NAME))
}

/// The request of an event; `None` if the session expires.
fn request(event: &Value) -> Option<SessionAction> {
    let text = |key: &str| event.get(key).and_then(Value::as_str);
    if let Some(message) = text("message") {
        return Some(SessionAction::Message(message.into()));
    }
    if let Some(tool) = text("tool") {
        return Some(SessionAction::Tool(tool.into()));
    }
    event.get("reset").map(|_| SessionAction::Reset)
}

fn part(answer: &SessionResponse, keys: &[&str]) -> Value {
    let view = answer.view("vector");
    let parts = keys.iter().map(|key| ((*key).into(), view.get(key).cloned().unwrap_or_default()));
    Value::from(parts.collect::<Object>())
}

/// Loads a document, and compares its validity, its warnings and the loaded agent.
pub(super) fn load(vector: &Value) -> Verdict {
    let loaded = loaded(&vector.get("template").cloned().unwrap_or_default());
    let mut expected = vector.get("expect").and_then(Value::as_object).cloned().unwrap_or_default();
    let Some(program) = &loaded.program else {
        let got = object([("valid", Value::Bool(false)), ("error", Value::from(first_error(&loaded)))]);
        return verdict(vector, &got);
    };
    expected.entry("warnings".into()).or_insert_with(|| Value::from(Vec::new()));
    let warnings: BTreeSet<&str> = loaded.diagnostics.iter().map(|finding| finding.kind.as_str()).collect();
    let warnings: Vec<_> = warnings.into_iter().map(Value::from).collect();
    let mut got: Object =
        [("valid".into(), Value::Bool(true)), ("warnings".into(), Value::from(warnings))].into_iter().collect();
    if let Some(wanted) = expected.get("result").and_then(Value::as_object) {
        let agent = agent(program);
        let parts = wanted.keys().map(|key| (key.clone(), agent.get(key).cloned().unwrap_or_default()));
        got.insert("result".into(), Value::from(parts.collect::<Object>()));
    }
    verdict_of(vector, &Value::from(expected), &Value::from(got))
}

fn agent(program: &Program) -> Value {
    let id = (0..).zip(&program.views).find(|(_, view)| &*view.name == "agent").map(|(id, _)| id);
    let id = branchpoint_core::ir::ViewId(id.unwrap_or_default());
    view(program, &State::new(), id).unwrap_or_default()
}

fn loaded(document: &Value) -> Loaded {
    load_document(&format!("{document:?}"), Some(Dialect::Session))
}

fn first_error(loaded: &Loaded) -> &'static str {
    let first = loaded.diagnostics.iter().find(|finding| finding.severity == Severity::Error);
    first.map_or("(none)", |finding| finding.kind.as_str())
}

fn list<'v>(vector: &'v Value, key: &str) -> &'v [Value] {
    vector.get(key).and_then(Value::as_list).unwrap_or_default()
}
