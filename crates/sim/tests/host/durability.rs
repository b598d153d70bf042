//! What was kept is there again, and what was recorded is not done again.

use branchpoint_core::State;
use branchpoint_core::ir::Status;
use branchpoint_core::{Event, replay};

use branchpoint_host::store::Filter;

use super::*;

#[test]
fn a_host_after_a_crash_repeats_only_unrecorded_calls() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::Requested);
    let workflow = saved(host.store(), TWO_STEPS, &[]);
    start(&mut host, workflow, "r");
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut host, 1);
    let (run, first) = outputs.calls.pop().expect("the first step is called");
    host.settle(run, &first, Answer::model("1"));
    outputs.collect(&mut host, 2);
    let (_, second) = outputs.calls.pop().expect("the second step is called");
    drop(host);

    let mut host = folder.host(DrivenRuns::All);
    outputs.collect(&mut host, 3);
    let (run, again) = outputs.calls.pop().expect("the second step is called again");
    assert!(outputs.calls.is_empty(), "the first step is not called again");
    assert_eq!((again.key(), again.attempt), (second.key(), second.attempt), "under the same key");
    host.settle(run, &again, Answer::model("2"));
    outputs.collect(&mut host, 4);
    assert_eq!(outputs.output("r"), &Value::from("2"));
    // An answer that comes late changes nothing.
    host.settle(run, &second, Answer::model("late"));
    outputs.collect(&mut host, 5);
    let mut notes = Vec::new();
    let replayed = host.store().replay_part(run, None, u64::MAX, &mut |note| notes.push(note));
    let look = replayed.expect("the journal can be replayed").view;
    assert_eq!((look.status(), look.row.seq), (Status::Completed, 3));
    assert!(!notes.is_empty());
}

#[test]
fn an_id_is_started_once_and_a_key_is_accepted_once() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::Requested);
    let workflow = saved(host.store(), APPROVAL, &[]);
    let mut outputs = TurnOutputs::default();
    start(&mut host, workflow, "r");
    start(&mut host, workflow, "r");
    outputs.collect(&mut host, 1);
    let news: Vec<bool> =
        outputs.answers.drain(..).map(|answer| answer.expect("the request is accepted").new).collect();
    assert_eq!(news, [true, false]);
    let run = host.store().run("r").expect("the store is readable").expect("the run exists").run;
    let Event::Signal { name, payload, sender, .. } = vote(open_request(host.store(), run), "approve", "anna") else {
        unreachable!()
    };
    for _ in 0..2 {
        let (name, payload, sender) = (name.clone(), payload.clone(), sender.clone());
        host.send(run, Event::Signal { name, payload, sender, key: Some("k".into()) }, Ticket::default());
    }
    outputs.collect(&mut host, 2);
    let news: Vec<bool> =
        outputs.answers.drain(..).map(|answer| answer.expect("the request is accepted").new).collect();
    assert_eq!(news, [true, false]);
}

#[test]
fn a_rejected_vote_has_a_reason_and_changes_nothing() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::Requested);
    let workflow = saved(host.store(), APPROVAL, &[]);
    start(&mut host, workflow, "r");
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut host, 1);
    let run = host.store().run("r").expect("the store is readable").expect("the run exists");
    assert_eq!((run.status, run.seq), (Status::WaitingPeople, 1));
    host.send(run.run, vote(open_request(host.store(), run.run), "approve", "bob"), Ticket::default());
    outputs.collect(&mut host, 2);
    assert!(matches!(outputs.answers.last(), Some(Err(Rejection::Rejected(_)))), "{:?}", outputs.answers);
    assert_eq!(host.store().row(run.run).expect("the store is readable").seq, 1);
}

#[test]
fn timers_that_were_due_during_downtime_fire_with_their_due_time() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All);
    let workflow = saved(host.store(), LATER, &[]);
    start(&mut host, workflow, "r");
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut host, 1_000);
    host.close().expect("the host closes");
    let mut host = folder.host(DrivenRuns::All);
    assert_eq!(host.next_ms(), Some(11_000), "the next due timer is known without opening the run");
    outputs.answer_all(&mut host, 60_000);
    assert_eq!(outputs.output("r"), &Value::from("answer 1"));
    let run = host.store().run("r").expect("the store is readable").expect("the run exists").run;
    let times: Vec<i64> =
        host.store().journal(run).expect("the store is readable").iter().map(|(stamp, ..)| stamp.now_ms).collect();
    assert_eq!(times, [1_000, 11_000, 60_000]);
}

