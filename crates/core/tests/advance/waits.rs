//! Waits: signals, early signals, checks, delays; the first arm wins.

use branchpoint_core::ir::builder::{ROOT, ScopeSpec};
use branchpoint_core::ir::{Arm, OnEarly, PlaceId};
use branchpoint_core::{Event, Offer, Rejected, Stamp, State, TimerNo, advance, offers};
use branchpoint_expr::{Dialect, Object, Value};

use crate::host::{Host, Make};

/// Works, then waits for the signal `go` with a payload above 10, at most 100 ms.
fn after_work(early: OnEarly) -> Host {
    let mut make = Make::new();
    let wait = waiting(&mut make, early);
    let work = make.effect("work", wait);
    make.run(work)
}

fn waiting(make: &mut Make, early: OnEarly) -> PlaceId {
    let payload = make.b.payload();
    make.b.name(ROOT, &["payload"], payload);
    let signal = make.b.signal("go", early);
    let check = make.b.condition(ROOT, "payload > 10", Dialect::Machine).unwrap();
    let late = make.set(ROOT, make.r, "'late'", make.end);
    let delay_ms = make.b.value(100);
    let into = Some(make.r);
    let arms = [Arm::Signal { signal, check: Some(check), into, next: make.end }, Arm::After { delay_ms, next: late }];
    make.b.wait(arms, None)
}

#[test]
fn a_signal_ends_the_wait_and_clears_the_timer() {
    let mut host = after_work(OnEarly::Reject);
    host.answer("work", 1);
    assert_eq!(host.timers.len(), 1);
    assert!(matches!(&offers(&host.program, &host.state)[..], [Offer::Signal { name, .. }] if &**name == "go"));
    host.signal("go", 11).unwrap();
    host.completed_with("11");
}

#[test]
fn a_payload_that_fails_the_check_changes_nothing() {
    let mut host = after_work(OnEarly::Keep);
    host.answer("work", 1);
    assert_eq!(host.signal("go", 10), Err(Rejected::NotAccepted("go".into())));
    assert_eq!(host.signal("go", "many"), Err(Rejected::NotAccepted("go".into())), "an error accepts nothing");
    assert_eq!(host.signal("come", 11), Err(Rejected::UnknownSignal("come".into())));
}

#[test]
fn an_early_signal_is_rejected_unless_it_is_declared_to_be_stored() {
    assert_eq!(after_work(OnEarly::Reject).signal("go", 11), Err(Rejected::NotWaiting("go".into())));
    let mut host = after_work(OnEarly::Keep);
    for payload in [5, 12, 13] {
        host.signal("go", payload).unwrap();
    }
    host.answer("work", 1);
    host.completed_with("12");
}

#[test]
fn a_delay_ends_the_wait_and_nothing_is_offered_any_more() {
    let mut host = after_work(OnEarly::Reject);
    host.answer("work", 1);
    host.pass(100);
    host.completed_with("\"late\"");
    assert_eq!(offers(&host.program, &host.state), []);
}

#[test]
fn a_timer_fires_once_and_not_before_its_time() {
    let mut host = after_work(OnEarly::Reject);
    host.answer("work", 1);
    let timer = *host.timers.keys().next().unwrap();
    assert_eq!(host.hand(Event::TimerFired(timer)), Err(Rejected::TooEarly));
    assert_eq!(host.hand(Event::TimerFired(TimerNo(999))), Err(Rejected::UnknownTimer));
    host.now_ms -= 1;
    assert_eq!(host.signal("go", 11), Err(Rejected::TimeWentBack));
}

#[test]
fn a_moment_in_the_past_is_now() {
    let mut make = Make::new();
    let at_ms = make.b.value(5);
    let wait = make.b.wait([Arm::Until { at_ms, next: make.end }], None);
    let mut host = make.run(wait);
    assert_eq!(host.timers.values().copied().collect::<Vec<_>>(), [1_000]);
    host.pass(0);
    host.completed_with("null");
}

