//! Runs of graph documents: the examples, and rules that no vector covers.

use std::fs;
use std::sync::Arc;

use branchpoint_core::effect::ModelResult;
use branchpoint_core::ir::Program;
use branchpoint_core::resume_rejection;
use branchpoint_dialects::{load, preflight, read};
use branchpoint_expr::{Object, Value, render_terminal};
use branchpoint_host::{Script, SimulatedAnswer, VirtualDriver};
use branchpoint_runners::{Answer, Call};
use branchpoint_sim::examples::examples;

#[track_caller]
fn loaded(source: &str) -> Program {
    let loaded = load(source, None);
    let shown = render_terminal(&loaded.diagnostics, source, "graph.json", false);
    assert!(loaded.diagnostics.is_empty(), "{shown}");
    loaded.program.expect("a document without findings has a program")
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::from(entries.into_iter().map(|(key, value)| (Arc::from(key), value)).collect::<Object>())
}

fn answer(written: &Value) -> Value {
    match written.get("$for") {
        Some(id) => object([("id", id.clone()), ("input", written.get("input").cloned().unwrap_or_default())]),
        None => object([("input", written.clone())]),
    }
}

fn result(host: &VirtualDriver<'_>) -> Value {
    host.result().cloned().or_else(|| host.view("result")).expect("a run has a result at any moment")
}

/// The log of a run, then the other fields of its result.
fn summary(host: &VirtualDriver<'_>) -> String {
    let result = result(host);
    let text = |entry: &Value, key: &str| entry.get(key).map(ToString::to_string).unwrap_or_default();
    let logs = result.get("logs").and_then(Value::as_list).unwrap_or_default();
    let mut lines: Vec<_> = logs
        .iter()
        .map(|entry| format!("{} {}: {}", text(entry, "type"), text(entry, "nodeId"), text(entry, "content")))
        .collect();
    for (key, value) in result.as_object().expect("an object").iter().filter(|(key, _)| &***key != "logs") {
        lines.push(format!("{key}: {value:?}"));
    }
    lines.join("\n")
}

#[test]
fn examples_end_as_recorded() {
    let examples = examples("graph");
    assert!(examples.len() >= 7, "only {} examples were found", examples.len());
    for path in examples {
        let source = fs::read_to_string(&path).unwrap();
        let findings = preflight(&source);
        assert!(findings.is_empty(), "{}: {findings:?}", path.display());
        let program = loaded(&source);
        let script = fs::read_to_string(path.with_extension("script.yaml")).expect("each example has a script");
        let script = read(&script).expect("the script is YAML").to_value();
        let mut agents = Script::read(script.get("agents").expect("the agents answer")).expect("the script is valid");
        let mut host = VirtualDriver::new(&program, 0);
        host.start(Value::Null, Object::default()).expect("a graph runs without input");
        host.run_until_idle(&mut |call| agents.simulate(call));
        for written in script.get("resume").and_then(Value::as_list).unwrap_or_default() {
            host.reload();
            host.signal("resume", answer(written), None).expect("the run waits for this answer");
            host.run_until_idle(&mut |call| agents.simulate(call));
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        insta::assert_snapshot!(format!("graph-{name}"), summary(&host));
    }
}

const APPROVAL: &str = r#"{"nodes": [{"id": "s", "type": "start"}, {"id": "p", "type": "approval"}, {"id": "a", "type": "agent"}],
    "connections": [{"source": "s", "target": "p"}, {"source": "p", "target": "a", "sourceHandle": "approve"}]}"#;

