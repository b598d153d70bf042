//! Sessions from their documents: the responses of the examples, and the contract between a gate and its host.

use std::fs;
use std::path::Path;

use branchpoint_core::ir::Program;
use branchpoint_core::{AttemptError, NoteKind, RetryHint};
use branchpoint_dialects::{load, read};
use branchpoint_expr::{Object, Value, render_terminal};
use branchpoint_host::VirtualDriver;
use branchpoint_host::gate::{
    Gate, SESSION_TTL_S, SessionAction, SessionRejection, SessionRequest, SessionResponse, Sessions,
};
use branchpoint_runners::{Answer, Call};
use branchpoint_sim::examples::examples;

#[track_caller]
fn loaded(source: &str) -> Program {
    let loaded = load(source, None);
    let shown = render_terminal(&loaded.diagnostics, source, "session.json", false);
    assert!(loaded.diagnostics.is_empty(), "{shown}");
    loaded.program.expect("a document without findings has a program")
}

fn part(answer: &SessionResponse, key: &str) -> Value {
    answer.state.get(key).cloned().unwrap_or_default()
}

fn request(event: &Value) -> SessionAction {
    let text = |key: &str| event.get(key).and_then(Value::as_str);
    match (text("message"), text("tool"), event.get("ask")) {
        (Some(message), ..) => SessionAction::Message(message.into()),
        (_, Some(tool), _) => SessionAction::Tool(tool.into()),
        (.., Some(_)) => SessionAction::Query,
        _ => SessionAction::Reset,
    }
}

