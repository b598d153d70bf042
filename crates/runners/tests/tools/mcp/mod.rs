//! Tools of MCP servers: a small server of our own, and a third-party one.

mod everything;
mod lists;
mod odd;
pub(super) mod server;

use branchpoint_expr::Value;
use branchpoint_runners::tools::Tools;
use branchpoint_runners::{Answer, Call, runtime};

use super::{call, failure, judged, perform, tools, value};

fn action(server: &str, action: &str, params: &str) -> Call {
    let input = format!(r#"{{"server": "{server}", "action": "{action}", "params": {params}}}"#);
    call("mcp", "{}", &input)
}

fn tool(name: &str, arguments: &str) -> Call {
    call("tool", "{}", &format!(r#"{{"id": "c1", "tool": "{name}", "arguments": {arguments}}}"#))
}

#[track_caller]
fn answers(tools: &Tools) {
    assert_eq!(judged(tools, &action("small", "echo", r#"{"text": "hello"}"#)), Value::from("hello"));
    assert_eq!(judged(tools, &tool("sum", r#"{"a": 2, "b": 3}"#)), value(r#"{"sum": 5}"#));
    assert_eq!(judged(tools, &tool("small.list", "{}")), value("[1, 2]"));
    let parts = judged(tools, &tool("picture", "null"));
    assert_eq!(parts.as_list().map(<[Value]>::len), Some(2), "{parts}");
    let failed = failure(perform(tools, &tool("fail", "{}")));
    assert_eq!((&*failed.message, failed.answered), ("it does not work", true));
    let failed = failure(perform(tools, &action("small", "eco", "{}")));
    assert!(
        failed.message.contains("no tool `eco`") && failed.message.contains("`echo`") && !failed.retry.allows_retry(),
        "{failed:?}"
    );
    for offered in runtime().block_on(tools.tool_descriptions(&server::TOOLS)) {
        let parameters = offered.expect("it is offered").parameters.expect("it says what it takes");
        assert_eq!(parameters.get("type"), Some(&Value::from("object")));
    }
}

#[test]
fn a_server_in_a_child_process_is_started_and_called() {
    let tools = tools(&server::by_child("small"));
    assert_eq!(runtime().block_on(tools.unavailable_reason(&crate::effect("mcp", "{}"))), None);
    answers(&tools);
}

#[test]
fn a_server_with_a_url_is_called_and_trusted() {
    answers(&tools(&format!("[mcp.small]\nurl = \"{}\"", server::by_address())));
}

#[test]
fn a_server_that_dies_is_started_again() {
    let tools = tools(&server::by_child("small"));
    for _ in 0..2 {
        let failed = failure(perform(&tools, &action("small", "die", "{}")));
        assert!(failed.retry.allows_retry() && !failed.answered, "{failed:?}");
        assert_eq!(judged(&tools, &action("small", "echo", r#"{"text": "again"}"#)), Value::from("again"));
    }
}

#[test]
fn a_child_process_gets_its_variables_and_no_other_secrets() {
    let tools = tools(&server::by_child("small"));
    let seen = judged(&tools, &tool("env", "{}")).to_string();
    assert!(seen.contains("GIVEN=***"), "it has the secret, which is masked in its output: {seen}");
    let other = judged(&tools, &action("small", "echo", r#"{"text": "test_other"}"#));
    assert_eq!(other, Value::from("test_other"), "a secret that the server does not have is not masked");
    assert!(!seen.contains("CARGO_PKG_NAME"), "the environment of the host is not inherited: {seen}");
}

#[test]
fn the_configuration_of_a_document_replaces_missing_arguments() {
    let tools = tools(&server::by_child("small"));
    for (arguments, expected) in [("{}", "as set"), (r#"{"text": "as called"}"#, "as called")] {
        let input = format!(r#"{{"tool": "echo", "arguments": {arguments}, "configuration": {{"text": "as set"}}}}"#);
        assert_eq!(judged(&tools, &call("tool", "{}", &input)), Value::from(expected));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_child_does_not_survive_the_tools() {
    let tools = tools(&server::by_child("small"));
    let stat = format!("/proc/{}/stat", judged(&tools, &tool("pid", "{}")));
    assert!(std::fs::exists(&stat).expect("it can be looked at"));
    drop(tools);
    // It is gone, or a zombie that its parent will reap.
    let is_gone = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z"));
    while !is_gone() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_hanging_call_ends_at_the_limit_and_the_server_continues() {
    let tools = tools(&server::by_child("small"));
    // Its start does not count towards the limit.
    judged(&tools, &tool("echo", r#"{"text": "here"}"#));
    let limited = action("small", "hang", "{}").with_time_limit(200);
    assert_eq!(perform(&tools, &limited), Answer::Missing);
    assert_eq!(judged(&tools, &tool("echo", r#"{"text": "still here"}"#)), Value::from("still here"));
}

#[test]
fn a_tool_has_the_time_limit_of_its_server() {
    let patient = format!("[mcp.other]\nurl = \"{}\"\ntimeout_ms = 600000", server::by_address());
    let tools = tools(&format!("{}timeout_ms = 300\n{patient}", server::by_child("small")));
    let failed = failure(perform(&tools, &tool("small.hang", "{}")));
    assert!(failed.message.contains("within 300 ms"), "{failed:?}");
}

#[test]
fn a_tool_of_two_servers_must_be_called_with_the_name_of_its_server() {
    let both = tools(&format!("{}[mcp.other]\nurl = \"{}\"", server::by_child("small"), server::by_address()));
    let failed = failure(perform(&both, &tool("echo", "{}")));
    assert!(failed.message.contains("`other`, `small`") && failed.message.contains("`other.echo`"), "{failed:?}");
    assert_eq!(judged(&both, &tool("other.echo", r#"{"text": "x"}"#)), Value::from("x"));
    let failed = failure(perform(&both, &tool("nothing", "{}")));
    assert!(failed.message.contains("no MCP server has a tool `nothing`"), "{failed:?}");
}

#[test]
fn the_tool_can_be_a_fixed_field_of_the_effect() {
    let tools = tools(&server::by_child("small"));
    let spec = r#"{"fixed": {"tool": "echo"}}"#;
    assert_eq!(judged(&tools, &call("tool", spec, r#"{"arguments": {"text": "kept"}}"#)), Value::from("kept"));
}

#[test]
fn a_server_that_cannot_start_is_reported_with_its_error_output() {
    let settings = "[mcp.bad]\ncommand = \"sh\"\nargs = [\"-c\", \"echo the key $KEY is wrong >&2; exit 1\"]\n\
                    env_from = { KEY = \"TEST_KEY\" }";
    let failed = failure(perform(&tools(settings), &action("bad", "x", "{}")));
    assert!(failed.message.contains("`bad`"), "{failed:?}");
    assert!(failed.message.ends_with("; it printed: the key *** is wrong"), "{failed:?}");
    let missing = tools("[mcp.bad]\ncommand = \"no-such-program-at-all\"");
    let failed = failure(perform(&missing, &action("bad", "x", "{}")));
    assert!(failed.message.contains("no-such-program-at-all"), "{failed:?}");
}

#[test]
fn a_child_may_write_a_byte_order_mark_and_lines_that_are_not_messages() {
    const PROGRAM: &str = r#"
        printf '\357\273\277'
        while read -r line; do
            id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
            case "$line" in
                *'"initialize"'*) result='{"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}' ;;
                *'"tools/call"'*) echo 'a line for people'; echo '{"level": "info"}'
                    result='{"content": [{"type": "text", "text": "done"}]}' ;;
                *) continue ;;
            esac
            printf '{"jsonrpc": "2.0", "id": %s, "result": %s}\n' "$id" "$result"
        done"#;
    let tools = tools(&format!("[mcp.script]\ncommand = \"sh\"\nargs = [\"-c\", '''{PROGRAM}''']"));
    assert_eq!(judged(&tools, &action("script", "x", "{}").with_time_limit(5_000)), Value::from("done"));
}

#[test]
fn settings_of_servers_are_checked_before_a_run() {
    for (settings, expected) in [
        ("[mcp.a]", "either command or url"),
        ("[mcp.a]\ncommand = \"x\"\nurl = \"http://x\"", "either command or url"),
        ("[mcp.a]\nurl = \"http://x\"\nheaders_from = { Authorization = \"NOT_SET\" }", "NOT_SET"),
    ] {
        let reason =
            runtime().block_on(tools(settings).unavailable_reason(&crate::effect("mcp", "{}"))).unwrap_or_default();
        assert!(reason.contains(expected), "{settings}: {reason}");
    }
    let failed = failure(perform(&tools(&server::by_child("small")), &action("smal", "echo", "{}")));
    assert!(failed.message.contains("`smal`") && failed.message.contains("`small`"), "{failed:?}");
}

#[test]
fn servers_are_not_started_without_server_requests() {
    let dir = tempfile::tempdir().expect("there is room for a folder");
    let started = dir.path().join("started");
    let settings = format!("[mcp.files]\ncommand = \"touch\"\nargs = [{:?}]", started.display().to_string());
    let reason = |tools: Tools, name: &str| runtime().block_on(tools.tool_unavailable_reason(name));
    for name in ["files.read", "read"] {
        assert_eq!(reason(tools(&settings).without_server_requests(), name), None, "{name}");
        assert!(reason(tools("").without_server_requests(), name).is_some_and(|lack| lack.contains("[mcp.NAME]")));
    }
    assert!(!started.exists());
    assert!(reason(tools(&settings), "files.read").is_some());
    assert!(started.exists(), "a server whose tools are listed is started");
}