#[test]
fn a_rejected_answer_has_a_reason_and_changes_nothing() {
    let program = loaded(APPROVAL);
    let mut host = VirtualDriver::new(&program, 0);
    host.start(Value::Null, Object::default()).unwrap();
    let before = summary(&host);
    let refused = |host: &mut VirtualDriver<'_>, written: &str| {
        let answer = answer(&serde_json::from_str(written).expect("valid JSON"));
        host.signal("resume", answer.clone(), None)
            .err()
            .map(|refused| resume_rejection(&refused, &answer, &host.approvals()))
    };
    for written in ["\"maybe\"", "1", "null", r#"{"decision": "yes", "approved": false}"#, r#"{"approved": "true"}"#] {
        assert_eq!(refused(&mut host, written), Some("bad_approval_input"), "{written}");
    }
    assert_eq!(refused(&mut host, r#"{"$for": "q", "input": true}"#), Some("not_waiting"));
    assert_eq!(summary(&host), before);
    assert_eq!(refused(&mut host, r#"" Denied\n""#), None);
    assert_eq!(refused(&mut host, "true"), Some("not_paused"));
}

/// An agent that records the inputs of its calls.
struct RecordedCalls(Vec<Value>);

impl RecordedCalls {
    fn answer(&mut self, call: &Call) -> Answer {
        self.0.push(call.input.clone());
        Answer::data("again")
    }
}

#[test]
fn inputs_of_the_installation_set_the_model_and_the_limit() {
    let program = loaded(
        r#"{"nodes": [{"id": "s", "type": "start"}, {"id": "a", "type": "agent", "data": {"tools": {"subagents": true}}},
            {"id": "k", "type": "agent"}],
            "connections": [{"source": "s", "target": "a"}, {"source": "a", "target": "a"},
                {"source": "a", "target": "k", "sourceHandle": "subagent"}]}"#,
    );
    let mut host = VirtualDriver::new(&program, 0);
    let given = [("model", Value::from("small")), ("stepLimit", Value::Int(3)), ("runId", Value::from("r1"))];
    host.start(object(given), Object::default()).unwrap();
    let mut agent = RecordedCalls(Vec::new());
    host.run_until_idle(&mut |call| agent.answer(call).into());
    let result = result(&host);
    assert_eq!(result.get("runId"), Some(&Value::from("r1")));
    assert_eq!(result.get("error").and_then(|error| error.get("kind")), Some(&Value::from("step_limit")));
    assert_eq!(agent.0.len(), 2, "the start and two runs of the agent are three node runs");
    let kid = agent.0[0].get("subagents").and_then(Value::as_list).map(|kids| kids[0].clone()).unwrap_or_default();
    assert_eq!((agent.0[0].get("model"), kid.get("model")), (Some(&Value::from("small")), Some(&Value::from("small"))));
}

/// An agent that reports a call of a subagent, then fails.
fn failing() -> SimulatedAnswer {
    let event = [("type", "subagent_call_start"), ("callId", "c1"), ("subagentNodeId", "k")];
    let event = object(event.map(|(key, text)| (key, Value::from(text))));
    let reports = vec![("subagent".into(), object([("nodeId", Value::from("a")), ("event", event)]))];
    SimulatedAnswer { duration_ms: 7, reports, ..Answer::failed("down", "the model is down").into() }
}

#[test]
fn a_pending_call_of_a_subagent_fails_with_its_agent() {
    let program = loaded(
        r#"{"nodes": [{"id": "s", "type": "start"}, {"id": "a", "type": "agent"}],
            "connections": [{"source": "s", "target": "a"}]}"#,
    );
    let mut host = VirtualDriver::new(&program, 0);
    host.start(Value::Null, Object::default()).unwrap();
    host.run_until_idle(&mut |_| failing());
    assert_eq!(host.now_ms(), 7);
    let summary = summary(&host);
    let error = r#"subagent_call_error a: {"type":"subagent_call_error","subagentNodeId":"k","callId":"c1","message":"the model is down"}"#;
    assert!(summary.contains(error), "{summary}");
    assert!(summary.contains("llm_error a: the model is down"), "{summary}");
}

/// The models of three agents: the boss calls the scout twice, and the scout calls the clerk, which fails.
fn models(call: &Call) -> Answer {
    let text = |key: &str| call.input.get(key).and_then(Value::as_str).unwrap_or_default();
    let messages = call.input.get("since").and_then(Value::as_list).map_or(0, <[Value]>::len);
    let reply = match (text("system"), messages) {
        ("Boss.", 0) => calls("subagent_scout_k", &["b1", "b2"]),
        ("Scout.", 0) => calls("subagent_clerk_l", &["s1"]),
        ("Clerk.", _) => return Answer::refused("step_failed", "the clerk has failed"),
        _ => calls("", &[]),
    };
    Answer::Model(ModelResult { value: reply, ..ModelResult::default() })
}

