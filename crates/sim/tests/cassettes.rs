//! A cassette is YAML that the reader takes and a script that plays back what was recorded.

use branchpoint_core::EffectNo;
use branchpoint_dialects::read;
use branchpoint_engine::{Answer, Body, Call, Outside, Recorder, Runner, Script, Secrets, Stop, cassette};
use branchpoint_expr::{Object, Value};

/// Answers with what it is asked with, in a form that depends on the step.
struct Echo;

impl Outside for Echo {
    fn perform(&self, call: &Call, _stop: &Stop) -> Answer {
        match call.step.as_deref() {
            Some("http") => {
                let body = Body::Text(call.input.to_string().into());
                Answer::Http { status: 201, headers: Object::default(), body }
            }
            Some("fails") => Answer::refused("k", call.input.to_string()),
            _ => Answer::data(call.input.clone()),
        }
    }

    fn fact(&self, _name: &str) -> Value {
        Value::Null
    }
}

#[test]
fn every_text_comes_back_from_a_cassette() {
    let texts = [
        "plain",
        "",
        "null",
        "true",
        "12:30",
        "# no comment",
        "a: b, {c} [d] & *e !f",
        "two\nlines\tand\r\nmore",
        "quotes \" and \\ and '",
        "\u{85}\u{7f}\u{2028}\u{feff}\u{1}ü漢😀",
        " spaces ",
    ];
    let recorder = Recorder::new(Echo, Secrets::default());
    let mut calls = Vec::new();
    for step in ["data", "http", "fails", "no: way", "#odd \"id\""] {
        for (at, text) in (0..).zip(texts) {
            let path = if step == "data" { vec![at, 0] } else { Vec::new() };
            calls.push(Call {
                run: "run".into(),
                folder: "".into(),
                effect: EffectNo(1),
                attempt: 1,
                answers: 0,
                kind: "tool".into(),
                spec: Value::Null,
                input: Value::from(text),
                attempt_limit_ms: None,
                step: Some(step.into()),
                path,
            });
        }
    }
    let answers: Vec<Answer> = calls.iter().map(|call| recorder.perform(call, &Stop::default())).collect();
    let text = cassette(&recorder.script());
    let read = read(&text).unwrap_or_else(|findings| panic!("{findings:?} in\n{text}"));
    let mut script = Script::read(&read.to_value()).expect("it is a script");
    for (call, answer) in calls.iter().zip(answers) {
        assert_eq!(script.perform(call), answer, "{call:?}");
    }
}