/// The responses to the events of an example.
fn responses(path: &Path) -> String {
    let program = loaded(&fs::read_to_string(path).unwrap());
    let events = fs::read_to_string(path.with_extension("events.yaml")).expect("each example has events");
    let events = read(&events).expect("the events are YAML").to_value();
    let tools = events.get("tools").and_then(Value::as_list);
    let tools: Option<Vec<&str>> = tools.map(|tools| tools.iter().filter_map(Value::as_str).collect());
    let mut sessions =
        Sessions::new(Gate::new(&program, tools.as_deref(), SESSION_TTL_S).expect("the program has a session"));
    let lines = events.get("events").and_then(Value::as_list).unwrap_or_default().iter().map(|event| {
        let answer = sessions.request("s", request(event), 0).expect("every event is accepted");
        assert!(answer.problems.is_empty(), "{:?}", answer.problems);
        let view = answer.view("s");
        let part = |key: &str| view.get(key).cloned().unwrap_or_default();
        let persona = view.get("persona").map(|persona| format!(" as {persona:?}")).unwrap_or_default();
        format!(
            "{event:?}\n  {}{persona}: {:?} at {} ({})",
            part("activeStep"),
            part("allowedTools"),
            part("sequenceIndex"),
            part("why")
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn examples_respond_as_recorded() {
    let examples = examples("session");
    assert!(examples.len() >= 6, "only {} examples were found", examples.len());
    for path in examples {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        insta::assert_snapshot!(format!("session-{name}"), responses(&path));
    }
}

const SEARCH_THEN_SAVE: &str = r#"{"steps": [
    {"name": "save", "conditions": [{"type": "tool_used", "value": "search"}], "availableTools": {"allowed": ["save"]}},
    {"name": "search", "isDefault": true, "availableTools": {"allowed": ["search"]}}]}"#;
const TOOLS: [&str; 2] = ["search", "save"];

#[track_caller]
fn allowed(sessions: &mut Sessions<'_>, id: &str, request: SessionAction, now_ms: i64, expect: &[&str]) {
    let answer = sessions.request(id, request, now_ms).expect("the request is accepted");
    assert_eq!(
        part(&answer, "allowedTools"),
        Value::from(expect.iter().map(|tool| Value::from(*tool)).collect::<Vec<_>>())
    );
}

#[test]
fn sessions_are_independent_and_expire_without_requests() {
    let program = loaded(SEARCH_THEN_SAVE);
    let mut sessions = Sessions::new(Gate::new(&program, Some(&TOOLS), 60).unwrap());
    allowed(&mut sessions, "a", SessionAction::Tool("search".into()), 0, &["save"]);
    allowed(&mut sessions, "b", SessionAction::Query, 30_000, &["search"]);
    allowed(&mut sessions, "a", SessionAction::Query, 59_999, &["save"]);
    // A query counts as a request.
    allowed(&mut sessions, "a", SessionAction::Query, 119_998, &["save"]);
    assert_eq!(sessions.remove_expired(119_998), 1);
    allowed(&mut sessions, "a", SessionAction::Query, 179_998, &["search"]);
    assert!(matches!(sessions.request("", SessionAction::Query, 0), Err(SessionRejection::NoId)));
}

#[test]
fn the_response_to_a_reset_is_the_view_of_the_default_step() {
    let program = loaded(SEARCH_THEN_SAVE);
    let mut sessions = Sessions::new(Gate::new(&program, Some(&TOOLS), 60).unwrap());
    allowed(&mut sessions, "a", SessionAction::Tool("search".into()), 0, &["save"]);
    let answer = sessions.request("a", SessionAction::Reset, 1).expect("the request is accepted");
    assert_eq!((part(&answer, "activeStep"), part(&answer, "changed")), (Value::from("search"), Value::Bool(true)));
    assert_eq!(part(&answer, "allowedTools"), Value::from(vec![Value::from("search")]));
    // A new session is in its default step as well.
    allowed(&mut sessions, "b", SessionAction::Reset, 2, &["search"]);
}

#[test]
fn a_session_may_never_expire_but_its_lifetime_is_not_negative() {
    let program = loaded(SEARCH_THEN_SAVE);
    let mut sessions = Sessions::new(Gate::new(&program, Some(&TOOLS), 0).unwrap());
    allowed(&mut sessions, "a", SessionAction::Tool("search".into()), 0, &["save"]);
    allowed(&mut sessions, "a", SessionAction::Query, i64::MAX, &["save"]);
    assert_eq!(Gate::new(&program, None, -1).err(), Some(SessionRejection::BadTtl(-1)));
    let graph = r#"{"nodes": [{"id": "s", "type": "start"}, {"id": "a", "type": "agent"}],
        "connections": [{"source": "s", "target": "a"}]}"#;
    assert_eq!(Gate::new(&loaded(graph), None, 0).err(), Some(SessionRejection::NoSession));
}

#[test]
fn a_report_whose_key_was_seen_changes_nothing() {
    let program = loaded(SEARCH_THEN_SAVE);
    let mut sessions = Sessions::new(Gate::new(&program, Some(&TOOLS), SESSION_TTL_S).unwrap());
    let mut report = |tool: &str| {
        let answer = sessions
            .request("a", SessionRequest { key: Some("k1".into()), ..SessionAction::Tool(tool.into()).into() }, 0)
            .expect("the request is accepted");
        (part(&answer, "changed") == Value::Bool(true), answer.view("a").get("recentlyUsedTools").cloned())
    };
    let once = Some(Value::from(vec![Value::from("search")]));
    assert_eq!(report("search"), (true, once.clone()));
    assert_eq!(report("search"), (false, once.clone()));
    assert_eq!(report("save"), (false, once));
}

#[test]
fn a_response_has_explanations_on_request() {
    let program = loaded(SEARCH_THEN_SAVE);
    let mut sessions = Sessions::new(Gate::new(&program, Some(&TOOLS), SESSION_TTL_S).unwrap());
    let answer = sessions
        .request("a", SessionRequest { explain: true, ..SessionAction::Query.into() }, 0)
        .expect("the request is accepted");
    let [reason] = answer.reasons.as_slice() else { panic!("expected one reason: {:?}", answer.reasons) };
    assert_eq!((reason.get("step"), reason.get("holds")), (Some(&Value::from("save")), Some(&Value::Bool(false))));
    assert!(reason.get("explanation").is_some_and(|explanation| explanation.get("sentence").is_some()), "{reason:?}");
}

#[test]
fn a_condition_that_cannot_be_evaluated_does_not_hold_and_is_reported() {
    let program = loaded(
        r#"{"steps": [{"name": "odd", "conditions": [{"if": "sequence_index + message > 1"}]},
        {"name": "later", "conditions": [{"type": "message_contains", "value": "x"}]}, {"name": "d", "isDefault": true}]}"#,
    );
    let mut sessions = Sessions::new(Gate::new(&program, Some(&[]), SESSION_TTL_S).unwrap());
    let answer = sessions.request("a", SessionAction::Message("x".into()), 0).expect("the request is accepted");
    assert_eq!(part(&answer, "activeStep"), Value::from("later"));
    assert_eq!(answer.problems.len(), 1);
    assert_eq!(answer.problems[0].get("step"), Some(&Value::from("odd")));
    let answer = sessions.request("a", SessionAction::Query, 0).expect("the request is accepted");
    assert!(answer.problems.is_empty(), "a response has only the problems of its own event");
}

