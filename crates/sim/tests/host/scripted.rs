//! Scripted runs: every process that continues one has the script, at the same answer.

use super::*;

/// Two calls of one step id space that share a list by order, with a question between them.
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
    serde_json::from_str(text).expect("this is JSON")
}

fn start_scripted(host: &mut Host, workflow: WorkflowNo, id: &str, script: &str) {
    let input = Value::from(Object::default());
    host.start(Start { script: Some(json(script)), ..Start::new(workflow, id.into(), input) }, Ticket::default());
}

/// What was answered to each command of a run and its child runs, by run.
fn outputs(store: &Store) -> BTreeMap<String, String> {
    let all = branchpoint_host::store::Filter { children: true, ..Default::default() };
    let mut outputs = BTreeMap::new();
    for row in store.runs(&all).expect("it reads") {
        for (_, event, _) in store.journal(row.run).expect("it reads") {
            if let Event::Settled { result: Ok(value), .. } = event
                && let Some(output) = value.get("output").or_else(|| value.get("stdout"))
            {
                outputs.insert(row.id.clone(), output.to_string());
            }
        }
    }
    outputs
}

#[test]
fn answers_in_flight_when_a_process_is_killed_are_given_to_the_same_calls() {
    let script = r#"{"act": [{"$exit": 0, "stdout": "a", "$delay_ms": 60000}, {"$exit": 0, "stdout": "b"}, "c"]}"#;
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All);
    let workflow = saved(host.store(), CALLS, &[("child", CHILD)]);
    start_scripted(&mut host, workflow, "r", script);
    let mut heard = Heard::default();
    heard.listen(&mut host, 1);
    assert_eq!(heard.delayed.len(), 1, "the first call takes its time, the second was answered at once");
    assert!(heard.calls.is_empty(), "nothing is executed: {:?}", heard.calls);
    let slow = heard.delayed[0].0.run.clone();
    for _ in 0..3 {
        // As a kill does: nothing is closed.
        drop(host);
        heard = Heard::default();
        host = folder.host(DrivenRuns::All);
        heard.listen(&mut host, 2);
        assert!(heard.calls.is_empty(), "nothing is executed: {:?}", heard.calls);
        let replies: Vec<_> = heard.delayed.iter().map(|(call, reply)| (call.run.clone(), reply.delay_ms)).collect();
        assert_eq!(replies, [(slow.clone(), 60_000)], "the call has the answer that it had before");
    }
}

#[test]
fn a_scripted_run_is_opened_without_its_history() {
    let script = r#"{"act": [{"$exit": 0, "stdout": "1"}, {"$exit": 0, "stdout": "2", "$delay_ms": 60000}, "3"]}"#;
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All);
    let workflow = saved(host.store(), ROUNDS, &[("child", CHILD)]);
    start_scripted(&mut host, workflow, "r", script);
    Heard::default().listen(&mut host, 1);
    host.close().expect("it closes, with a snapshot of each run");
    let db = rusqlite::Connection::open(folder.file()).expect("it opens");
    let sql = "UPDATE events SET bytes = x'00' WHERE seq <= (SELECT max(seq) FROM snapshots WHERE run = events.run)";
    assert!(db.execute(sql, []).expect("it is written") > 2, "no old event can be read");
    let mut host = folder.host(DrivenRuns::All);
    let mut heard = Heard::default();
    heard.listen(&mut host, 2);
    assert!(heard.calls.is_empty(), "nothing is executed: {:?}", heard.calls);
    let delays: Vec<_> = heard.delayed.iter().map(|(_, reply)| reply.delay_ms).collect();
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
    let mut heard = Heard::default();
    heard.listen(&mut host, 1);
    assert!(heard.calls.is_empty(), "nothing is executed: {:?}", heard.calls);
    assert_eq!(heard.ended.get("r").expect("it has ended").0, Status::Completed);
    let run = host.store().run("r").expect("it reads").expect("it is there").run;
    let journal = host.store().journal(run).expect("it reads");
    let settled = |(_, event, _): &(_, Event, _)| matches!(event, Event::Settled { .. });
    let events = journal.iter().enumerate().filter(|(_, entry)| settled(entry)).map(|(index, _)| index as u64 + 1);
    let second = events.clone().nth(1).expect("two children have ended");
    host.fork((run, second), "fork".into(), false, CallSource::Script, Ticket::default());
    heard.listen(&mut host, 2);
    assert!(heard.calls.is_empty(), "a fork executes nothing either: {:?}", heard.calls);
    assert_eq!(heard.ended.get("fork").expect("it has ended").0, Status::Completed);
    let outputs = outputs(host.store());
    let of = |run: &str| -> Vec<&str> {
        outputs.iter().filter(|(id, _)| id.starts_with(run)).map(|(_, output)| output.as_str()).collect()
    };
    assert!(of("r.") == ["1", "2", "3"], "{outputs:?}");
    assert!(of("fork.") == ["3"], "the fork continues after two answers: {outputs:?}");
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
    Heard::default().listen(&mut host, 1);
    let bound = |id: &str| {
        let run = host.store().run(id).expect("it reads").expect("it is there").run;
        host.store().script(run).expect("it reads").expect("it is scripted")
    };
    assert_eq!(bound("a").hash, bound("b").hash);
    assert_eq!(bound("a").script, json(script));
    drop(host);
    assert!(!folder.contents().contains("hunter2hunter2"), "the script holds a secret of the environment");
}

#[test]
fn a_run_goes_live_only_when_somebody_asks_for_it() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::Requested);
    let workflow = saved(host.store(), ROUNDS, &[("child", CHILD)]);
    let script = r#"{"act": {"$exit": 0, "stdout": "1", "$delay_ms": 60000}, "last": {"$exit": 0, "stdout": "end"}}"#;
    start_scripted(&mut host, workflow, "r", script);
    let mut heard = Heard::default();
    heard.listen(&mut host, 1);
    let run = host.store().run("r").expect("it reads").expect("it is there").run;
    assert!(host.store().is_scripted(run).expect("it reads"));
    host.resume_with(run, false, CallSource::Runners, Ticket::default());
    heard.listen(&mut host, 2);
    assert_eq!(heard.answers.pop(), Some(Err(Rejection::Driven)), "a run that is driven keeps its script");
    host.close().expect("it closes");
    let mut host = folder.host(DrivenRuns::Requested);
    host.resume_with(run, false, CallSource::Runners, Ticket::default());
    heard = Heard::default();
    heard.listen(&mut host, 3);
    assert_eq!(heard.calls.len(), 1, "the call is executed");
    let script = host.store().script(run).expect("it reads").expect("the script stays on record");
    assert_eq!(script.live_ms, Some(3));
}
