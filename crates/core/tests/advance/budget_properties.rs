//! Budgets hold for random parts in parts, in every order of answers, with parallel branches and a crash after every event.
//!
//! The test keeps its own books: it knows the tree, sees which calls begin, and says what each has used.

use std::collections::BTreeMap;

use branchpoint_core::codec::{decode_program, decode_state, encode_program, encode_state};
use branchpoint_core::ir::builder::{Builder, ROOT, ScopeSpec};
use branchpoint_core::ir::{Budget, BudgetLimits, EffectId, Exit, Failure, PlaceId, Program, ScopeId, Status, StepId};
use branchpoint_core::{AttemptError, Command, EffectNo, Event, RetryHint, Stamp, State, Usage, advance};
use branchpoint_expr::Value;
use proptest::prelude::*;

use crate::host::{effect, model, retry};

/// A part of the tree.
#[derive(Clone, Debug)]
enum Part {
    /// Calls one after the other.
    Calls(Vec<Call>),
    /// Parts one after the other.
    Then(Vec<Part>),
    /// Parts at the same time, so many at once; 0 is all.
    Beside(u32, Vec<Part>),
    /// A part with a budget of tokens.
    Budgeted(u64, Box<Part>),
}

/// A call in the tree.
#[derive(Clone, Debug)]
struct Call {
    is_retried: bool,
    is_child_run: bool,
    /// The number of its step. Many calls have the same.
    step: usize,
}

/// What the test knows of a call.
#[derive(Clone, Debug)]
struct Facts {
    /// The budgets around it.
    around: Vec<usize>,
    step: usize,
    is_child_run: bool,
}

const STEPS: usize = 3;

struct Make {
    b: Builder,
    steps: Vec<StepId>,
    /// The limits of budgets.
    limits: Vec<u64>,
    /// The calls.
    calls: BTreeMap<EffectId, Facts>,
}

impl Make {
    /// Lays out a part before a place, in a scope.
    fn part(&mut self, part: &Part, scope: ScopeId, around: &[usize], next: PlaceId) -> PlaceId {
        match part {
            Part::Calls(calls) => calls.iter().fold(next, |next, call| {
                let name = format!("c{}", self.calls.len());
                let known = Facts { around: around.to_vec(), step: call.step, is_child_run: call.is_child_run };
                let kind = if call.is_child_run { effect("run") } else { model(&name) };
                let (retry, step) = (call.is_retried.then(|| retry(3, 0)), Some(self.steps[call.step]));
                let effect = self.b.effect(branchpoint_core::ir::Effect { retry, step, ..kind });
                self.calls.insert(effect, known);
                let nothing = self.b.value(Value::Null);
                // A call that fails in the end is skipped.
                self.b.do_(effect, nothing, None, next, Some(Failure { to: next, error: None }))
            }),
            Part::Then(parts) => parts.iter().rev().fold(next, |next, part| self.part(part, scope, around, next)),
            Part::Beside(width, parts) => {
                let spec = ScopeSpec { next: Some(next), width: *width, ..ScopeSpec::default() };
                let inner = self.b.scope(scope, spec);
                let done = self.b.leave(inner, Exit::Done(None));
                let entries: Vec<_> = parts.iter().map(|part| self.part(part, inner, around, done)).collect();
                self.b.begin(inner, &entries);
                self.b.enter(inner)
            }
            Part::Budgeted(limit, part) => {
                let inner = self.b.scope(scope, ScopeSpec { next: Some(next), ..ScopeSpec::default() });
                let limits = BudgetLimits { tokens: Some(*limit), ..BudgetLimits::default() };
                let exhausted = Some(Failure { to: next, error: None });
                self.b.budget(Budget { scope: inner, limits, exhausted, step: None, leads_to: None });
                let around: Vec<usize> = around.iter().copied().chain([self.limits.len()]).collect();
                self.limits.push(*limit);
                let done = self.b.leave(inner, Exit::Done(None));
                let entry = self.part(part, inner, &around, done);
                self.b.begin(inner, &[entry]);
                self.b.enter(inner)
            }
        }
    }

    fn program(part: &Part) -> (Program, Vec<u64>, BTreeMap<EffectId, Facts>) {
        let mut b = Builder::new();
        let steps = (0..STEPS).map(|step| b.step(&format!("s{step}"), "model", None, (0, 0))).collect();
        let mut make = Self { b, steps, limits: Vec::new(), calls: BTreeMap::new() };
        let result = make.b.value(Value::Null);
        let end = make.b.close(Status::Completed, result);
        let begin = make.part(part, ROOT, &[], end);
        make.b.begin(ROOT, &[begin]);
        (make.b.finish().expect("the program is valid"), make.limits, make.calls)
    }
}

fn part() -> impl Strategy<Value = Part> {
    let call = (any::<bool>(), prop::bool::weighted(0.2), 0..STEPS).prop_map(|(is_retried, is_child_run, step)| Call {
        is_retried,
        is_child_run,
        step,
    });
    let calls = prop::collection::vec(call, 1..4).prop_map(Part::Calls);
    calls.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Part::Then),
            (0..3_u32, prop::collection::vec(inner.clone(), 1..5))
                .prop_map(|(width, parts)| Part::Beside(width, parts)),
            (10..200_u64, inner).prop_map(|(limit, part)| Part::Budgeted(limit, Box::new(part))),
        ]
    })
}

/// The usage of an attempt: small ones mostly.
fn tokens() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0..8_u64, 1 => 0..60_u64]
}

