//! Notifications: one reminder after downtime, and the outcome of an approval with its end.

use super::*;

const REMINDS: &str = "steps:
  - {id: ask, step_type: human_in_the_loop, prompt_template: \"Go on?\", recipient_distribution: selected_members, recipient_user_ids: [anna, berta], required_approvals: 1, timeout_seconds: 1000, reminder_interval_seconds: 10}
";

fn events(host: &Host) -> Vec<(String, Option<Value>)> {
    let notices = host.store().notices(host.owner_number()).expect("the store is readable");
    for notice in &notices {
        host.store().drop_notice(notice).expect("the program can be encoded");
    }
    notices.into_iter().map(|notice| (notice.kind, notice.outcome)).collect()
}

#[test]
fn missed_reminders_are_sent_once_and_the_final_notice_has_the_outcome() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All).with_notices();
    let workflow = saved(host.store(), REMINDS, &[]);
    start(&mut host, workflow, "r");
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut host, 0);
    assert_eq!(events(&host), [("asked".to_owned(), None)]);
    outputs.collect(&mut host, 10_000);
    assert_eq!(events(&host), [("reminded".to_owned(), None)], "a host that runs sends each reminder");
    host.close().expect("the host closes");
    let mut host = folder.host(DrivenRuns::All).with_notices();
    outputs.collect(&mut host, 95_000);
    assert_eq!(events(&host), [("reminded".to_owned(), None)], "eight reminders were missed");
    let run = host.store().run("r").expect("the store is readable").expect("the run exists").run;
    let question = host.store().approval_records(run).expect("the store is readable").remove(0);
    assert_eq!(question.reminded, 9, "the run counts them all");
    host.send(run, vote(open_request(host.store(), run), "approve", "anna"), Ticket::default());
    outputs.collect(&mut host, 96_000);
    let ended = events(&host);
    let [(event, Some(outcome))] = ended.as_slice() else { panic!("{ended:?}") };
    assert_eq!((event.as_str(), outcome.get("outcome")), ("ended", Some(&Value::from("approve"))));
    assert_eq!(outcome.get("votes").and_then(Value::as_list).map(<[Value]>::len), Some(1), "{outcome:?}");
}

#[test]
fn no_reminder_is_sent_after_the_deadline() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All).with_notices();
    let workflow = saved(host.store(), REMINDS, &[]);
    start(&mut host, workflow, "r");
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut host, 0);
    events(&host);
    host.close().expect("the host closes");
    let mut host = folder.host(DrivenRuns::All).with_notices();
    outputs.collect(&mut host, 2_000_000);
    let ended = events(&host);
    let [(event, Some(outcome))] = ended.as_slice() else { panic!("{ended:?}") };
    assert_eq!((event.as_str(), outcome.get("outcome")), ("ended", Some(&Value::from("timeout"))));
}

#[test]
fn a_run_that_waits_and_ends_leaves_notices_in_the_transaction_of_its_status() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All).with_run_notices();
    let workflow = saved(host.store(), REMINDS, &[]);
    start(&mut host, workflow, "r");
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut host, 0);
    let waiting = host.store().notices(host.owner_number()).expect("the store is readable");
    assert_eq!((waiting[0].kind.as_str(), waiting[0].request), ("waiting_people", None));
    host.close().expect("the host closes");
    let mut host = folder.host(DrivenRuns::All).with_run_notices();
    let run = host.store().run("r").expect("the store is readable").expect("the run exists").run;
    host.send(run, vote(open_request(host.store(), run), "approve", "anna"), Ticket::default());
    outputs.collect(&mut host, 96_000);
    let kinds: Vec<String> = events(&host).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["waiting_people", "completed"], "the notice of an ended process is taken over");
}
