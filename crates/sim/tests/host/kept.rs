//! What was kept is there again, and what was recorded is not done again.

use branchpoint_core::State;
use branchpoint_core::ir::Status;
use branchpoint_core::{Event, replay};

use branchpoint_host::store::Filter;

use super::*;

#[test]
fn a_killed_host_is_followed_by_one_that_repeats_only_what_was_not_recorded() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::Requested);
    let workflow = saved(host.store(), TWO_STEPS, &[]);
    start(&mut host, workflow, "r");
    let mut heard = Heard::default();
    heard.listen(&mut host, 1);
    let (run, first) = heard.calls.pop().expect("the first step is called");
    host.settle(run, &first, Answer::model("1"));
    heard.listen(&mut host, 2);
    let (_, second) = heard.calls.pop().expect("the second step is called");
    drop(host);

    let mut host = folder.host(DrivenRuns::All);
    heard.listen(&mut host, 3);
    let (run, again) = heard.calls.pop().expect("the second step is called again");
    assert!(heard.calls.is_empty(), "the first step is not");
    assert_eq!((again.key(), again.attempt), (second.key(), second.attempt), "under the same key");
    host.settle(run, &again, Answer::model("2"));
    heard.listen(&mut host, 4);
    assert_eq!(heard.output("r"), &Value::from("2"));
    // An answer that comes late changes nothing.
    host.settle(run, &second, Answer::model("late"));
    heard.listen(&mut host, 5);
    let mut notes = Vec::new();
    let replayed = host.store().replay_part(run, None, u64::MAX, &mut |note| notes.push(note));
    let look = replayed.expect("the journal can be replayed").view;
    assert_eq!((look.status(), look.row.seq), (Status::Completed, 3));
    assert!(!notes.is_empty());
}

#[test]
fn an_id_is_started_once_and_a_key_is_taken_once() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::Requested);
    let workflow = saved(host.store(), APPROVAL, &[]);
    let mut heard = Heard::default();
    start(&mut host, workflow, "r");
    start(&mut host, workflow, "r");
    heard.listen(&mut host, 1);
    let news: Vec<bool> = heard.answers.drain(..).map(|answer| answer.expect("it is taken").new).collect();
    assert_eq!(news, [true, false]);
    let run = host.store().run("r").expect("it reads").expect("it is there").run;
    let Event::Signal { name, payload, sender, .. } = vote(asked(host.store(), run), "approve", "anna") else {
        unreachable!()
    };
    for _ in 0..2 {
        let (name, payload, sender) = (name.clone(), payload.clone(), sender.clone());
        host.send(run, Event::Signal { name, payload, sender, key: Some("k".into()) }, Ticket::default());
    }
    heard.listen(&mut host, 2);
    let news: Vec<bool> = heard.answers.drain(..).map(|answer| answer.expect("it is taken").new).collect();
    assert_eq!(news, [true, false]);
}

#[test]
fn a_vote_that_is_refused_changes_nothing_and_says_why() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::Requested);
    let workflow = saved(host.store(), APPROVAL, &[]);
    start(&mut host, workflow, "r");
    let mut heard = Heard::default();
    heard.listen(&mut host, 1);
    let run = host.store().run("r").expect("it reads").expect("it is there");
    assert_eq!((run.status, run.seq), (Status::WaitingPeople, 1));
    host.send(run.run, vote(asked(host.store(), run.run), "approve", "bob"), Ticket::default());
    heard.listen(&mut host, 2);
    assert!(matches!(heard.answers.last(), Some(Err(Rejection::Rejected(_)))), "{:?}", heard.answers);
    assert_eq!(host.store().row(run.run).expect("it reads").seq, 1);
}

#[test]
fn timers_that_fell_due_while_nobody_was_there_fire_at_their_own_time() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All);
    let workflow = saved(host.store(), LATER, &[]);
    start(&mut host, workflow, "r");
    let mut heard = Heard::default();
    heard.listen(&mut host, 1_000);
    host.close().expect("it closes");
    let mut host = folder.host(DrivenRuns::All);
    assert_eq!(host.next_ms(), Some(11_000), "the next due timer is known without opening the run");
    heard.answer_all(&mut host, 60_000);
    assert_eq!(heard.output("r"), &Value::from("answer 1"));
    let run = host.store().run("r").expect("it reads").expect("it is there").run;
    let times: Vec<i64> = host.store().journal(run).expect("it reads").iter().map(|(stamp, ..)| stamp.now_ms).collect();
    assert_eq!(times, [1_000, 11_000, 60_000]);
}