/// A call in flight.
#[derive(Debug)]
struct Flight {
    call: EffectId,
    attempt: u32,
    /// By budget: the least that was reserved for it when another call began.
    reserved: BTreeMap<usize, u64>,
}

/// The book of one budget.
#[derive(Debug, Default)]
struct Book {
    limit: u64,
    used: u64,
    /// The largest usage of an attempt, by step.
    largest: BTreeMap<usize, u64>,
    /// The largest usage of an attempt of any step.
    largest_of_all: u64,
    /// Whether an attempt has used more than was reserved for it when another call began.
    has_surprise: bool,
}

impl Book {
    fn reservation(&self, call: &Facts) -> u64 {
        let unknown = if call.is_child_run { self.limit.saturating_sub(self.used) } else { self.limit.div_ceil(10) };
        self.largest.get(&call.step).copied().unwrap_or(unknown)
    }
}

/// The books of the test.
struct Books {
    budgets: Vec<Book>,
    calls: BTreeMap<EffectId, Facts>,
    in_flight: BTreeMap<EffectNo, Flight>,
}

impl Books {
    /// A call begins: every budget around it has something left beside what the calls in flight have reserved.
    fn begins(&mut self, effect: EffectNo, attempt: u32, call: EffectId) {
        for budget in &self.calls[&call].around {
            let book = &self.budgets[*budget];
            assert!(book.used < book.limit, "{call:?} begins although budget {budget} is used up: {book:?}");
            let others = self.in_flight.iter_mut().map(|(_, flight)| flight);
            let (mut count, mut reserved) = (0, 0);
            for other in others.filter(|other| self.calls[&other.call].around.contains(budget)) {
                let reservation = book.reservation(&self.calls[&other.call]);
                let least = other.reserved.entry(*budget).or_insert(u64::MAX);
                *least = reservation.min(*least);
                (count, reserved) = (count + 1, reserved + reservation);
            }
            if count > 0 {
                assert!(
                    (book.limit - book.used) * 10 >= book.limit,
                    "{call:?} begins in the last tenth of {budget}: {book:?}"
                );
                assert!(
                    book.used + reserved < book.limit,
                    "{call:?} begins, and {reserved} are reserved in {budget}: {book:?}"
                );
            }
        }
        self.in_flight.insert(effect, Flight { call, attempt, reserved: BTreeMap::new() });
    }

    /// An attempt ends. If none used more than its reservation, a budget is exceeded by less than one call.
    fn ends(&mut self, flight: &Flight, is_ok: bool, tokens: u64) {
        let call = &self.calls[&flight.call];
        for budget in &call.around {
            let book = &mut self.budgets[*budget];
            book.used += tokens;
            book.largest_of_all = book.largest_of_all.max(tokens);
            if is_ok || tokens > 0 {
                let largest = book.largest.entry(call.step).or_default();
                *largest = tokens.max(*largest);
            }
            book.has_surprise |= flight.reserved.get(budget).is_some_and(|reserved| tokens > *reserved);
            if !book.has_surprise {
                assert!(
                    book.used < book.limit + book.largest_of_all.max(1),
                    "budget {budget} is exceeded by more than one call: {book:?}"
                );
            }
        }
    }
}

fn run(part: &Part, choices: &[(usize, u64, u8)]) {
    let (program, limits, calls) = Make::program(part);
    let program = decode_program(&encode_program(&program).unwrap()).unwrap();
    let budgets = limits.into_iter().map(|limit| Book { limit, ..Book::default() }).collect();
    let mut books = Books { budgets, calls, in_flight: BTreeMap::new() };
    let mut state = State::new();
    let mut event = Event::start(Value::Null);
    for (position, (choice, tokens, failure)) in choices.iter().cycle().enumerate() {
        assert!(position < 2_000, "the run ends");
        let outcome = advance(&program, &mut state, &Stamp::default(), event).expect("the event is accepted");
        for command in &outcome.commands {
            match command {
                Command::Perform { effect, attempt, effect_id, .. } => {
                    books.begins(*effect, *attempt, *effect_id);
                }
                Command::Withdraw { effect } => panic!("{effect:?} is withdrawn: calls in flight are awaited"),
                _ => {}
            }
        }
        // The process crashes and goes on from its snapshot.
        let bytes = encode_state(&state).unwrap();
        state = decode_state(&bytes).unwrap();
        assert_eq!(encode_state(&state).unwrap(), bytes);
        if outcome.more {
            event = Event::Continue;
            continue;
        }
        let Some(effect) = books.in_flight.keys().nth(choice % books.in_flight.len().max(1)).copied() else {
            assert!(state.result().is_some(), "nothing is in flight, and the run has not ended");
            return;
        };
        assert!(state.result().is_none());
        let flight = books.in_flight.remove(&effect).unwrap();
        books.ends(&flight, *failure >= 2, *tokens);
        let attempt = flight.attempt;
        let failed =
            || AttemptError { kind: "boom".into(), message: "it broke".into(), retry: RetryHint::Soon, answered: true };
        let result = if *failure < 2 { Err(failed()) } else { Ok(Value::Null) };
        event = Event::Settled { effect, attempt, result, usage: Usage { tokens: *tokens, cost_micros: 0 } };
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_budget_is_exceeded_by_at_most_one_call_if_none_uses_more_than_was_reserved(
        part in part(),
        choices in prop::collection::vec((any::<usize>(), tokens(), 0..10_u8), 1..40),
    ) {
        run(&part, &choices);
    }
}
