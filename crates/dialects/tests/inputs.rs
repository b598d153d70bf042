//! Findings about declared inputs.

use branchpoint_dialects::load;
use branchpoint_expr::Dialect;

/// Loads a document of each dialect with these declarations, and returns the findings with the text at their spans.
fn findings(dialect: Dialect, inputs: &str) -> Vec<(String, String)> {
    let source = match dialect {
        Dialect::Steps => {
            format!(r#"{{"inputs": {inputs}, "steps": [{{"id": "a", "step_type": "text", "template": "x"}}]}}"#)
        }
        Dialect::Flow => format!(
            r#"{{"name": "f", "description": "d", "uuid": "u", "inputs": {inputs},
               "steps": [{{"id": "a", "type": "finish", "config": {{"message": "x"}}}}]}}"#
        ),
        _ => {
            let nodes = r#"[{"id": "s", "type": "start"}, {"id": "e", "type": "end"}]"#;
            format!(r#"{{"inputs": {inputs}, "nodes": {nodes}, "connections": [{{"source": "s", "target": "e"}}]}}"#)
        }
    };
    let loaded = load(&source, Some(dialect));
    let is_rejected = loaded.diagnostics.iter().any(|finding| finding.kind.as_str() == "bad_input_declaration");
    assert_eq!(loaded.program.is_none(), is_rejected, "{source}");
    let actual = loaded.diagnostics.iter();
    actual.map(|finding| (finding.kind.to_string(), finding.span.text(&source).to_owned())).collect()
}

#[track_caller]
fn check(dialect: Dialect, inputs: &str, expect: &[(&str, &str)]) {
    let expect: Vec<_> = expect.iter().map(|(kind, at)| ((*kind).to_owned(), (*at).to_owned())).collect();
    assert_eq!(findings(dialect, inputs), expect, "{dialect:?} {inputs}");
}

const BAD: &str = "bad_input_declaration";

#[test]
fn each_dialect_has_names_of_its_own() {
    check(Dialect::Steps, r#"[{"name": "input"}, {"name": "metadata.user.tier"}]"#, &[]);
    check(Dialect::Steps, r#"[{"name": "customer"}]"#, &[(BAD, r#""customer""#)]);
    check(Dialect::Steps, r#"[{"name": "metadata"}]"#, &[(BAD, r#""metadata""#)]);
    check(Dialect::Flow, r#"[{"name": "customer"}, {"name": "user.tier"}]"#, &[]);
    check(Dialect::Flow, r#"[{"name": "user..tier"}, {"name": " x"}]"#, &[(BAD, r#""user..tier""#), (BAD, r#"" x""#)]);
    check(Dialect::Graph, r#"[{"name": "input", "type": "text"}]"#, &[]);
    check(Dialect::Graph, r#"[{"name": "text"}]"#, &[(BAD, r#""text""#)]);
    for dialect in [Dialect::Steps, Dialect::Flow, Dialect::Graph] {
        check(dialect, "null", &[]);
        check(dialect, "[]", &[]);
        check(dialect, r#"{"input": "text"}"#, &[(BAD, r#"{"input": "text"}"#)]);
        check(dialect, "[5]", &[(BAD, "5")]);
        check(dialect, "[{}]", &[(BAD, "{")]);
        check(dialect, r#"[{"name": 5}]"#, &[(BAD, "5")]);
    }
}

#[test]
fn a_name_is_declared_once_and_not_inside_another() {
    check(Dialect::Flow, r#"[{"name": "a"}, {"name": "a"}]"#, &[(BAD, r#""a""#)]);
    check(Dialect::Flow, r#"[{"name": "a.b"}, {"name": "a"}]"#, &[(BAD, r#""a""#)]);
    check(Dialect::Flow, r#"[{"name": "a"}, {"name": "a.b"}]"#, &[(BAD, r#""a.b""#)]);
    check(Dialect::Flow, r#"[{"name": "a.b"}, {"name": "a.c"}, {"name": "ab"}]"#, &[]);
}

#[test]
fn types_defaults_and_values_fit_each_other() {
    let entry = |fields: &str, expect: &[(&str, &str)]| {
        check(Dialect::Flow, &format!(r#"[{{"name": "x", {fields}}}]"#), expect);
    };
    for (ty, good, bad) in [
        ("text", r#""a""#, "1"),
        ("number", "1.5", r#""1""#),
        ("integer", "3", "1.5"),
        ("boolean", "true", "1"),
        ("list", "[1]", "{}"),
        ("object", r#"{"a": 1}"#, "[]"),
    ] {
        entry(&format!(r#""type": "{ty}", "default": {good}, "enum": [{good}], "required": true"#), &[]);
        entry(&format!(r#""type": "{ty}", "default": {bad}"#), &[(BAD, bad)]);
        entry(&format!(r#""type": "{ty}", "enum": [{bad}]"#), &[(BAD, bad)]);
    }
    entry(r#""type": "string""#, &[(BAD, r#""string""#)]);
    entry(r#""required": "yes""#, &[(BAD, r#""yes""#)]);
    entry(r#""enum": []"#, &[(BAD, "[]")]);
    entry(r#""enum": ["a", "b"], "default": "c""#, &[(BAD, r#""c""#)]);
    entry(r#""description": 5"#, &[(BAD, "5")]);
    entry(r#""defalt": 5"#, &[("unknown_key", r#""defalt""#)]);
}
