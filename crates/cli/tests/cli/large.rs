//! Large values: what is shown of them is short, whatever they would be when written out, and whole on request.

use std::fs;

use serde_json::{Value, json};

use super::running::{Place, err, exits, out};

/// Sets `x` to `[x, x]`: after 22 steps it would have more than 64 MiB when written out.
fn doubling() -> String {
    let set = |id: String, kind: &str, value: Value| json!({"id": id, "type": kind, "config": {"variables": [{"name": "x", "type": "array", "value": value}]}});
    let double = json!(["{{ $x }}", "{{ $x }}"]);
    let mut steps = vec![set("first".into(), "flow_variables", json!([1]))];
    steps.extend((1..=40).map(|step| set(format!("double{step}"), "setVariables", double.clone())));
    json!({"name": "doubling", "uuid": "3f0c5d2e-8f5b-4c55-9d0e-6a4f1c1f7a10", "steps": steps}).to_string()
}

#[test]
fn values_that_share_their_parts_are_stored_and_shown_as_small_as_they_are() {
    let place = Place::new(&[("doubling.json", &doubling())]);
    let ran = place.run(&["run", "doubling.json", "--id", "r"]);
    exits(&ran, 3);
    assert!(err(&ran).contains("[value_limit]"), "{}", err(&ran));
    let trace = place.run(&["runs", "trace", "r", "--json"]);
    exits(&trace, 0);
    assert!(trace.stdout.len() < 200_000, "{} bytes", trace.stdout.len());
    let explained = place.run(&["runs", "explain", "r", "double20", "--json"]);
    let records: Value = serde_json::from_str(&out(&explained)).expect("it is JSON");
    let output = &records[0]["output"];
    assert!(output["bytes"].as_u64().is_some_and(|bytes| bytes > 30 << 20), "{output}");
    assert!(output["truncated"].as_str().is_some_and(|text| text.contains("[[[[[[[[")), "{output}");
    let bytes = fs::metadata(place.store()).expect("it is there").len();
    assert!(bytes < 2 << 20, "the store has {bytes} bytes");
}

#[test]
fn a_large_value_is_truncated_in_json_and_complete_on_request() {
    let text = "a long text ".repeat(1_000);
    let workflow =
        format!("name: long\nsteps:\n  - {{id: one, step_type: text, template: '{text}{{{{metadata.SECRET_K}}}}'}}\n");
    let place = Place::new(&[("long.yaml", &workflow)]);
    exits(&place.run(&["run", "long.yaml", "--id", "r", "-i", r#"metadata:={"SECRET_K": "hunter2hunter2"}"#]), 0);
    let output = |arguments: &[&str]| {
        let report = place.run(arguments);
        exits(&report, 0);
        let report: Value = serde_json::from_str(&out(&report)).expect("it is JSON");
        report.get("steps").unwrap_or(&report)[0]["output"].clone()
    };
    for command in [&["runs", "trace", "r", "--json"][..], &["runs", "explain", "r", "one", "--json"]] {
        let cut = output(command);
        assert_eq!(cut["bytes"], 12_022, "{cut}");
        assert_eq!(cut["truncated"], text[..1024]);
        let whole = output(&[command, &["--full"]].concat());
        assert_eq!(whole, format!("{text}***"));
    }
}