#[test]
fn a_time_that_is_not_a_number_fails() {
    let mut make = Make::new();
    let delay_ms = make.b.value("soon");
    let wait = make.b.wait([Arm::After { delay_ms, next: make.end }], None);
    make.run(wait).failed_with("wrong_kind");
}

#[test]
fn of_two_waiting_strands_the_older_gets_the_signal() {
    let mut make = Make::new();
    let scope = make.scope(ScopeSpec::default());
    let signal = make.b.signal("go", OnEarly::Reject);
    let into = Some(make.v);
    let done = make.done(scope);
    let wait = |make: &mut Make| make.b.wait([Arm::Signal { signal, check: None, into, next: done }], None);
    let branches = [wait(&mut make), wait(&mut make)];
    let mut host = make.run_branches(scope, &branches);
    host.signal("go", Value::from("first")).unwrap();
    host.signal("go", Value::from("second")).unwrap();
    host.completed_with(r#"["first","second"]"#);
}

#[test]
fn a_waiting_branch_gives_up_its_place_in_the_width() {
    let mut make = Make::new();
    let scope = make.scope(ScopeSpec { width: 1, ..ScopeSpec::default() });
    let signal = make.b.signal("go", OnEarly::Reject);
    let done = make.done(scope);
    let wait = make.b.wait([Arm::Signal { signal, check: None, into: None, next: done }], None);
    let other = make.branch(scope, "other");
    let host = make.run_branches(scope, &[wait, other]);
    assert_eq!(host.flying(), ["other"]);
}

#[test]
fn the_number_of_stored_early_signals_is_limited() {
    let mut host = after_work(OnEarly::Keep);
    for payload in 0..1_000 {
        host.signal("go", payload).expect("there is room");
    }
    assert_eq!(host.signal("go", 1_000), Err(Rejected::MailboxFull(1_000)));
}

#[test]
fn a_zone_reads_the_time_of_the_event_with_the_offset_of_its_stamp() {
    let mut make = Make::new();
    for (name, date) in [("there", false), ("day", true)] {
        let slot = make.b.clock("Asia/Kolkata", date);
        make.b.name(ROOT, &[name], slot);
    }
    let first = make.set(ROOT, make.r, "[there, day]", make.end);
    let program = make.program(first);
    let start = || Event::Start {
        input: Value::Null,
        facts: Object::default(),
        depth: 0,
        max_ops: 0,
        budget: branchpoint_core::ir::BudgetLimits::default(),
    };
    let mut state = State::new();
    let stamp = Stamp { now_ms: 1_771_441_200_000, ..Stamp::default() };
    let refused = advance(&program, &mut state, &stamp, start());
    assert_eq!(refused, Err(Rejected::MissingOffset("Asia/Kolkata".into())));
    let stamp = Stamp { offsets_s: vec![19_800], ..stamp };
    advance(&program, &mut state, &stamp, start()).expect("the offset is there");
    let (_, result) = state.result().expect("it has ended");
    assert_eq!(format!("{result:?}"), r#"["2026-02-19T00:30:00+05:30","2026-02-19"]"#);
}

#[test]
fn a_delay_that_is_nil_never_occurs() {
    let mut make = Make::new();
    let signal = make.b.signal("go", OnEarly::Reject);
    let (delay_ms, end) = (make.b.value(Value::Null), make.end);
    let arms = [Arm::Signal { signal, check: None, into: Some(make.r), next: end }, Arm::After { delay_ms, next: end }];
    let wait = make.b.wait(arms, None);
    let program = make.program(wait);
    let mut state = State::new();
    let start = Event::Start {
        input: Value::Null,
        facts: Object::default(),
        depth: 0,
        max_ops: 0,
        budget: branchpoint_core::ir::BudgetLimits::default(),
    };
    let outcome = advance(&program, &mut state, &Stamp::default(), start).expect("it starts");
    assert_eq!(outcome.commands, []);
}
