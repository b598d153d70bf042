//! Scripted runs: every process that resumes one continues with the next answer of the script.

use super::*;

/// Two calls that share one list of answers, with an approval between them.
const CALLS: &str = "name: calls
states:
  initial: both
  both: {type: parallel, parallel: [slow, quick], strategy: all_succeed, on_success: done}
  slow: {type: call_workflow, workflow: child}
  quick: {type: call_workflow, workflow: child}
  done: {type: terminal}
";

const CHILD: &str = "name: child
states:
  initial: act
  act: {command: \"echo real\", on_success: end}
  end: {type: terminal, message: \"{{.states.act.Output}}\"}
";

/// Three rounds of one child, one after the other.
const ROUNDS: &str = "name: rounds
states:
  initial: one
  one: {type: call_workflow, workflow: child, on_success: two}
  two: {type: call_workflow, workflow: child, on_success: three}
  three: {type: call_workflow, workflow: child, on_success: last}
  last: {command: \"echo real\", on_success: done}
  done: {type: terminal}
";

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("valid JSON")
}

fn start_scripted(host: &mut Host, workflow: WorkflowNo, id: &str, script: &str) {
    let input = Value::from(Object::default());
    host.start(Start { script: Some(json(script)), ..Start::new(workflow, id.into(), input) }, Ticket::default());
}

/// The answers to the commands of each run and its child runs.
fn recorded_answers(store: &Store) -> BTreeMap<String, String> {
    let all = branchpoint_host::store::Filter { children: true, ..Default::default() };
    let mut answers = BTreeMap::new();
    for row in store.runs(&all).expect("the store is readable") {
        for (_, event, _) in store.journal(row.run).expect("the store is readable") {
            if let Event::Settled { result: Ok(value), .. } = event
                && let Some(output) = value.get("output").or_else(|| value.get("stdout"))
            {
                answers.insert(row.id.clone(), output.to_string());
            }
        }
    }
    answers
}

#[test]
fn a_call_in_flight_gets_the_same_answer_after_a_crash() {
    let script = r#"{"act": [{"$exit": 0, "stdout": "a", "$delay_ms": 60000}, {"$exit": 0, "stdout": "b"}, "c"]}"#;
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All);
    let workflow = saved(host.store(), CALLS, &[("child", CHILD)]);
    start_scripted(&mut host, workflow, "r", script);
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut host, 1);
    assert_eq!(outputs.delayed.len(), 1, "the first call is delayed, the second is answered at once");
    assert!(outputs.calls.is_empty(), "nothing is executed: {:?}", outputs.calls);
    let slow = outputs.delayed[0].0.run.clone();
    for _ in 0..3 {
        // Like a kill: nothing is closed.
        drop(host);
        outputs = TurnOutputs::default();
        host = folder.host(DrivenRuns::All);
        outputs.collect(&mut host, 2);
        assert!(outputs.calls.is_empty(), "nothing is executed: {:?}", outputs.calls);
        let replies: Vec<_> = outputs.delayed.iter().map(|(call, reply)| (call.run.clone(), reply.delay_ms)).collect();
        assert_eq!(replies, [(slow.clone(), 60_000)], "the call has the same answer as before");
    }
}

#[test]
fn a_scripted_run_opens_without_its_old_events() {
    let script = r#"{"act": [{"$exit": 0, "stdout": "1"}, {"$exit": 0, "stdout": "2", "$delay_ms": 60000}, "3"]}"#;
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All);
    let workflow = saved(host.store(), ROUNDS, &[("child", CHILD)]);
    start_scripted(&mut host, workflow, "r", script);
    TurnOutputs::default().collect(&mut host, 1);
    host.close().expect("the host closes and stores a snapshot of each run");
    let db = rusqlite::Connection::open(folder.file()).expect("the database opens");
    let sql = "UPDATE events SET bytes = x'00' WHERE seq <= (SELECT max(seq) FROM snapshots WHERE run = events.run)";
    assert!(db.execute(sql, []).expect("the row is updated") > 2, "no old event can be read");
    let mut host = folder.host(DrivenRuns::All);
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut host, 2);
    assert!(outputs.calls.is_empty(), "nothing is executed: {:?}", outputs.calls);
    let delays: Vec<_> = outputs.delayed.iter().map(|(_, reply)| reply.delay_ms).collect();
    assert_eq!(delays, [60_000], "the call in flight keeps its entry");
}

