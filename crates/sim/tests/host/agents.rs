//! Turns of agents with tools: every model call and tool call is recorded, so a turn resumes after the last finished call.

use branchpoint_core::Usage;
use branchpoint_core::effect::ModelResult;
use branchpoint_host::store::{Document, Workflow};

use super::*;

const DOCUMENT: &str = "steps:
  - {id: helper, step_type: agent, prompt: \"five things\", tools: [look], max_turns: 4}
";

const FIVE: &str = r#"{"text": "", "toolCalls": [
    {"id": "1", "name": "look", "arguments": {"n": 1}}, {"id": "2", "name": "look", "arguments": {"n": 2}},
    {"id": "3", "name": "look", "arguments": {"n": 3}}, {"id": "4", "name": "look", "arguments": {"n": 4}},
    {"id": "5", "name": "look", "arguments": {"n": 5}}]}"#;

fn reply(text: &str) -> Answer {
    Answer::Model(ModelResult { value: serde_json::from_str(text).expect("valid JSON"), ..ModelResult::default() })
}

/// Stores a document with the programs of its agents.
fn keep(host: &Host, text: &str) -> WorkflowNo {
    let loaded = branchpoint_dialects::load(text, None);
    let program = loaded.program.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let name = |name: &str| name.to_owned();
    let document = Document { name: name("a"), dialect: name("steps"), origin: name("a"), text: text.into() };
    let children = branchpoint_dialects::agent_programs([&program]).expect("the agent has no condition");
    let workflow = Workflow { document: &document, program: &program, children: &children };
    host.store().save(workflow, 0).expect("the document is stored")
}

#[test]
fn a_turn_that_was_killed_between_tool_calls_resumes_after_the_last_finished_call() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All);
    let workflow = keep(&host, DOCUMENT);
    start(&mut host, workflow, "r");
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut host, 1);
    let (run, model) = outputs.calls.pop().expect("the model is called");
    assert_eq!(model.kind().as_str(), "model", "{model:?}");
    host.settle(run, &model, reply(FIVE));
    outputs.collect(&mut host, 2);
    assert_eq!(outputs.calls.len(), 5, "five tools at once");
    let done: Vec<String> = outputs
        .calls
        .drain(..3)
        .map(|(run, call)| {
            host.settle(run, &call, Answer::data("found"));
            call.key()
        })
        .collect();
    outputs.collect(&mut host, 3);
    drop(host);

    let mut host = folder.host(DrivenRuns::All);
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut host, 4);
    let again: Vec<String> = outputs.calls.iter().map(|(_, call)| call.key()).collect();
    assert_eq!(again.len(), 2, "only unfinished calls are repeated: {again:?}");
    assert!(again.iter().all(|key| !done.contains(key)));
    for (run, call) in std::mem::take(&mut outputs.calls) {
        host.settle(run, &call, Answer::data("found"));
    }
    outputs.collect(&mut host, 5);
    let (run, model) = outputs.calls.pop().expect("the model receives the results of the tools");
    host.settle(run, &model, reply(r#"{"text": "all five", "toolCalls": []}"#));
    outputs.collect(&mut host, 6);
    assert_eq!(outputs.output("r"), &Value::from("all five"));
}

#[test]
fn the_usage_of_a_turn_counts_although_it_timed_out() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All);
    let workflow = keep(&host, &DOCUMENT.replace("max_turns: 4", "timeout: 10s"));
    start(&mut host, workflow, "r");
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut host, 1);
    let (run, model) = outputs.calls.pop().expect("the model is called");
    let usage = Usage { tokens: 70, cost_micros: 5 };
    host.settle(
        run,
        &model,
        Answer::Model(ModelResult {
            value: serde_json::from_str(FIVE).expect("valid JSON"),
            usage,
            ..ModelResult::default()
        }),
    );
    outputs.collect(&mut host, 2);
    assert_eq!(outputs.calls.len(), 5, "five tool calls are in flight");
    outputs.collect(&mut host, 20_000);
    assert_eq!(outputs.ended["r"].0, Status::Failed);
    let run = host.store().find_runs("r").expect("the store works").remove(0);
    assert_eq!(host.load(run.run).expect("it is there").state.usage(), usage);
}