#[test]
fn runs_that_wait_are_put_out_of_memory_and_opened_when_something_comes() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All);
    host.set_idle_limit(4);
    let workflow = saved(host.store(), APPROVAL, &[]);
    let mut heard = Heard::default();
    for number in 0..40 {
        start(&mut host, workflow, &format!("r{number}"));
        heard.listen(&mut host, 1);
    }
    let store = folder.store();
    let driven = store.runs(&Filter::default()).expect("it reads").iter().filter(|run| run.owner.is_some()).count();
    assert!(driven < 12, "{driven} runs are still driven");
    for number in 0..40 {
        let run = store.run(&format!("r{number}")).expect("it reads").expect("it is there").run;
        host.send(run, vote(asked(&store, run), "approve", "anna"), Ticket::default());
    }
    heard.answer_all(&mut host, 2);
    assert_eq!(heard.ended.len(), 40);
}

#[test]
fn large_values_and_secrets_are_whole_in_memory_and_apart_in_the_store() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All);
    let text = "steps:\n  - {id: ask, step_type: prompt_call, prompt_template: \"use {{input}}\"}\n  - {id: hold, step_type: human_in_the_loop, prompt_template: \"{{step.ask.output}} with {{agent.input}}?\", recipient_distribution: selected_members, recipient_user_ids: [anna]}\n";
    let workflow = saved(host.store(), text, &[]);
    let inputs: Value = serde_json::from_str(r#"{"api_key": "canary-1234", "name": "plain"}"#).expect("this is JSON");
    let secrets = branchpoint_runners::Secrets::of(&inputs);
    let input = Value::from("canary-1234");
    host.start(Start { secrets, ..Start::new(workflow, "r".into(), input) }, Ticket::default());
    let mut heard = Heard::default();
    heard.listen(&mut host, 1);
    let (run, call) = heard.calls.pop().expect("a model is asked");
    assert!(call.input.to_string().contains("canary-1234"), "the call has the real value: {:?}", call.input);
    let large = format!("canary-1234 {}", "x".repeat(600_000));
    host.settle(run, &call, Answer::model(large.clone()));
    heard.listen(&mut host, 2);
    host.close().expect("it closes");
    assert!(!folder.contents().contains("canary"), "the secret stands in a file of the store");
    let store = folder.store();
    let question = store.approval_records(run).expect("it reads").pop().expect("it asks");
    assert!(question.spec.to_string().contains(&large), "what is asked is whole again");
    let look = store.replay_part(run, None, u64::MAX, &mut |_| {}).expect("the journal can be replayed").view;
    assert_eq!(look.status(), Status::WaitingPeople);
    let size = std::fs::metadata(folder.file()).expect("it is there").len();
    assert!(size < 3 * 600_000, "the value is kept once, and the file has {size} bytes");
}

#[test]
fn a_fork_keeps_what_was_recorded_and_does_the_rest_again() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All);
    let workflow = saved(host.store(), TWO_STEPS, &[]);
    start(&mut host, workflow, "r");
    let mut heard = Heard::default();
    assert_eq!(heard.answer_all(&mut host, 1), 2);
    let run = host.store().run("r").expect("it reads").expect("it is there").run;
    host.fork((run, 2), "again".into(), false, CallSource::Script, Ticket::default());
    assert_eq!(heard.answer_all(&mut host, 2), 1, "only the second step is done again");
    assert_eq!(heard.output("again"), &Value::from("answer 1"));
    let fork = host.store().run("again").expect("it reads").expect("it is there").run;
    let look = host.store().load(fork).expect("it opens");
    let journal = host.store().journal(fork).expect("it reads");
    let (state, _) = replay(&look.program, State::new(), journal).expect("it can be followed");
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
    let mut heard = Heard::default();
    heard.listen(&mut host, 1);
    let runs = host.store().runs(&Filter { children: true, ..Filter::default() }).expect("it reads");
    assert_eq!(runs.len(), 2, "{runs:?}");
    drop(host);
    heard.calls.clear();
    let mut host = folder.host(DrivenRuns::All);
    heard.listen(&mut host, 2);
    assert_eq!(heard.calls.len(), 1, "the child's call is made again, and nothing else");
    assert_eq!(heard.answer_all(&mut host, 3), 1);
    assert_eq!(heard.ended.get("p").expect("it has ended").0, Status::Completed);
    let runs = host.store().runs(&Filter { children: true, ..Filter::default() }).expect("it reads");
    assert_eq!(runs.len(), 2, "{runs:?}");
}
