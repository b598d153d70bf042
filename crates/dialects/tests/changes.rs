//! What `changes` reports, for every dialect, and what is not a change.

use branchpoint_dialects::{Changes, ChangesError, changes, read, recognise_text};
use branchpoint_expr::{Object, Value};

const STEPS: &str = include_str!("../../cli/src/new/templates/approval.yaml");
const FLOW: &str = include_str!("../../cli/src/new/templates/flow.yaml");
const MACHINE: &str = include_str!("../../cli/src/new/templates/machine.yaml");
const SESSION: &str = include_str!("../../cli/src/new/templates/session.yaml");
const GRAPH: &str = include_str!("../../cli/src/new/templates/graph.yaml");

/// The changes after some replacements in a document. Each text to replace must be there.
#[track_caller]
fn edited(document: &str, edits: &[(&str, &str)]) -> Changes {
    let mut new = document.to_owned();
    for (from, to) in edits {
        assert!(new.contains(from), "{from} is not in the document");
        new = new.replacen(from, to, 1);
    }
    match changes(document, &new, None) {
        Ok(changes) => changes,
        Err(ChangesError::NewInvalid(findings)) => panic!("{findings:#?}\n{new}"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn changes_of_steps() {
    let changes = edited(
        STEPS,
        &[
            ("max_attempts: 3", "max_attempts: 5"),
            ("timeout: 60s", "timeout: 2m"),
            ("short, friendly reply", "long, formal reply"),
            ("choices: [send, discard]", "choices: [send, discard, later]\n    required_approvals: 2"),
            ("      - name: send\n", "      - name: later\n        match: later\n      - name: send\n"),
            ("match: send", "match: [send, ok]"),
            ("  - id: draft", "  - {id: log, step_type: text, template: started}\n  - id: draft"),
            ("      - id: held", "      - id: kept"),
        ],
    );
    insta::assert_snapshot!(changes.to_text());
    insta::assert_snapshot!("changes_of_steps_as_json", format!("{:#}", changes.to_json()));
}

#[test]
fn steps_that_move() {
    let old = "name: a\nsteps:\n  - {id: one, step_type: text, template: '1'}\n  - {id: two, step_type: text, template: '2'}\n  \
               - id: route\n    step_type: if_else\n    if: input == 'x'\n    then_steps:\n      - {id: three, step_type: text, template: '3'}\n  \
               - {id: four, step_type: text, template: '4'}\n";
    let new = "name: a\nsteps:\n  - {id: two, step_type: text, template: '2'}\n  - {id: one, step_type: text, template: '1'}\n  \
               - id: route\n    step_type: if_else\n    if: input == 'y'\n    else_steps:\n      - {id: three, step_type: text, template: '3'}\n  \
               - {id: five, step_type: text, template: '4'}\n";
    let changes = changes(old, new, None).expect("both are valid");
    insta::assert_snapshot!(changes.to_text());
}

#[test]
fn changes_of_flows() {
    let changes = edited(
        FLOW,
        &[
            ("operator: equals", "operator: contains"),
            ("required: true", "required: false"),
            ("maxRetries: 2", "maxRetries: 3"),
            ("Answer with JSON", "Reply with JSON"),
            ("The help desk looks into it", "Support looks into it"),
            ("id: done", "id: end"),
        ],
    );
    insta::assert_snapshot!(changes.to_text());
}

#[test]
fn changes_of_machines() {
    let changes = edited(
        MACHINE,
        &[
            ("states.test.ExitCode == 0, goto: passed", "states.test.ExitCode < 2, goto: passed"),
            ("max_iterations: 3", "max_iterations: 5"),
            ("Fix the code.", "Fix the code.\n      Be brief."),
            ("  give_up:\n", "  gave_up:\n"),
            ("on_complete: give_up", "on_complete: gave_up"),
            ("default: make test", "default: cargo test"),
        ],
    );
    insta::assert_snapshot!(changes.to_text());
}

#[test]
fn changes_of_sessions() {
    let changes = edited(
        SESSION,
        &[
            ("value: think", "value: search"),
            ("allowed: [save_result]", "allowed: [save_result, think]"),
            ("two sentences", "three sentences"),
            ("historyLength: 20", "historyLength: 30"),
            ("defaultStep: research\n", "defaultStep: write\n"),
        ],
    );
    insta::assert_snapshot!(changes.to_text());
}

#[test]
fn changes_of_graphs() {
    let changes = edited(
        GRAPH,
        &[
            ("Publish this text?", "May this be published?"),
            ("You add a title.", "You add a title and a date."),
            ("sourceHandle: reject, target: editor", "sourceHandle: reject, target: writer"),
            ("  - {source: editor, target: review}\n", ""),
            ("initialInput: the autumn release", "initialInput: the winter release"),
        ],
    );
    insta::assert_snapshot!(changes.to_text());
}

/// A value with the keys of every object in reverse order.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(_) => {
            let fields = value.as_object().into_iter().flatten().rev();
            Value::from(fields.map(|(key, value)| (key.clone(), reversed(value))).collect::<Object>())
        }
        Value::List(_) => Value::from(value.as_list().unwrap_or_default().iter().map(reversed).collect::<Vec<_>>()),
        other => other.clone(),
    }
}

