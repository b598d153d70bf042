//! Attachments as values: manifests, rules, selectors, and the attachments of model calls.

use branchpoint_dialects::{LoadOptions, load_with, read};
use branchpoint_expr::{Dialect, Object, Value};
use branchpoint_host::{Script, VirtualDriver};

/// A run that is started with two PDFs and an image.
const INPUT: &str = r#"{text: hello, attachments: [{storage_key: "sha256:1", mime: application/pdf, name: a.pdf, bytes: 1},
    {storage_key: "sha256:2", mime: image/png, name: b.png, bytes: 2}, {storage_key: "sha256:3", mime: application/pdf, name: c.pdf, bytes: 3}]}"#;

/// Runs steps with an input and scripted answers. Returns the result, and the input of the last call without a scripted answer.
fn run(steps: &str, input: &str, script: &str) -> (Value, Value) {
    let script = read(script).expect("the script is YAML").to_value();
    let scripted = script.as_object().expect("an object").keys().map(ToString::to_string).collect();
    let options = LoadOptions { dialect: Some(Dialect::Steps), scripted, ..LoadOptions::default() };
    let loaded = load_with(&format!("steps:\n{steps}"), &options);
    let program = loaded.program.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    let mut host = VirtualDriver::new(&program, 0);
    let facts = [("metadata".into(), Value::Null), ("content_type".into(), Value::Null)];
    host.start(read(input).expect("the input is YAML").to_value(), facts.into_iter().collect::<Object>()).unwrap();
    let mut script = Script::read(&script).expect("the script is valid");
    let mut last = Value::Null;
    host.run_until_idle(&mut |call| {
        last = call.input.clone();
        script.simulate(call)
    });
    let result = host.result().cloned().unwrap_or_default();
    let error = result.get("error").filter(|error| **error != Value::Null).and_then(|error| error.get("kind"));
    (error.or(result.get("output")).cloned().unwrap_or_default(), last)
}

#[track_caller]
fn check(steps: &str, script: &str, expect: &str) {
    assert_eq!(run(steps, INPUT, script).0.to_string(), expect, "{steps}");
}

/// A loop over the attachments that rules select.
fn names(rules: &str) -> String {
    format!(
        "  - {{id: l, step_type: for_each, iterate_attachments: true, {rules}, body: [{{id: b, step_type: text, template: '{{{{step.l.item.name}}}}'}}]}}"
    )
}