#[test]
fn open_sessions_adopt_a_changed_document_and_drop_removed_steps() {
    let (before, after) = (
        loaded(SEARCH_THEN_SAVE),
        loaded(
            r#"{"steps": [
        {"name": "first", "isDefault": true, "availableTools": {"denied": ["save"]}}]}"#,
        ),
    );
    let mut sessions = Sessions::new(Gate::new(&before, Some(&TOOLS), 60).unwrap());
    allowed(&mut sessions, "a", SessionAction::Tool("search".into()), 0, &["save"]);
    sessions.adopt(Gate::new(&after, Some(&TOOLS), 60).unwrap()).expect("the session is idle");
    let answer = sessions.request("a", SessionAction::Query, 1).expect("the request is accepted");
    assert_eq!(part(&answer, "activeStep"), Value::from("first"));
    assert_eq!(answer.view("a").get("recentlyUsedTools"), Some(&Value::from(vec![Value::from("search")])));
    allowed(&mut sessions, "a", SessionAction::Query, 60_001, &["search"]);
}

/// A model with these replies, and tools of which one fails.
struct Model {
    replies: Vec<Value>,
    inputs: Vec<Value>,
    ran: Vec<String>,
}

impl Model {
    fn answer(&mut self, call: &Call) -> Answer {
        if call.kind() == branchpoint_core::effect::Kind::Model {
            self.inputs.push(call.input.clone());
            return Answer::data(self.replies.remove(0));
        }
        let tool = call.input.get("tool").and_then(Value::as_str).unwrap_or_default().to_owned();
        let broken = tool == "think";
        self.ran.push(tool);
        let failed = AttemptError {
            kind: "tool".into(),
            message: "no thoughts".into(),
            retry: RetryHint::Never,
            answered: true,
        };
        if broken { Answer::Failed(failed) } else { Answer::data("done") }
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("valid JSON")
}

/// Runs a turn of the example's agent with these replies of the model.
fn turn(host: &mut VirtualDriver<'_>, text: &str, replies: &[&str]) -> Model {
    let mut model = Model { replies: replies.iter().map(|reply| json(reply)).collect(), inputs: vec![], ran: vec![] };
    let payload = [("text".into(), Value::from(text))].into_iter().collect::<Object>();
    host.signal("turn", Value::from(payload), None).expect("the session waits for a turn");
    host.run_until_idle(&mut |call| model.answer(call).into());
    model
}

fn researcher() -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/session/agent-template.json");
    loaded(&fs::read_to_string(path).unwrap())
}

