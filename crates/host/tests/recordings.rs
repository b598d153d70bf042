//! Recordings and scripts: a replay has the outcome of the recorded run, and mistakes in scripts are rejected.

mod programs;

use branchpoint_core::effect::{Body, Content, HttpResponse, ModelResult, ProcessResult};
use branchpoint_core::ir::{Effect, Program};
use branchpoint_core::{AttemptError, Event, RetryHint, Usage};
use branchpoint_expr::{Object, Value};
use branchpoint_host::{CallSimulator, History, HistoryEntry, Script, VirtualDriver, recording_yaml};
use branchpoint_runners::{Answer, Call, Secrets};
use programs::{json, one_call};

/// An effect by its kind and its other fields.
fn effect(kind: &str, definition: &str) -> Effect {
    let definition = serde_json::from_str(definition).expect("these are fields of an effect");
    Effect { kind: branchpoint_core::effect::Kind::named(kind).expect("this is a kind"), ..definition }
}

fn call(kind: &str, step: &str, input: &str) -> Call {
    Call { step: Some(step.into()), ..Call::first(effect(kind, "{}"), json(input)) }
}

/// The events of a run, and its history.
fn replay(program: &Program, answers: &mut CallSimulator<'_>) -> (Vec<Event>, History) {
    let mut run = VirtualDriver::new(program, 1_000);
    run.start(Value::Null, Object::default()).expect("a run can start");
    run.run_until_idle(answers);
    let history = run.history();
    (run.journal().into_iter().map(|(_, event, _)| event).collect(), history)
}

