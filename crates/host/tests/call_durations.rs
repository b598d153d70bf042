//! Calls with durations: the order of their ends, and attempt limits.

use branchpoint_core::Event;
use branchpoint_core::effect::Kind;
use branchpoint_core::ir::builder::{Builder, ROOT, ScopeSpec, effect};
use branchpoint_core::ir::{Effect, Exit, Program, Status};
use branchpoint_expr::{Object, Value};
use branchpoint_host::{SimulatedAnswer, VirtualDriver};
use branchpoint_runners::{Answer, Call};

/// Parallel calls, named by their steps. The results are in the order of the calls.
fn side_by_side(steps: &[(&str, Option<u64>)]) -> Program {
    let mut b = Builder::new();
    let answers = b.slot(ROOT, "answers", None);
    let spec = ScopeSpec { into: Some(answers), ..ScopeSpec::default() };
    let scope = b.scope(ROOT, spec);
    let nothing = b.value(Value::Null);
    let calls: Vec<_> = steps
        .iter()
        .map(|(id, attempt_limit_ms)| {
            let step = b.step(id, "call", None, (0, 0));
            let answer = b.local(id);
            let value = b.read(answer);
            let done = b.leave(scope, Exit::Done(Some(value)));
            let effect =
                b.effect(Effect { step: Some(step), attempt_limit_ms: *attempt_limit_ms, ..effect(Kind::Tool) });
            b.do_(effect, nothing, Some(answer), done, None)
        })
        .collect();
    b.begin(scope, &calls);
    let result = b.read(answers);
    let after = b.next(scope);
    b.at(after).close(Status::Completed, result);
    let enter = b.enter(scope);
    b.begin(ROOT, &[enter]);
    b.finish().expect("the program is valid")
}

/// Simulates a call. The name of its step ends with its duration in milliseconds.
fn simulate(call: &Call) -> SimulatedAnswer {
    let step = call.step.clone().unwrap_or_default();
    let duration_ms = step.trim_start_matches(char::is_alphabetic).parse().expect("the name ends with a duration");
    let reports = vec![("rejected".into(), Value::Null)];
    SimulatedAnswer { duration_ms, reports, ..Answer::data(Value::Str(step)).into() }
}

#[track_caller]
fn check(steps: &[(&str, Option<u64>)], ends: &[(&str, i64)], status: Status) {
    let program = side_by_side(steps);
    let mut host = VirtualDriver::new(&program, 0);
    host.start(Value::Null, Object::default()).expect("a run can start");
    host.run_until_idle(&mut simulate);
    let journal = host.journal();
    let settled = journal.iter().filter_map(|(stamp, event, _)| match event {
        Event::Settled { result, .. } => {
            let text = result.as_ref().map_or_else(|failed| failed.kind.to_string(), ToString::to_string);
            Some((text, stamp.now_ms))
        }
        _ => None,
    });
    let expect: Vec<_> = ends.iter().map(|(text, at_ms)| ((*text).to_owned(), *at_ms)).collect();
    assert_eq!(settled.collect::<Vec<_>>(), expect);
    assert_eq!(host.status(), status);
}

#[test]
fn calls_settle_in_the_order_of_their_ends_and_ties_in_the_order_of_their_starts() {
    check(&[("a0", None)], &[("a0", 0)], Status::Completed);
    check(
        &[("a40", None), ("b5", None), ("c40", None), ("d0", None)],
        &[("d0", 0), ("b5", 5), ("a40", 40), ("c40", 40)],
        Status::Completed,
    );
}

#[test]
fn a_call_that_exceeds_its_attempt_limit_times_out() {
    check(&[("a40", Some(10))], &[("timeout", 10)], Status::Failed);
    check(&[("a10", Some(10))], &[("a10", 10)], Status::Completed);
}