#[test]
fn a_turn_checks_each_call_just_before_it_runs() {
    let program = researcher();
    let mut host = VirtualDriver::new(&program, 0);
    host.start(Value::Null, Object::default()).unwrap();
    let model = turn(
        &mut host,
        "tides?",
        &[
            // The second tool is offered only after the first has run, and the last one never.
            r#"{"text": "", "toolCalls": [{"id": "1", "name": "search", "arguments": {}},
                {"id": "2", "name": "think", "arguments": {}}, {"id": "3", "name": "search", "arguments": {}}],
                "usage": {"tokens": 5}}"#,
            r#"{"text": "Tides come and go."}"#,
        ],
    );
    assert_eq!(model.ran, ["search", "think"]);
    let tools = |call: usize| model.inputs[call].get("tools").map(|tools| format!("{tools:?}"));
    assert_eq!(tools(0).as_deref(), Some(r#"["search"]"#));
    assert_eq!(tools(1).as_deref(), Some(r#"["summarize","save_result"]"#));
    let sent = model.inputs[1].get("messages").and_then(Value::as_list).unwrap();
    let errors: Vec<_> =
        sent.iter().map(|message| message.get("error").map(ToString::to_string).unwrap_or_default()).collect();
    assert_eq!(
        errors,
        ["", "", "", "no thoughts", "this tool is not offered now; offered are: summarize, save_result"]
    );
    assert_eq!(host.view("turn"), Some(json(r#"{"text": "Tides come and go.", "warnings": []}"#)));
    assert_eq!(host.view("tokens"), Some(Value::Int(5)));
}

#[test]
fn a_turn_rejects_invalid_arguments_and_keeps_the_thoughts_of_a_reply() {
    let program = researcher();
    let mut host = VirtualDriver::new(&program, 0);
    host.start(Value::Null, Object::default()).unwrap();
    let unreadable = r#"{"text": "", "thoughts": ["deep"],
        "toolCalls": [{"id": "1", "name": "search", "arguments": "{\"q\": 1, oo"}]}"#;
    let model = turn(&mut host, "tides?", &[unreadable, r#"{"text": "done"}"#]);
    assert!(model.ran.is_empty());
    let sent = model.inputs[1].get("messages").and_then(Value::as_list).unwrap();
    assert_eq!(sent[1].get("thoughts"), Some(&json(r#"["deep"]"#)));
    let error = sent[2].get("error").map(ToString::to_string).unwrap_or_default();
    assert_eq!(error, "the arguments of `search` are not a JSON object, so it was not called: {\"q\": 1, oo");
}

#[test]
fn the_operator_limits_each_turn_separately() {
    let program = researcher();
    let again = r#"{"text": "again", "toolCalls": [{"id": "1", "name": "search", "arguments": {}}],
        "usage": {"tokens": 60, "cost_micros": 6}}"#;
    for (limits, warning, calls) in
        [("turns", "max_steps", 2), ("tokens", "token_budget", 1), ("cost_micros", "cost_budget", 1)]
    {
        let limit = if limits == "turns" { 2 } else { 5 };
        let mut host = VirtualDriver::new(&program, 0);
        host.start(json(&format!(r#"{{"limits": {{"{limits}": {limit}}}}}"#)), Object::default()).unwrap();
        for _ in 0..2 {
            let model = turn(&mut host, "tides?", &[again; 2][..calls]);
            assert_eq!(model.inputs.len(), calls, "{limits}");
            assert_eq!(host.view("turn"), Some(json(&format!(r#"{{"text": "again", "warnings": ["{warning}"]}}"#))));
        }
    }
}

#[test]
fn a_turn_makes_at_most_the_configured_model_calls() {
    let program = researcher();
    let mut host = VirtualDriver::new(&program, 0);
    host.start(Value::Null, Object::default()).unwrap();
    let again = r#"{"text": "again", "toolCalls": [{"id": "1", "name": "search", "arguments": {}}]}"#;
    let model = turn(&mut host, "tides?", &[again; 4]);
    assert_eq!(model.inputs.len(), 4);
    assert_eq!(host.view("turn"), Some(json(r#"{"text": "again", "warnings": ["max_steps"]}"#)));
    assert!(host.notes().iter().any(|note| matches!(&note.kind, NoteKind::Warned(_, kind) if &**kind == "max_steps")));
    // The session continues, and the next turn sends the earlier messages.
    let model = turn(&mut host, "thanks", &[r#"{"text": "You are welcome."}"#]);
    assert_eq!(model.inputs[0].get("messages").and_then(Value::as_list).map(<[_]>::len), Some(10));
}

#[test]
fn a_persona_changes_model_calls_while_its_step_is_active() {
    let program = loaded(
        r#"{"version": "1.0", "agentId": "a", "name": "A", "description": "d", "personality": "Be kind.",
            "nodes": ["think", "llm.openai"], "chatSettings": {},
            "nodeConfigurations": {"llm.openai": {"model": "m", "temperature": 0.5, "maxTokens": 10}},
            "options": {"tokenOptimization": {"includeDetailedOrchestration": false}},
            "orchestration": {"steps": [
                {"name": "plan", "conditions": [{"type": "tool_used", "value": "think"}],
                 "persona": {"prompt": ["Plan.", "Be brief."], "model": "x", "options": {"temperature": 0, "topP": 0.1}}},
                {"name": "talk", "isDefault": true}]}}"#,
    );
    let mut host = VirtualDriver::new(&program, 0);
    host.start(Value::Null, Object::default()).unwrap();
    let thinks = r#"{"text": "", "toolCalls": [{"id": "1", "name": "think", "arguments": {}}]}"#;
    let model = turn(&mut host, "go", &[thinks, r#"{"text": "done"}"#]);
    let sent = |call: usize, names: &[&str]| {
        let values = names.iter().map(|name| model.inputs[call].get(name).cloned().unwrap_or_default());
        Value::from(values.collect::<Vec<_>>())
    };
    let names = ["system", "model", "temperature", "top_p", "max_tokens"];
    let (talk, plan) = ("Be kind.\n\nActive step: talk", "Be kind.\n\nPlan.\nBe brief.\n\nActive step: plan");
    let list = |system: &str, rest: &str| json(&format!("[{:?}, {rest}]", Value::from(system)));
    assert_eq!(sent(0, &names), list(talk, "null, 0.5, null, 10"), "null: the model of the agent");
    assert_eq!(sent(1, &names), list(plan, r#""x", 0, 0.1, 10"#));
    let persona = host.view("session").and_then(|view| view.get("persona").cloned());
    let expected = r#"{"prompt": "Plan.\nBe brief.", "model": "x", "options": {"temperature": 0, "topP": 0.1}}"#;
    assert_eq!(persona, Some(json(expected)));
}
