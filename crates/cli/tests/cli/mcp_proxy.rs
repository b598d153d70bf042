//! `mcp_proxy` of state machines: a model calls the tools of a real MCP server process.

use serde_json::{Value, json};

use super::provider::{Does, Provider};
use super::running::{Place, err, exits, out};

/// A server with two tools, in a few lines of shell. It logs each call and answers with its process.
const SERVER: &str = r#"#!/bin/sh
echo "$$" >> started
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"greet","description":"Greets a person.","inputSchema":{"type":"object","properties":{"name":{"type":"string"}}}},{"name":"forget","description":"Deletes everything.","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*'"Nemo"'*) printf '%s\n' "$line" >> calls; result='{"isError":true,"content":[{"type":"text","text":"The room is empty."}]}' ;;
    *'"tools/call"'*) printf '%s\n' "$line" >> calls; result='{"content":[{"type":"text","text":"Hello from a process!"}]}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

const SETTINGS: &str = "[mcp.greeter]\ncommand = \"sh\"\nargs = [\"server.sh\"]\ndir = \".\"\n";

fn document(url: &str, expose: &str) -> String {
    format!(
        "name: m
states:
  initial: ask
  ask:
    type: agent
    provider: openai_compatible
    prompt: \"Greet {{{{.inputs.who}}}}.\"
    options: {{base_url: \"{url}\", model: test-model}}
    mcp_proxy: {{enable: true, intercept_builtins: false, plugin_tools: [{{plugin: greeter, expose: [{expose}]}}]}}
    on_success: done
    on_failure: bad
  done: {{type: terminal, message: \"{{{{.states.ask.Output}}}}\"}}
  bad: {{type: terminal, status: failure, message: \"{{{{.states.ask.Stderr}}}}\"}}
inputs: [{{name: who, type: string}}]
"
    )
}

fn project(provider: &Provider, expose: &str) -> Place {
    let place = Place::new(&[("branchpoint.toml", SETTINGS), ("server.sh", SERVER)]);
    std::fs::write(place.path().join("m.yaml"), document(&provider.url, expose)).expect("files can be written");
    place
}

const RUN: [&str; 7] = ["run", "m.yaml", "-i", "who=Ada", "--allow-private-network", "--id", "r"];

/// The contents of the tool messages of a request.
fn tool_results(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().expect("there are messages").iter();
    messages.filter(|message| message["role"] == "tool").map(|tool| tool["content"].to_string()).collect()
}

#[test]
fn a_model_calls_the_exposed_tool_of_a_server_process() {
    let provider =
        Provider::new(vec![Does::Calls(&[("greeter_greet", r#"{"name": "Ada"}"#)]), Does::Says("Ada was greeted.")]);
    let place = project(&provider, "greet");
    let run = place.run(&RUN);
    exits(&run, 0);
    assert_eq!(out(&run), "Ada was greeted.\n", "{}", err(&run));

    let requests = provider.requests();
    let tools = requests[0].body["tools"].as_array().expect("tools are offered");
    let names: Vec<&Value> = tools.iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(names, [&json!("greeter_greet")], "only the exposed tool is offered: {tools:?}");
    assert_eq!(tools[0]["function"]["description"], "Greets a person.");
    assert!(requests[0].body["messages"].to_string().contains("Greet Ada."), "{}", requests[0].body);
    assert_eq!(tool_results(&requests[1].body), [r#""Hello from a process!""#]);

    let calls = place.read("calls");
    assert_eq!(calls.lines().count(), 1, "{calls}");
    let call: Value = serde_json::from_str(calls.trim()).expect("it is JSON");
    assert_eq!((&call["params"]["name"], &call["params"]["arguments"]), (&json!("greet"), &json!({"name": "Ada"})));
    let shown = out(&place.run(&["runs", "trace", "r", "--json"]));
    assert!(shown.contains("Hello from a process!"), "the trace shows the call: {shown}");
}

#[test]
fn an_error_of_a_tool_is_a_result_for_the_model() {
    let calls = Does::Calls(&[("greeter_greet", r#"{"name": "Nemo"}"#)]);
    let provider = Provider::new(vec![calls, Does::Says("The room is empty.")]);
    let place = project(&provider, "greet");
    let run = place.run(&RUN);
    exits(&run, 0);
    assert_eq!(out(&run), "The room is empty.\n", "{}", err(&run));
    assert!(tool_results(&provider.requests()[1].body)[0].contains("The room is empty."));
}

#[test]
fn a_tool_that_is_not_exposed_is_not_called() {
    let provider = Provider::new(vec![Does::Calls(&[("greeter_forget", "{}")]), Does::Says("As you like.")]);
    let place = project(&provider, "greet");
    let run = place.run(&RUN);
    assert_eq!(place.read("calls"), "", "{}", err(&run));
}

#[test]
fn a_tool_that_the_server_does_not_have_is_reported_before_the_run() {
    let provider = Provider::new(vec![Does::Says("unused")]);
    let place = project(&provider, "greeet");
    let run = place.run(&RUN);
    exits(&run, 2);
    assert!(err(&run).contains("greeet") && err(&run).contains("greet"), "{}", err(&run));
    assert!(provider.requests().is_empty());
}