#[track_caller]
fn same(old: &str, new: &str) {
    let changes = changes(old, new, None).unwrap_or_else(|error| panic!("{error}:\n{new}"));
    assert!(changes.list.is_empty(), "{}", changes.to_text());
}

#[test]
fn comments_layout_and_the_order_of_keys_are_not_changes() {
    for document in [STEPS, FLOW, MACHINE, SESSION, GRAPH] {
        assert!(recognise_text(document).is_some());
        same(document, document);
        same(document, &format!("# Another comment.\n{document}\n"));
        let value = read(document).expect("it is valid").to_value();
        same(document, &serde_json::to_string(&value).expect("values are JSON"));
        same(document, &serde_json::to_string_pretty(&reversed(&value)).expect("values are JSON"));
    }
}

#[test]
fn other_spellings_of_the_same_are_not_changes() {
    let edits: &[(&str, &str, &str)] = &[
        (STEPS, "timeout: 60s", "timeout: 1m"),
        (STEPS, "max_attempts: 3, delay: 2s", "max_attempts: 3, max_delay: 1h, delay: 2000ms"),
        (STEPS, "    prompt_template: |\n      May", "    prompt: |\n      May"),
        (STEPS, "step_type: display_result", "step_type: display_result\n        purpose: For people."),
        (STEPS, "timeout_seconds: 86400", "timeout_seconds: 86400\n    required_approvals: 1"),
        (
            FLOW,
            "{variable: \"{{ $topic.topic }}\", operator: equals",
            "{type: auto, variable: \"{{$topic.topic}}\", operator: equals",
        ),
        (FLOW, "description: Answers a message, by its topic.", "description: Anything else."),
        (MACHINE, "when: states.test.ExitCode == 0", "condition: 'states.test.ExitCode==0'"),
        (MACHINE, "while: loop.Index == 0 ||", "while: loop.Index==0  ||"),
        (GRAPH, "type: approval", "type: approval\n    x: 12"),
    ];
    for (document, from, to) in edits {
        assert!(document.contains(from), "{from}");
        same(document, &document.replacen(from, to, 1));
    }
}

#[test]
fn triggers_and_the_order_of_sequences_are_changes() {
    let scheduled =
        "name: a\ntrigger: {type: schedule, every: 1h}\nsteps:\n  - {id: one, step_type: text, template: '1'}\n";
    let changes = changes(scheduled, &scheduled.replace("1h", "2h"), None).expect("both are valid");
    assert_eq!(changes.to_text(), "Other\n  ~ trigger.every\n      - 1h\n      + 2h\n");
}

#[test]
fn invalid_documents_and_other_dialects_are_errors() {
    let valid = "name: a\nsteps:\n  - {id: one, step_type: text, template: '1'}\n";
    assert!(matches!(changes("name: a\nsteps: []\n", valid, None), Err(ChangesError::OldInvalid(_))));
    assert!(matches!(changes(valid, "name: [\n", None), Err(ChangesError::NewInvalid(_))));
    assert!(matches!(changes(valid, MACHINE, None), Err(ChangesError::OtherDialect(..))));
}
