//! Budgets of scopes: what they count, when calls begin, and how their parts end.

use branchpoint_core::codec::{decode_state, encode_state};
use branchpoint_core::ir::builder::{ROOT, ScopeSpec};
use branchpoint_core::ir::{
    Arm, Budget, BudgetLimits, Effect, Exit, Failure, PlaceId, Program, ScopeId, Status, Write,
};
use branchpoint_core::{BudgetReason, Event, NoteKind, Records, TimerUse, status};
use branchpoint_expr::{Dialect, Object, Value};

use crate::host::{Host, Make, effect, model, object, retry};

fn tokens(tokens: u64) -> BudgetLimits {
    BudgetLimits { tokens: Some(tokens), ..BudgetLimits::default() }
}

/// A part in the root with a budget: what was used, when it is used up, goes into `r`.
fn part(make: &mut Make, limits: BudgetLimits) -> ScopeId {
    let used = make.b.slot(ROOT, "used", None);
    make.b.name(ROOT, &["used"], used);
    let exit = make.set(ROOT, make.r, "used", make.end);
    let scope = make.scope(ScopeSpec::default());
    let exhausted = Some(Failure { to: exit, error: Some(used) });
    make.b.budget(Budget { scope, limits, exhausted, step: None, leads_to: None });
    scope
}

fn call(make: &mut Make, effect: Effect, next: PlaceId) -> PlaceId {
    make.effect_with(effect, next, None)
}

/// A branch that calls models one after the other. All of them are calls of one step.
fn line(make: &mut Make, scope: ScopeId, names: &[&str]) -> PlaceId {
    let done = make.done(scope);
    let step = make.b.step(names[0], "model", None, (0, 0));
    names.iter().rev().fold(done, |next, name| call(make, Effect { step: Some(step), ..model(name) }, next))
}

fn run(limits: BudgetLimits, lines: &[&[&str]]) -> Host {
    let mut make = Make::new();
    let scope = part(&mut make, limits);
    let lines: Vec<PlaceId> = lines.iter().map(|names| line(&mut make, scope, names)).collect();
    make.run_branches(scope, &lines)
}

/// The result of a run whose budget was used up: the reason, and the tokens.
#[track_caller]
fn used_up(host: &Host) -> (&str, i64) {
    let (status, result) = host.end.as_ref().expect("the run has ended");
    assert_eq!(*status, Status::Completed, "{result:?}");
    let reason = result.get("reason").and_then(Value::as_str).expect("the budget is used up");
    let Some(Value::Int(tokens)) = result.get("tokens") else { panic!("{result:?}") };
    (reason, *tokens)
}

#[test]
fn no_call_begins_when_nothing_is_left() {
    let mut host = run(tokens(100), &[&["a", "b", "c"]]);
    host.answer_using("a", 60);
    assert_eq!(host.flying(), ["b"]);
    host.answer_using("b", 40);
    assert_eq!(used_up(&host), ("tokens", 100));
}

