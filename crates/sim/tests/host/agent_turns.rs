//! Turns of agents with tools, as runs of the built-in program, with models and tools that are scripted.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::Usage;
use branchpoint_core::effect::{AGENT, Kind, ModelResult};
use branchpoint_core::ir::{Effect, Program, Status};
use branchpoint_dialects::{agent_program, agent_program_for};
use branchpoint_expr::{Object, Value};
use branchpoint_host::VirtualDriver;
use branchpoint_runners::{Answer, Call, agent};

fn value(json: &str) -> Value {
    serde_json::from_str(json).expect("valid JSON")
}

/// An effect by its kind and its other fields.
fn effect(kind: &str, definition: &str) -> Effect {
    let definition = serde_json::from_str(definition).expect("valid fields of an effect");
    Effect { kind: branchpoint_core::effect::Kind::named(kind).expect("a kind of effect"), ..definition }
}

fn call(kind: &str, definition: &str, input: &str) -> Call {
    Call { step: Some("helper".into()), ..Call::first(effect(kind, definition), value(input)) }
}

/// Models with scripted replies, and tools that return their arguments, except one that always fails.
#[derive(Default)]
struct World {
    replies: Vec<String>,
    model_inputs: Vec<Value>,
    tools: Vec<Value>,
}

impl World {
    fn new(replies: &[&str]) -> Self {
        Self { replies: replies.iter().rev().map(ToString::to_string).collect(), ..Self::default() }
    }
}

impl World {
    fn answer(&mut self, call: &Call) -> Answer {
        match call.kind() {
            Kind::Model => {
                self.model_inputs.push(call.input.clone());
                let Some(reply) = self.replies.pop() else { return Answer::refused("step_failed", "nothing to say") };
                let usage = branchpoint_core::Usage { tokens: 100, cost_micros: 10 };
                Answer::Model(ModelResult { value: value(&reply), usage, ..ModelResult::default() })
            }
            Kind::Tool => {
                self.tools.push(call.input.clone());
                match call.input.get("tool").and_then(Value::as_str) {
                    Some("broken") => Answer::refused("step_failed", "it is broken"),
                    _ => Answer::data(call.input.get("arguments").cloned().unwrap_or_default()),
                }
            }
            other => panic!("no runner for `{other}`"),
        }
    }
}

