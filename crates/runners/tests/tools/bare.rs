//! A machine that has no certificates, such as a bare container.

use std::process::Command;

use branchpoint_expr::Value;

use super::mcp::server::by_address;
use super::peer::Peer;
use super::{call, judged, tools};

/// The name in the environment that says that nothing is installed.
const BARE: &str = "TEST_IS_A_BARE_MACHINE";

#[test]
fn a_machine_without_certificates_calls_others_all_the_same() {
    if std::env::var_os(BARE).is_none() {
        return again_without_certificates();
    }
    let peer = Peer::saying("200 OK", "text/plain", "here");
    let tools = tools(&format!("[http]\nallow_private_network = true\n[mcp.small]\nurl = \"{}\"", by_address()));
    for kind in ["http", "fetch", "webhook"] {
        let asked = call(kind, "{}", &format!(r#"{{"url": "{}"}}"#, peer.url("/")));
        assert_eq!(judged(&tools, &asked), Value::from("here"), "{kind}");
    }
    let asked = call("mcp", "{}", r#"{"server": "small", "action": "echo", "params": {"text": "here"}}"#);
    assert_eq!(judged(&tools, &asked), Value::from("here"));
}

/// Where certificates lie is read from the environment, which is that of the whole process.
fn again_without_certificates() {
    let nothing = tempfile::tempdir().expect("there is room for a folder");
    let done = Command::new(std::env::current_exe().expect("this is a program"))
        .args(["bare::a_machine_without_certificates_calls_others_all_the_same", "--exact", "--nocapture"])
        .env(BARE, "1")
        .env("SSL_CERT_DIR", nothing.path())
        .env("SSL_CERT_FILE", nothing.path().join("none.pem"))
        .output()
        .expect("it can be started again");
    let said = String::from_utf8_lossy(&done.stdout);
    // A name that no test has is no failure either.
    let is_tested = done.status.success() && said.contains("1 passed");
    assert!(is_tested, "{said}{}", String::from_utf8_lossy(&done.stderr));
}
