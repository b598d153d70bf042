//! A machine without root certificates, such as a minimal container.

use std::process::Command;

use branchpoint_expr::Value;

use super::mcp::server::by_address;
use super::peer::Peer;
use super::{call, judged, tools};

/// The environment variable that marks the process without certificates.
const BARE: &str = "TEST_IS_A_BARE_MACHINE";

#[test]
fn a_machine_without_certificates_can_make_calls() {
    if std::env::var_os(BARE).is_none() {
        return again_without_certificates();
    }
    let peer = Peer::saying("200 OK", "text/plain", "here");
    let tools = tools(&format!("[http]\nallow_private_network = true\n[mcp.small]\nurl = \"{}\"", by_address()));
    for kind in ["http", "fetch", "webhook"] {
        let call = call(kind, "{}", &format!(r#"{{"url": "{}"}}"#, peer.url("/")));
        assert_eq!(judged(&tools, &call), Value::from("here"), "{kind}");
    }
    let call = call("mcp", "{}", r#"{"server": "small", "action": "echo", "params": {"text": "here"}}"#);
    assert_eq!(judged(&tools, &call), Value::from("here"));
}

/// Starts the test again in a process without certificates, because their path is read from the environment of the whole process.
fn again_without_certificates() {
    let nothing = tempfile::tempdir().expect("there is room for a folder");
    let done = Command::new(std::env::current_exe().expect("this is a program"))
        .args(["bare::a_machine_without_certificates_can_make_calls", "--exact", "--nocapture"])
        .env(BARE, "1")
        .env("SSL_CERT_DIR", nothing.path())
        .env("SSL_CERT_FILE", nothing.path().join("none.pem"))
        .output()
        .expect("it can be started again");
    let output = String::from_utf8_lossy(&done.stdout);
    // An unknown test name would not fail.
    let is_tested = done.status.success() && output.contains("1 passed");
    assert!(is_tested, "{output}{}", String::from_utf8_lossy(&done.stderr));
}
