//! Requests to people: votes, rejections, reminders, deadlines, cancellations.

use branchpoint_core::ir::Arm;
use branchpoint_core::{Event, InvalidRequest, Offer, Rejected, Request, VoteRejection, offers};
use branchpoint_expr::Value;

use crate::host::{Host, Make, object};

/// A request to three people, two of whom must agree within 100 ms, with a reminder every 40 ms.
fn request(expired: bool) -> Host {
    request_with_quorum(2, expired)
}

fn request_with_quorum(required: i64, expired: bool) -> Host {
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
    let mut host = request(false);
    assert!(matches!(&offers(&host.program, &host.state)[..], [Offer::Vote { .. }]));
    host.vote("ann", "yes").unwrap();
    host.vote("cid", "yes").unwrap();
    host.completed_with("\"yes\"");
}

#[test]
fn all_votes_without_a_quorum_settle_the_request() {
    let mut host = request_with_quorum(3, false);
    host.vote("ann", "yes").unwrap();
    host.vote("bob", "no").unwrap();
    assert!(host.end.is_none(), "all recipients may vote, even if no choice can win any more");
    host.vote("cid", "yes").unwrap();
    host.completed_with("\"no_quorum\"");
}

#[test]
fn invalid_votes_are_rejected_and_change_nothing() {
    let mut host = request(false);
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
fn missing_voters_are_reminded_until_the_deadline() {
    let mut host = request(false);
    host.vote("bob", "no").unwrap();
    host.pass(99);
    assert_eq!(host.reminded, [["ann", "cid"], ["ann", "cid"]]);
    host.pass(1);
    host.completed_with("\"timeout\"");
}

#[test]
fn an_expired_request_may_have_its_own_branch() {
    let mut host = request(true);
    host.pass(100);
    host.completed_with("\"gone\"");
}

#[test]
fn a_request_can_be_cancelled() {
    let mut host = request(false);
    let request = Value::Int(i64::try_from(host.asks[0].0).unwrap());
    host.signal("cancel_request", object([("request", request.clone())])).unwrap();
    host.completed_with("\"cancelled\"");
    let vote = Event::Signal { name: "vote".into(), payload: object([("request", request)]), sender: None, key: None };
    assert_eq!(host.hand(vote), Err(Rejected::Ended));
}

#[test]
fn a_request_with_invalid_numbers_is_not_opened() {
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
