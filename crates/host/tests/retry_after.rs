//! The `Retry-After` header of busy servers.

use std::sync::atomic::{AtomicUsize, Ordering};

use branchpoint_core::effect::Kind;
use branchpoint_core::ir::builder::{Builder, ROOT, effect};
use branchpoint_core::ir::{Backoff, Effect, Program, Retry, Status};
use branchpoint_expr::{Object, Value};
use branchpoint_host::VirtualDriver;
use branchpoint_runners::tools::{HttpSettings, Settings, Tools};
use branchpoint_runners::{Call, CancellationToken, no_secrets, runtime};

#[path = "../../runners/tests/tools/peer.rs"]
mod peer;

use peer::{Peer, response};

fn value(text: &str) -> Value {
    serde_json::from_str(text).expect("the text is JSON")
}

/// One request with a number of attempts.
fn one_request(input: &str, max_attempts: u32) -> Program {
    let mut b = Builder::new();
    let answer = b.slot(ROOT, "answer", None);
    let retry = Retry { max_attempts, delay_ms: 10, backoff: Backoff::Constant, max_delay_ms: 0, jitter: 0.0 };
    let http = b.effect(Effect { retry: Some(retry), ..effect(Kind::Http) });
    let result = b.read(answer);
    let done = b.close(Status::Completed, result);
    let input = b.value(value(input));
    let ask = b.do_(http, input, Some(answer), done, None);
    b.begin(ROOT, &[ask]);
    b.finish().expect("it is valid")
}

#[test]
fn retry_after_of_a_busy_server_survives_crashes() {
    let times = AtomicUsize::new(0);
    let peer = Peer::new(move |_| match times.fetch_add(1, Ordering::Relaxed) {
        0 => response("429 Too Many Requests", &[("Retry-After", "7")], ""),
        1 => {
            let date = [("Date", "Sun, 01 Feb 2026 10:00:00 GMT"), ("Retry-After", "Sun, 01 Feb 2026 10:01:00 GMT")];
            response("503 Service Unavailable", &date, "")
        }
        _ => response("200 OK", &[], "1"),
    });
    let program = one_request(&format!(r#"{{"url": "{}"}}"#, peer.url("/")), 3);
    let folder = tempfile::tempdir().expect("there is room");
    let mut host = VirtualDriver::in_file(&folder.path().join("store.db"), "run".to_owned(), &program, 0).restarting();
    host.start(Value::Null, Object::default()).expect("it starts");
    let http = HttpSettings { allow_private_network: true, ..HttpSettings::default() };
    let tools = Tools::new(Settings { http, ..Settings::default() }, no_secrets());
    let perform = |call: &Call| {
        let prepared = call.prepare(&no_secrets()).expect("it can be sent");
        let performed = runtime().block_on(tools.perform(&prepared, &CancellationToken::new()));
        performed.expect("tools perform the call").into()
    };
    host.run_until_idle(&mut { perform });
    assert_eq!((host.status(), host.result()), (Status::Completed, Some(&Value::Int(1))));
    assert_eq!(host.now_ms(), 7_000 + 60_000);
    assert_eq!(peer.requests().len(), 3);
}
