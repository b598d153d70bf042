//! The list of steps: their order, branches, reasons, attempts and skipped steps, computed by a replay of the journal of a run
//! without recording.

use branchpoint_core::ir::builder::{Builder, ROOT};
use branchpoint_core::ir::{DecisionKind, Effect, Mark, Program, Status, StepId};
use branchpoint_core::{
    AttemptError, EffectNo, Event, Fold, FoldError, Note, NoteKind, Rejected, Stamp, State, StepRecord, StepStatus,
    StrandNo, Usage, advance, replay, steps,
};
use branchpoint_expr::{Dialect, Object, Value};

use crate::host::{effect, retry};

/// Requests a score from a model, and sends or drops by it.
fn scored() -> Program {
    let mut b = Builder::new();
    let score = b.slot(ROOT, "score", None);
    b.name(ROOT, &["score"], score);
    let ask = b.step("ask", "model", None, (0, 10));
    let gate = b.step("gate", "decision", None, (10, 20));
    let send = b.step("send", "mail", Some(gate), (20, 30));
    let drop = b.step("drop", "text", Some(gate), (30, 40));
    let value = b.read(score);
    let end = b.close(Status::Completed, value);
    let mail = b.effect(Effect { step: Some(send), ..effect("mail") });
    let sending = b.do_(mail, value, None, end, None);
    b.mark(sending, Mark::Branch(gate, "send".into()));
    b.mark(sending, Mark::Begin(send, Some(value)));
    b.mark(end, Mark::End(send, None));
    b.mark(end, Mark::End(gate, None));
    let dropping = b.close(Status::Completed, value);
    b.mark(dropping, Mark::Begin(drop, None));
    let good = b.condition(ROOT, "score >= 5", Dialect::Session).expect("it compiles");
    let decide = b.decide([(good, sending)], dropping, None);
    b.mark(decide, Mark::End(ask, Some(value)));
    b.mark(decide, Mark::Begin(gate, None));
    let decision = b.decision(gate, DecisionKind::Branch);
    let exits = [b.branch(decision, "send", Some(good), Some("send")), b.branch(decision, "drop", None, Some("drop"))];
    b.decides(decide, decision, exits.map(Some));
    let model = b.effect(Effect { step: Some(ask), retry: Some(retry(2, 0)), ..effect("model") });
    let question = b.value("how good?");
    let asking = b.do_(model, question, Some(score), decide, None);
    b.mark(asking, Mark::Begin(ask, Some(question)));
    b.begin(ROOT, &[asking]);
    b.finish().expect("the program is valid")
}

fn settled(effect: u64, attempt: u32, result: Result<Value, AttemptError>) -> Event {
    Event::Settled { effect: branchpoint_core::EffectNo(effect), attempt, result, usage: Usage::default() }
}

/// A journal, written without recording: one failed attempt, a score, a mail.
fn journal(program: &Program, score: i64) -> Vec<(Stamp, Event, u32)> {
    let failed = AttemptError {
        kind: "cut".into(),
        message: "no answer".into(),
        retry: branchpoint_core::RetryHint::Soon,
        answered: false,
    };
    let mut journal = vec![
        (
            1,
            Event::Start {
                input: Value::Null,
                facts: Object::default(),
                depth: 0,
                max_ops: 0,
                budget: branchpoint_core::ir::BudgetLimits::default(),
            },
        ),
        (2, settled(3, 1, Err(failed))),
        (3, settled(3, 2, Ok(Value::Int(score)))),
    ];
    if score >= 5 {
        journal.push((4, settled(4, 1, Ok(Value::Null))));
    }
    let mut state = State::new();
    let journal = journal.into_iter().map(|(now_ms, event)| {
        let stamp = Stamp { now_ms, ..Stamp::default() };
        let outcome = advance(program, &mut state, &stamp, event.clone()).expect("the event is accepted");
        assert!(outcome.trace.is_empty(), "the trace is empty while recording is off");
        (stamp, event, outcome.check)
    });
    journal.collect()
}

fn step_records(score: i64) -> Vec<StepRecord> {
    let program = scored();
    let (state, notes) = replay(&program, State::new(), journal(&program, score)).expect("a journal folds");
    let (status, _) = state.result().expect("the run has ended");
    steps(&program, &notes, status)
}

#[test]
fn steps_are_listed_in_order_with_their_outcomes() {
    let records = step_records(7);
    let seen: Vec<_> = records.iter().map(|record| (record.step.0, record.status.clone())).collect();
    let skipped = StepStatus::Skipped("arm_not_taken".into());
    let done = StepStatus::Completed;
    assert_eq!(seen, [(0, done.clone()), (1, done.clone()), (2, done), (3, skipped)]);
    let ask = &records[0];
    assert_eq!((ask.input.clone(), ask.output.clone()), (Some(Value::from("how good?")), Some(Value::Int(7))));
    assert_eq!((ask.began_ms, ask.ended_ms), (1, Some(3)));
    let errors = ask.attempts.iter().map(|attempt| (attempt.began_ms, attempt.ended_ms, attempt.error.is_some()));
    assert_eq!(errors.collect::<Vec<_>>(), [(1, Some(2), true), (2, Some(3), false)]);
    assert_eq!(records[1].branch.as_deref(), Some("send"));
}

