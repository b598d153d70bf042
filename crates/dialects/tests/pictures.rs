//! Documents as pictures.

use std::path::Path;

use branchpoint_core::ir::picture::{NodeShape, Picture, dot, mermaid};
use branchpoint_dialects::{load, picture};
use branchpoint_expr::Dialect;
use serde_json::Value;

fn draw(source: &str, dialect: Dialect) -> Option<Picture> {
    let program = load(source, Some(dialect)).program?;
    Some(picture(&program, source, Some(dialect)))
}

/// The arrows of a document of steps, a line each: `from -> to: label`.
#[track_caller]
fn check(steps: &str, expect: &[&str]) {
    let source = format!("steps:\n{steps}");
    let picture = draw(&source, Dialect::Steps)
        .unwrap_or_else(|| panic!("the document does not load: {:?}", load(&source, None)));
    let arrows = picture.arrows.iter().map(|arrow| {
        let line = if arrow.failure { "~>" } else { "->" };
        let label = if arrow.label.is_empty() { String::new() } else { format!(": {}", arrow.label) };
        format!("{} {line} {}{label}", picture.nodes[arrow.from].title, picture.nodes[arrow.to].title)
    });
    assert_eq!(arrows.collect::<Vec<_>>(), expect);
}

#[test]
fn a_decision_has_an_arrow_with_a_condition_for_each_branch() {
    check(
        "  - {id: a, step_type: if_else, if: input == 'x', then_steps: [{id: b, step_type: text, template: t}]}\n  - {id: c, step_type: text, template: t}\n",
        &["start -> a", "a -> b: then: input == 'x'", "a -> c: else", "b -> c", "c -> end"],
    );
}

#[test]
fn a_loop_leads_back_to_itself() {
    check(
        "  - {id: a, step_type: while, if: len(input) < 5, body: [{id: b, step_type: text, template: t}]}\n  - {id: c, step_type: text, template: t}\n",
        &["start -> a", "a -> c: while_limit", "a -> b: len(input) < 5", "a -> c: else", "b -> a", "c -> end"],
    );
    check(
        "  - {id: a, step_type: for_each, input_template: '{{input}}', body: [{id: b, step_type: text, template: t}]}\n",
        &["start -> a", "a -> end", "a -> b: each item", "b -> a"],
    );
}

#[test]
fn branches_split_and_merge() {
    check(
        "  - {id: a, step_type: parallel, branches: [{name: x, steps: [{id: b, step_type: text, template: t}]}, {name: y, steps: [{id: c, step_type: text, template: t}]}]}\n  - {id: d, step_type: text, template: t}\n",
        &["start -> a", "a -> b", "a -> c", "b -> d", "c -> d", "d -> end"],
    );
}

#[test]
fn a_join_leads_to_its_merge() {
    check(
        "  - id: a\n    step_type: text\n    template: t\n    child_steps:\n      - {id: g, step_type: gate, if: input == 'x', child_steps: [{id: j, step_type: join, target: m}]}\n      - {id: m, step_type: merge}\n",
        &["start -> a", "a -> g", "a -> m", "g -> j: input == 'x'", "g -> end: else", "j -> m", "m -> end"],
    );
}

#[test]
fn a_merge_in_a_branch_keeps_the_arrows_of_the_decision() {
    check(
        "  - id: p\n    step_type: text\n    template: t\n    child_steps:\n      - {id: x, step_type: text, template: t, child_steps: [{id: j, step_type: join, target: m}]}\n      - {id: k, step_type: if_else, if: input == 'x', then_steps: [{id: m, step_type: merge}], else_steps: [{id: e, step_type: text, template: t}]}\n",
        &[
            "start -> p",
            "p -> x",
            "p -> k",
            "x -> j",
            "j -> m",
            "k -> m: then: input == 'x'",
            "k -> e: else",
            "m -> end",
            "e -> end",
        ],
    );
}

#[test]
fn the_arrows_of_a_machine_are_labelled_with_conditions() {
    let source = "name: n\nstates:\n  initial: a\n  a:\n    command: x\n    transitions:\n      - {when: states.a.ExitCode == 0, goto: l}\n      - goto: bad\n  l: {type: while, while: states.b.ExitCode != 0, break_when: states.b.Output == 'stop', body: [b], on_complete: good}\n  b: {command: y}\n  good: {type: terminal}\n  bad: {type: terminal, status: failure}\n";
    let picture = draw(source, Dialect::Machine).unwrap_or_else(|| panic!("{:?}", load(source, None)));
    let labels = |from: &str| -> Vec<String> {
        let arrows = picture.arrows.iter().filter(|arrow| &*picture.nodes[arrow.from].title == from);
        arrows.map(|arrow| format!("{}: {}", picture.nodes[arrow.to].title, arrow.label)).collect()
    };
    assert_eq!(labels("a"), ["l: states.a.ExitCode == 0", "bad: else"]);
    assert_eq!(labels("start"), ["a: "]);
    assert!(labels("l").contains(&"b: states.b.ExitCode != 0".to_owned()), "{:?}", labels("l"));
    assert!(labels("b").contains(&"good: states.b.Output == 'stop'".to_owned()), "{:?}", labels("b"));
}

