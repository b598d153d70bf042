//! Tools that a call gives by name: the catalogue is queried once, within the time limit of the call.

use std::sync::{Arc, Mutex};

use branchpoint_runners::Answer;
use branchpoint_runners::models::ToolDescription;

use super::provider::{Does, Provider};
use super::{call, models, perform, value};

const TOOLS: &str = r#"{"messages": [{"role": "user", "content": "x"}], "tools": ["one",
    {"name": "two", "description": "Is described.", "parameters": {"type": "object"}}, "three"]}"#;

#[test]
fn tools_given_by_name_are_described_in_one_query_of_the_catalogue() {
    let provider = Provider::new(vec![Does::Says("done")]);
    let mut models = models(&provider, "openai");
    let queries = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&queries);
    models.catalogue = Arc::new(move |names| {
        let described = |name: &String| {
            let parameters = Some(value(r#"{"type": "object", "properties": {"x": {}}}"#));
            (name == "three").then(|| ToolDescription { description: Some("Is known.".into()), parameters })
        };
        list.lock().expect("no panic").push(names.join(" "));
        Box::pin(std::future::ready(names.iter().map(described).collect()))
    });
    perform(&models, &call("model", r#"{"fixed": {"task": "reply"}, "response": {"format": "reply"}}"#, TOOLS));
    assert_eq!(*queries.lock().expect("no panic"), ["one three"]);
    let sent = &provider.requests()[0].body["tools"];
    let tool = |at: usize| (&sent[at]["function"]["name"], &sent[at]["function"]["description"]);
    assert_eq!(tool(0).0, "one");
    assert_eq!((tool(1).1, tool(2).0, tool(2).1), (&"Is described.".into(), &"three".into(), &"Is known.".into()));
    assert!(sent[2]["function"]["parameters"]["properties"]["x"].is_object(), "{sent}");
}

#[test]
fn optional_tools_without_a_description_are_not_offered() {
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
fn a_slow_catalogue_counts_towards_the_time_limit_of_the_call() {
    let provider = Provider::new(vec![Does::Says("done")]);
    let mut models = models(&provider, "openai");
    models.catalogue = Arc::new(|_| Box::pin(std::future::pending()));
    let limited =
        call("model", r#"{"fixed": {"task": "reply"}, "response": {"format": "reply"}}"#, TOOLS).with_time_limit(50);
    assert_eq!(perform(&models, &limited), Answer::Missing);
}
