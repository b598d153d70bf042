//! Workflows that a document calls.

use std::collections::{BTreeMap, BTreeSet};

use branchpoint_dialects::{Library, LoadOptions, Loaded, load_all};
use branchpoint_expr::Dialect;

struct Files(BTreeMap<&'static str, &'static str>);

impl Library for Files {
    fn workflow(&self, name: &str) -> Option<String> {
        self.0.get(name).map(|text| (*text).to_owned())
    }

    fn root(&self) -> Option<&str> {
        Some("main")
    }
}

const CALL: &str = "steps: [{id: sub, step_type: call_workflow, workflow: child}]";

fn loaded(files: &[(&'static str, &'static str)], scripted: &[&str]) -> Loaded {
    let scripted = scripted.iter().map(|step| (*step).to_owned()).collect();
    let options = LoadOptions { dialect: Some(Dialect::Steps), scripted, ..LoadOptions::default() };
    load_all(CALL, &options, &Files(files.iter().copied().collect()))
}

#[track_caller]
fn check(files: &[(&'static str, &'static str)], children: &[&str], kinds: &[&str]) {
    let loaded = loaded(files, &[]);
    let actual: Vec<&str> = loaded.diagnostics.iter().map(|finding| finding.kind.as_str()).collect();
    assert_eq!(actual, kinds, "{:?}", loaded.diagnostics);
    assert_eq!(loaded.children.keys().map(|name| &**name).collect::<Vec<_>>(), children);
    assert_eq!(loaded.program.is_some(), kinds.is_empty());
}

#[test]
fn called_workflows_are_loaded_with_those_that_they_call() {
    check(&[("child", "steps: [{step_type: text, template: hi}]")], &["child"], &[]);
    check(
        &[("child", r#"{"name": "n", "description": "d", "uuid": "u", "steps": [{"type": "finish", "config": {}}]}"#)],
        &["child"],
        &[],
    );
    let deeper = "steps: [{step_type: call_workflow, workflow: deep}]";
    check(&[("child", deeper), ("deep", "steps: [{step_type: text, template: hi}]")], &["child", "deep"], &[]);
}

#[test]
fn errors_of_a_called_workflow_are_errors_of_the_document() {
    check(&[("child", "steps: []")], &[], &["no_steps"]);
    check(&[("child", "steps: [{step_type: call_workflow, workflow: main}]")], &["child"], &["circular_call"]);
    check(&[("child", "steps: [{step_type: call_workflow, workflow: child}]")], &["child"], &["circular_call"]);
    check(&[("child", "name: n\nstates: {initial: a, a: {type: terminal}}")], &[], &["unsupported"]);
}

#[test]
fn a_missing_workflow_is_reported_if_the_workflows_are_known() {
    check(&[], &[], &[]);
    let options =
        LoadOptions { dialect: Some(Dialect::Steps), callees: Some(BTreeSet::new()), ..LoadOptions::default() };
    let loaded = load_all(CALL, &options, &Files(BTreeMap::new()));
    assert_eq!(loaded.diagnostics[0].kind.as_str(), "workflow_not_found");
}

#[test]
fn a_scripted_answer_replaces_the_called_workflow() {
    let files = [("child", "steps: [{step_type: text, template: hi}]")];
    let kind = |loaded: &Loaded| loaded.program.as_ref().map(|program| program.effects[0].kind.to_string());
    assert_eq!(kind(&loaded(&files, &[])).as_deref(), Some("run"));
    assert_eq!(kind(&loaded(&files, &["sub"])).as_deref(), Some("scripted"));
    assert!(loaded(&files, &["sub"]).children.is_empty());
}

#[test]
fn an_agent_is_called_as_a_workflow() {
    let load = |call: &str, files: &[(&'static str, &'static str)], callees: &[&str]| {
        let callees = Some(callees.iter().map(|name| (*name).to_owned()).collect());
        let options = LoadOptions { dialect: Some(Dialect::Steps), callees, ..LoadOptions::default() };
        let source = format!("steps: [{{id: sub, step_type: call_agent{call}}}]");
        load_all(&source, &options, &Files(files.iter().copied().collect()))
    };
    let child = "steps: [{step_type: text, template: hi}]";
    for (call, name) in [(", agent: child", "child"), (", agent_id: child", "child"), ("", "default")] {
        let actual = load(call, &[(name, child)], &[name]);
        assert_eq!(actual.children.keys().map(|name| &**name).collect::<Vec<_>>(), [name], "{call}");
        let effect = &actual.program.expect("the document loads").effects[0];
        assert_eq!((effect.fixed["workflow"].to_string().as_str(), effect.response.child), (name, true));
        assert_eq!(load(call, &[], &[]).diagnostics[0].kind.as_str(), "workflow_not_found", "{call}");
    }
    assert_eq!(load(", agent: main", &[("main", child)], &["main"]).diagnostics[0].kind.as_str(), "circular_call");
}
