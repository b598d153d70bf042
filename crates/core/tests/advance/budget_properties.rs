//! Budgets hold for random parts in parts, in every order of answers, with a crash after every event.
//!
//! The test keeps its own books: it knows the tree, sees which calls begin, and says what each has used.

use std::collections::{BTreeMap, BTreeSet};

use branchpoint_core::codec::{decode_program, decode_state, encode_program, encode_state};
use branchpoint_core::ir::builder::{Builder, ROOT, ScopeSpec};
use branchpoint_core::ir::{Budget, BudgetLimits, Exit, Failure, PlaceId, Program, ScopeId, Status};
use branchpoint_core::{AttemptError, Command, EffectNo, Event, RetryHint, Stamp, State, Usage, advance};
use branchpoint_expr::Value;
use proptest::prelude::*;

use crate::host::{model, retry};

/// A part of the tree.
#[derive(Clone, Debug)]
enum Part {
    /// Calls one after the other; each may be retried.
    Calls(Vec<bool>),
    /// Parts one after the other.
    Then(Vec<Part>),
    /// Parts at the same time, so many at once; 0 is all.
    Beside(u32, Vec<Part>),
    /// A part with a budget of tokens.
    Budgeted(u64, Box<Part>),
}

/// What the test knows of a call: the budgets around it.
type Around = Vec<usize>;

struct Make {
    b: Builder,
    /// The limits of budgets.
    limits: Vec<u64>,
    /// The budgets around each call, by name.
    calls: BTreeMap<String, Around>,
}

impl Make {
    /// Lays out a part before a place, in a scope.
    fn part(&mut self, part: &Part, scope: ScopeId, around: &Around, next: PlaceId) -> PlaceId {
        match part {
            Part::Calls(calls) => calls.iter().fold(next, |next, retried| {
                let name = format!("c{}", self.calls.len());
                self.calls.insert(name.clone(), around.clone());
                let retry = retried.then(|| retry(3, 0));
                let effect = self.b.effect(branchpoint_core::ir::Effect { retry, ..model(&name) });
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
                let around = around.iter().copied().chain([self.limits.len()]).collect();
                self.limits.push(*limit);
                let done = self.b.leave(inner, Exit::Done(None));
                let entry = self.part(part, inner, &around, done);
                self.b.begin(inner, &[entry]);
                self.b.enter(inner)
            }
        }
    }

    fn program(part: &Part) -> (Program, Vec<u64>, BTreeMap<String, Around>) {
        let mut make = Self { b: Builder::new(), limits: Vec::new(), calls: BTreeMap::new() };
        let result = make.b.value(Value::Null);
        let end = make.b.close(Status::Completed, result);
        let begin = make.part(part, ROOT, &Vec::new(), end);
        make.b.begin(ROOT, &[begin]);
        (make.b.finish().expect("the program is valid"), make.limits, make.calls)
    }
}

fn part() -> impl Strategy<Value = Part> {
    let calls = prop::collection::vec(any::<bool>(), 1..4).prop_map(Part::Calls);
    calls.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Part::Then),
            (0..3_u32, prop::collection::vec(inner.clone(), 1..5))
                .prop_map(|(width, parts)| Part::Beside(width, parts)),
            (10..200_u64, inner).prop_map(|(limit, part)| Part::Budgeted(limit, Box::new(part))),
        ]
    })
}

/// The books of the test.
struct Books {
    limits: Vec<u64>,
    used: Vec<u64>,
    /// By budget: the calls that were in flight when it was used up, and when its last tenth began.
    late: Vec<BTreeSet<(EffectNo, u32)>>,
    before_last_tenth: Vec<BTreeSet<(EffectNo, u32)>>,
    calls: BTreeMap<String, Around>,
    in_flight: BTreeMap<EffectNo, (String, u32)>,
}

impl Books {
    /// A call begins: every budget around it has something left, and with less than a tenth left it is the only one.
    fn begins(&self, effect: EffectNo, name: &str) {
        for budget in &self.calls[name] {
            let (limit, used) = (self.limits[*budget], self.used[*budget]);
            assert!(used < limit, "{name} begins although budget {budget} is used up: {used} of {limit}");
            let others =
                self.in_flight.iter().filter(|(no, (other, _))| **no != effect && self.calls[other].contains(budget));
            if (limit - used) * 10 < limit {
                assert_eq!(others.count(), 0, "{name} begins beside others in the last tenth of budget {budget}");
            }
        }
    }

    /// A call ends. Beyond the limit, only calls count that were in flight when the budget was used up.
    fn ends(&mut self, effect: EffectNo, attempt: u32, name: &str, tokens: u64) {
        for budget in self.calls[name].clone() {
            let (limit, before) = (self.limits[budget], self.used[budget]);
            self.used[budget] += tokens;
            if before >= limit {
                assert!(self.late[budget].contains(&(effect, attempt)), "{name} was not in flight");
            } else if self.used[budget] >= limit {
                let others = self.in_flight.iter().filter(|(_, (other, _))| self.calls[other].contains(&budget));
                self.late[budget] = others.map(|(no, (_, attempt))| (*no, *attempt)).collect();
                let nearly = (limit - before) * 10 < limit;
                assert!(!nearly || self.late[budget].len() <= self.before_last_tenth[budget].len());
            }
            if before * 10 <= limit * 9 && self.used[budget] * 10 > limit * 9 {
                let others = self.in_flight.iter().filter(|(_, (other, _))| self.calls[other].contains(&budget));
                self.before_last_tenth[budget] = others.map(|(no, (_, attempt))| (*no, *attempt)).collect();
            }
        }
    }
}

fn run(part: &Part, choices: &[(usize, u64, u8)]) {
    let (program, limits, calls) = Make::program(part);
    let program = decode_program(&encode_program(&program).unwrap()).unwrap();
    let none = vec![BTreeSet::new(); limits.len()];
    let mut books = Books {
        used: vec![0; limits.len()],
        late: none.clone(),
        before_last_tenth: none,
        limits,
        calls,
        in_flight: BTreeMap::new(),
    };
    let mut state = State::new();
    let mut event = Event::start(Value::Null);
    for (position, (choice, tokens, failure)) in choices.iter().cycle().enumerate() {
        assert!(position < 2_000, "the run ends");
        let outcome = advance(&program, &mut state, &Stamp::default(), event).expect("the event is accepted");
        for command in &outcome.commands {
            match command {
                Command::Perform { effect, attempt, effect_id, .. } => {
                    let name = program.effects[effect_id.0 as usize].fixed["prompt"].to_string();
                    books.begins(*effect, &name);
                    books.in_flight.insert(*effect, (name, *attempt));
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
        let (name, attempt) = books.in_flight.remove(&effect).unwrap();
        books.ends(effect, attempt, &name, *tokens);
        let failed =
            || AttemptError { kind: "boom".into(), message: "it broke".into(), retry: RetryHint::Soon, answered: true };
        let result = if *failure < 2 { Err(failed()) } else { Ok(Value::Null) };
        event = Event::Settled { effect, attempt, result, usage: Usage { tokens: *tokens, cost_micros: 0 } };
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_budget_is_exceeded_by_at_most_the_calls_in_flight(
        part in part(),
        choices in prop::collection::vec((any::<usize>(), 0..60_u64, 0..10_u8), 1..40),
    ) {
        run(&part, &choices);
    }
}
