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
        (&["runs", "tag", "one", "+"], "a tag must not be empty"),
        (&["run", "hello.yaml", "--priority", "101"], "from -100 to 100"),
        (&["run", "hello.yaml", "--tag", ""], "a tag must not be empty"),
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

/// A workflow whose only step waits until a file is there.
const SLOW: &str = "name: slow\nlimits: {concurrent: 1, per: \"{{metadata.customer}}\"}\nsteps:\n  - {id: work, step_type: command, command: \"while [ ! -e go ]; do sleep 0.05; done; echo done\"}\n";

fn detach(place: &Place, id: &str, customer: &str, more: &[&str]) {
    let input = format!("metadata.customer={customer}");
    let started = place.run(&[&["run", "slow.yaml", "--detach", "--id", id, "-i", &input], more].concat());
    assert!(started.status.success(), "{}", err(&started));
}

#[test]
fn runs_over_a_limit_are_queued_and_shown_with_the_reason() {
    let place = Place::new(&[("slow.yaml", SLOW)]);
    for (id, customer, priority) in [("a1", "acme", "0"), ("a2", "acme", "0"), ("a3", "acme", "5"), ("b1", "beta", "0")]
    {
        detach(&place, id, customer, &["--priority", priority]);
    }
    let mut worker = place.spawn(&["work"]);
    let running = |id: &str| {
        let shown = json(&place, &["runs", "show", id, "--json"]);
        shown["queued"].is_null() && shown["driven_by"].is_string()
    };
    for _ in 0..600 {
        if running("a3") && running("b1") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let queued = json(&place, &["runs", "show", "a2", "--json"])["queued"].clone();
    assert_eq!(queued["position"], 2, "{queued}");
    assert_eq!(queued["group"], "acme");
    assert_eq!(queued["reason"], "1 of 1 runs of group `acme` are running");
    let text = out(&place.run(&["runs", "show", "a1"]));
    assert!(text.contains("queued at position 1: 1 of 1 runs of group `acme` are running"), "{text}");
    let list = out(&place.run(&["runs", "list"]));
    assert!(list.contains("queued at position 2"), "{list}");
    let cancelled = place.run(&["runs", "cancel", "a2"]);
    assert!(err(&cancelled).contains("cancel"), "{}", err(&cancelled));
    // A killed process gives its slots back.
    worker.kill().expect("it is killed");
    worker.wait().expect("it has ended");
    std::fs::write(place.path().join("go"), "").expect("it is written");
    let mut worker = place.spawn(&["work"]);
    for id in ["a1", "a3", "b1"] {
        let watched = place.run(&["runs", "watch", id]);
        assert!(watched.status.success(), "{id}: {}", err(&watched));
    }
    worker.kill().expect("it is killed");
    worker.wait().expect("it has ended");
    assert_eq!(json(&place, &["runs", "show", "a2", "--json"])["status"], "cancelled");
}

#[test]
fn a_run_in_the_foreground_waits_for_its_turn() {
    let place = Place::new(&[("slow.yaml", SLOW)]);
    let mut first = place.spawn(&["run", "slow.yaml", "--id", "one", "-i", "metadata.customer=acme"]);
    for _ in 0..600 {
        if place.run(&["runs", "show", "one", "--json"]).status.success() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let second = place.spawn(&["run", "slow.yaml", "--id", "two", "-i", "metadata.customer=acme"]);
    for _ in 0..600 {
        let shown = place.run(&["runs", "show", "two", "--json"]);
        if out(&shown).contains("\"position\": 1") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    std::fs::write(place.path().join("go"), "").expect("it is written");
    assert!(first.wait().expect("it ends").success());
    let second = second.wait_with_output().expect("it ends");
    assert!(second.status.success(), "{}", err(&second));
    assert!(
        err(&second).contains("Queued at position 1: 1 of 1 runs of group `acme` are running."),
        "{}",
        err(&second)
    );
    assert_eq!(out(&second).trim(), "done");
}

#[test]
fn the_operator_limits_workflows_by_name() {
    let settings = "[limits.workflow.\"hello\"]\nrate = \"1/d\"\n";
    let place = Place::new(&[("hello.yaml", HELLO), ("branchpoint.toml", settings)]);
    assert!(place.run(&["run", "hello.yaml", "--id", "one"]).status.success());
    let detached = place.run(&["run", "hello.yaml", "--id", "two", "--detach"]);
    assert!(detached.status.success(), "{}", err(&detached));
    let queued = json(&place, &["runs", "show", "two", "--json"])["queued"].clone();
    let reason = queued["reason"].as_str().expect("it is queued");
    assert!(reason.starts_with("the rate 1/d of workflow `hello` is used up for "), "{reason}");
    assert!(reason.ends_with("(limit of the operator)"), "{reason}");
    for (limits, expected) in [
        ("concurrent = 0", "`concurrent` must be an integer from 1 to 10000"),
        ("rate = \"often\"", "`rate` must be"),
        ("burst = 1\nconcurrent = 1", "have no field `burst`"),
    ] {
        let settings = format!("[limits.workflow.\"hello\"]\n{limits}\n");
        let place = Place::new(&[("hello.yaml", HELLO), ("branchpoint.toml", &settings)]);
        let refused = place.run(&["run", "hello.yaml"]);
        assert!(!refused.status.success() && err(&refused).contains(expected), "{}", err(&refused));
    }
}

const FAILS: &str = "name: fails\nsteps:\n  - {id: work, step_type: command, command: \"test -e go\"}\n";

#[test]
fn bulk_actions_preview_confirm_and_report() {
    let place = Place::new(&[("fails.yaml", FAILS), ("hello.yaml", HELLO)]);
    for id in ["one", "two", "three"] {
        let failed = place.run(&["run", "fails.yaml", "--id", id, "--tag", "nightly"]);
        assert_eq!(failed.status.code(), Some(3), "{}", err(&failed));
    }
    assert!(place.run(&["run", "hello.yaml", "--id", "fine", "--tag", "nightly"]).status.success());
    let retry = ["runs", "retry", "--where", "tag=nightly", "--where", "since=1h"];
    let preview = json(&place, &[&retry[..], &["--dry-run", "--json"]].concat());
    assert_eq!(preview["runs"], serde_json::json!(["one", "two", "three"]));
    assert_eq!(preview["skipped"], serde_json::json!([{"run": "fine", "reason": "they have not failed"}]));
    let shown = place.run(&[&retry[..], &["--dry-run"]].concat());
    assert!(out(&shown).contains("two") && err(&shown).contains("3 runs would be retried"), "{}", err(&shown));
    let refused = place.run(&retry);
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("this would retry 3 runs"), "{}", err(&refused));
    assert_eq!(listed(&place, &[]).len(), 4, "nothing was retried");
    std::fs::write(place.path().join("go"), "").expect("it is written");
    let retried = place.run(&[&retry[..], &["--yes"]].concat());
    assert!(retried.status.success(), "{}", err(&retried));
    assert_eq!(out(&retried), "3 runs retried: completed\n");
    assert_eq!(listed(&place, &["--tag", "nightly"]).len(), 7, "the new runs have the tags of the old ones");
    for (filter, expected) in [
        ("state=failed", "there is no filter `state`"),
        ("failed", "is not a filter"),
        ("status=broken", "unknown status `broken`"),
    ] {
        let refused = place.run(&["runs", "cancel", "--where", filter, "--yes"]);
        assert!(!refused.status.success() && err(&refused).contains(expected), "{}", err(&refused));
    }
    let nothing = place.run(&["runs", "cancel", "--where", "workflow=hello", "--yes"]);
    assert!(nothing.status.success() && err(&nothing).contains("No runs to cancel"), "{}", err(&nothing));
}

#[test]
fn queued_and_abandoned_runs_are_cancelled_and_resumed_in_bulk() {
    let place = Place::new(&[("slow.yaml", SLOW)]);
    for (id, customer) in [("one", "acme"), ("two", "acme"), ("three", "beta")] {
        detach(&place, id, customer, &["--tag", customer]);
    }
    let cancelled = place.run(&["runs", "cancel", "--where", "tag=beta", "--reason", "not needed"]);
    assert_eq!(out(&cancelled), "1 run cancelled: cancelled\n", "{}", err(&cancelled));
    std::fs::write(place.path().join("go"), "").expect("it is written");
    let resumed = json(&place, &["runs", "resume", "--where", "workflow=slow", "--yes", "--json"]);
    assert_eq!(
        resumed["runs"],
        serde_json::json!([{"run": "one", "status": "completed"}, {"run": "two", "status": "completed"}])
    );
}
