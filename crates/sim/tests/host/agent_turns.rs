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
    serde_json::from_str(json).expect("this is JSON")
}

/// An effect by its kind and its other fields.
fn effect(kind: &str, definition: &str) -> Effect {
    let definition = serde_json::from_str(definition).expect("these are fields of an effect");
    Effect { kind: branchpoint_core::effect::Kind::named(kind).expect("this is a kind"), ..definition }
}

fn call(kind: &str, definition: &str, input: &str) -> Call {
    Call { step: Some("helper".into()), ..Call::first(effect(kind, definition), value(input)) }
}

/// Models that say what was written down, and tools that give back what they are asked with; one of them is broken.
#[derive(Default)]
struct World {
    replies: Vec<String>,
    asked: Vec<Value>,
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
                self.asked.push(call.input.clone());
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
            other => panic!("nothing here performs `{other}`"),
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
    let input = agent::input(call, agent::AgentLimits::default()).expect("its fields are known");
    memory.start(input, Object::default()).expect("it starts");
    memory.run_until_idle(&mut |call| world.answer(call).into());
    let result = memory.result().cloned().expect("it has ended");
    let ended_well = result.get("status") == Some(&Value::from("completed"));
    assert_eq!(memory.status() == Status::Completed, ended_well);
    result
}

fn text<'v>(result: &'v Value, key: &str) -> &'v str {
    result.get(key).and_then(Value::as_str).unwrap_or_default()
}

const STEP: &str = r#"{"prompt": "Do it.", "system": "Be brief.", "model": "m", "tools": ["echo", {"name": "broken"}], "max_turns": 4}"#;

