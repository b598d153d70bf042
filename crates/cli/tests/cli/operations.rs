//! Tags, priorities, limits and bulk actions.

use super::running::{Place, err, out};

const HELLO: &str = "name: hello\nsteps:\n  - {id: greet, step_type: text, template: \"Hello, {{input}}!\"}\n";

/// The JSON that a command prints.
#[track_caller]
fn json(place: &Place, arguments: &[&str]) -> serde_json::Value {
    let output = place.run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", err(&output));
    serde_json::from_str(&out(&output)).expect("it prints JSON")
}

/// The ids in the list of runs with a filter.
#[track_caller]
fn listed(place: &Place, filter: &[&str]) -> Vec<String> {
    let runs = json(place, &[&["runs", "list", "--json"], filter].concat());
    let ids =
        runs.as_array().expect("it is a list").iter().map(|run| run["run"].as_str().expect("it has an id").to_owned());
    ids.collect()
}

#[test]
fn tags_are_set_at_the_start_changed_and_filtered() {
    let place = Place::new(&[("hello.yaml", HELLO)]);
    for (id, tags) in [("one", &["--tag", "acme", "--tag", "nightly"][..]), ("two", &["--tag", "acme"]), ("three", &[])]
    {
        let started = place.run(&[&["run", "hello.yaml", "--id", id, "--priority", "-5"], tags].concat());
        assert!(started.status.success(), "{}", err(&started));
    }
    assert_eq!(listed(&place, &["--tag", "acme"]), ["two", "one"]);
    assert_eq!(listed(&place, &["--tag", "acme", "--tag", "nightly"]), ["one"]);
    let changed = place.run(&["runs", "tag", "one", "-acme", "+late one"]);
    assert_eq!(out(&changed), "Tags of run `one`: late one, nightly\n", "{}", err(&changed));
    assert_eq!(listed(&place, &["--tag", "acme"]), ["two"]);
    let shown = json(&place, &["runs", "show", "one", "--json"]);
    assert_eq!(shown["tags"], serde_json::json!(["late one", "nightly"]));
    assert_eq!(shown["priority"], -5);
    let text = out(&place.run(&["runs", "show", "one"]));
    assert!(text.contains("late one, nightly") && text.contains("-5"), "{text}");
    for (arguments, expected) in [
        (&["runs", "tag", "one", "acme"][..], "write `+acme`"),
        (&["runs", "tag", "one", "+"], "a tag is not empty"),
        (&["run", "hello.yaml", "--priority", "101"], "from -100 to 100"),
        (&["run", "hello.yaml", "--tag", ""], "a tag is not empty"),
    ] {
        let refused = place.run(arguments);
        assert!(!refused.status.success() && err(&refused).contains(expected), "{arguments:?}: {}", err(&refused));
    }
    assert_eq!(listed(&place, &[]).len(), 3, "a start that is refused stores nothing");
}

#[test]
fn tags_and_priorities_are_exported_and_imported() {
    let place = Place::new(&[("hello.yaml", HELLO)]);
    assert!(place.run(&["run", "hello.yaml", "--id", "one", "--tag", "acme", "--priority", "7"]).status.success());
    let exported = place.run(&["runs", "export", "one"]);
    let other = Place::new(&[("runs.jsonl", &out(&exported))]);
    let imported = other.run(&["runs", "import", "runs.jsonl"]);
    assert!(imported.status.success(), "{}", err(&imported));
    let shown = json(&other, &["runs", "show", "one", "--json"]);
    assert_eq!((&shown["tags"], &shown["priority"]), (&serde_json::json!(["acme"]), &serde_json::json!(7)));
}

#[test]
fn lists_have_the_last_decision_of_a_run() {
    const GATE: &str = "name: gate\nsteps:\n  - id: size\n    step_type: if_else\n    conditions: [{target: input, operator: $eq, value: large}]\n    then_steps: [{id: big, step_type: text, template: big}]\n    else_steps: [{id: small, step_type: text, template: small}]\n";
    let place = Place::new(&[("gate.yaml", GATE)]);
    let started = place.run(&["run", "gate.yaml", "--id", "one", "-i", "input=tiny"]);
    assert!(started.status.success(), "{}", err(&started));
    let runs = json(&place, &["runs", "list", "--json"]);
    let decision = runs[0]["decision"].as_str().expect("it has decided");
    assert!(decision.starts_with("size → else"), "{decision}");
}