#[test]
fn every_decision_is_explained() {
    let why = |score: i64| {
        let records = step_records(score);
        records[1].decisions[0].sentence().to_string()
    };
    assert_eq!(why(7), "true because score is 7, at least 5");
    assert_eq!(why(2), "false because score is 2, expected at least 5");
}

#[test]
fn a_journal_that_the_program_rejects_is_reported_with_the_event() {
    let program = scored();
    let mut journal = journal(&program, 7);
    let foreign = (Stamp { now_ms: 2, ..Stamp::default() }, settled(99, 1, Ok(Value::Null)), 0);
    journal.insert(2, foreign);
    let error = replay(&program, State::new(), journal.clone()).expect_err("the effect is not in flight");
    assert_eq!(error, FoldError::Rejected { seq: 3, rejected: Rejected::UnknownEffect });
    journal.remove(2);
    journal[1].2 ^= 1;
    let error = replay(&program, State::new(), journal).expect_err("it led elsewhere");
    assert_eq!(error, FoldError::Diverged { seq: 2 });
}

#[test]
fn a_fold_knows_which_effects_are_pending_after_each_event() {
    let program = scored();
    let mut fold = Fold::new(&program, State::new(), journal(&program, 7));
    let mut pending = Vec::new();
    while let Some(folded) = fold.next() {
        let seq = folded.expect("a journal folds").seq;
        pending.push((seq, fold.pending().effects.keys().map(|effect| effect.0).collect::<Vec<_>>()));
    }
    assert_eq!(pending, [(1, vec![3]), (2, vec![3]), (3, vec![4]), (4, vec![])]);
    assert!(fold.state().result().is_some());
}

#[test]
fn a_waiting_step_is_shown_as_waiting_and_its_wait_is_not_counted_as_work() {
    let mut b = Builder::new();
    let pause = b.step("pause", "wait", None, (0, 10));
    let nothing = b.value(Value::Null);
    let end = b.close(Status::Completed, nothing);
    b.mark(end, Mark::End(pause, None));
    let delay_ms = b.value(50);
    let wait = b.wait([branchpoint_core::ir::Arm::After { delay_ms, next: end }], None);
    b.mark(wait, Mark::Begin(pause, None));
    b.begin(ROOT, &[wait]);
    let program = b.finish().expect("the program is valid");
    let mut state = State::new();
    let mut hand = |now_ms, event| {
        let stamp = Stamp { now_ms, record: true, ..Stamp::default() };
        advance(&program, &mut state, &stamp, event).expect("it is taken").trace
    };
    let mut notes = hand(
        1,
        Event::Start {
            input: Value::Null,
            facts: Object::default(),
            depth: 0,
            max_ops: 0,
            budget: branchpoint_core::ir::BudgetLimits::default(),
        },
    );
    let waiting = steps(&program, &notes, Status::WaitingTimer);
    assert_eq!(waiting[0].status, StepStatus::Waiting(Status::WaitingTimer));
    notes.extend(hand(51, Event::TimerFired(branchpoint_core::TimerNo(3))));
    let done = steps(&program, &notes, Status::Completed);
    assert_eq!((done[0].status.clone(), done[0].waited_ms), (StepStatus::Completed, 50));
}

#[test]
fn a_loop_of_many_rounds_keeps_the_newest_records_and_those_that_are_open() {
    use branchpoint_core::{Note, NoteKind, Records, StepStatus};
    let mut make = crate::host::Make::new();
    let outer = make.b.step("outer", "while", None, (0, 0));
    let inner = make.b.step("inner", "text", Some(outer), (0, 0));
    let never = make.b.step("never", "text", None, (0, 0));
    let end = make.end;
    let program = make.program(end);
    let note = |at_ms: i64, kind: NoteKind| Note {
        at_ms,
        strand: branchpoint_core::StrandNo(1),
        entered_by: Vec::new(),
        path: vec![],
        iterations: vec![],
        kind,
    };
    let mut records = Records::of(&program);
    records.add(&note(0, NoteKind::Began(outer, None)));
    for round in 1..=100_000 {
        records.add(&note(round, NoteKind::Began(inner, None)));
        assert_eq!(records.add(&note(round, NoteKind::Ended(inner, None))), Some(usize::try_from(round).unwrap()));
        assert!(records.count() - records.omitted() <= 20_001);
    }
    assert_eq!(records.count(), 100_001);
    assert!(records.get(0).is_some(), "the loop itself has not ended");
    assert!(records.get(1).is_none() && records.get(100_000).is_some_and(|record| record.run == 100_000));
    let finished = records.finish(&program, Status::Cancelled);
    let last = finished.values().next_back().expect("there are some");
    assert!(last.step == never && matches!(last.status, StepStatus::Skipped(_)), "{last:?}");
    assert_eq!(finished.values().filter(|record| record.step == outer).count(), 1);
}

