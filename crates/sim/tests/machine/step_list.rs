//! The step list of a state machine: failed steps, and the attempts of a state without those of its hooks and turns.

use branchpoint_core::ir::{Index, Program};
use branchpoint_core::{StepStatus, steps};
use branchpoint_dialects::load;
use branchpoint_expr::{Dialect, Object, Value};
use branchpoint_host::{Script, VirtualDriver};

/// The steps that ran: name, whether it failed, and how many attempts it took.
#[track_caller]
fn check(states: &str, script: &str, expect: &[(&str, bool, usize)]) {
    let source = format!("name: n\nstates:\n  initial: a\n{states}");
    let loaded = load(&source, Some(Dialect::Machine));
    let program: Program = loaded.program.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let script: Value = serde_json::from_str(script).expect("valid JSON");
    let mut host = VirtualDriver::new(&program, 0);
    let facts: Object = [("user_attached".into(), Value::Bool(false))].into_iter().collect();
    host.start(Value::Null, facts).expect("the run starts");
    let mut script = Script::read(&script).expect("the script is valid");
    host.run_until_idle(&mut |call| script.simulate(call));
    let records = steps(&program, host.notes(), host.status());
    let ran: Vec<_> = records
        .iter()
        .filter(|record| !matches!(record.status, StepStatus::Skipped(_)))
        .map(|record| {
            let name = &*program.steps[record.step.index()].id;
            (name, record.status == StepStatus::Failed, record.attempts.len())
        })
        .collect();
    assert_eq!(ran, expect);
}

#[test]
fn a_terminal_state_of_failure_is_a_failed_step() {
    let end = "  bad: {type: terminal, status: failure, message: over}\n  done: {type: terminal}\n";
    let a = format!("  a: {{command: x, on_success: done, on_failure: bad}}\n{end}");
    check(&a, r#"{"a": {"$exit": 1}}"#, &[("a", true, 1), ("bad", true, 0)]);
    check(&a, r#"{"a": "fine"}"#, &[("a", false, 1), ("done", false, 0)]);
    let inline = "  a: {command: x, on_success: done, on_failure: {message: no}}\n  done: {type: terminal}\n";
    check(inline, r#"{"a": {"$exit": 1}}"#, &[("a", true, 1), ("__inline_error_a", true, 0)]);
}

#[test]
fn a_loop_that_a_failure_left_is_a_failed_step() {
    let states = "  a: {type: for_each, items: [1, 2], body: [b], on_complete: done}\n  \
                  b: {command: x, on_failure: done}\n  done: {type: terminal}\n";
    check(states, r#"{"b": {"$exit": 1}}"#, &[("a", true, 0), ("b", true, 1), ("done", false, 0)]);
    check(states, r#"{"b": "ok"}"#, &[("a", false, 0), ("b", false, 1), ("b", false, 1), ("done", false, 0)]);
}

#[test]
fn a_condition_that_is_not_true_or_false_is_named() {
    let done = "b: {command: x}\n  done: {type: terminal}\n";
    let cases = [
        ("type: while, while: 'states.none.Output ?? 7'", "`while`: `states.none.Output ?? 7` is 7"),
        ("type: for_each, items: [1], break_when: 'loop.Index1'", "`break_when`: `loop.Index1` is 1"),
    ];
    for (of, named) in cases {
        let source = format!("name: n\nstates:\n  initial: a\n  a: {{{of}, body: [b], on_complete: done}}\n  {done}");
        let loaded = load(&source, Some(Dialect::Machine));
        let program: Program = loaded.program.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
        let mut host = VirtualDriver::new(&program, 0);
        host.start(Value::Null, Object::default()).expect("the run starts");
        let mut script = Script::read(&serde_json::from_str(r#"{"b": "ok"}"#).expect("JSON")).expect("a script");
        host.run_until_idle(&mut |call| script.simulate(call));
        let message = host.result().and_then(|result| result.get("message")).map(ToString::to_string);
        assert_eq!(message, Some(format!("{named}, but a condition must be true or false")));
    }
}

#[test]
fn hooks_and_turns_are_not_attempts() {
    let hooked = "  a: {command: x, hooks: {pre: [{command: h}, {log: l}], post: [{command: h}]}, on_success: done,\n      \
                  retry: {max_attempts: 3, initial_delay: 1s}}\n  done: {type: terminal}\n";
    check(hooked, r#"{"a": [{"$exit": 1}, {"$exit": 1}, "ok"]}"#, &[("a", false, 3), ("done", false, 0)]);
    let talk = "  a: {type: agent, provider: claude, prompt: p, mode: conversation, conversation: {max_turns: 3},\n      \
                on_success: done}\n  done: {type: terminal}\n";
    check(talk, r#"{"a": ["one", "two", "three"]}"#, &[("a", false, 1), ("done", false, 0)]);
}

#[test]
fn a_loop_around_a_conversation_does_not_count_the_time_that_it_waits_for_lines() {
    let source = "name: n
states:
  initial: loop
  loop: {type: for_each, items: [1, 2], body: [talk], on_complete: done}
  talk: {type: agent, provider: claude, prompt: p, mode: conversation, conversation: {max_turns: 2}}
  done: {type: terminal}
";
    let loaded = load(source, Some(Dialect::Machine));
    let program: Program = loaded.program.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let script: Value = serde_json::from_str(r#"{"talk": {"$delay_ms": 70, "$output": "hi"}}"#).expect("valid JSON");
    let mut script = Script::read(&script).expect("the script is valid");
    let mut host = VirtualDriver::new(&program, 0);
    let facts: Object = [("user_attached".into(), Value::Bool(true))].into_iter().collect();
    host.start(Value::Null, facts).expect("the run starts");
    host.run_until_idle(&mut |call| script.simulate(call));
    for line in ["more", ""] {
        host.advance_clock(1_000, &mut |call| script.simulate(call));
        host.signal("line", line.into(), None).expect("the run waits for a line");
        host.run_until_idle(&mut |call| script.simulate(call));
    }
    let records = steps(&program, host.notes(), host.status());
    let times = records.iter().filter_map(|record| {
        let worked_ms = record.ended_ms? - record.began_ms - record.waited_ms;
        Some((&*program.steps[record.step.index()].id, worked_ms, record.waited_people_ms))
    });
    let times: Vec<_> = times.collect();
    assert_eq!(times[0].0, "loop", "{times:?}");
    let inner = times.iter().filter(|(id, ..)| *id == "talk");
    let (worked_ms, waited_ms) = inner.fold((0, 0), |(worked, waited), (_, more, ms)| (worked + more, waited + ms));
    assert_eq!((times[0].1, times[0].2), (worked_ms, waited_ms), "{times:?}");
    assert!(worked_ms > 0 && waited_ms >= 2_000, "{times:?}");
}
