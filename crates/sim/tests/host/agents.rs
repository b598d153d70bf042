//! Turns of agents with tools: each call of a model and of a tool is recorded, so a killed process goes on after the last that ended.

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
    Answer::Model(ModelResult { value: serde_json::from_str(text).expect("this is JSON"), ..ModelResult::default() })
}

/// Keeps a document with the programs of its agents.
fn keep(host: &Host, text: &str) -> WorkflowNo {
    let loaded = branchpoint_dialects::load(text, None);
    let program = loaded.program.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let name = |name: &str| name.to_owned();
    let document = Document { name: name("a"), dialect: name("steps"), origin: name("a"), text: text.into() };
    let children = branchpoint_dialects::agent_programs([&program]).expect("it has no condition");
    let workflow = Workflow { document: &document, program: &program, children: &children };
    host.store().save(workflow, 0).expect("the store takes it")
}

#[test]
fn a_turn_that_was_killed_between_its_tools_goes_on_after_the_last_that_ended() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All);
    let workflow = keep(&host, DOCUMENT);
    start(&mut host, workflow, "r");
    let mut heard = Heard::default();
    heard.listen(&mut host, 1);
    let (run, model) = heard.calls.pop().expect("the model is asked");
    assert_eq!(model.kind().as_str(), "model", "{model:?}");
    host.settle(run, &model, reply(FIVE));
    heard.listen(&mut host, 2);
    assert_eq!(heard.calls.len(), 5, "five tools at once");
    let done: Vec<String> = heard
        .calls
        .drain(..3)
        .map(|(run, call)| {
            host.settle(run, &call, Answer::data("found"));
            call.key()
        })
        .collect();
    heard.listen(&mut host, 3);
    drop(host);

    let mut host = folder.host(DrivenRuns::All);
    let mut heard = Heard::default();
    heard.listen(&mut host, 4);
    let again: Vec<String> = heard.calls.iter().map(|(_, call)| call.key()).collect();
    assert_eq!(again.len(), 2, "only what had not ended is called again: {again:?}");
    assert!(again.iter().all(|key| !done.contains(key)));
    for (run, call) in std::mem::take(&mut heard.calls) {
        host.settle(run, &call, Answer::data("found"));
    }
    heard.listen(&mut host, 5);
    let (run, model) = heard.calls.pop().expect("the model hears what the tools found");
    host.settle(run, &model, reply(r#"{"text": "all five", "toolCalls": []}"#));
    heard.listen(&mut host, 6);
    assert_eq!(heard.output("r"), &Value::from("all five"));
}

#[test]
fn what_a_turn_has_used_up_counts_though_it_took_too_long() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All);
    let workflow = keep(&host, &DOCUMENT.replace("max_turns: 4", "timeout: 10s"));
    start(&mut host, workflow, "r");
    let mut heard = Heard::default();
    heard.listen(&mut host, 1);
    let (run, model) = heard.calls.pop().expect("the model is asked");
    let usage = Usage { tokens: 70, cost_micros: 5 };
    host.settle(
        run,
        &model,
        Answer::Model(ModelResult {
            value: serde_json::from_str(FIVE).expect("this is JSON"),
            usage,
            ..ModelResult::default()
        }),
    );
    heard.listen(&mut host, 2);
    assert_eq!(heard.calls.len(), 5, "the tools are called, and none answers");
    heard.listen(&mut host, 20_000);
    assert_eq!(heard.ended["r"].0, Status::Failed);
    let run = host.store().find_runs("r").expect("the store is fine").remove(0);
    assert_eq!(host.load(run.run).expect("it is there").state.usage(), usage);
}