/// Folds notes of three steps, `around` with `left` and `right` inside, and gives the times that each has waited, and for people.
fn waited(notes: &[(i64, u64, NoteKind)]) -> Vec<(i64, i64)> {
    let mut make = crate::host::Make::new();
    let around = make.b.step("around", "parallel", None, (0, 0));
    let left = make.b.step("left", "ask", Some(around), (0, 0));
    let right = make.b.step("right", "ask", Some(around), (0, 0));
    assert_eq!([around, left, right].map(|step| step.0), [0, 1, 2]);
    let end = make.end;
    let program = make.program(end);
    let notes: Vec<Note> = notes
        .iter()
        .map(|(at_ms, strand, kind)| Note {
            at_ms: *at_ms,
            strand: StrandNo(*strand),
            entered_by: if *strand == 1 { Vec::new() } else { vec![StrandNo(1)] },
            path: Vec::new(),
            iterations: Vec::new(),
            kind: kind.clone(),
        })
        .collect();
    steps(&program, &notes, Status::Completed).iter().map(|step| (step.waited_ms, step.waited_people_ms)).collect()
}

#[test]
fn a_step_waits_while_a_step_inside_of_it_waits_and_none_works() {
    let [around, left, right] = [0, 1, 2].map(StepId);
    let began = |step| NoteKind::Began(step, None);
    let ended = |step| NoteKind::Ended(step, None);
    let (people, timer) = (NoteKind::Waits(Status::WaitingPeople), NoteKind::Waits(Status::WaitingTimer));
    let woke = NoteKind::Woke;
    let begin = [(0, 1, began(around)), (0, 2, began(left)), (0, 3, began(right))];
    let with = |rest: &[(i64, u64, NoteKind)]| waited(&[&begin[..], rest].concat());

    // One branch works for 30 ms while the other one waits for 100 ms.
    let one = [(0, 2, people.clone()), (30, 3, ended(right)), (100, 2, woke.clone()), (110, 2, ended(left))];
    assert_eq!(with(&[&one[..], &[(110, 1, ended(around))]].concat()), [(70, 70), (100, 100), (0, 0)]);

    // Both wait, one for people and one for a time.
    let both = [(0, 2, people.clone()), (10, 3, timer), (40, 3, woke.clone()), (50, 3, ended(right))];
    let after = [(90, 2, woke.clone()), (90, 2, ended(left)), (95, 1, ended(around))];
    assert_eq!(with(&[&both[..], &after].concat()), [(70, 70), (90, 90), (30, 0)]);

    // A branch that was withdrawn does not keep the steps around from waiting, once its own step runs again.
    let again = [(0, 2, people.clone()), (20, 4, began(right)), (20, 4, people), (70, 4, woke.clone())];
    let after = [(70, 4, ended(right)), (80, 2, woke), (85, 2, ended(left)), (85, 1, ended(around))];
    assert_eq!(with(&[&again[..], &after].concat()), [(60, 60), (80, 80), (0, 0), (50, 50)]);
}

#[test]
fn a_wait_of_a_strand_without_a_step_is_one_of_the_step_around_it() {
    let [around, left] = [0, 1].map(StepId);
    let people = NoteKind::Waits(Status::WaitingPeople);
    let notes = [
        (0, 1, NoteKind::Began(around, None)),
        (0, 2, people.clone()),
        (10, 3, people),
        (30, 2, NoteKind::Woke),
        (50, 3, NoteKind::Woke),
        (50, 3, NoteKind::Began(left, None)),
        (90, 3, NoteKind::Ended(left, None)),
        (90, 1, NoteKind::Ended(around, None)),
    ];
    assert_eq!(waited(&notes)[..2], [(50, 50), (0, 0)]);
}

#[test]
fn a_call_of_a_step_with_inner_steps_is_work() {
    let [around, left] = [0, 1].map(StepId);
    let (step, effect, attempt) = (Some(around), EffectNo(9), 1);
    let notes = [
        (0, 1, NoteKind::Began(around, None)),
        (0, 1, NoteKind::Attempt { step, effect, attempt }),
        (0, 2, NoteKind::Began(left, None)),
        (0, 2, NoteKind::Waits(Status::WaitingPeople)),
        (40, 1, NoteKind::AttemptEnded { step, error: None }),
        (100, 2, NoteKind::Woke),
        (100, 2, NoteKind::Ended(left, None)),
        (100, 1, NoteKind::Ended(around, None)),
    ];
    assert_eq!(waited(&notes)[..2], [(60, 60), (100, 100)]);
}
