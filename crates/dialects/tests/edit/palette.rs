//! The types of steps that can be added.

use branchpoint_dialects::{Operation, Position, edit, load, palette, read, schema};
use branchpoint_expr::{Dialect, Located, Severity, Value};

use super::add;

const BASE: &str = "name: base\nsteps:\n  - {id: first, step_type: prompt_call}\n  - {id: merge, step_type: merge}\n";

#[test]
fn every_type_can_be_added_and_is_valid() {
    for entry in palette(Dialect::Steps) {
        let position = match entry.kind {
            "join" => Position::Before("merge".into()),
            "streaming_result" => Position::Branch { step: "first".into(), branch: "child_steps".into(), index: None },
            _ => Position::End,
        };
        let added =
            edit(BASE, None, &add(entry.kind, position)).unwrap_or_else(|error| panic!("{}: {error}", entry.kind));
        let errors = load(&added.text, None).diagnostics;
        let errors: Vec<_> = errors.iter().filter(|finding| finding.severity == Severity::Error).collect();
        assert!(errors.is_empty(), "{}: {errors:?}\n{}", entry.kind, added.text);
    }
    let base = r#"{"nodes": [{"id": "s", "type": "start"}], "connections": []}"#;
    for entry in palette(Dialect::Graph).into_iter().filter(|entry| entry.kind != "start") {
        let added = edit(base, None, &add(entry.kind, Position::Below { step: "s".into(), branch: None }));
        let added = added.unwrap_or_else(|error| panic!("{}: {error}", entry.kind));
        assert!(load(&added.text, None).program.is_some(), "{}", added.text);
    }
}

#[test]
fn entries_describe_their_fields() {
    for dialect in [Dialect::Steps, Dialect::Graph] {
        let schema: serde_json::Value = serde_json::from_str(&schema(dialect)).expect("a schema is JSON");
        for entry in palette(dialect) {
            assert!(!entry.about.is_empty() && !entry.title.is_empty() && !entry.group.is_empty());
            let fragment = read(&entry.fragment).expect("a fragment can be read");
            let fields = entry.path.iter().try_fold(&fragment, |value, key| value.get(key)).map(Located::fields);
            for field in fields.expect("the fields are at the path") {
                let is_known = entry.fields["properties"].get(&*field.key).is_some();
                assert!(is_known, "{}: `{}` is not in its schema", entry.kind, field.key);
            }
            references(&entry.fields, &mut |name| {
                assert!(
                    schema["$defs"].get(name).is_some(),
                    "{}: `{name}` is not in the schema of the dialect",
                    entry.kind
                );
            });
        }
    }
    assert!(palette(Dialect::Machine).is_empty());
}

fn references(schema: &serde_json::Value, found: &mut impl FnMut(&str)) {
    match schema {
        serde_json::Value::Object(fields) => {
            if let Some(name) = fields.get("$ref").and_then(|reference| reference.as_str()?.strip_prefix("#/$defs/")) {
                found(name);
            }
            fields.values().for_each(|field| references(field, found));
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn given_fields_replace_those_of_the_example() {
    let fields =
        [("template".into(), Value::from("Hi")), ("name".into(), Value::from("A greeting"))].into_iter().collect();
    let add = Operation::Add { step_type: "text".into(), position: Position::End, id: None, fields };
    let added = edit(BASE, None, &add).expect("it can be added");
    assert!(
        added.text.ends_with("  - {id: text, step_type: text, template: Hi, name: A greeting}\n"),
        "{}",
        added.text
    );
}
