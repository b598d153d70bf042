//! The real program, killed in the middle of an agent's turn: what its tools have done is not done again.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use branchpoint_core::Event;
use branchpoint_core::ir::Status;

use crate::peer::{Peer, response};
use crate::provider::{Does, Provider};
use crate::{PATIENCE, Place, kill};

const DOCUMENT: &str = "steps:
  - {id: helper, step_type: agent, prompt: \"Look at five pages.\", tools: [web_fetch], max_turns: 4}
";

/// The pages that are not served while the first process lives.
const SLOW: [&str; 2] = ["/3", "/4"];

/// What has ended before the kill: the first answer of the model, and the calls of the other three pages.
const ENDED: usize = 4;

#[test]
fn a_turn_that_is_killed_between_five_tool_calls_repeats_only_those_that_had_not_ended() {
    let pages = Pages::new();
    let calls: Vec<(&str, &str)> = (0..5).map(|page| ("web_fetch", pages.arguments(page))).collect();
    let provider = Provider::new(vec![Does::Calls(calls.leak()), Does::Says("all five")]);
    let place = Place::new("agent.yaml", DOCUMENT);
    place.write("branchpoint.toml", "[http]\nallow_private_network = true\ntimeout_ms = 600000\n");

    let mut first =
        asking(&provider, place.command(&["run", "agent.yaml", "--id", "turn"])).spawn().expect("it starts");
    until("three of five calls have ended", || ended(&place) == ENDED && pages.peer.requests().len() == 5);
    kill(&mut first);
    assert_eq!(ended(&place), ENDED, "the process was killed in the middle of the turn");
    pages.open.store(true, Ordering::Release);

    let resumed = asking(&provider, place.command(&["runs", "resume", "turn"])).stdout(Stdio::piped()).output();
    let resumed = resumed.expect("it starts");
    let report = String::from_utf8_lossy(&resumed.stdout);
    assert!(resumed.status.success() && report.contains("all five"), "{report}");
    assert!(place.journals().values().all(|(status, _)| *status == Status::Completed));
    assert_eq!((0..5).map(|page| pages.visits(page)).collect::<Vec<_>>(), [1, 1, 1, 2, 2], "visits of each page");
    let requests = provider.requests();
    assert_eq!(requests.len(), 2, "the first answer of the model was kept");
    let messages = requests[1].body["messages"].as_array().expect("there are messages");
    let results: Vec<_> =
        messages.iter().filter(|message| message["role"] == "tool").map(|tool| &tool["content"]).collect();
    assert_eq!(results, ["page /0", "page /1", "page /2", "page /3", "page /4"], "what the tools found, in order");
}

/// Five pages of a server on this machine.
struct Pages {
    peer: Peer,
    /// Whether the slow ones are served too.
    open: Arc<AtomicBool>,
}

impl Pages {
    fn new() -> Self {
        let open = Arc::new(AtomicBool::new(false));
        let served = Arc::clone(&open);
        let peer = Peer::new(move |heard| {
            if SLOW.contains(&&*heard.target) && !served.load(Ordering::Acquire) {
                return Vec::new();
            }
            response("200 OK", &[("content-type", "text/plain")], &format!("page {}", heard.target))
        });
        Self { peer, open }
    }

    fn arguments(&self, page: usize) -> &'static str {
        format!(r#"{{"url": "{}"}}"#, self.peer.url(&format!("/{page}"))).leak()
    }

    fn visits(&self, page: usize) -> usize {
        self.peer.requests().iter().filter(|request| request.target == format!("/{page}")).count()
    }
}

/// The program, with the provider on this machine as its model.
pub(crate) fn asking(provider: &Provider, mut command: Command) -> Command {
    command.env("OPENAI_BASE_URL", &provider.url).env("OPENAI_API_KEY", "none").env("BRANCHPOINT_MODEL", "test-model");
    command
}

/// How many calls of the turn, which is a run of its own, have ended well.
fn ended(place: &Place) -> usize {
    let journals = place.journals();
    let turn = journals.iter().filter(|(id, _)| *id != "turn").flat_map(|(_, (_, journal))| journal);
    turn.filter(|(_, event, _)| matches!(event, Event::Settled { result: Ok(_), .. })).count()
}

#[track_caller]
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "this does not come: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