#[test]
fn a_part_that_needs_no_further_call_has_its_ordinary_end() {
    let mut host = run(tokens(100), &[&["a"]]);
    host.answer_using("a", 500);
    host.completed_with(r#"["a"]"#);
}

#[test]
fn calls_in_flight_are_awaited_for_tokens() {
    let mut host = run(tokens(100), &[&["a", "a2"], &["b", "b2"], &["c"]]);
    assert_eq!(host.flying(), ["a", "b", "c"]);
    host.answer_using("a", 100);
    assert_eq!(host.flying(), ["b", "c"], "a2 does not begin, and nothing is withdrawn");
    host.answer_using("b", 30);
    assert!(host.end.is_none());
    host.answer_using("c", 5);
    assert_eq!(used_up(&host), ("tokens", 135));
    assert!(host.withdrawn.is_empty());
}

#[test]
fn cost_is_a_limit_of_its_own() {
    let limits = BudgetLimits { cost_micros: Some(50_000), ..BudgetLimits::default() };
    let mut host = run(limits, &[&["a", "b"]]);
    host.answer_using("a", 50);
    assert_eq!(used_up(&host), ("cost_usd", 50));
}

#[test]
fn with_less_than_a_tenth_left_calls_of_models_run_one_at_a_time() {
    let mut host = run(tokens(100), &[&["a", "a2"], &["b", "b2"], &["c", "c2"]]);
    host.answer_using("a", 5);
    host.answer_using("b", 5);
    assert_eq!(host.flying(), ["c", "a2", "b2"]);
    host.answer_using("a2", 81);
    // Nine are left. Two calls are in flight already; the third waits for both.
    host.answer_using("c", 0);
    assert_eq!(host.flying(), ["b2"], "c2 is held");
    host.answer_using("b2", 1);
    assert_eq!(host.flying(), ["c2"]);
    host.answer_using("c2", 50);
    host.completed_with(r#"["a2","b2","c2"]"#);
}

#[test]
fn a_call_in_flight_reserves_a_tenth_before_its_step_has_used_any() {
    let names: Vec<String> = (b'a'..=b'l').map(|letter| char::from(letter).to_string()).collect();
    let names: Vec<Vec<&str>> = names.iter().map(|name| vec![name.as_str()]).collect();
    let lines: Vec<&[&str]> = names.iter().map(Vec::as_slice).collect();
    let mut host = run(tokens(100), &lines);
    assert_eq!(host.flying().len(), 10, "two of twelve calls are held");
    host.answer_using("a", 10);
    assert_eq!(host.flying().len(), 9, "9 calls reserve 90");
    host.answer_using("b", 0);
    assert_eq!(host.flying().len(), 9, "8 calls reserve 80, so the next begins");
}

#[test]
fn a_call_in_flight_reserves_as_much_as_the_largest_of_its_step() {
    let mut host = run(tokens(100), &[&["a", "a2"], &["b", "b2"], &["c", "c2"]]);
    host.answer_using("a", 30);
    host.answer_using("b", 30);
    assert_eq!(host.flying(), ["c", "a2"], "60 are used; c reserves 10 and a2 30");
    host.answer_using("c", 0);
    assert_eq!(host.flying(), ["a2", "b2"], "a2 reserves 30");
    host.answer_using("b2", 2);
    assert_eq!(host.flying(), ["a2", "c2"], "62 are used");
    host.answer_using("c2", 1);
    host.answer_using("a2", 30);
    host.completed_with(r#"["a2","b2","c2"]"#);
}

#[test]
fn a_lost_connection_does_not_make_a_step_look_cheap() {
    let mut make = Make::new();
    let scope = part(&mut make, tokens(100));
    let step = make.b.step("s", "model", None, (0, 0));
    let done = make.done(scope);
    let retried = Effect { step: Some(step), retry: Some(retry(2, 0)), ..model("x") };
    let first = call(&mut make, retried, done);
    let others: Vec<PlaceId> =
        (0..14).map(|_| call(&mut make, Effect { step: Some(step), ..model("o") }, done)).collect();
    let lines: Vec<PlaceId> = std::iter::once(first).chain(others).collect();
    let mut host = make.run_branches(scope, &lines);
    assert_eq!(host.flying().len(), 10);
    host.fail_using("x", true, 0);
    assert_eq!(host.flying().len(), 10, "each call still reserves a tenth");
    host.answer_using("o", 0);
    assert_eq!(host.flying().len(), 14, "a call of the step has used nothing");
}

#[test]
fn a_called_run_reserves_all_that_is_left_before_its_step_has_used_any() {
    let mut make = Make::new();
    let scope = part(&mut make, tokens(100));
    let step = make.b.step("s", "run", None, (0, 0));
    let done = make.done(scope);
    let runs: Vec<PlaceId> =
        (0..3).map(|_| call(&mut make, Effect { step: Some(step), ..effect("run") }, done)).collect();
    let mut host = make.run_branches(scope, &runs);
    assert_eq!(host.flying(), ["run"], "one called run may use up everything");
    host.answer_using("run", 20);
    assert_eq!(host.flying(), ["run", "run"], "each of them reserves 20");
}

#[test]
fn held_calls_begin_in_the_order_in_which_they_were_held() {
    let mut host = run(tokens(100), &[&["x", "a", "a2"], &["b"], &["y", "c"]]);
    host.answer_using("x", 95);
    host.answer_using("y", 0);
    assert_eq!(host.flying(), ["b"], "a and c are held");
    host.answer_using("b", 0);
    assert_eq!(host.flying(), ["a"]);
    host.answer_using("a", 0);
    assert_eq!(host.flying(), ["c"], "a2 comes after c");
    host.answer_using("c", 0);
    host.answer_using("a2", 0);
    host.completed_with(r#"["a2","b","c"]"#);
}

#[test]
fn calls_that_use_no_tokens_are_not_held_one_at_a_time() {
    let mut make = Make::new();
    let scope = part(&mut make, tokens(100));
    let mut branch = |tool: &str, first: &str| {
        let done = make.done(scope);
        let next = call(&mut make, effect(tool), done);
        call(&mut make, model(first), next)
    };
    let branches = [branch("t", "x"), branch("u", "y")];
    let mut host = make.run_branches(scope, &branches);
    host.answer_using("x", 95);
    host.answer_using("y", 0);
    assert_eq!(host.flying(), ["t", "u"]);
}

#[test]
fn time_withdraws_the_calls_in_flight() {
    let limits = BudgetLimits { time_ms: Some(5_000), ..BudgetLimits::default() };
    let mut host = run(limits, &[&["a"], &["b"]]);
    host.pass(4_000);
    host.answer_using("a", 7);
    host.pass(1_000);
    assert_eq!(host.withdrawn, ["b"]);
    assert_eq!(used_up(&host), ("time", 7));
}

#[test]
fn waiting_for_people_takes_no_time() {
    let mut make = Make::new();
    let scope = part(&mut make, BudgetLimits { time_ms: Some(5_000), ..BudgetLimits::default() });
    let done = make.done(scope);
    let second = call(&mut make, model("b"), done);
    let spec = make.b.value(object([
        ("choices", Value::from(vec![Value::from("yes")])),
        ("recipients", Value::from(vec![Value::from("ann")])),
        ("required", Value::Int(1)),
    ]));
    let ask = make.b.wait([Arm::Request { spec, into: None, next: second, expired: None }], None);
    let first = call(&mut make, model("a"), ask);
    let mut host = make.run_branches(scope, &[first]);
    host.pass(3_000);
    host.answer_using("a", 1);
    assert_eq!(status(&host.program, &host.state), Status::WaitingPeople);
    assert!(host.timers.is_empty(), "no clock runs");
    host.pass(3_600_000);
    host.vote("ann", "yes").unwrap();
    let (timer, due_ms) = host.state.timers().next().expect("the clock runs again");
    assert_eq!((host.state.timer_use(timer), due_ms - host.now_ms), (Some(TimerUse::Deadline), 2_000));
    host.pass(2_000);
    let (_, used) = host.end.as_ref().expect("the run has ended");
    assert_eq!(used.get("elapsed_s"), Some(&Value::Int(5)));
    assert_eq!(used.get("reason"), Some(&Value::from("time")));
}

#[test]
fn failed_attempts_count_and_are_not_repeated_without_budget() {
    let mut make = Make::new();
    let scope = part(&mut make, tokens(100));
    let done = make.done(scope);
    let begin = call(&mut make, Effect { retry: Some(retry(5, 1_000)), ..model("a") }, done);
    let mut host = make.run_branches(scope, &[begin]);
    host.fail_using("a", true, 60);
    host.pass(1_000);
    host.fail_using("a", true, 60);
    assert_eq!(used_up(&host), ("tokens", 120), "the third attempt does not begin");
}

#[test]
fn a_retry_that_waits_is_held_when_others_use_up_the_budget() {
    let mut make = Make::new();
    let scope = part(&mut make, tokens(100));
    let done = make.done(scope);
    let retried = call(&mut make, Effect { retry: Some(retry(5, 1_000)), ..model("a") }, done);
    let other = line(&mut make, scope, &["b"]);
    let mut host = make.run_branches(scope, &[retried, other]);
    host.fail_using("a", true, 10);
    host.answer_using("b", 95);
    assert!(host.end.is_none());
    host.pass(1_000);
    assert_eq!(used_up(&host), ("tokens", 105));
}

#[test]
fn usage_counts_for_every_budget_around_and_the_outermost_ends_first() {
    let build = |outer_limit: u64, inner_limit: u64| {
        let mut make = Make::new();
        let outer = part(&mut make, tokens(outer_limit));
        let (after, inner_exit) = (make.done(outer), make.done(outer));
        let spec = ScopeSpec { next: Some(after), ..ScopeSpec::default() };
        let inner = make.b.scope(outer, spec);
        let to = make.set(outer, make.v, "'inner is used up'", inner_exit);
        let exhausted = Some(Failure { to, error: None });
        make.b.budget(Budget { scope: inner, limits: tokens(inner_limit), exhausted, step: None, leads_to: None });
        let calls = line(&mut make, inner, &["a", "b"]);
        make.b.begin(inner, &[calls]);
        let enter = make.b.enter(inner);
        make.run_branches(outer, &[enter])
    };
    let mut host = build(1_000, 100);
    host.answer_using("a", 150);
    host.completed_with(r#"["inner is used up"]"#);
    let mut host = build(100, 100);
    host.answer_using("a", 150);
    assert_eq!(used_up(&host), ("tokens", 150));
}

#[test]
fn without_an_exit_the_part_fails() {
    let mut make = Make::new();
    let scope = make.scope(ScopeSpec::default());
    make.b.budget(Budget { scope, limits: tokens(10), exhausted: None, step: None, leads_to: None });
    let calls = line(&mut make, scope, &["a", "b"]);
    let mut host = make.run_branches(scope, &[calls]);
    host.answer_using("a", 10);
    host.failed_with("budget_exceeded");
    let message = host.end.as_ref().and_then(|(_, error)| error.get("message")?.as_str());
    assert_eq!(message, Some("the budget of 10 tokens is used up: the calls used 10 tokens"));
}

#[test]
fn what_is_used_and_left_can_be_read() {
    let mut make = Make::new();
    let limits = BudgetLimits { tokens: Some(100), time_ms: Some(60_000), ..BudgetLimits::default() };
    let scope = part(&mut make, limits);
    let (own, whole) = (make.b.meter(scope), make.b.meter(ROOT));
    make.b.name(scope, &["budget"], own);
    make.b.name(ROOT, &["run"], whole);
    let done = make.done(scope);
    let read = make.set(
        scope,
        make.v,
        "[budget.tokens, budget.remaining_tokens, budget.remaining_cost_usd, budget.elapsed_s, budget.remaining_s, run.tokens, run.elapsed_s]",
        done,
    );
    let second = call(&mut make, model("b"), read);
    make.b.begin(scope, &[second]);
    let enter = make.b.enter(scope);
    let first = call(&mut make, model("a"), enter);
    let mut host = make.run(first);
    host.pass(500);
    host.answer_using("a", 7);
    host.pass(1_500);
    host.answer_using("b", 30);
    host.completed_with("[[30,70,null,1.5,58.5,37,2]]");
}

#[test]
fn a_condition_can_read_a_budget_that_others_use() {
    let mut make = Make::new();
    let scope = part(&mut make, tokens(100));
    let own = make.b.meter(scope);
    make.b.name(scope, &["budget"], own);
    let (start, done) = (make.b.reserve(), make.done(scope));
    let again = call(&mut make, model("a"), start);
    let enough = make.b.condition(scope, "budget.remaining_tokens < 50", Dialect::Machine).unwrap();
    make.b.at(start).decide([(enough, done)], again, None);
    let mut host = make.run_branches(scope, &[start]);
    host.answer_using("a", 40);
    assert_eq!(host.flying(), ["a"]);
    host.answer_using("a", 40);
    host.completed_with(r#"["a"]"#);
}

#[test]
fn a_called_run_fails_when_what_its_callers_had_left_is_used_up() {
    let mut make = Make::new();
    let end = make.end;
    let second = call(&mut make, model("b"), end);
    let calls = call(&mut make, model("a"), second);
    let start = Event::Start { input: Value::Null, facts: Object::default(), depth: 1, max_ops: 0, budget: tokens(50) };
    let mut host = Host::start_with(make.program(calls), start);
    host.answer_using("a", 60);
    host.failed_with("budget_exceeded");
    assert_eq!(host.state.usage().tokens, 60);
}

#[test]
fn a_call_of_a_run_has_what_every_budget_around_it_has_left() {
    let mut make = Make::new();
    let outer = part(&mut make, tokens(100));
    let after = make.done(outer);
    let inner = make.b.scope(outer, ScopeSpec { next: Some(after), ..ScopeSpec::default() });
    let limits = BudgetLimits { tokens: Some(80), cost_micros: Some(70_000), time_ms: Some(1_000) };
    make.b.budget(Budget { scope: inner, limits, exhausted: None, step: None, leads_to: None });
    let done = make.done(inner);
    let child = call(&mut make, effect("run"), done);
    make.b.begin(inner, &[child]);
    let enter = make.b.enter(inner);
    let first = call(&mut make, model("a"), enter);
    let mut host = make.run_branches(outer, &[first]);
    host.answer_using("a", 30);
    let (child, _) = host.find("run");
    let left = host.state.left_for(child);
    assert_eq!(left, BudgetLimits { tokens: Some(70), cost_micros: Some(70_000), time_ms: None });
    // The called run fails because that is used up: its caller ends by its budget, not by the failure.
    host.fail_using("run", false, 75);
    assert_eq!(used_up(&host), ("tokens", 105));
}

#[test]
fn a_failed_call_of_a_run_with_budget_left_is_an_ordinary_failure() {
    let mut make = Make::new();
    let scope = part(&mut make, tokens(100));
    let done = make.done(scope);
    let child = call(&mut make, effect("run"), done);
    let mut host = make.run_branches(scope, &[child]);
    host.fail_using("run", false, 75);
    host.failed_with("boom");
}

#[test]
fn a_closed_part_drops_its_held_calls_and_its_clock() {
    let mut make = Make::new();
    let limits = BudgetLimits { tokens: Some(100), time_ms: Some(60_000), ..BudgetLimits::default() };
    let scope = part(&mut make, limits);
    let lines = [line(&mut make, scope, &["x", "a"]), line(&mut make, scope, &["y", "b"])];
    let mut host = make.run_branches(scope, &lines);
    host.answer_using("x", 95);
    host.hand(Event::Cancel { reason: None }).unwrap();
    assert!(matches!(host.end, Some((Status::Cancelled, _))));
    assert_eq!(host.withdrawn, ["y"]);
    assert!(host.state.budgets(&host.program).is_empty());
}

#[test]
fn the_settlement_of_an_attempt_that_ended_is_rejected_while_the_next_is_held() {
    let mut make = Make::new();
    let scope = part(&mut make, tokens(100));
    let done = make.done(scope);
    let retried = call(&mut make, Effect { retry: Some(retry(5, 0)), ..model("a") }, done);
    let other = line(&mut make, scope, &["b"]);
    let mut host = make.run_branches(scope, &[retried, other]);
    let (effect, attempt) = host.find("a");
    host.fail_using("a", true, 100);
    assert_eq!(host.flying(), ["b"]);
    let again = Event::Settled { effect, attempt, result: Ok(Value::Null), usage: branchpoint_core::Usage::default() };
    assert!(host.hand(again).is_err());
    host.answer_using("b", 1);
    assert_eq!(used_up(&host), ("tokens", 101));
}

#[test]
fn the_trace_has_the_usage_of_a_part_by_step() {
    let mut make = Make::new();
    let steps = [make.b.step("a", "model", None, (0, 0)), make.b.step("b", "model", None, (0, 0))];
    let scope = part(&mut make, tokens(100));
    let done = make.done(scope);
    let third = call(&mut make, Effect { step: Some(steps[1]), ..model("b2") }, done);
    let second = call(&mut make, Effect { step: Some(steps[1]), ..model("b") }, third);
    let first = call(&mut make, Effect { step: Some(steps[0]), ..model("a") }, second);
    make.b.begin(scope, &[first]);
    let enter = make.b.enter(scope);
    let program = make.program(enter);
    let mut host = Host::start(program);
    let mut records = Records::of(&host.program);
    for (name, tokens) in [("a", 70), ("b", 50)] {
        let (effect, attempt) = host.find(name);
        let usage = branchpoint_core::Usage { tokens, cost_micros: 0 };
        let outcome = host.hand(Event::Settled { effect, attempt, result: Ok(Value::Null), usage }).unwrap();
        for note in &outcome.trace {
            records.add(note);
            if let NoteKind::Decided(decided) = &note.kind {
                let text = decided.to_text(&host.program, "x.yaml", &());
                insta::assert_snapshot!(text, @r"
                b → on_budget
                  the budget of 100 tokens is used up: the calls used 120 tokens
                  ✗ continue: every budget has something left
                  ✓ on_budget: the budget is used up
                  used 120 tokens of 100 in 0s
                  used by: a 70 tokens
                  used by: b 50 tokens
                ");
            }
        }
    }
    let budget = records.budget().expect("the part has ended");
    assert_eq!(budget.ended_by, Some(BudgetReason::Tokens));
    assert_eq!(budget.step_texts(&host.program), ["a 70 tokens", "b 50 tokens"]);
}

#[test]
fn a_run_with_a_budget_continues_from_its_snapshot() {
    let mut make = Make::new();
    let scope = part(&mut make, BudgetLimits { tokens: Some(100), time_ms: Some(9_000), ..BudgetLimits::default() });
    let lines = [line(&mut make, scope, &["x", "a", "a2"]), line(&mut make, scope, &["y", "b"])];
    make.b.begin(scope, &lines);
    let enter = make.b.enter(scope);
    let program = make.program(enter);
    let mut host = Host::start(stored(&program));
    for (name, tokens) in [("x", 95), ("y", 1), ("a", 1), ("b", 10)] {
        host.state = decode_state(&encode_state(&host.state).unwrap()).unwrap();
        host.answer_using(name, tokens);
    }
    assert_eq!(used_up(&host), ("tokens", 107));
}

fn stored(program: &Program) -> Program {
    use branchpoint_core::codec::{decode_program, encode_program};

    let bytes = encode_program(program).unwrap();
    assert_eq!(bytes[3], 2, "budgets need version 2");
    decode_program(&bytes).unwrap()
}

#[test]
fn a_set_is_not_undone_by_a_budget_that_is_used_up() {
    let mut make = Make::new();
    let seen = make.b.slot(ROOT, "seen", None);
    make.b.name(ROOT, &["seen"], seen);
    let exit = make.set(ROOT, make.r, "seen", make.end);
    let scope = make.scope(ScopeSpec::default());
    let exhausted = Some(Failure { to: exit, error: None });
    make.b.budget(Budget { scope, limits: tokens(10), exhausted, step: None, leads_to: None });
    let done = make.b.leave(scope, Exit::Done(None));
    let second = call(&mut make, model("b"), done);
    let value = make.b.read(make.v);
    let store = make.b.set([Write::Put(seen, value)], second, None);
    let first = call(&mut make, model("a"), store);
    let mut host = make.run_branches(scope, &[first]);
    host.answer_using("a", 20);
    host.completed_with(r#""a""#);
}

#[test]
fn programs_with_two_budgets_for_a_scope_are_rejected() {
    let mut make = Make::new();
    let scope = part(&mut make, tokens(1));
    make.b.budget(Budget { scope, limits: tokens(2), exhausted: None, step: None, leads_to: None });
    let done = make.done(scope);
    make.b.begin(scope, &[done]);
    let enter = make.b.enter(scope);
    make.b.begin(ROOT, &[enter]);
    let wrong = make.b.finish().unwrap_err();
    assert!(wrong[0].message.contains("two budgets"), "{wrong:?}");
}