/// A reply that calls a tool once for each id; without ids, a final answer.
fn calls(tool: &str, ids: &[&str]) -> Value {
    let arguments = object([("message", Value::from("Look."))]);
    let call =
        |id: &&str| object([("id", Value::from(*id)), ("name", Value::from(tool)), ("arguments", arguments.clone())]);
    object([("text", Value::from("done")), ("toolCalls", Value::from(ids.iter().map(call).collect::<Vec<_>>()))])
}

#[test]
fn calls_of_subagents_are_logged_once_on_the_node_of_their_root_even_when_the_host_is_killed() {
    let program = loaded(
        r#"{"nodes": [{"id": "s", "type": "start"},
            {"id": "a", "type": "agent", "data": {"systemPrompt": "Boss.", "tools": {"subagents": true}}},
            {"id": "k", "type": "agent", "data": {"agentName": "Scout", "systemPrompt": "Scout.", "tools": {"subagents": true}}},
            {"id": "l", "type": "agent", "data": {"agentName": "Clerk", "systemPrompt": "Clerk."}}],
            "connections": [{"source": "s", "target": "a"}, {"source": "a", "target": "k", "sourceHandle": "subagent"},
                {"source": "k", "target": "l", "sourceHandle": "subagent"}]}"#,
    );
    let parts = branchpoint_dialects::agent_programs([&program]).expect("no agent has a condition");
    let folder = tempfile::tempdir().expect("a temporary folder can be created");
    let stored = |name: &str| {
        VirtualDriver::in_file(&folder.path().join(name), "r".to_owned(), &program, 0).with_children(&parts)
    };
    for mut host in [stored("whole.db"), stored("killed.db").restarting()] {
        host.start(Value::Null, Object::default()).unwrap();
        host.run_until_idle(&mut |call| models(call).into());
        let summary = summary(&host);
        let subagent_lines: Vec<&str> = summary.lines().filter(|line| line.starts_with("subagent_call")).collect();
        let scout = |what: &str, id: &str| {
            format!(
                r#"{what} a: {{"type":"{what}","parentNodeId":"a","subagentNodeId":"k","subagentName":"Scout","callId":"{id}","depth":1}}"#
            )
        };
        for id in ["b1", "b2"] {
            let clerk = format!(
                r#""parentNodeId":"k","subagentNodeId":"l","subagentName":"Clerk","callId":"s1","parentCallId":"{id}","depth":2"#
            );
            let expected = [
                scout("subagent_call_start", id),
                format!(r#"subagent_call_start a: {{"type":"subagent_call_start",{clerk}}}"#),
                format!(
                    r#"subagent_call_error a: {{"type":"subagent_call_error",{clerk},"message":"the clerk has failed"}}"#
                ),
                scout("subagent_call_end", id),
            ];
            let places = expected.map(|line| subagent_lines.iter().position(|logged| *logged == line));
            assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{id}: {places:?}\n{summary}");
        }
        assert_eq!(subagent_lines.len(), 8, "{summary}");
        assert!(summary.contains("llm_response a: done"), "{summary}");
    }
}

#[test]
fn a_condition_that_cannot_be_evaluated_fails_the_run() {
    let program = loaded(
        r#"{"nodes": [{"id": "s", "type": "start", "data": {"initialInput": "text"}},
            {"id": "i", "type": "if", "data": {"conditions": [{"if": "input > 3"}]}}, {"id": "e", "type": "end"}],
            "connections": [{"source": "s", "target": "i"}, {"source": "i", "target": "e", "sourceHandle": "false"}]}"#,
    );
    let mut host = VirtualDriver::new(&program, 0);
    host.start(Value::Null, Object::default()).unwrap();
    let error = result(&host).get("error").cloned().unwrap_or_default();
    assert_eq!(error.get("kind"), Some(&Value::from("condition_error")));
    assert_eq!(error.get("nodeId"), Some(&Value::from("i")));
}