#[test]
fn child_runs_and_forks_share_the_answers_of_their_root() {
    let script = r#"{"act": [{"$exit": 0, "stdout": "1"}, {"$exit": 0, "stdout": "2"}, {"$exit": 0, "stdout": "3"}],
        "last": {"$exit": 0, "stdout": "end"}}"#;
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All);
    let workflow = saved(host.store(), ROUNDS, &[("child", CHILD)]);
    start_scripted(&mut host, workflow, "r", script);
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut host, 1);
    assert!(outputs.calls.is_empty(), "nothing is executed: {:?}", outputs.calls);
    assert_eq!(outputs.ended.get("r").expect("the run has ended").0, Status::Completed);
    let run = host.store().run("r").expect("the store is readable").expect("the run exists").run;
    let journal = host.store().journal(run).expect("the store is readable");
    let settled = |(_, event, _): &(_, Event, _)| matches!(event, Event::Settled { .. });
    let events = journal.iter().enumerate().filter(|(_, entry)| settled(entry)).map(|(index, _)| index as u64 + 1);
    let second = events.clone().nth(1).expect("two children have ended");
    host.fork((run, second), "fork".into(), false, CallSource::Script, Ticket::default());
    outputs.collect(&mut host, 2);
    assert!(outputs.calls.is_empty(), "a fork executes nothing either: {:?}", outputs.calls);
    assert_eq!(outputs.ended.get("fork").expect("the run has ended").0, Status::Completed);
    let answers = recorded_answers(host.store());
    let of = |run: &str| -> Vec<&str> {
        answers.iter().filter(|(id, _)| id.starts_with(run)).map(|(_, output)| output.as_str()).collect()
    };
    assert!(of("r.") == ["1", "2", "3"], "{answers:?}");
    assert!(of("fork.") == ["3"], "the fork continues after two answers: {answers:?}");
}

#[test]
fn a_script_is_stored_once_and_its_secrets_are_sealed() {
    let folder = Folder::new();
    let mut host = folder
        .host(DrivenRuns::All)
        .with_env_secrets(&branchpoint_runners::Secrets::from_values(["hunter2hunter2".into()]));
    let workflow = saved(host.store(), ROUNDS, &[("child", CHILD)]);
    let script =
        r#"{"act": [{"$exit": 0, "stdout": "the key is hunter2hunter2"}], "last": {"$exit": 0, "stdout": "end"}}"#;
    start_scripted(&mut host, workflow, "a", script);
    start_scripted(&mut host, workflow, "b", script);
    TurnOutputs::default().collect(&mut host, 1);
    let bound = |id: &str| {
        let run = host.store().run(id).expect("the store is readable").expect("the run exists").run;
        host.store().script(run).expect("the store is readable").expect("the run has a script")
    };
    assert_eq!(bound("a").hash, bound("b").hash);
    assert_eq!(bound("a").script, json(script));
    drop(host);
    assert!(!folder.contents().contains("hunter2hunter2"), "the stored script contains a secret of the environment");
}

#[test]
fn a_scripted_run_goes_live_only_on_request() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::Requested);
    let workflow = saved(host.store(), ROUNDS, &[("child", CHILD)]);
    let script = r#"{"act": {"$exit": 0, "stdout": "1", "$delay_ms": 60000}, "last": {"$exit": 0, "stdout": "end"}}"#;
    start_scripted(&mut host, workflow, "r", script);
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut host, 1);
    let run = host.store().run("r").expect("the store is readable").expect("the run exists").run;
    assert!(host.store().is_scripted(run).expect("the store is readable"));
    host.resume_with(run, false, CallSource::Runners, Ticket::default());
    outputs.collect(&mut host, 2);
    assert_eq!(outputs.answers.pop(), Some(Err(Rejection::Driven)), "a driven run keeps its script");
    host.close().expect("the host closes");
    let mut host = folder.host(DrivenRuns::Requested);
    host.resume_with(run, false, CallSource::Runners, Ticket::default());
    outputs = TurnOutputs::default();
    outputs.collect(&mut host, 3);
    assert_eq!(outputs.calls.len(), 1, "the call is executed");
    let script = host.store().script(run).expect("the store is readable").expect("the script stays on record");
    assert_eq!(script.live_ms, Some(3));
}