#[test]
fn rules_select_from_the_manifest_in_the_input() {
    for (rules, expect) in [
        ("attachment_rules: null", r#"["a.pdf","b.png","c.pdf"]"#),
        ("attachment_rules: [{kind: pattern, pattern: '*.pdf'}]", r#"["a.pdf","c.pdf"]"#),
        ("attachment_rules: [{source: agent, kind: index, index: 1}]", r#"["b.png"]"#),
        ("attachment_rules: [{kind: name, name: c.pdf}, {kind: all}], limit: 2", r#"["c.pdf","a.pdf"]"#),
        ("attachment_rules: [{kind: index, index: 9}]", "[]"),
        ("attachments: '*.png'", r#"["b.png"]"#),
        ("attachments: '2'", r#"["c.pdf"]"#),
        ("attachments: c.pdf", r#"["c.pdf"]"#),
    ] {
        check(&names(rules), "{}", expect);
    }
}

#[test]
fn an_input_without_a_manifest_has_no_attachments() {
    let text = format!("'{}'", r#"{"attachments": [{"storage_key": "sha256:1", "mime": "a/b", "name": "a.pdf"}]}"#);
    for input in ["hello", &text, "{attachments: [{title: x}]}", "{attachments: a.pdf}", "[]"] {
        assert_eq!(run(&names("attachment_rules: null"), input, "{}").0.to_string(), "[]", "{input}");
        let failing = names("attachment_rules: null, fail_on_empty: true");
        assert_eq!(run(&failing, input, "{}").0.to_string(), "for_each_empty", "{input}");
    }
}

#[test]
fn attachments_pass_through_steps_until_one_emits_a_manifest() {
    let show = |id: &str| format!("  - {{id: {id}, step_type: text, template: '{{{{attachments[0].name}}}}'}}\n");
    let emit = "  - {id: get, step_type: http, url: 'https://x.test'}\n";
    let steps = format!(
        "{}{emit}{}  - {{id: end, step_type: text, template: '{{{{step.one.output}}}} {{{{step.two.output}}}}'}}\n",
        show("one"),
        show("two")
    );
    check(
        &steps,
        "{get: [{$output: {text: output, attachments: [{storage_key: k, mime: a/b, name: d.bin}]}}]}",
        "a.pdf d.bin",
    );
    check(&steps, "{get: [plain]}", "a.pdf a.pdf");
    let rules =
        names("attachment_rules: [{source: step, step_id: get, kind: all}, {source: agent, kind: index, index: 0}]");
    let steps = format!("{emit}  - {{id: between, step_type: text, template: x}}\n{rules}");
    let output = "{get: [{$output: {storage_key: k, mime: a/b, name: d.bin, bytes: 1}}]}";
    check(&steps, output, r#"["d.bin","a.pdf"]"#);
}

#[test]
fn a_merge_of_several_values_has_the_attachments_of_all() {
    let steps = r"
  - id: fan
    step_type: parallel
    branches:
      - {name: one, steps: [{id: one, step_type: http, url: 'https://x.test'}, {id: j1, step_type: join, target: m}]}
      - {name: two, steps: [{id: two, step_type: http, url: 'https://x.test'}, {id: j2, step_type: join, target: m}]}
  - {id: m, step_type: merge, template: '{{attachments[*]}}'}
  - {id: end, step_type: text, template: '{{attachments[0].name}} {{attachments[1].name}} {{attachments[2].name}}'}
";
    let file =
        |name: &str| format!("[{{$output: {{attachments: [{{storage_key: {name}, mime: a/b, name: {name}}}]}}}}]");
    check(steps, &format!("{{one: {}, two: {}}}", file("x"), file("y")), "x y ");
}

#[test]
fn a_model_gets_the_stored_files_of_the_input_or_the_selection_of_its_step() {
    let given = |fields: &str, input: &str| {
        let (_, request) =
            run(&format!("  - {{id: p, step_type: prompt_call, prompt_template: Read{fields}}}"), input, "{}");
        let list = request.get("attachments").cloned().unwrap_or_default();
        let name = |file: &Value| file.get("name").map(ToString::to_string).unwrap_or_default();
        list.as_list().unwrap_or_default().iter().map(name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(given("", INPUT), "a.pdf b.png c.pdf");
    assert_eq!(given(", attachments: []", INPUT), "");
    assert_eq!(given(", attachments: '*.png'", INPUT), "b.png");
    assert_eq!(given(", attachment_rules: [{source: agent, kind: index, index: 2}]", INPUT), "c.pdf");
    assert_eq!(given("", "hello"), "");
    // Data cannot name files of the operator's folder or addresses.
    let elsewhere = "{attachments: [{storage_key: passwords.txt, mime: text/plain, name: p}, {storage_key: x, url: 'https://x.test'}]}";
    assert_eq!(given("", elsewhere), "");
}

#[test]
fn an_evaluation_is_given_the_stored_files_of_what_it_rates_or_what_its_step_chooses() {
    let key = format!("sha256:{}", "0".repeat(64));
    let emit =
        "  - {id: get, step_type: http, url: 'https://x.test'}\n  - {id: between, step_type: text, template: x}\n";
    let script = format!("{{get: [{{$output: {{attachments: [{{storage_key: '{key}', mime: a/b, name: d.bin}}]}}}}]}}");
    let given = |before: &str, fields: &str, script: &str| {
        let step = format!("{before}  - {{id: rate, step_type: evaluate_step, evaluation_prompt: Rate{fields}}}");
        let (_, request) = run(&step, INPUT, script);
        let list = request.get("attachments").cloned().unwrap_or_default();
        let name = |file: &Value| file.get("name").map(ToString::to_string).unwrap_or_default();
        list.as_list().unwrap_or_default().iter().map(name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(given("", "", "{}"), "a.pdf b.png c.pdf");
    assert_eq!(given(emit, ", target_step_id: get", &script), "d.bin");
    assert_eq!(given(emit, ", target_step_id: between", &script), "", "the rated output is a text");
    assert_eq!(given(emit, "", &script), "", "without a target the input is rated");
    assert_eq!(given(emit, ", target_step_id: get, attachments: []", &script), "");
    assert_eq!(given("", ", attachments: '*.png'", "{}"), "b.png");
    let rules = ", target_step_id: between, attachment_rules: [{source: step, step_id: get}, {source: agent, kind: index, index: 2}]";
    assert_eq!(given(emit, rules, &script), "d.bin c.pdf");
}