/// A reply that calls tools, by name and arguments.
fn calls(tools: &[(&str, &str)]) -> String {
    let calls: Vec<String> = tools
        .iter()
        .enumerate()
        .map(|(at, (name, arguments))| format!(r#"{{"id": "c{at}", "name": "{name}", "arguments": {arguments}}}"#))
        .collect();
    format!(r#"{{"text": "", "toolCalls": [{}], "usage": {{"tokens": 100, "cost_micros": 10}}}}"#, calls.join(", "))
}

fn says(text: &str) -> String {
    format!(r#"{{"text": "{text}", "toolCalls": [], "usage": {{"tokens": 100, "cost_micros": 10}}}}"#)
}

fn run(program: &Program, call: &Call, world: &mut World) -> Value {
    assert!(agent::is_turn(call));
    let children = BTreeMap::from([(Arc::from(AGENT), agent_program().clone())]);
    let mut memory = VirtualDriver::new(program, 0).with_children(&children);
    let input = agent::input(call, agent::AgentLimits::default()).expect("the call is valid");
    memory.start(input, Object::default()).expect("the run starts");
    memory.run_until_idle(&mut |call| world.answer(call).into());
    let result = memory.result().cloned().expect("the run has ended");
    let ended_well = result.get("status") == Some(&Value::from("completed"));
    assert_eq!(memory.status() == Status::Completed, ended_well);
    result
}

fn text<'v>(result: &'v Value, key: &str) -> &'v str {
    result.get(key).and_then(Value::as_str).unwrap_or_default()
}

const STEP: &str = r#"{"prompt": "Do it.", "system": "Be brief.", "model": "m", "tools": ["echo", {"name": "broken"}], "max_turns": 4}"#;

#[test]
fn five_tool_calls_of_one_reply_run_and_the_model_gets_their_results_in_order() {
    for sequential in [false, true] {
        let echo = |n: u32| format!(r#"{{"n": {n}}}"#);
        let arguments: Vec<String> = (0..5).map(echo).collect();
        let five: Vec<(&str, &str)> = arguments.iter().map(|arguments| ("echo", arguments.as_str())).collect();
        let mut world = World::new(&[&calls(&five), &says("done")]);
        let mut turn = call("model", "{}", STEP);
        if sequential {
            let mut fields = turn.input.as_object().cloned().unwrap_or_default();
            fields.insert("sequential".into(), Value::Bool(true));
            turn.input = Value::from(fields);
        }
        let result = run(agent_program(), &turn, &mut world);
        assert_eq!(text(&result, "output"), "done");
        assert_eq!(world.tools.len(), 5);
        let messages =
            world.model_inputs[1].get("since").and_then(Value::as_list).expect("the messages since the last reply");
        assert_eq!(messages.len(), 6, "the reply, and five results");
        for (n, message) in (0..).zip(&messages[1..]) {
            assert_eq!(message.get("content"), Some(&value(&echo(n))));
        }
        assert_eq!(result.get("usage"), Some(&value(r#"{"tokens": 200, "cost_micros": 20}"#)));
        let usage = Usage { tokens: 200, cost_micros: 20 };
        let answer = agent::answer(&result, usage);
        assert!(
            matches!(&answer, Answer::Model(ModelResult { value: Value::Str(text), usage: used, .. }) if &**text == "done" && *used == usage),
            "{answer:?}"
        );
    }
}

#[test]
fn the_configuration_of_a_tool_is_part_of_its_calls() {
    let step = r#"{"prompt": "Do it.", "tools": ["echo", {"name": "find", "configuration": {"limit": 3}}]}"#;
    let mut world = World::new(&[&calls(&[("echo", "{}"), ("find", r#"{"q": "x"}"#)]), &says("done")]);
    run(agent_program(), &call("model", "{}", step), &mut world);
    let set = |tool: &str| {
        let called = world.tools.iter().find(|input| text(input, "tool") == tool).expect("the tool was called");
        called.get("configuration").cloned().unwrap_or_default()
    };
    assert_eq!((set("echo"), set("find")), (Value::Null, value(r#"{"limit": 3}"#)));
}

#[test]
fn the_model_receives_errors_of_tools() {
    let mut world = World::new(&[&calls(&[("broken", "{}"), ("made_up", "{}")]), &says("I see")]);
    let result = run(agent_program(), &call("model", "{}", STEP), &mut world);
    assert_eq!(text(&result, "output"), "I see");
    let messages =
        world.model_inputs[1].get("since").and_then(Value::as_list).expect("the messages since the last reply");
    assert_eq!(text(&messages[1], "error"), "it is broken");
    assert_eq!(text(&messages[2], "error"), "there is no tool `made_up`; offered are: echo, broken");
    assert_eq!(world.tools.len(), 1, "a tool that is not offered is not called");
}

#[test]
fn a_turn_ends_when_a_limit_is_reached() {
    let endless: Vec<String> = (0..20).map(|_| calls(&[("echo", "{}")])).collect();
    let endless: Vec<&str> = endless.iter().map(String::as_str).collect();
    for (bound, kind, turns, tools) in [
        (r#""max_turns": 3"#, "max_turns", 3, 3),
        (r#""token_budget": 150"#, "token_budget", 2, 1),
        (r#""cost_budget_micros": 10"#, "cost_budget", 1, 0),
    ] {
        let mut world = World::new(&endless);
        let input = format!(r#"{{"prompt": "Go.", "tools": ["echo"], {bound}}}"#);
        let result = run(agent_program(), &call("model", "{}", &input), &mut world);
        assert_eq!((text(&result, "kind"), world.model_inputs.len()), (kind, turns), "{result}");
        assert_eq!(world.tools.len(), tools, "the reply that uses up a budget calls no tools: {result}");
        assert!(text(&result, "message").contains(bound.split('"').nth(1).expect("a name")), "{result}");
        assert!(
            matches!(agent::answer(&result, Usage::default()), Answer::Failed(failed) if !failed.retry.allows_retry() && &*failed.kind == kind)
        );
    }
}

#[test]
fn a_failing_model_ends_the_turn_and_the_messages_are_kept() {
    let mut world = World::new(&[&calls(&[("echo", "{}")])]);
    let result = run(agent_program(), &call("model", "{}", STEP), &mut world);
    assert_eq!((text(&result, "status"), text(&result, "message")), ("failed", "nothing to say"));
    assert_eq!(result.get("messages").and_then(Value::as_list).map(<[Value]>::len), Some(2));
}

#[test]
fn thoughts_are_returned_to_the_model_unchanged() {
    let thinking =
        r#"{"text": "", "toolCalls": [{"id": "c", "name": "echo", "arguments": {}}], "thoughts": {"signed": 1}}"#;
    let mut world = World::new(&[thinking, &says("done")]);
    run(agent_program(), &call("model", "{}", STEP), &mut world);
    let messages =
        world.model_inputs[1].get("since").and_then(Value::as_list).expect("the messages since the last reply");
    assert_eq!(messages[0].get("thoughts"), Some(&value(r#"{"signed": 1}"#)));
}

#[test]
fn the_stop_condition_of_the_document_ends_the_turn() {
    let spec = r#"{"fixed": {"stop_when": {"if": "{{input}} == {{step.goal.output}}"}}}"#;
    let spec_value = effect("model", spec);
    let program = match agent_program_for(&spec_value) {
        Ok(program) => program.expect("there is a condition"),
        Err(problems) => panic!("{problems}"),
    };
    let reply = r#"{"text": "enough", "toolCalls": [{"id": "c", "name": "echo", "arguments": {}}]}"#;
    let input = r#"{"prompt": "Go.", "tools": ["echo"], "stop_when_values": {"step.goal.output": "enough"}}"#;
    let mut world = World::new(&[reply, &says("too late")]);
    let result = run(&program, &call("model", spec, input), &mut world);
    assert_eq!((text(&result, "status"), text(&result, "output")), ("completed", "enough"), "{result}");
    assert!(world.tools.is_empty());
    assert!(agent_program_for(&effect("model", "{}")).is_ok_and(|none| none.is_none()));
}

const GRAPH: &str = r#"{"system": "Boss.", "prompt": "Plan a trip.", "model": "m", "reasoning_effort": "low",
    "tools": {"web_search": true, "subagents": true},
    "subagents": [{"id": "n2", "name": "Scout", "tool": "subagent_scout_n2", "system": "Look.", "model": "s", "reasoning_effort": "low",
        "tools": {"web_search": true}}]}"#;

#[test]
fn a_subagent_is_a_tool_and_its_turn_is_a_child_run() {
    let mut world = World::new(&[
        &calls(&[("subagent_scout_n2", r#"{"message": "Find a train."}"#)]),
        &calls(&[("web_search", r#"{"query": "train"}"#)]),
        &says("Take the 9:15."),
        &says("All set."),
    ]);
    let result = run(agent_program(), &call("model", "{}", GRAPH), &mut world);
    assert_eq!(text(&result, "output"), "All set.");
    assert_eq!(world.model_inputs.len(), 4);
    assert_eq!((text(&world.model_inputs[1], "system"), text(&world.model_inputs[1], "model")), ("Look.", "s"));
    assert_eq!(
        text(&world.model_inputs[1], "prompt"),
        "Find a train.",
        "the message alone, not the arguments around it"
    );
    let since = world.model_inputs[3].get("since").and_then(Value::as_list).expect("the messages since the last reply");
    assert_eq!(since[1].get("content"), Some(&Value::from("Take the 9:15.")));
    assert_eq!(
        result.get("usage"),
        Some(&value(r#"{"tokens": 400, "cost_micros": 40}"#)),
        "the agents below count too"
    );
    let tools = world.model_inputs[0].get("tools").and_then(Value::as_list).expect("tools");
    assert_eq!(tools.iter().map(|tool| text(tool, "name")).collect::<Vec<_>>(), ["web_search", "subagent_scout_n2"]);
}

/// Each model call uses 100 tokens and 10 micros. A subagent gets the rest of the budget of its agent.
#[test]
fn subagents_share_the_budget_of_their_agent() {
    let searches = || calls(&[("web_search", "{}")]);
    for budget in [r#""token_budget": 150"#, r#""cost_budget_micros": 15"#] {
        let input = GRAPH.replacen('{', &format!("{{{budget}, "), 1);
        let scout = calls(&[("subagent_scout_n2", r#"{"message": "Go."}"#)]);
        let mut world = World::new(&[&scout, &searches(), &searches(), &says("found"), &says("done")]);
        let result = run(agent_program(), &call("model", "{}", &input), &mut world);
        assert_eq!(world.model_inputs.len(), 2, "the subagent makes one call with the rest of the budget");
        assert!(text(&result, "kind").ends_with("_budget"), "{result:?}");
    }
}

#[test]
fn subagents_that_are_called_together_divide_the_rest_of_the_budget() {
    let input = GRAPH.replacen('{', r#"{"token_budget": 300, "#, 1);
    let go = ("subagent_scout_n2", r#"{"message": "Go."}"#);
    let searches = calls(&[("web_search", "{}")]);
    let mut world = World::new(&[&calls(&[go, go]), &searches, &searches, &searches, &says("done")]);
    let result = run(agent_program(), &call("model", "{}", &input), &mut world);
    assert_eq!(world.model_inputs.len(), 3, "each has 100 tokens, enough for one call");
    assert_eq!(text(&result, "kind"), "token_budget");
}

#[test]
fn one_reply_calls_at_most_eight_agents() {
    let go = ("subagent_scout_n2", r#"{"message": "Go."}"#);
    let replies = [calls(&[go; 10])].into_iter().chain(std::iter::repeat_n(says("found"), 8)).chain([says("done")]);
    let replies: Vec<String> = replies.collect();
    let mut world = World::new(&replies.iter().map(String::as_str).collect::<Vec<_>>());
    let result = run(agent_program(), &call("model", "{}", GRAPH), &mut world);
    assert_eq!((world.model_inputs.len(), text(&result, "output")), (10, "done"));
    let since = world.model_inputs[9].get("since").and_then(Value::as_list).expect("the messages since the last reply");
    let refused =
        since.iter().filter(|said| said.get("error").is_some_and(|error| error.to_string().contains("at most 8")));
    assert_eq!(refused.count(), 2);
}

#[test]
fn a_message_that_is_not_text_reaches_the_subagent_as_json() {
    for (arguments, prompt) in
        [(r#"{"message": {"to": "Rome"}}"#, r#"{"to":"Rome"}"#), (r#"{"msg": "Go."}"#, r#"{"msg":"Go."}"#)]
    {
        let mut world = World::new(&[&calls(&[("subagent_scout_n2", arguments)]), &says("found"), &says("done")]);
        run(agent_program(), &call("model", "{}", GRAPH), &mut world);
        assert_eq!(text(&world.model_inputs[1], "prompt"), prompt);
    }
}

#[test]
fn arguments_that_are_not_an_object_are_an_error_for_the_model() {
    let mut world = World::new(&[&calls(&[("echo", r#""{\"n\": 1, oo""#), ("echo", "[1]")]), &says("I see")]);
    run(agent_program(), &call("model", "{}", STEP), &mut world);
    assert!(world.tools.is_empty());
    let since = world.model_inputs[1].get("since").and_then(Value::as_list).expect("the messages since the last reply");
    let message = "the arguments of `echo` are not a JSON object, so it was not called: ";
    assert_eq!(text(&since[1], "error"), format!("{message}{{\"n\": 1, oo"));
    assert_eq!(text(&since[2], "error"), format!("{message}[1]"));
}

#[test]
fn a_model_call_of_a_turn_has_all_fields_of_the_call() {
    let input = r#"{"prompt": "Hi.", "system": "Short.", "model": "gpt-5", "model_variant": "mini",
        "top_p": 0.5, "attachments": [{"mime": "image/png", "data": "aGk="}], "tools": ["echo"],
        "max_turns": 3, "seed": null}"#;
    let spec = r#"{"response": {"output_schema": {"type": "object"}}, "secrets": [{"at": [{"field": "system"}]}]}"#;
    let mut world = World::new(&[&calls(&[("echo", "{}")]), &says("done")]);
    let call = call("model", spec, input);
    let program = agent_program_for(&call.definition).ok().flatten().expect("the call names secrets");
    run(&program, &call, &mut world);
    let expected = r#"{"prompt": "Hi.", "system": "Short.", "model": "gpt-5", "model_variant": "mini",
        "top_p": 0.5, "attachments": [{"mime": "image/png", "data": "aGk="}],
        "schema": {"type": "object"}, "since": [], "tools": [{"name": "echo"}]}"#;
    assert_eq!(world.model_inputs[0], value(expected));
    let model = program.effects.iter().find(|effect| effect.kind == Kind::Model).expect("the program calls a model");
    assert_eq!(model.secrets, call.definition.secrets, "the secrets are in the fields that the call names");
}

#[test]
fn the_program_is_the_same_each_time() {
    let bytes =
        |program: &Program| branchpoint_core::codec::encode_program(program).expect("the program can be encoded");
    let spec = effect("model", r#"{"fixed": {"stop_when": {"if": "{{input}} == 'x'"}}}"#);
    let stopping = || agent_program_for(&spec).ok().flatten().expect("there is a condition");
    assert_eq!(bytes(&stopping()), bytes(&stopping()));
    assert!(!agent::is_turn(&call("model", "{}", r#"{"prompt": "hi", "tools": []}"#)));
    assert!(!agent::is_turn(&call("model", r#"{"fixed": {"task": "reply"}}"#, r#"{"tools": ["x"]}"#)));
    assert!(agent::is_turn(&call("model", "{}", r#"{"prompt": "hi", "tools": ["x"]}"#)));
}