#[test]
fn waiting_runs_are_removed_from_memory_and_opened_for_events() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All);
    host.set_idle_limit(4);
    let workflow = saved(host.store(), APPROVAL, &[]);
    let mut outputs = TurnOutputs::default();
    for number in 0..40 {
        start(&mut host, workflow, &format!("r{number}"));
        outputs.collect(&mut host, 1);
    }
    let store = folder.store();
    let driven =
        store.runs(&Filter::default()).expect("the store is readable").iter().filter(|run| run.owner.is_some()).count();
    assert!(driven < 12, "{driven} runs are still driven");
    for number in 0..40 {
        let run = store.run(&format!("r{number}")).expect("the store is readable").expect("the run exists").run;
        host.send(run, vote(open_request(&store, run), "approve", "anna"), Ticket::default());
    }
    outputs.answer_all(&mut host, 2);
    assert_eq!(outputs.ended.len(), 40);
}

#[test]
fn large_values_and_secrets_are_complete_in_memory_and_stored_separately() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All);
    let text = "steps:\n  - {id: ask, step_type: prompt_call, prompt_template: \"use {{input}}\"}\n  - {id: hold, step_type: human_in_the_loop, prompt_template: \"{{step.ask.output}} with {{agent.input}}?\", recipient_distribution: selected_members, recipient_user_ids: [anna]}\n";
    let workflow = saved(host.store(), text, &[]);
    let inputs: Value = serde_json::from_str(r#"{"api_key": "canary-1234", "name": "plain"}"#).expect("valid JSON");
    let secrets = branchpoint_runners::Secrets::of(&inputs);
    let input = Value::from("canary-1234");
    host.start(Start { secrets, ..Start::new(workflow, "r".into(), input) }, Ticket::default());
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut host, 1);
    let (run, call) = outputs.calls.pop().expect("the model is called");
    assert!(call.input.to_string().contains("canary-1234"), "the call has the real value: {:?}", call.input);
    let large = format!("canary-1234 {}", "x".repeat(600_000));
    host.settle(run, &call, Answer::model(large.clone()));
    outputs.collect(&mut host, 2);
    host.close().expect("the host closes");
    assert!(!folder.contents().contains("canary"), "a file of the store contains the secret");
    let store = folder.store();
    let question =
        store.approval_records(run).expect("the store is readable").pop().expect("the run has an open approval");
    assert!(question.spec.to_string().contains(&large), "the request is complete");
    let look = store.replay_part(run, None, u64::MAX, &mut |_| {}).expect("the journal can be replayed").view;
    assert_eq!(look.status(), Status::WaitingPeople);
    let size = std::fs::metadata(folder.file()).expect("it is there").len();
    assert!(size < 3 * 600_000, "the value is stored once, but the file has {size} bytes");
}

#[test]
fn a_fork_keeps_recorded_results_and_repeats_the_rest() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All);
    let workflow = saved(host.store(), TWO_STEPS, &[]);
    start(&mut host, workflow, "r");
    let mut outputs = TurnOutputs::default();
    assert_eq!(outputs.answer_all(&mut host, 1), 2);
    let run = host.store().run("r").expect("the store is readable").expect("the run exists").run;
    host.fork((run, 2), "again".into(), false, CallSource::Script, Ticket::default());
    assert_eq!(outputs.answer_all(&mut host, 2), 1, "only the second step runs again");
    assert_eq!(outputs.output("again"), &Value::from("answer 1"));
    let fork = host.store().run("again").expect("the store is readable").expect("the run exists").run;
    let look = host.store().load(fork).expect("the run can be read");
    let journal = host.store().journal(fork).expect("the store is readable");
    let (state, _) = replay(&look.program, State::new(), journal).expect("the journal can be replayed");
    assert_eq!(state.result(), look.state.result());
}

#[test]
fn a_child_is_a_run_of_its_own_and_is_not_started_twice() {
    let parent = "name: parent\nstates:\n  initial: call\n  call: {type: call_workflow, workflow: child, inputs: {who: you}, on_success: done}\n  done: {type: terminal}\n";
    let child = "name: child\ninputs: [{name: who, type: string}]\nstates:\n  initial: work\n  work: {type: agent, provider: claude, prompt: \"greet {{.inputs.who}}\", on_success: end}\n  end: {type: terminal}\n";
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All);
    let workflow = saved(host.store(), parent, &[("child", child)]);
    host.start(Start::new(workflow, "p".into(), Value::from(Object::default())), Ticket::default());
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut host, 1);
    let runs = host.store().runs(&Filter { children: true, ..Filter::default() }).expect("the store is readable");
    assert_eq!(runs.len(), 2, "{runs:?}");
    drop(host);
    outputs.calls.clear();
    let mut host = folder.host(DrivenRuns::All);
    outputs.collect(&mut host, 2);
    assert_eq!(outputs.calls.len(), 1, "only the call of the child is repeated");
    assert_eq!(outputs.answer_all(&mut host, 3), 1);
    assert_eq!(outputs.ended.get("p").expect("the run has ended").0, Status::Completed);
    let runs = host.store().runs(&Filter { children: true, ..Filter::default() }).expect("the store is readable");
    assert_eq!(runs.len(), 2, "{runs:?}");
}
