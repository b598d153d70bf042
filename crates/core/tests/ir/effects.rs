//! Requests of effects: read from two halves, with errors that name the field.

use branchpoint_core::effect::{Kind, Request, SecretForm, SecretText, Task};
use branchpoint_core::ir::builder::{Builder, ROOT, effect};
use branchpoint_core::ir::{DefectKind, Effect, Status};
use branchpoint_expr::{Object, Value};

fn object(json: &str) -> Object {
    serde_json::from_str(json).expect("this is a JSON object")
}

#[track_caller]
fn field_error(kind: Kind, fixed: &str, input: &str) -> String {
    let input = Value::from(object(input));
    Request::parse(kind, &object(fixed), &input).expect_err("it cannot be read").to_string()
}

#[test]
fn fields_of_a_call_override_fixed_fields_and_null_is_absent() {
    let fixed = object(r#"{"task": "reply", "model": "a", "temperature": 0.5}"#);
    let input =
        Value::from(object(r#"{"model": "b", "temperature": null, "max_tokens": " 12 ", "seed": "", "stop": "x"}"#));
    let Ok(Request::Model(request)) = Request::parse(Kind::Model, &fixed, &input) else {
        panic!("it is a model request")
    };
    assert_eq!((request.task, request.model.as_deref(), request.temperature), (Task::Reply, Some("b"), Some(0.5)));
    assert_eq!((request.max_tokens.map(u32::from), request.seed, request.stop), (Some(12), None, vec!["x".to_owned()]));
}

#[test]
fn an_error_names_the_kind_the_field_and_what_it_must_be() {
    let expected = "`max_tokens` of a `model` request must be a whole number from 1 to 4294967295, but is `0`";
    assert_eq!(field_error(Kind::Model, "{}", r#"{"max_tokens": 0}"#), expected);
    let expected = "`follow_redirects` of a `http` request must be true or false, but is `no`";
    assert_eq!(field_error(Kind::Http, r#"{"follow_redirects": "no"}"#, "{}"), expected);
    assert!(field_error(Kind::Mail, "{}", r#"{"too": "a@b"}"#).contains("is unknown; known fields: to, cc"));
    let long = format!(r#"{{"task": "{}"}}"#, "x".repeat(99));
    assert_eq!(
        field_error(Kind::Model, "{}", &long),
        "`task` of a `model` request must be answer, reply, score or extract"
    );
}

#[test]
fn a_program_with_an_unknown_fixed_field_is_invalid() {
    for kind in Kind::ALL.iter().filter(|kind| **kind != Kind::Scripted) {
        let mut b = Builder::new();
        let null = b.value(Value::Null);
        let end = b.close(Status::Completed, null);
        let effect = b.effect(Effect { fixed: object(r#"{"tpyo": 1}"#), ..effect(*kind) });
        let call = b.do_(effect, null, None, end, None);
        b.begin(ROOT, &[call]);
        let wrong = b.finish().expect_err("the field is unknown");
        assert!(
            wrong.iter().any(|wrong| wrong.kind == DefectKind::Field && wrong.message.contains("`tpyo`")),
            "{wrong:?}"
        );
    }
}

#[test]
fn a_secret_is_printed_with_its_path() {
    let form = SecretForm::Credential { before: "Bearer ".into(), secret: "CRM".into() };
    let secret = SecretText { at: vec!["headers".into(), "Authorization".into()], form };
    assert_eq!(secret.to_string(), "headers.Authorization = Bearer CRM");
}