#[test]
fn the_arrows_of_a_switch_are_labelled_with_values() {
    let source = r#"{"name": "n", "steps": [{"id": "s", "type": "switch", "config": {"variable": "{{ $x }}", "cases": [{"value": "gold", "blocks": [{"id": "a", "type": "finish", "config": {}}]}]}}]}"#;
    let picture = draw(source, Dialect::Flow).expect("the document loads");
    let labels: Vec<&str> = picture.arrows.iter().map(|arrow| &*arrow.label).collect();
    assert_eq!(labels, ["", "case gold", "default", ""]);
}

fn example(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(file);
    std::fs::read_to_string(path).expect("an example")
}

#[test]
fn a_graph_and_a_session_are_drawn_like_the_document() {
    let picture = draw(&example("graph/triage.json"), Dialect::Graph).expect("the document loads");
    let from = |title: &str| -> Vec<&str> {
        let arrows = picture.arrows.iter().filter(|arrow| &*picture.nodes[arrow.from].title == title);
        arrows.map(|arrow| &*picture.nodes[arrow.to].title).collect()
    };
    assert_eq!(from("start"), ["classify"]);
    assert_eq!(from("route"), ["billing", "engineer", "other"]);
    assert_eq!(from("billing"), ["end"]);
    let picture = draw(&example("session/guard.json"), Dialect::Session).expect("the document loads");
    assert!(picture.arrows.len() >= 4 && picture.arrows.iter().all(|arrow| arrow.from == 0 && !arrow.label.is_empty()));
}

#[test]
fn a_retry_leads_back_and_a_handler_is_dashed() {
    check(
        "  - {id: a, step_type: prompt_call, on_error: [{id: h, step_type: text, template: t}]}\n  - {id: r, step_type: retry, target_step_id: a, max_retries: 2}\n",
        &["start -> a", "a -> r", "a ~> h: on error", "h -> r", "r -> a", "r -> end"],
    );
}

#[test]
fn the_shape_of_a_box_shows_its_type() {
    let source = "steps:\n  - {id: w, step_type: while, if: 'false', body: [{id: b, step_type: human_in_the_loop, prompt: ok?}]}\n  - id: f\n    step_type: text\n    template: t\n    child_steps:\n      - {id: j, step_type: join, target: m}\n  - {id: m, step_type: merge}\n  - {id: s, step_type: switch, cases: [{name: a, match: a}], else_steps: [{id: e, step_type: text, template: t}]}\n";
    let picture = draw(source, Dialect::Steps).expect("the document loads");
    let shape = |title: &str| picture.nodes.iter().find(|node| &*node.title == title).map(|node| node.shape);
    let actual = ["start", "w", "b", "f", "m", "s"].map(shape);
    let expect =
        [NodeShape::End, NodeShape::Loop, NodeShape::People, NodeShape::Work, NodeShape::Merge, NodeShape::Decision];
    assert_eq!(actual, expect.map(Some));
}

/// The vectors of a file: documents and expectations.
fn vectors(file: &str, key: &str) -> Vec<(String, Value)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(file);
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("vectors")).expect("JSON");
    let vectors = file["vectors"].as_array().expect("a list").iter();
    let source = |vector: &Value| match vector["workflow_text"].as_str() {
        Some(text) => text.to_owned(),
        None => vector[key].to_string(),
    };
    vectors.map(|vector| (source(vector), vector["expect"].clone())).collect()
}

#[track_caller]
fn check_vectors(dialect: Dialect, file: &str, key: &str, ran: &str) {
    for (source, expect) in vectors(file, key) {
        let Some(picture) = draw(&source, dialect) else { continue };
        for step in expect[ran].as_array().into_iter().flatten().filter_map(Value::as_str) {
            assert!(picture.nodes.iter().any(|node| &*node.title == step), "{step} is missing in {source}");
        }
        assert!(picture.arrows.iter().any(|arrow| arrow.from == 0), "nothing starts in {source}");
        assert_eq!(mermaid(&picture).lines().count(), 1 + picture.nodes.len() + picture.arrows.len());
        assert_eq!(dot(&picture).lines().count(), 4 + picture.nodes.len() + picture.arrows.len());
    }
}

#[test]
fn every_step_that_runs_is_in_the_picture() {
    check_vectors(Dialect::Steps, "steps-runs.json", "workflow", "steps_run");
    check_vectors(Dialect::Flow, "flow-runs.json", "flow", "executed");
}
