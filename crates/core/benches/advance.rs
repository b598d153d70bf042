//! The cost of one event: `cargo bench -p branchpoint-core`.
//!
//! A settled effect on a workflow of twelve steps, after 10, 1,000 and 100,000 finished steps; a for-each over 10,000 and
//! 100,000 items at width 100; building and validating a program of 10,000 places.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::time::Instant;

use branchpoint_core::codec::encode_state;
use branchpoint_core::effect::Kind;
use branchpoint_core::ir::builder::{Builder, ROOT, ScopeSpec, effect};
use branchpoint_core::ir::{Exit, Program, Status, Write};
use branchpoint_core::{Command, Event, Stamp, State, Usage, advance};
use branchpoint_expr::{Dialect, Value};

const STEPS: usize = 12;

fn main() {
    settled_events();
    for_each();
    building();
}

/// The cost of one event must not grow with the steps that are done.
fn settled_events() {
    let program = twelve_steps();
    let answer = Value::from("x".repeat(900));
    println!("settled event on a 12-step workflow");
    for finished in [10_u32, 1_000, 100_000] {
        let mut state = State::new();
        let mut flight = start(&program, &mut state, Value::Null);
        for _ in 0..finished {
            flight = settle(&program, &mut state, &flight, answer.clone());
        }
        let mut samples: Vec<f64> = (0..31)
            .map(|_| {
                let begin = Instant::now();
                for _ in 0..1_000 {
                    flight = settle(&program, &mut state, &flight, answer.clone());
                }
                begin.elapsed().as_secs_f64() * 1e9 / 1_000.0
            })
            .collect();
        samples.sort_by(f64::total_cmp);
        println!("  after {finished:>7} finished steps: {:>7.0} ns", samples[samples.len() / 2]);
    }
}

fn for_each() {
    println!("for-each at width 100");
    for count in [10_000_i64, 100_000] {
        let program = each(100);
        let items = Value::from((0..count).map(Value::Int).collect::<Vec<_>>());
        let begin = Instant::now();
        let mut state = State::new();
        let mut flights = start(&program, &mut state, items);
        let (mut events, mut half_way) = (0_u64, 0);
        while let Some(flight) = flights.pop() {
            flights.extend(settle(&program, &mut state, &[flight], Value::Int(1)));
            events += 1;
            if events * 2 == count.unsigned_abs() {
                half_way = encode_state(&state).expect("it can be stored").len();
            }
        }
        let took = begin.elapsed();
        assert_eq!(state.result().map(|(status, _)| status), Some(Status::Completed));
        println!(
            "  {count:>7} items: {:>7.1} ms, {:>6.0} ns an event; half-way its snapshot has {:.1} bytes an item",
            took.as_secs_f64() * 1e3,
            took.as_secs_f64() * 1e9 / events as f64,
            half_way as f64 / count as f64
        );
    }
}

fn building() {
    let mut samples: Vec<f64> = (0..9)
        .map(|_| {
            let begin = Instant::now();
            let program = chain(10_000);
            assert!(program.places.len() >= 10_000);
            begin.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    println!("build and validate 10,000 places: {:.1} ms", samples[samples.len() / 2]);
}

type Flight = Command;

fn start(program: &Program, state: &mut State, input: Value) -> Vec<Flight> {
    let start = Event::Start {
        input,
        facts: branchpoint_expr::Object::default(),
        depth: 0,
        max_ops: 0,
        budget: branchpoint_core::ir::BudgetLimits::default(),
    };
    performs(advance(program, state, &Stamp::default(), start).expect("it starts").commands)
}

fn settle(program: &Program, state: &mut State, flights: &[Flight], answer: Value) -> Vec<Flight> {
    let Command::Perform { effect, attempt, .. } = &flights[0] else { unreachable!("only performs are kept") };
    let event = Event::Settled { effect: *effect, attempt: *attempt, result: Ok(answer), usage: Usage::default() };
    performs(advance(program, state, &Stamp::default(), event).expect("it settles").commands)
}

fn performs(commands: Vec<Command>) -> Vec<Flight> {
    commands.into_iter().filter(|command| matches!(command, Command::Perform { .. })).collect()
}

/// Twelve steps in a loop that never ends: an effect, a write and a decision each.
fn twelve_steps() -> Program {
    let mut b = Builder::new();
    let count = b.slot(ROOT, "count", Some(Value::Int(0)));
    b.name(ROOT, &["count"], count);
    let rounds = b.scope(ROOT, ScopeSpec::default());
    let kind = b.effect(effect(Kind::Model));
    let question = b.value("go on");
    let next_count = b.expr(ROOT, "count + 1", Dialect::Session).expect("it compiles");
    let more = b.condition(ROOT, "count >= 0", Dialect::Session).expect("it compiles");
    let first = b.reserve();
    let mut at = first;
    for step in 0..STEPS {
        let output = b.slot(rounds, &format!("output{step}"), None);
        let (set, decide) = (b.reserve(), b.reserve());
        let next = if step + 1 == STEPS { first } else { b.reserve() };
        b.at(at).do_(kind, question, Some(output), set, None);
        b.at(set).set([Write::Put(count, next_count)], decide, None);
        let end = b.reserve();
        b.at(decide).decide([(more, next)], end, None);
        b.at(end).leave(rounds, Exit::Done(None));
        at = next;
    }
    b.begin(rounds, &[first]);
    let enter = b.enter(rounds);
    let nothing = b.value(Value::Null);
    let after = b.next(rounds);
    b.at(after).close(Status::Completed, nothing);
    b.begin(ROOT, &[enter]);
    b.finish().expect("the program is valid")
}

fn each(width: u32) -> Program {
    let mut b = Builder::new();
    let input = b.input();
    let results = b.slot(ROOT, "results", None);
    let scope = b.scope(ROOT, ScopeSpec { width, into: Some(results), ..ScopeSpec::default() });
    let item = b.slot(scope, "item", None);
    let index = b.slot(scope, "index", None);
    let output = b.slot(scope, "output", None);
    let kind = b.effect(effect(Kind::Model));
    let question = b.read(item);
    let answer = b.read(output);
    let done = b.reserve();
    let ask = b.do_(kind, question, Some(output), done, None);
    b.at(done).leave(scope, Exit::Done(Some(answer)));
    let items = b.read(input);
    b.each(scope, items, item, index, ask);
    let enter = b.enter(scope);
    let after = b.next(scope);
    let nothing = b.value(Value::Null);
    b.at(after).close(Status::Completed, nothing);
    b.begin(ROOT, &[enter]);
    b.finish().expect("the program is valid")
}

/// A long chain of writes and decisions.
fn chain(places: usize) -> Program {
    let mut b = Builder::new();
    let count = b.slot(ROOT, "count", Some(Value::Int(0)));
    b.name(ROOT, &["count"], count);
    let next_count = b.expr(ROOT, "count + 1", Dialect::Session).expect("it compiles");
    let first = b.reserve();
    let mut at = first;
    for step in 0..places / 2 {
        let (decide, next) = (b.reserve(), b.reserve());
        b.at(at).set([Write::Put(count, next_count)], decide, None);
        let many = b.condition(ROOT, &format!("count > {step}"), Dialect::Session).expect("it compiles");
        b.at(decide).decide([(many, next)], next, None);
        at = next;
    }
    let result = b.read(count);
    b.at(at).close(Status::Completed, result);
    b.begin(ROOT, &[first]);
    b.finish().expect("the program is valid")
}
