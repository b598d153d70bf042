//! Questions to people inside a run: votes, refusals, reminders, time, calling off.

use branchpoint_core::ir::Arm;
use branchpoint_core::{Event, InvalidRequest, Offer, Rejected, Request, VoteRejection, offers};
use branchpoint_expr::Value;

use crate::host::{Host, Make, object};

/// Asks three people, two of whom must agree, within 100 ms, reminded every 40.
fn asked(expired: bool) -> Host {
    asked_for(2, expired)
}

fn asked_for(required: i64, expired: bool) -> Host {
    let mut make = Make::new();
    let texts = |texts: &[&str]| Value::from(texts.iter().map(|text| Value::from(*text)).collect::<Vec<_>>());
    let spec = make.b.value(object([
        ("recipients", texts(&["ann", "bob", "cid"])),
        ("choices", texts(&["yes", "no"])),
        ("required", Value::Int(required)),
        ("timeout_ms", Value::Int(100)),
        ("reminder_ms", Value::Int(40)),
    ]));
    let outcome = make.set(branchpoint_core::ir::builder::ROOT, make.r, "r.outcome", make.end);
    let gone = make.set(branchpoint_core::ir::builder::ROOT, make.r, "'gone'", make.end);
    let arm = Arm::Request { spec, into: Some(make.r), next: outcome, expired: expired.then_some(gone) };
    let wait = make.b.wait([arm], None);
    make.run(wait)
}

#[test]
fn enough_votes_for_a_choice_decide() {
    let mut host = asked(false);
    assert!(matches!(&offers(&host.program, &host.state)[..], [Offer::Vote { .. }]));
    host.vote("ann", "yes").unwrap();
    host.vote("cid", "yes").unwrap();
    host.completed_with("\"yes\"");
}

#[test]
fn everyone_has_voted_and_nobody_has_won() {
    let mut host = asked_for(3, false);
    host.vote("ann", "yes").unwrap();
    host.vote("bob", "no").unwrap();
    assert!(host.end.is_none(), "though nobody can win any more, everyone is heard");
    host.vote("cid", "yes").unwrap();
    host.completed_with("\"no_quorum\"");
}

#[test]
fn wrong_votes_are_refused_and_change_nothing() {
    let mut host = asked(false);
    host.vote("ann", "yes").unwrap();
    assert_eq!(host.vote("ann", "no"), Err(Rejected::Vote(VoteRejection::AlreadyVoted)));
    assert_eq!(host.vote("eve", "yes"), Err(Rejected::Vote(VoteRejection::NotRecipient)));
    assert_eq!(host.vote("bob", "maybe"), Err(Rejected::Vote(VoteRejection::UnknownChoice)));
    host.now_ms += 100;
    assert_eq!(
        host.vote("bob", "yes"),
        Err(Rejected::Vote(VoteRejection::NotPending)),
        "the timer has not fired, and yet"
    );
}

#[test]
fn the_silent_are_reminded_until_the_time_runs_out() {
    let mut host = asked(false);
    host.vote("bob", "no").unwrap();
    host.pass(99);
    assert_eq!(host.reminded, [["ann", "cid"], ["ann", "cid"]]);
    host.pass(1);
    host.completed_with("\"timeout\"");
}

#[test]
fn time_that_ran_out_may_have_a_way_of_its_own() {
    let mut host = asked(true);
    host.pass(100);
    host.completed_with("\"gone\"");
}

#[test]
fn a_question_can_be_called_off() {
    let mut host = asked(false);
    let request = Value::Int(i64::try_from(host.asks[0].0).unwrap());
    host.signal("cancel_request", object([("request", request.clone())])).unwrap();
    host.completed_with("\"cancelled\"");
    let vote = Event::Signal { name: "vote".into(), payload: object([("request", request)]), sender: None, key: None };
    assert_eq!(host.hand(vote), Err(Rejected::Ended));
}

#[test]
fn a_question_whose_numbers_make_no_sense_is_not_asked() {
    for (key, value) in [
        ("required", Value::from("2")),
        ("required", Value::Float(2.5)),
        ("required", Value::Int(0)),
        ("timeout_ms", Value::from("soon")),
        ("reminder_ms", Value::Int(-1)),
    ] {
        let texts = |text: &str| Value::from(vec![Value::from(text)]);
        let spec = object([("recipients", texts("ann")), ("choices", texts("yes")), (key, value)]);
        assert_eq!(Request::open(&spec, 0), Err(InvalidRequest::Number(key)));
        let spec = object([("recipients", texts("ann")), ("choices", Value::from(Vec::new()))]);
        assert_eq!(Request::open(&spec, 0), Err(InvalidRequest::NoChoices));
    }
}
