//! Tools that a call only names: whoever knows them is asked once, and not for longer than the call may take.

use std::sync::{Arc, Mutex};

use branchpoint_runners::Answer;
use branchpoint_runners::models::ToolDescription;

use super::provider::{Does, Provider};
use super::{call, models, perform, value};

const TOOLS: &str = r#"{"messages": [{"role": "user", "content": "x"}], "tools": ["one",
    {"name": "two", "description": "Is described.", "parameters": {"type": "object"}}, "three"]}"#;

#[test]
fn what_is_only_named_is_described_by_the_catalogue_all_at_once() {
    let provider = Provider::new(vec![Does::Says("done")]);
    let mut models = models(&provider, "openai");
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&asked);
    models.catalogue = Arc::new(move |names| {
        let described = |name: &String| {
            let parameters = Some(value(r#"{"type": "object", "properties": {"x": {}}}"#));
            (name == "three").then(|| ToolDescription { description: Some("Is known.".into()), parameters })
        };
        kept.lock().expect("no panic").push(names.join(" "));
        Box::pin(std::future::ready(names.iter().map(described).collect()))
    });
    perform(&models, &call("model", r#"{"fixed": {"task": "reply"}, "response": {"format": "reply"}}"#, TOOLS));
    assert_eq!(*asked.lock().expect("no panic"), ["one three"]);
    let sent = &provider.requests()[0].body["tools"];
    let told = |at: usize| (&sent[at]["function"]["name"], &sent[at]["function"]["description"]);
    assert_eq!(told(0).0, "one");
    assert_eq!((told(1).1, told(2).0, told(2).1), (&"Is described.".into(), &"three".into(), &"Is known.".into()));
    assert!(sent[2]["function"]["parameters"]["properties"]["x"].is_object(), "{sent}");
}

#[test]
fn optional_tools_that_nothing_describes_are_not_offered() {
    let provider = Provider::new(vec![Does::Says("done")]);
    let mut models = models(&provider, "openai");
    models.catalogue = Arc::new(|names| {
        let described = |name: &String| (name == "three").then(ToolDescription::default);
        Box::pin(std::future::ready(names.iter().map(described).collect()))
    });
    let optional = r#"{"fixed": {"task": "reply", "optional_tools": true}, "response": {"format": "reply"}}"#;
    perform(&models, &call("model", optional, TOOLS));
    let sent = &provider.requests()[0].body["tools"];
    let names: Vec<_> = sent.as_array().expect("tools").iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(names, ["two", "three"]);
}

#[test]
fn a_catalogue_that_is_slow_is_within_the_limit_of_the_call() {
    let provider = Provider::new(vec![Does::Says("done")]);
    let mut models = models(&provider, "openai");
    models.catalogue = Arc::new(|_| Box::pin(std::future::pending()));
    let limited =
        call("model", r#"{"fixed": {"task": "reply"}, "response": {"format": "reply"}}"#, TOOLS).with_time_limit(50);
    assert_eq!(perform(&models, &limited), Answer::Missing);
}
