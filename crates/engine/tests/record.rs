//! Cassettes: what was recorded plays back as it came.

use std::collections::BTreeMap;
use std::sync::Mutex;

use branchpoint_core::{Again, EffectNo, Failed, Usage};
use branchpoint_engine::{Answer, Body, Call, Outside, Recorder, Runner, Script, Secrets, Stop, cassette};
use branchpoint_expr::{Object, Value};

fn value(json: &str) -> Value {
    serde_json::from_str(json).expect("this is JSON")
}

fn call(kind: &str, step: &str, path: &[u32], input: &str) -> Call {
    Call {
        run: "run".into(),
        folder: "".into(),
        effect: EffectNo(1),
        attempt: 1,
        answers: 0,
        kind: kind.into(),
        spec: Value::Null,
        input: value(input),
        attempt_limit_ms: None,
        step: Some(step.into()),
        path: path.to_vec(),
    }
}

/// Answers by step, the first of a list first.
struct World(Mutex<BTreeMap<String, Vec<Answer>>>);

impl Outside for World {
    fn perform(&self, call: &Call, _stop: &Stop) -> Answer {
        let mut answers = self.0.lock().expect("no panic");
        answers.get_mut(&**call.step.as_ref().expect("a step")).expect("known").remove(0)
    }

    fn fact(&self, _name: &str) -> Value {
        Value::Null
    }
}

fn every_answer() -> Vec<Answer> {
    let headers: Object = [("content-type".into(), Value::from("text/plain"))].into_iter().collect();
    vec![
        Answer::model("said"),
        Answer::Model { text: "paid".into(), usage: Usage { tokens: 7, cost_micros: 3 } },
        Answer::Reply { value: value(r#"{"text": "", "toolCalls": []}"#), usage: Usage { tokens: 1, cost_micros: 0 } },
        Answer::data(Value::from("text that is data")),
        Answer::data(value(r#"{"$error": "looks like one"}"#)),
        Answer::data(Value::Null),
        Answer::Data { value: value("[1, 2]"), content_type: Some("application/json".into()) },
        Answer::Http { status: 404, headers: headers.clone(), body: Body::Text("no\u{85}thing\n".into()) },
        Answer::Http { status: 200, headers, body: Body::Decoded(value(r#"{"a": [1.5]}"#)) },
        Answer::Process { exit: 3, stdout: "out".into(), stderr: "err".into() },
        Answer::TimedOut { stdout: "so far".into(), stderr: "".into() },
        Answer::Failed(Failed { kind: "k".into(), message: "m".into(), again: Again::Never, answered: true }),
        Answer::Failed(Failed { kind: "k".into(), message: "m".into(), again: Again::After(1_500), answered: true }),
        Answer::failed("k", "again"),
        Answer::Never,
    ]
}

#[test]
fn every_answer_plays_back_as_it_came() {
    for kind in ["model", "agent", "tool", "http"] {
        let answers = every_answer();
        let world = World(Mutex::new(BTreeMap::from([("s".to_owned(), answers.clone())])));
        let recorder = Recorder::new(world, Secrets::default());
        let asked = call(kind, "s", &[], "{}");
        for answer in &answers {
            assert_eq!(recorder.perform(&asked, &Stop::default()), *answer);
        }
        let mut script = Script::read(&recorder.script()).expect("a script");
        for answer in &answers {
            assert_eq!(script.perform(&asked), *answer, "{kind}");
        }
    }
}

#[test]
fn calls_in_loops_play_back_by_their_place() {
    let world = World(Mutex::new(BTreeMap::from([("s".to_owned(), ["a", "b", "c"].map(Answer::model).to_vec())])));
    let recorder = Recorder::new(world, Secrets::default());
    for path in [[0, 1], [1, 0], [0, 1]] {
        recorder.perform(&call("model", "s", &path, "{}"), &Stop::default());
    }
    assert_eq!(recorder.script(), value(r#"{"s": {"$by_path": {"0,1": ["a", "c"], "1,0": ["b"]}}}"#));
    let text = cassette(&recorder.script());
    assert!(
        text.ends_with(
            "\"s\":\n  $by_path:\n    \"0,1\":\n      - \"a\"\n      - \"c\"\n    \"1,0\":\n      - \"b\"\n"
        ),
        "{text}"
    );
}

#[test]
fn nothing_secret_is_kept() {
    let headers: Object =
        [("Set-Cookie".into(), Value::from("id=7")), ("x".into(), Value::from("hunter2"))].into_iter().collect();
    let answer = Answer::Http { status: 200, headers, body: Body::Text("the key is hunter2".into()) };
    let world = World(Mutex::new(BTreeMap::from([("s".to_owned(), vec![answer.clone()])])));
    let recorder = Recorder::new(world, Secrets::of(&value(r#"{"API_KEY": "hunter2"}"#)));
    assert_eq!(
        recorder.perform(&call("http", "s", &[], "{}"), &Stop::default()),
        answer,
        "what is handed on is as it came"
    );
    let text = cassette(&recorder.script());
    assert!(!text.contains("hunter2") && !text.contains("id=7"), "{text}");
}

#[test]
fn calls_of_agents_are_told_apart_by_what_was_said() {
    let replies =
        |text: &str| Answer::Reply { value: value(&format!(r#"{{"text": "{text}"}}"#)), usage: Usage::default() };
    let asked = |text: &str| {
        call("model", "agent.model", &[], &format!(r#"{{"messages": [{{"role": "user", "content": "{text}"}}]}}"#))
    };
    let world = World(Mutex::new(BTreeMap::from([("agent.model".to_owned(), vec![replies("one"), replies("two")])])));
    let recorder = Recorder::new(world, Secrets::default());
    recorder.perform(&asked("say \\\"1\\\""), &Stop::default());
    recorder.perform(&asked("say 2"), &Stop::default());
    let mut script = Script::read(&recorder.script()).expect("a script");
    assert_eq!(script.perform(&asked("say 2")), replies("two"));
    assert_eq!(script.perform(&asked("say \\\"1\\\"")), replies("one"));
    assert_eq!(script.perform(&asked("say 2")), replies("two"), "the last that is for it repeats");
    assert!(matches!(script.perform(&asked("say 3")), Answer::Failed(_)));
}

#[test]
fn a_script_may_match_and_delay() {
    let script =
        r#"{"s": [{"$match": "cat", "$text": "meow", "$delay_ms": 40}, {"$match": "dog", "$text": "woof"}, "what?"]}"#;
    let mut script = Script::read(&value(script)).expect("a script");
    let asked = |text: &str| call("model", "s", &[], &format!(r#"{{"prompt": "a {text}"}}"#));
    assert_eq!(script.perform(&asked("dog")), Answer::model("woof"));
    assert_eq!(script.duration_ms(&asked("dog")), 0);
    assert_eq!(script.perform(&asked("cat")), Answer::model("meow"));
    assert_eq!(script.duration_ms(&asked("cat")), 40);
    assert_eq!(script.perform(&asked("cow")), Answer::model("what?"));
}
