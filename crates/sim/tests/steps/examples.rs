//! Every example of the dialect `steps` runs offline with its script.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use branchpoint_core::codec::{decode_program, encode_program};
use branchpoint_core::{State, replay};
use branchpoint_dialects::{LoadOptions, load_with, read};
use branchpoint_expr::{Dialect, Object, Value, instant_ms};
use branchpoint_host::{Script, VirtualDriver};

/// An example, its metadata, the vote if it differs from the script, and the output.
const RUNS: &[(&str, &str, Option<&str>, &str)] = &[
    ("content-type-route", "{}", None, "News"),
    ("premium-email", "{plan: premium, email: ada@example.com}", None, "mail-1"),
    ("premium-email", "{plan: basic, email: ada@example.com}", None, "mail-2"),
    ("classifier-switch", "{}", None, "Paged on-call about: a long enough input"),
    ("metadata-switch", "{content_type: text/plain}", None, "some noisy text"),
    ("trending-topics", "{}", None, "Five topics today."),
    ("reminders", "{}", None, r#"["m0","m1","m2"]"#),
    ("row-enrichment", "{}", None, r#"["n0","n1"]"#),
    ("retry-retrieval", "{}", None, r#"["found"]"#),
    ("quality-gate", "{}", None, "A good report."),
    ("approved-email", "{email: bob@example.com}", None, "mail-1"),
    ("approved-email", "{email: bob@example.com}", Some("deny"), "Rejected: deny"),
    ("low-confidence-review", "{email: bob@example.com}", None, "mail-1"),
    ("low-confidence-review", "{email: bob@example.com}", Some("deny"), "Held back: deny"),
    ("score-tiers", "{}", None, "Not sent."),
    ("safety-buckets", "{}", None, r#"{"outcome":"ship_it""#),
    (
        "gate-filters",
        "{category: technology, published_date: 2026-02-17, status: final, language: en}",
        None,
        "A summary.",
    ),
    ("gate-filters", "{category: sports}", None, ""),
    ("gates-if-else", "{}", None, "Forty-two."),
    ("gates-switch", "{}", None, "Finance desk"),
    ("gates-parallel", "{summary: true, tags: true}", None, "A summary.\na, b"),
    ("policies", "{}", None, "We guarantee that card *** is refunded."),
    ("attachments", "{}", None, r#"["one","two"]"#),
    ("budgets", "{}", None, "Second draft (stopped after 3100 tokens)"),
];

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/steps"))
}

#[test]
fn every_example_has_the_expected_output() {
    for (name, metadata, vote, expect) in RUNS {
        let output = run(name, metadata, *vote);
        assert!(output.starts_with(expect), "{name}: expected {expect:?}, got {output:?}");
    }
}

#[test]
fn every_example_is_run() {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let names = files.filter_map(|file| file.strip_suffix(".yaml").map(str::to_owned));
    let documents: BTreeSet<String> = names.filter(|name| !name.ends_with(".script")).collect();
    let run: BTreeSet<String> = RUNS.iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(documents, run);
}

fn run(name: &str, metadata: &str, vote: Option<&str>) -> String {
    let text = |suffix: &str| fs::read_to_string(folder().join(format!("{name}{suffix}"))).unwrap();
    let script = read(&text(".script.yaml")).unwrap().to_value();
    let scripted = script.as_object().unwrap().keys().map(ToString::to_string).collect();
    let options = LoadOptions { dialect: Some(Dialect::Steps), scripted, ..LoadOptions::default() };
    let loaded = load_with(&text(".yaml"), &options);
    assert!(loaded.diagnostics.is_empty(), "{name}: {:?}", loaded.diagnostics);
    let program = loaded.program.unwrap();
    let mut script = Script::read(&script).unwrap();
    let mut host = VirtualDriver::new(&program, instant_ms("2026-02-18T12:00:00Z").unwrap());
    host.start(Value::from("a long enough input"), facts(metadata)).unwrap();
    host.run_until_idle(&mut |call| script.simulate(call));
    if let Some(question) = host.requested_approvals().first().cloned() {
        let step = question.spec.get("step").and_then(Value::as_str).unwrap();
        let scripted = script.approval_answer(&step.into(), "", &[], &question.spec).map(|said| said.to_string());
        let choice = vote.map(ToOwned::to_owned).or(scripted).unwrap_or_else(|| panic!("{name} has no vote"));
        host.vote(question.request, "u1", &choice, None).unwrap();
        host.run_until_idle(&mut |call| script.simulate(call));
    }
    // A run is pinned to the bytes of its program, so the decoded program must give the same state and notes.
    let stored = decode_program(&encode_program(&program).unwrap()).unwrap();
    let (state, notes) = replay(&stored, State::new(), host.journal()).expect("the journal can be folded again");
    assert_eq!((&state, notes.as_slice()), (host.state(), host.notes()), "{name}");
    let result = host.result().unwrap_or_else(|| panic!("{name} has not ended"));
    assert_eq!(result.get("status").and_then(Value::as_str), Some("completed"), "{name}: {result:?}");
    result.get("output").unwrap().to_string()
}

fn facts(metadata: &str) -> Object {
    let value = |text: &str| read(text).unwrap().to_value();
    let attachments = "{input: [{storage_key: k1, mime: application/pdf, name: a.pdf}, \
                       {storage_key: k2, mime: image/png, name: b.png}, \
                       {storage_key: k3, mime: application/pdf, name: c.pdf}]}";
    [
        ("metadata", value(metadata)),
        ("content_type", Value::from("text/plain")),
        ("account", value("{owner: u1, admins: [u2]}")),
        ("attachments", value(attachments)),
    ]
    .into_iter()
    .map(|(key, value)| (key.into(), value))
    .collect()
}
