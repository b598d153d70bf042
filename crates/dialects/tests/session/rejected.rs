//! Every rule that rejects a session or warns about it: the kind of the finding and its place.

use branchpoint_dialects::load;
use branchpoint_expr::{Dialect, Severity};

/// Loads a document and compares its findings in order: the kind, and the beginning of the text at its place.
#[track_caller]
fn check(source: &str, expect: &[(&str, &str)]) {
    let loaded = load(source, Some(Dialect::Session));
    let actual: Vec<(&str, &str)> =
        loaded.diagnostics.iter().map(|finding| (finding.kind.as_str(), finding.span.text(source))).collect();
    let agree = actual.len() == expect.len()
        && actual.iter().zip(expect).all(|(actual, expect)| actual.0 == expect.0 && actual.1.starts_with(expect.1));
    assert!(agree, "{source}\nexpected {expect:?}\nfound    {actual:?}");
    let rejected = loaded.diagnostics.iter().any(|finding| finding.severity == Severity::Error);
    assert_eq!(loaded.program.is_none(), rejected, "a document has a program exactly when it has no errors");
}

/// Like [`check`], for one step beside a default step.
#[track_caller]
fn step(fields: &str, expect: &[(&str, &str)]) {
    let default = r#"{"name": "d", "isDefault": true}"#;
    check(&format!(r#"{{"steps": [{default}, {{"name": "s", {fields}}}]}}"#), expect);
}

/// Like [`check`], for a template in which these fields replace the valid ones.
#[track_caller]
fn template(fields: &[(&str, Option<&str>)], expect: &[(&str, &str)]) {
    let mut whole = vec![
        ("version", r#""1.0""#),
        ("agentId", r#""a""#),
        ("name", r#""A""#),
        ("description", r#""d""#),
        ("personality", r#""p""#),
        ("nodes", r#"["llm.openai", "search"]"#),
        ("nodeConfigurations", "{}"),
        ("chatSettings", "{}"),
    ];
    whole.retain(|(key, _)| !fields.iter().any(|(given, _)| given == key));
    whole.extend(fields.iter().filter_map(|(key, value)| Some((*key, (*value)?))));
    let whole: Vec<_> = whole.iter().map(|(key, value)| format!(r#""{key}": {value}"#)).collect();
    check(&format!("{{{}}}", whole.join(", ")), expect);
}

#[test]
fn a_template_has_its_fields() {
    check("[]", &[("invalid_template", "[]")]);
    template(&[], &[]);
    for field in ["version", "agentId", "name", "description", "personality", "nodes", "nodeConfigurations"] {
        template(&[(field, None)], &[("invalid_template", "{")]);
        template(&[(field, Some("5"))], &[("invalid_template", "5")]);
        template(&[(field, Some("null"))], &[("invalid_template", "null")]);
    }
    template(&[("chatSettings", None)], &[("invalid_template", "{")]);
    template(&[("personality", Some(r#"["a", 5]"#))], &[("invalid_template", "5")]);
    template(&[("nodes", Some(r#"["search", 5]"#))], &[("invalid_template", "5")]);
    template(&[("maxConcurrency", Some(r#""two""#))], &[("invalid_template", "\"two\"")]);
    template(
        &[("tags", Some("[]")), ("priority", Some("1")), ("notes", Some("{}")), ("isEnabled", Some("false"))],
        &[],
    );
    template(&[("personalty", Some(r#""p""#))], &[("unknown_key", "\"personalty\"")]);
}

#[test]
fn settings_of_the_chat_and_options_have_their_types() {
    let chat = |settings: &str, expect: &[(&str, &str)]| template(&[("chatSettings", Some(settings))], expect);
    chat(r#"{"historyPolicy": "lastN", "historyLength": 0.5, "initialMessages": ["hi"], "chatPrompts": []}"#, &[]);
    chat(r#"{"historyPolicy": "last"}"#, &[("invalid_template", "\"last\"")]);
    chat(r#"{"historyPolicy": 5}"#, &[("invalid_template", "5")]);
    chat(r#"{"historyLength": "5"}"#, &[("invalid_template", "\"5\"")]);
    chat(r#"{"initialMessages": "hi"}"#, &[("invalid_template", "\"hi\"")]);
    chat(r#"{"placeholderText": 1}"#, &[("invalid_template", "1")]);
    chat(r#"{"historyLenght": 5}"#, &[("unknown_key", "\"historyLenght\"")]);
    let options = |options: &str, expect: &[(&str, &str)]| template(&[("options", Some(options))], expect);
    options(r#"{"maxSteps": 1, "anything": true}"#, &[]);
    options(r#"{"maxSteps": 0}"#, &[("invalid_template", "0")]);
    options(r#"{"maxSteps": 1.5}"#, &[("invalid_template", "1.5")]);
    options("[]", &[("invalid_template", "[]")]);
    options(r#"{"tokenOptimization": 1}"#, &[("invalid_template", "1")]);
    options(r#"{"tokenOptimization": {"includeDetailedOrchestration": 1}}"#, &[("invalid_template", "1")]);
}

#[test]
fn an_orchestration_has_steps() {
    template(&[("orchestration", Some("null"))], &[("invalid_orchestration", "null")]);
    template(&[("orchestration", Some("{}"))], &[("invalid_orchestration", "{")]);
    check(r#"{"steps": {}}"#, &[("invalid_orchestration", "{}")]);
    check(r#"{"steps": [], "description": 1}"#, &[("invalid_orchestration", "1")]);
    check(r#"{"steps": [], "defaultStep": 1}"#, &[("invalid_orchestration", "1")]);
    check(r#"{"steps": [], "defaultStep": "x"}"#, &[("unknown_default_step", "\"x\"")]);
    check(r#"{"steps": [], "stpes": []}"#, &[("unknown_key", "\"stpes\"")]);
}

#[test]
fn a_step_has_a_name_and_its_fields_have_their_types() {
    check(r#"{"steps": [5]}"#, &[("invalid_step", "5")]);
    check(r#"{"steps": [{"isDefault": true}]}"#, &[("invalid_step", "{")]);
    check(r#"{"steps": [{"name": "", "isDefault": true}]}"#, &[("invalid_step", "\"\"")]);
    check(r#"{"steps": [{"name": 5, "isDefault": true}]}"#, &[("invalid_step", "5")]);
    check(
        r#"{"steps": [{"name": "a", "isDefault": true}, {"name": "a", "conditions": [{"if": "true"}]}]}"#,
        &[("duplicate_step", "\"a\"")],
    );
    check(r#"{"steps": [{"name": "a", "isDefault": 1}]}"#, &[("unreachable_step", "{"), ("invalid_step", "1")]);
    let held = r#""conditions": [{"type": "tool_used", "value": "x"}]"#;
    step(&format!(r#"{held}, "description": 5"#), &[("invalid_step", "5")]);
    step(&format!(r#"{held}, "sequence": "x""#), &[("invalid_step", "\"x\"")]);
    step(
        &format!(r#"{held}, "sequence": [[], 7, [8]]"#),
        &[("invalid_step", "[]"), ("invalid_step", "7"), ("invalid_step", "8")],
    );
    step(&format!(r#"{held}, "availableTools": []"#), &[("invalid_step", "[]")]);
    step(
        &format!(r#"{held}, "availableTools": {{"allowed": "a", "denied": [1]}}"#),
        &[("invalid_step", "\"a\""), ("invalid_step", "1")],
    );
    step(&format!(r#"{held}, "availableTools": {{"alowed": []}}"#), &[("unknown_key", "\"alowed\"")]);
    let persona = |persona: &str, expect: &[(&str, &str)]| step(&format!(r#"{held}, "persona": {persona}"#), expect);
    persona(r#"{"prompt": ["Be", "brief."], "model": "m", "options": {"temperature": 0.2, "maxTokens": 9}}"#, &[]);
    persona("\"brief\"", &[("invalid_step", "\"brief\"")]);
    persona(r#"{"prompt": 5, "model": ""}"#, &[("invalid_step", "5"), ("invalid_step", "\"\"")]);
    persona(r#"{"options": {"maxTokens": 0, "topP": 2}}"#, &[("invalid_step", "0"), ("invalid_step", "2")]);
    persona(r#"{"options": {"temprature": 1}}"#, &[("unknown_key", "\"temprature\"")]);
    step(&format!(r#"{held}, "timeout": 5"#), &[("unknown_key", "\"timeout\"")]);
    step(&format!(r#"{held}, "resetSequenceOn": []"#), &[("ignored_key", "\"resetSequenceOn\"")]);
}

#[test]
fn conditions_are_checked() {
    let condition = |entry: &str, expect: &[(&str, &str)]| step(&format!(r#""conditions": [{entry}]"#), expect);
    step(r#""conditions": {}"#, &[("invalid_condition", "{}")]);
    condition("5", &[("invalid_condition", "5")]);
    condition(r#"{"value": "x"}"#, &[("invalid_condition", "{")]);
    condition(r#"{"type": "tool_use", "value": "x"}"#, &[("unknown_condition_type", "\"tool_use\"")]);
    condition(r#"{"type": "tool_used"}"#, &[("missing_value", "{")]);
    condition(r#"{"type": "tool_used", "value": ["x"]}"#, &[("invalid_condition", "[")]);
    condition(r#"{"type": "sequence_match"}"#, &[("missing_sequence", "{")]);
    condition(r#"{"type": "message_regex", "value": "(open"}"#, &[("bad_regex", "\"(open\"")]);
    condition(r#"{"type": "not_recently_used", "value": "x", "window": 0}"#, &[("invalid_condition", "0")]);
    condition(r#"{"type": "not_recently_used", "value": "x", "window": 3, "description": "d"}"#, &[]);
    condition(r#"{"type": "tool_used", "value": "x", "window": 3}"#, &[("unknown_key", "\"window\"")]);
    condition(r#"{"type": "tool_used", "value": "x", "if": "true"}"#, &[("two_conditions", "\"true\"")]);
    condition(r#"{"if": "message contains 'x'", "description": "d"}"#, &[]);
    condition(r#"{"if": "mesage contains 'x'"}"#, &[("unknown_name", "mesage")]);
    condition(r#"{"if": "1 +"}"#, &[("bad_condition", "")]);
}

#[test]
fn probable_mistakes_are_reported() {
    check(
        r#"{"steps": [{"name": "a", "isDefault": true}, {"name": "b", "isDefault": true}]}"#,
        &[("several_defaults", r#"{"name": "b""#)],
    );
    check(
        r#"{"defaultStep": "b", "steps": [{"name": "a", "isDefault": true}, {"name": "b"}]}"#,
        &[("several_defaults", r#"{"name": "a""#)],
    );
    step(r#""conditions": []"#, &[("unreachable_step", r#"{"name": "s""#)]);
    check(
        r#"{"steps": [{"name": "a", "conditions": [{"type": "tool_used", "value": "x"}]},
            {"name": "b", "conditions": [{"type": "message_contains", "value": "m"}, {"type": "tool_used", "value": "x"}]}]}"#,
        &[("shadowed_step", r#"{"name": "b""#)],
    );
    let held = r#""conditions": [{"if": "true"}]"#;
    step(&format!(r#"{held}, "availableTools": {{"allowed": []}}"#), &[("empty_allowed", "[]")]);
    step(
        &format!(
            r#"{held}, "sequence": ["x", ["y", "z"]], "availableTools": {{"allowed": ["x", "y*"], "denied": ["y"]}}"#
        ),
        &[("sequence_tool_not_allowed", r#"["y""#)],
    );
}

#[test]
fn a_session_is_recognised_by_its_content() {
    let known = |source: &str| load(source, None).dialect;
    assert_eq!(known(r#"{"steps": [{"name": "a", "availableTools": {}}]}"#), Some(Dialect::Session));
    assert_eq!(known(r#"{"steps": [{"name": "a"}, {"name": "b", "isDefault": true}]}"#), Some(Dialect::Session));
    assert_eq!(known(r#"{"agentId": "a", "nodes": ["search"]}"#), Some(Dialect::Session));
    assert_eq!(known(r#"{"nodes": [], "connections": []}"#), Some(Dialect::Graph));
}