#[test]
fn five_calls_of_one_reply_are_made_and_their_results_go_to_the_model_in_order() {
    for sequential in [false, true] {
        let echo = |n: u32| format!(r#"{{"n": {n}}}"#);
        let arguments: Vec<String> = (0..5).map(echo).collect();
        let five: Vec<(&str, &str)> = arguments.iter().map(|arguments| ("echo", arguments.as_str())).collect();
        let mut world = World::new(&[&calls(&five), &says("done")]);
        let mut asked = call("model", "{}", STEP);
        if sequential {
            let mut fields = asked.input.as_object().cloned().unwrap_or_default();
            fields.insert("sequential".into(), Value::Bool(true));
            asked.input = Value::from(fields);
        }
        let result = run(agent_program(), &asked, &mut world);
        assert_eq!(text(&result, "output"), "done");
        assert_eq!(world.tools.len(), 5);
        let messages = world.asked[1].get("since").and_then(Value::as_list).expect("what was said since");
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
fn what_a_document_has_set_for_a_tool_goes_with_its_calls() {
    let step = r#"{"prompt": "Do it.", "tools": ["echo", {"name": "find", "configuration": {"limit": 3}}]}"#;
    let mut world = World::new(&[&calls(&[("echo", "{}"), ("find", r#"{"q": "x"}"#)]), &says("done")]);
    run(agent_program(), &call("model", "{}", step), &mut world);
    let set = |tool: &str| {
        let called = world.tools.iter().find(|asked| text(asked, "tool") == tool).expect("it was called");
        called.get("configuration").cloned().unwrap_or_default()
    };
    assert_eq!((set("echo"), set("find")), (Value::Null, value(r#"{"limit": 3}"#)));
}

#[test]
fn what_goes_wrong_with_a_tool_is_told_to_the_model() {
    let mut world = World::new(&[&calls(&[("broken", "{}"), ("made_up", "{}")]), &says("I see")]);
    let result = run(agent_program(), &call("model", "{}", STEP), &mut world);
    assert_eq!(text(&result, "output"), "I see");
    let messages = world.asked[1].get("since").and_then(Value::as_list).expect("what was said since");
    assert_eq!(text(&messages[1], "error"), "it is broken");
    assert_eq!(text(&messages[2], "error"), "there is no tool `made_up`; offered are: echo, broken");
    assert_eq!(world.tools.len(), 1, "what is not offered is not called");
}

#[test]
fn a_turn_ends_when_it_has_used_up_what_it_may() {
    let endless: Vec<String> = (0..20).map(|_| calls(&[("echo", "{}")])).collect();
    let endless: Vec<&str> = endless.iter().map(String::as_str).collect();
    for (bound, kind, turns, tools) in [
        (r#""max_turns": 3"#, "max_turns", 3, 3),
        (r#""token_budget": 150"#, "token_budget", 2, 1),
        (r#""cost_budget_micros": 10"#, "cost_budget", 1, 0),
    ] {
        let mut world = World::new(&endless);
        let asked = format!(r#"{{"prompt": "Go.", "tools": ["echo"], {bound}}}"#);
        let result = run(agent_program(), &call("model", "{}", &asked), &mut world);
        assert_eq!((text(&result, "kind"), world.asked.len()), (kind, turns), "{result}");
        assert_eq!(world.tools.len(), tools, "the reply that uses up a budget calls no tools: {result}");
        assert!(text(&result, "message").contains(bound.split('"').nth(1).expect("a name")), "{result}");
        assert!(
            matches!(agent::answer(&result, Usage::default()), Answer::Failed(failed) if !failed.retry.allows_retry() && &*failed.kind == kind)
        );
    }
}

#[test]
fn a_model_that_fails_ends_the_turn_and_keeps_what_was_said() {
    let mut world = World::new(&[&calls(&[("echo", "{}")])]);
    let result = run(agent_program(), &call("model", "{}", STEP), &mut world);
    assert_eq!((text(&result, "status"), text(&result, "message")), ("failed", "nothing to say"));
    assert_eq!(result.get("messages").and_then(Value::as_list).map(<[Value]>::len), Some(2));
}

#[test]
fn thoughts_go_back_as_they_came() {
    let thinking =
        r#"{"text": "", "toolCalls": [{"id": "c", "name": "echo", "arguments": {}}], "thoughts": {"signed": 1}}"#;
    let mut world = World::new(&[thinking, &says("done")]);
    run(agent_program(), &call("model", "{}", STEP), &mut world);
    let messages = world.asked[1].get("since").and_then(Value::as_list).expect("what was said since");
    assert_eq!(messages[0].get("thoughts"), Some(&value(r#"{"signed": 1}"#)));
}

#[test]
fn a_condition_of_the_document_ends_the_turn() {
    let spec = r#"{"fixed": {"stop_when": {"if": "{{input}} == {{step.goal.output}}"}}}"#;
    let spec_value = effect("model", spec);
    let program = match agent_program_for(&spec_value) {
        Ok(program) => program.expect("it has a condition"),
        Err(problems) => panic!("{problems}"),
    };
    let reply = r#"{"text": "enough", "toolCalls": [{"id": "c", "name": "echo", "arguments": {}}]}"#;
    let asked = r#"{"prompt": "Go.", "tools": ["echo"], "stop_when_values": {"step.goal.output": "enough"}}"#;
    let mut world = World::new(&[reply, &says("too late")]);
    let result = run(&program, &call("model", spec, asked), &mut world);
    assert_eq!((text(&result, "status"), text(&result, "output")), ("completed", "enough"), "{result}");
    assert!(world.tools.is_empty());
    assert!(agent_program_for(&effect("model", "{}")).is_ok_and(|none| none.is_none()));
}

const GRAPH: &str = r#"{"system": "Boss.", "prompt": "Plan a trip.", "model": "m", "reasoning_effort": "low",
    "tools": {"web_search": true, "subagents": true},
    "subagents": [{"id": "n2", "name": "Scout", "tool": "subagent_scout_n2", "system": "Look.", "model": "s", "reasoning_effort": "low",
        "tools": {"web_search": true}}]}"#;

#[test]
fn an_agent_below_is_a_tool_and_its_turn_a_run_one_level_deeper() {
    let mut world = World::new(&[
        &calls(&[("subagent_scout_n2", r#"{"message": "Find a train."}"#)]),
        &calls(&[("web_search", r#"{"query": "train"}"#)]),
        &says("Take the 9:15."),
        &says("All set."),
    ]);
    let result = run(agent_program(), &call("model", "{}", GRAPH), &mut world);
    assert_eq!(text(&result, "output"), "All set.");
    assert_eq!(world.asked.len(), 4);
    assert_eq!((text(&world.asked[1], "system"), text(&world.asked[1], "model")), ("Look.", "s"));
    assert_eq!(text(&world.asked[1], "prompt"), "Find a train.", "the message alone, not the arguments around it");
    let told = world.asked[3].get("since").and_then(Value::as_list).expect("what was said since");
    assert_eq!(told[1].get("content"), Some(&Value::from("Take the 9:15.")));
    assert_eq!(
        result.get("usage"),
        Some(&value(r#"{"tokens": 400, "cost_micros": 40}"#)),
        "the agents below count too"
    );
    let tools = world.asked[0].get("tools").and_then(Value::as_list).expect("tools");
    assert_eq!(tools.iter().map(|tool| text(tool, "name")).collect::<Vec<_>>(), ["web_search", "subagent_scout_n2"]);
}

/// Each call of the model uses 100 tokens and 10 millionths. The agent below gets what is left of the budget around it.
#[test]
fn agents_below_share_the_budget_of_the_agent_above() {
    let searches = || calls(&[("web_search", "{}")]);
    for budget in [r#""token_budget": 150"#, r#""cost_budget_micros": 15"#] {
        let asked = GRAPH.replacen('{', &format!("{{{budget}, "), 1);
        let scout = calls(&[("subagent_scout_n2", r#"{"message": "Go."}"#)]);
        let mut world = World::new(&[&scout, &searches(), &searches(), &says("found"), &says("done")]);
        let result = run(agent_program(), &call("model", "{}", &asked), &mut world);
        assert_eq!(world.asked.len(), 2, "the agent below makes one call with what is left");
        assert!(text(&result, "kind").ends_with("_budget"), "{result:?}");
    }
}

#[test]
fn agents_that_are_called_together_divide_what_is_left() {
    let asked = GRAPH.replacen('{', r#"{"token_budget": 300, "#, 1);
    let go = ("subagent_scout_n2", r#"{"message": "Go."}"#);
    let searches = calls(&[("web_search", "{}")]);
    let mut world = World::new(&[&calls(&[go, go]), &searches, &searches, &searches, &says("done")]);
    let result = run(agent_program(), &call("model", "{}", &asked), &mut world);
    assert_eq!(world.asked.len(), 3, "100 tokens are left for each, which is one call");
    assert_eq!(text(&result, "kind"), "token_budget");
}

#[test]
fn one_reply_calls_at_most_eight_agents() {
    let go = ("subagent_scout_n2", r#"{"message": "Go."}"#);
    let replies = [calls(&[go; 10])].into_iter().chain(std::iter::repeat_n(says("found"), 8)).chain([says("done")]);
    let replies: Vec<String> = replies.collect();
    let mut world = World::new(&replies.iter().map(String::as_str).collect::<Vec<_>>());
    let result = run(agent_program(), &call("model", "{}", GRAPH), &mut world);
    assert_eq!((world.asked.len(), text(&result, "output")), (10, "done"));
    let since = world.asked[9].get("since").and_then(Value::as_list).expect("what was said since");
    let refused =
        since.iter().filter(|said| said.get("error").is_some_and(|error| error.to_string().contains("at most 8")));
    assert_eq!(refused.count(), 2);
}

#[test]
fn a_message_that_is_no_text_reaches_the_agent_below_as_json() {
    for (arguments, prompt) in
        [(r#"{"message": {"to": "Rome"}}"#, r#"{"to":"Rome"}"#), (r#"{"msg": "Go."}"#, r#"{"msg":"Go."}"#)]
    {
        let mut world = World::new(&[&calls(&[("subagent_scout_n2", arguments)]), &says("found"), &says("done")]);
        run(agent_program(), &call("model", "{}", GRAPH), &mut world);
        assert_eq!(text(&world.asked[1], "prompt"), prompt);
    }
}

#[test]
fn arguments_that_are_no_object_reach_no_tool_and_the_model_is_told() {
    let mut world = World::new(&[&calls(&[("echo", r#""{\"n\": 1, oo""#), ("echo", "[1]")]), &says("I see")]);
    run(agent_program(), &call("model", "{}", STEP), &mut world);
    assert!(world.tools.is_empty());
    let since = world.asked[1].get("since").and_then(Value::as_list).expect("what was said since");
    let told = "the arguments of `echo` are not a JSON object, so it was not called: ";
    assert_eq!(text(&since[1], "error"), format!("{told}{{\"n\": 1, oo"));
    assert_eq!(text(&since[2], "error"), format!("{told}[1]"));
}

#[test]
fn the_model_of_a_turn_is_asked_with_everything_that_the_call_says() {
    let asked = r#"{"prompt": "Hi.", "system": "Short.", "model": "gpt-5", "model_variant": "mini",
        "top_p": 0.5, "attachments": [{"mime": "image/png", "data": "aGk="}], "tools": ["echo"],
        "max_turns": 3, "seed": null}"#;
    let spec = r#"{"response": {"output_schema": {"type": "object"}}, "secrets": [{"at": [{"field": "system"}]}]}"#;
    let mut world = World::new(&[&calls(&[("echo", "{}")]), &says("done")]);
    let call = call("model", spec, asked);
    let program = agent_program_for(&call.definition).ok().flatten().expect("it names secrets");
    run(&program, &call, &mut world);
    let expected = r#"{"prompt": "Hi.", "system": "Short.", "model": "gpt-5", "model_variant": "mini",
        "top_p": 0.5, "attachments": [{"mime": "image/png", "data": "aGk="}],
        "schema": {"type": "object"}, "since": [], "tools": [{"name": "echo"}]}"#;
    assert_eq!(world.asked[0], value(expected));
    let model = program.effects.iter().find(|effect| effect.kind == Kind::Model).expect("it asks a model");
    assert_eq!(model.secrets, call.definition.secrets, "secrets stand where the call says so");
}

#[test]
fn the_program_is_the_same_each_time() {
    let bytes = |program: &Program| branchpoint_core::codec::encode_program(program).expect("it can be written");
    let spec = effect("model", r#"{"fixed": {"stop_when": {"if": "{{input}} == 'x'"}}}"#);
    let stopping = || agent_program_for(&spec).ok().flatten().expect("it has a condition");
    assert_eq!(bytes(&stopping()), bytes(&stopping()));
    assert!(!agent::is_turn(&call("model", "{}", r#"{"prompt": "hi", "tools": []}"#)));
    assert!(!agent::is_turn(&call("model", r#"{"fixed": {"task": "reply"}}"#, r#"{"tools": ["x"]}"#)));
    assert!(agent::is_turn(&call("model", "{}", r#"{"prompt": "hi", "tools": ["x"]}"#)));
}