fn every_answer() -> Vec<Answer> {
    let headers: Object = [("content-type".into(), Value::from("text/plain"))].into_iter().collect();
    vec![
        Answer::model("said"),
        Answer::model(r#"{"a": 1}"#),
        Answer::Model(ModelResult {
            value: Value::from("paid"),
            usage: Usage { tokens: 7, cost_micros: 3 },
            ..ModelResult::default()
        }),
        Answer::Model(ModelResult {
            value: Value::from("counted"),
            usage: Usage { tokens: 7, cost_micros: 3 },
            input_tokens: Some(5),
        }),
        Answer::Model(ModelResult {
            value: json(r#"{"text": "", "toolCalls": []}"#),
            usage: Usage { tokens: 1, cost_micros: 0 },
            ..ModelResult::default()
        }),
        Answer::data(Value::from("text that is data")),
        Answer::data(json(r#"{"$error": "looks like one"}"#)),
        Answer::data(json(r#"{"status": "completed", "output": 5}"#)),
        Answer::data(Value::Null),
        Answer::Data(Content { value: json("[1, 2]"), content_type: Some("application/json".into()) }),
        Answer::Http(HttpResponse {
            status: 404,
            headers: headers.clone(),
            body: Body::Text("no\u{85}thing\n".into()),
        }),
        Answer::Http(HttpResponse { status: 201, headers: headers.clone(), body: Body::Text("thing".into()) }),
        Answer::Http(HttpResponse { status: 200, headers, body: Body::Decoded(json(r#"{"a": [1.5]}"#)) }),
        Answer::Process(ProcessResult::new(3, "out", "err")),
        Answer::Process(ProcessResult::new(0, "a <output>[1]</output>", "err")),
        Answer::Process(ProcessResult { exit_code: None, stdout: "so far".into(), stderr: "".into(), cut: None }),
        Answer::Failed(AttemptError { kind: "k".into(), message: "m".into(), retry: RetryHint::Never, answered: true }),
        Answer::Failed(AttemptError {
            kind: "k".into(),
            message: "m".into(),
            retry: RetryHint::After(1_500),
            answered: true,
        }),
        Answer::failed("k", "again"),
        Answer::Spent {
            failed: AttemptError { kind: "k".into(), message: "m".into(), retry: RetryHint::Soon, answered: true },
            usage: Usage { tokens: 7, cost_micros: 3 },
        },
    ]
}

#[test]
fn every_answer_has_the_same_result_when_it_is_replayed() {
    let specs = [
        "{}",
        r#"{"response": {"envelope": true}}"#,
        r#"{"response": {"report": 1}}"#,
        r#"{"response": {"format": "json"}}"#,
        r#"{"response": {"child": true, "report": 2}}"#,
    ];
    for kind in ["model", "http", "process", "tool", "run"] {
        for spec in specs {
            let program = one_call(effect(kind, spec));
            for answer in every_answer() {
                let (events, history) = replay(&program, &mut |_| answer.clone().into());
                let script = history.script(&Secrets::default());
                let mut script = Script::read(&script).unwrap_or_else(|wrong| panic!("{wrong}: {script}"));
                let (again, _) = replay(&program, &mut |call| script.simulate(call));
                assert_eq!(again, events, "{kind} {spec}: {answer:?}");
            }
        }
    }
}

#[test]
fn answers_are_written_as_people_write_them() {
    let written = |kind: &str, spec: &str, answer: Answer| {
        let program = one_call(effect(kind, spec));
        let (_, history) = replay(&program, &mut |_| answer.clone().into());
        history.script(&Secrets::default()).get("ask").expect("it is there").as_list().expect("a list")[0].clone()
    };
    assert_eq!(written("model", "{}", Answer::model("hi")), json(r#"{"$text": "hi"}"#));
    let printed = Answer::Process(ProcessResult::new(4, "out", "err"));
    assert_eq!(
        written("process", r#"{"response": {"report": 1}}"#, printed),
        json(r#"{"$exit": 4, "stdout": "out", "stderr": "err"}"#)
    );
    let headers: Object =
        [("Set-Cookie".into(), Value::from("id=7")), ("etag".into(), Value::from("x"))].into_iter().collect();
    let answer = Answer::Http(HttpResponse { status: 201, headers, body: Body::Text("[1]".into()) });
    assert_eq!(
        written("http", r#"{"response": {"envelope": true}}"#, answer),
        json(r#"{"$status": 201, "headers": {"Set-Cookie": "***", "etag": "x"}, "body": [1]}"#),
        "headers are kept, and credentials are not"
    );
}

#[test]
fn secrets_are_masked_in_answers_only() {
    let program = one_call(effect("process", r#"{"response": {"report": 1}}"#));
    let answer = Answer::Process(ProcessResult::new(0, "PIN 0, $exit", "ask"));
    let (_, history) = replay(&program, &mut |_| answer.clone().into());
    let mask = Secrets::from_values(["0", "exit", "ask"].map(ToOwned::to_owned));
    let text = recording_yaml(&history.script(&mask));
    assert!(
        text.contains(r#""$exit":0,"stdout":"PIN ***, $***","stderr":"***""#) && text.contains("\"ask\":"),
        "{text}"
    );
}

fn script(text: &str) -> Script {
    Script::read(&json(text)).expect("this is a script")
}

#[test]
fn recorded_calls_are_distinguished_by_step_callers_iteration_path_and_count() {
    let at = |step: &str, callers: &str, path: &[u32]| Call {
        callers: callers.into(),
        path: path.to_vec(),
        ..call("http", step, "{}")
    };
    let calls = [
        at("s", "", &[]),
        at("s", "", &[]),
        at("t", "", &[1]),
        at("t", "", &[0]),
        at("s", "a", &[2]),
        at("s", "b", &[2]),
    ];
    let entries = calls.iter().zip(0..).map(|(call, number)| HistoryEntry::Call {
        call: call.clone(),
        outcome: branchpoint_host::CallOutcome::Settled(Ok(Value::Int(number)), Usage::default()),
    });
    let history = History { entries: entries.collect(), ..History::default() };
    let mut script = Script::read(&history.script(&Secrets::default())).expect("a script");
    // Calls with other keys may come in any order and with any input.
    for number in [5, 3, 0, 4, 2, 1] {
        let changed = Call { input: json(r#"{"url": "changed"}"#), ..calls[number].clone() };
        assert_eq!(script.simulate(&changed).answer, Answer::data(Value::Int(number.try_into().expect("it is small"))));
    }
    for (unknown, why) in [
        (at("s", "", &[]), "no answer left for step `s`"),
        (at("s", "", &[7]), "no answer for step `s` at [7]"),
        (at("t", "", &[2]), "no answer for step `t` at [2]"),
        (at("s", "c", &[2]), "no answer for step `c/s` at [2]"),
        (at("other", "", &[]), "no answer for step `other`"),
    ] {
        let Answer::Failed(failed) = script.simulate(&unknown).answer else {
            panic!("it was not recorded: {unknown:?}")
        };
        assert!(failed.message.contains(why), "{}", failed.message);
    }
}

#[test]
fn a_script_written_by_hand_may_omit_the_callers() {
    let mut script = script(r#"{"s": "any", "a/s": "of a"}"#);
    let called = |callers: &str| Call { callers: callers.into(), ..call("model", "s", "{}") };
    for (callers, expect) in [("", "any"), ("a", "of a"), ("b", "any"), ("b/a", "any")] {
        assert_eq!(script.simulate(&called(callers)).answer, Answer::model(expect));
    }
}

#[test]
fn recorded_signals_are_replayed_once() {
    let line = |line: &str| HistoryEntry::Signal { callers: "".into(), step: "line".into(), payload: json(line) };
    let entries = vec![line(r#""hello""#), line(r#"{"$text": "odd"}"#), line("null")];
    let history = History { entries, ..History::default() };
    let mut script = Script::read(&history.script(&Secrets::default())).expect("a script");
    for expect in [r#""hello""#, r#"{"$text": "odd"}"#, "null"] {
        let entry = script.approval_answer(&"line".into(), "", &[], &Value::Null).expect("the script has the line");
        assert_eq!(entry.get("$output"), Some(&json(expect)));
    }
    assert_eq!(script.approval_answer(&"line".into(), "", &[], &Value::Null), None, "there are no further lines");
}

#[test]
fn a_script_may_match_and_delay() {
    let mut script = script(
        r#"{"s": [{"$match": "cat", "$text": "meow", "$delay_ms": 40}, {"$match": "dog", "$text": "woof"}, "what?"],
            "t": [{"$match": "cat", "$text": "meow"}, {"$match": "\"dog\"", "$text": "woof"}]}"#,
    );
    let request = |step: &str, text: &str| call("model", step, &format!(r#"{{"prompt": "a {text}"}}"#));
    for (animal, reply, duration_ms) in [("dog", "woof", 0), ("cat", "meow", 40)] {
        let simulated = script.simulate(&request("s", animal));
        assert_eq!((simulated.answer, simulated.duration_ms), (Answer::model(reply), duration_ms));
    }
    assert_eq!(script.simulate(&request("s", "cow")).answer, Answer::model("what?"));
    let Answer::Failed(failed) = script.simulate(&request("t", "cow")).answer else { panic!("nothing fits") };
    assert!(failed.message.contains(r#"{"prompt":"a cow"}; the matches are `cat`, `"dog"`"#), "{}", failed.message);
}

#[test]
fn mistakes_in_a_script_are_rejected_when_it_is_read() {
    for (entry, expect) in [
        (r#"{"$eror": "no"}"#, "did you mean `$error`?"),
        (r#"{"$error": "no", "$kinf": "k"}"#, "did you mean `$kind`?"),
        (r#"{"$error": "no", "$text": "yes"}"#, "cannot be combined"),
        (r#"{"$error": 5}"#, "`$error` must be text, but is 5"),
        (r#"{"$status": "404"}"#, "`$status` must be an HTTP status"),
        (r#"{"$status": 99999}"#, "`$status` must be an HTTP status"),
        (r#"{"$status": 200, "boddy": 1}"#, "did you mean `body`?"),
        (r#"{"$status": 200, "headers": []}"#, "`headers` must be an object"),
        (r#"{"$text": 5}"#, "`$text` must be text"),
        (r#"{"$hang": false}"#, "`$hang` must be `true`"),
        (r#"{"$exit": 1.5}"#, "`$exit` must be an exit code"),
        (r#"{"$text": "a", "$delay_ms": "1s"}"#, "`$delay_ms` must be a whole number"),
        (r#"{"$text": "a", "$usage": {"token": 1}}"#, "`$usage` must be an object with the numbers"),
        (r#"{"$text": "a", "$again": true}"#, "`$again` cannot be combined with `$text`"),
        (r#"{"$votes": [{"user": "ada"}]}"#, "`$votes` must be a list of"),
        (r#"{"$match": "cat", "a": 1}"#, "`$match` needs an answer next to it"),
        (r#"{"$set": {"a": 1}}"#, "write a value that has such a key as `{$output: value}`"),
    ] {
        for (form, place) in [
            (format!(r#"{{"s": {entry}}}"#), "`s` of the script: "),
            (format!(r#"{{"s": ["fine", {entry}]}}"#), "answer 2 of `s` of the script: "),
            (format!(r#"{{"s": {{"$by_path": {{"0": [{entry}]}}}}}}"#), "answer 1 of `0` of `$by_path` of `s`"),
        ] {
            let wrong = Script::read(&json(&form)).expect_err("this is not a script");
            let branchpoint_host::ScriptError::Entry { error, .. } = &wrong else { panic!("{wrong}") };
            let message = format!("{wrong} {}", error.help);
            assert!(message.contains(expect) && message.contains(place), "{form}: {message}");
        }
    }
    let wrong = Script::read(&json(r#"{"$recorder": {}}"#)).expect_err("this is not a script");
    assert!(wrong.to_string().contains("`$recorder` is unknown; step ids do not begin with `$`"), "{wrong}");
}

/// A history with these facts, and with a call that has read these variables.
fn history_with(facts: &str, read: &str) -> History {
    let called = HistoryEntry::Call {
        call: Call {
            step: Some("s".into()),
            ..Call::first(
                effect("files", r#"{"fixed": {"operation": "environment"}}"#),
                json(r#"{"names": ["HOME", "SERVICE", "OPENAI_API_KEY"]}"#),
            )
        },
        outcome: branchpoint_host::CallOutcome::Settled(Ok(json(read)), Usage::default()),
    };
    let facts = json(facts).as_object().expect("an object").clone();
    History { entries: vec![called], facts, ..History::default() }
}

#[test]
fn omitted_variables_are_looked_up_when_a_recording_is_replayed() {
    let history = history_with(
        r#"{"env.GITHUB_TOKEN": "ghp-1", "env.AWS_SECRET_ACCESS_KEY": "aws-1", "env.MyPassword": null, "env.LANG": "C"}"#,
        r#"{"HOME": "/home/ada", "SERVICE": "https://ghp-1@host", "OPENAI_API_KEY": "sk-1"}"#,
    );
    let written = history.script(&Secrets::default());
    let text = recording_yaml(&written);
    for secret in ["ghp-1", "aws-1", "sk-1"] {
        assert!(!text.contains(secret), "{text}");
    }
    let mut script = Script::read(&written).expect("a script");
    let unset = script
        .clone()
        .resolve_variables(|name| (name != "SERVICE").then(|| "x".to_owned()))
        .expect_err("one is not set");
    assert!(unset.to_string().contains("the variable `SERVICE`") && !unset.to_string().contains("TOKEN"), "{unset}");
    let HistoryEntry::Call { call, .. } = &history.entries[0] else { panic!("it was called") };
    let Answer::Failed(failed) = script.clone().simulate(call).answer else { panic!("the variables are not resolved") };
    assert!(failed.message.contains("OPENAI_API_KEY") || failed.message.contains("SERVICE"), "{}", failed.message);

    script.resolve_variables(|name| Some(format!("{name} now"))).expect("all are there");
    let facts = script.recording().expect("it was recorded").facts.clone();
    assert_eq!(facts.get("env.GITHUB_TOKEN"), Some(&Value::from("GITHUB_TOKEN now")));
    assert_eq!((facts.get("env.LANG"), facts.get("env.MyPassword")), (Some(&Value::from("C")), Some(&Value::Null)));
    let read = r#"{"HOME": "/home/ada", "SERVICE": "SERVICE now", "OPENAI_API_KEY": "OPENAI_API_KEY now"}"#;
    assert_eq!(script.simulate(call).answer, Answer::data(json(read)));
}
