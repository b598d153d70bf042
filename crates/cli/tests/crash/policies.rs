//! The real program, killed after its policies have decided: the decisions stay, and the judge's model is not called again.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use branchpoint_core::Event;
use serde_json::Value;

use crate::agent::{asking, until};
use crate::peer::{Peer, response};
use crate::provider::{Does, Provider};
use crate::{Place, kill};

/// A judged value and a masked one before a page that is not served while the first process lives, and a judged one after it.
fn document(page: &str) -> String {
    format!(
        "steps:
  - id: draft
    step_type: prompt_call
    prompt_template: write
    policies:
      - {{name: rude, on: output, judge: Is this rude?, then: flag, message: rude}}
      - {{name: word, on: output, if: 'input contains \"secret\"', then: mask, mask: secret}}
  - {{id: page, step_type: http, url: \"{page}\"}}
  - id: last
    step_type: prompt_call
    prompt_template: \"{{{{step.draft.output}}}}\"
    policies: [{{name: again, on: output, judge: Is this rude?, then: block}}]
"
    )
}

#[test]
fn policies_that_decided_before_a_kill_do_not_decide_again() {
    let open = Arc::new(AtomicBool::new(false));
    let served = Arc::clone(&open);
    let peer = Peer::new(move |_| {
        if served.load(Ordering::Acquire) {
            response("200 OK", &[("content-type", "text/plain")], "page")
        } else {
            Vec::new()
        }
    });
    let provider = Provider::new(vec![
        Does::Says("a secret draft"),
        Does::Says(r#"{"score": 0.9, "explanation": "rude"}"#),
        Does::Says("the end"),
        Does::Says(r#"{"score": 0.1, "explanation": "kind"}"#),
    ]);
    let place = Place::new("t.yaml", &document(&peer.url("/")));
    place.write("branchpoint.toml", "[http]\nallow_private_network = true\ntimeout_ms = 600000\n");

    let mut first = asking(&provider, place.command(&["run", "t.yaml", "--id", "r"])).spawn().expect("it starts");
    until("the page is requested", || !peer.requests().is_empty());
    kill(&mut first);
    let before = (decisions(&place), settled(&place), provider.requests().len());
    assert_eq!((&*before.0, before.1, before.2), ("rude: flag, word: mask", 2, 2), "both policies had decided");
    open.store(true, Ordering::Release);

    let resumed = asking(&provider, place.command(&["runs", "resume", "r", "--json"])).stdout(Stdio::piped()).output();
    let resumed = resumed.expect("it starts");
    let printed: Value = serde_json::from_slice(&resumed.stdout).expect("it is JSON");
    assert_eq!(printed["result"]["output"], "the end", "{printed}");
    assert_eq!(printed["result"]["flags"].as_array().map(Vec::len), Some(1), "{printed}");
    assert_eq!(decisions(&place), "rude: flag, word: mask, again: pass");
    let requests = provider.requests();
    assert_eq!(requests.len(), 4, "neither the draft nor its rating was requested again");
    let last = requests[2].body["messages"].to_string();
    assert!(last.contains("a *** draft") && !last.contains("secret"), "{last}");
    assert_eq!((settled(&place), peer.requests().len()), (5, 2), "only the page was requested again");
}

/// The branches that the policies took, in order.
fn decisions(place: &Place) -> String {
    let trace = place.command(&["runs", "trace", "r", "--json"]).stdout(Stdio::piped()).output().expect("it starts");
    let trace: Value = serde_json::from_slice(&trace.stdout).expect("it is JSON");
    let steps = trace["steps"].as_array().expect("there are steps");
    let decisions = steps.iter().filter_map(|step| step["decisions"].as_array()).flatten();
    let policies = decisions.filter(|decision| decision["kind"] == "policy");
    policies.filter_map(|decision| decision["chosen"].as_str()).collect::<Vec<_>>().join(", ")
}

/// How many results are recorded.
fn settled(place: &Place) -> usize {
    let journals = place.journals();
    let journal = &journals["r"].1;
    journal.iter().filter(|(_, event, _)| matches!(event, Event::Settled { result: Ok(_), .. })).count()
}
