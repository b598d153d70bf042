//! Agents with tools on the command line: their calls and their usage are shown.

use super::closed::Closed;
use super::running::Place;
use super::stored::has;

const AGENT: &str = r"
name: helper
steps:
  - {id: work, name: Look around, step_type: agent, model: gpt-4o, prompt: Look around, tools: [echo]}
";

const SCRIPT: &str = r#"
agent.model:
  - $reply: {text: "", toolCalls: [{id: "1", name: echo, arguments: {say: hi}}], usage: {tokens: 10, cost_micros: 20}}
    $usage: {tokens: 10, cost_micros: 20}
  - $reply: {text: all is well, usage: {tokens: 1200, cost_micros: 7}}
    $usage: {tokens: 1200, cost_micros: 7}
agent.tool:
  - {$output: hi yourself}
"#;

fn outputs(output: &std::process::Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn calls_of_an_agent_are_reported_with_their_tokens_and_costs() {
    let place = Place::new(&[("helper.yaml", AGENT), ("script.yaml", SCRIPT)]);
    let (stdout, stderr) = outputs(&place.run(&["run", "helper.yaml", "--script", "script.yaml", "--id", "h1"]));
    assert_eq!(stdout, "all is well\n", "{stderr}");
    has(
        &stderr,
        &["▸ work (agent)", "✓   agent.model (model), 10 tokens, $0.00002", "✓   agent.tool (echo) [0]: hi yourself"],
    );
    has(&stderr, &["Used 1,210 tokens, $0.000027."]);
    let (trace, _) = outputs(&place.run(&["runs", "trace", "h1"]));
    has(
        &trace,
        &[
            "✓   work (agent)",
            "1,210 tokens, $0.000027: all is well",
            "agent.tool (echo) [0]",
            "agent.model (model), run 2",
        ],
    );
    let (trace, _) = outputs(&place.run(&["runs", "trace", "h1", "--json"]));
    let trace: serde_json::Value = serde_json::from_str(&trace).expect("it is JSON");
    let step = &trace["steps"][0];
    assert_eq!((&step["name"], &step["output_content_type"]), (&"Look around".into(), &"text/plain".into()));
    let call = &step["tool_calls"][0];
    assert_eq!(
        (&call["tool"], &call["arguments"]["say"], &call["output"]),
        (&"echo".into(), &"hi".into(), &"hi yourself".into())
    );
    assert_eq!((&call["status"], &call["error"]), (&"completed".into(), &serde_json::Value::Null));
    let attempt = &step["attempts"][0];
    assert!(attempt["ended"].as_str().zip(attempt["began"].as_str()).is_some_and(|(ended, began)| ended >= began));
    let (shown, _) = outputs(&place.run(&["runs", "show", "h1"]));
    has(&shown, &["used", "1,210 tokens, $0.000027"]);
    let (shown, _) = outputs(&place.run(&["runs", "show", "h1", "--json"]));
    has(&shown, &["\"tokens\": 1210", "\"cost_micros\": 27"]);
}

#[test]
fn tokens_and_costs_of_a_failed_agent_count() {
    let script = SCRIPT.replace("text: all is well", "text: more, toolCalls: [{id: \"2\", name: echo, arguments: {}}]");
    let agent = AGENT.replace("tools: [echo]", "tools: [echo], max_turns: 2");
    let script = script.replace("agent.tool:\n", "agent.tool:\n  - {$error: broken}\n");
    let place = Place::new(&[("helper.yaml", &agent), ("script.yaml", &script)]);
    let (_, stderr) = outputs(&place.run(&["run", "helper.yaml", "--script", "script.yaml"]));
    has(&stderr, &["✗   agent.tool (echo) [0]: broken", "max_turns", "Used 1,210 tokens"]);
}

#[test]
fn the_process_that_executes_a_run_decides_which_servers_it_may_reach() {
    let closed = Closed::new();
    let flow = format!("name: f\nsteps:\n  - {{id: get, step_type: http, url: '{}', method: GET}}\n", closed.url("/"));
    let place = Place::new(&[("f.yaml", &flow)]);
    let (_, stderr) = outputs(&place.run(&["run", "f.yaml", "--detach", "--allow-private-network"]));
    has(&stderr, &["has no effect on a detached run", "branchpoint work"]);
    let (_, stderr) = outputs(&place.run(&["run", "f.yaml", "--id", "f1"]));
    has(&stderr, &["private or local address", "--allow-private-network"]);
    let (_, stderr) = outputs(&place.run(&["runs", "retry", "f1", "--allow-private-network", "--id", "f2"]));
    assert!(!stderr.contains("private or local address"), "{stderr}");
    let again =
        place.command(&["runs", "retry", "f1", "--id", "f3"]).env("BRANCHPOINT_ALLOW_PRIVATE_NETWORK", "1").output();
    assert!(!outputs(&again.expect("it starts")).1.contains("private or local address"));
}

#[test]
fn the_limits_of_the_operator_take_precedence_over_documents() {
    for (bound, kind) in [("agent_tokens = 10", "token_budget"), ("agent_turns = 1", "max_turns")] {
        let settings = format!("[limits]\n{bound}\n");
        let agent = AGENT.replace("tools: [echo]", "tools: [echo], max_turns: 5, token_budget: 100000");
        let place = Place::new(&[("helper.yaml", &agent), ("script.yaml", SCRIPT), ("branchpoint.toml", &settings)]);
        let (_, stderr) = outputs(&place.run(&["run", "helper.yaml", "--script", "script.yaml"]));
        has(
            &stderr,
            &[
                &format!("[{kind}]"),
                &format!(
                    "`{kind}`, or `{}` of the operator, allows no more",
                    bound.split_once(" =").expect("a name").0
                ),
            ],
        );
    }
}
