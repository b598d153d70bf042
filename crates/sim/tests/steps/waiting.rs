//! Steps do not count the time in which the steps inside of them only wait.

use branchpoint_core::ir::{Index, Status};
use branchpoint_core::steps;
use branchpoint_dialects::read;
use branchpoint_expr::{Object, Value};
use branchpoint_host::{Script, VirtualDriver};

/// Runs steps, lets people approve after some time, and compares each step's time of work, and its time of waiting for people.
#[track_caller]
fn check(source: &str, script: &str, approved_after_ms: &[i64], expect: &[(&str, i64, i64)]) {
    let loaded = branchpoint_dialects::load(&format!("steps:\n{source}"), None);
    let program = loaded.program.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let mut host = VirtualDriver::new(&program, 0);
    let account = read("{owner: ada, admins: []}").expect("valid YAML").to_value();
    let facts: Object = program.facts.iter().map(|name| (name.clone(), account.clone())).collect();
    host.start(Value::from("x"), facts).expect("the run starts");
    let mut script = Script::read(&read(script).expect("valid YAML").to_value()).expect("the script is valid");
    let mut answer = |call: &branchpoint_runners::Call| script.simulate(call);
    host.run_until_idle(&mut answer);
    for ms in approved_after_ms {
        host.advance_clock(*ms, &mut answer);
        let open =
            host.requested_approvals().iter().find(|request| request.is_open).expect("an approval is open").request;
        host.vote(open, "ada", "approve", None).expect("the vote counts");
        host.run_until_idle(&mut answer);
    }
    host.advance_clock(60_000, &mut answer);
    assert_eq!(host.status(), Status::Completed, "{:?}", host.result());
    let times: Vec<(String, i64, i64)> = steps(&program, host.notes(), host.status())
        .iter()
        .filter_map(|record| {
            let id = program.steps[record.step.index()].id.to_string();
            Some((id, record.ended_ms? - record.began_ms - record.waited_ms, record.waited_people_ms))
        })
        .collect();
    let expect: Vec<_> = expect.iter().map(|(id, worked, waited)| ((*id).to_owned(), *worked, *waited)).collect();
    assert_eq!(times, expect);
}

const ASK: &str = "{id: ask, step_type: human_in_the_loop, prompt_template: p}";
const CALL: &str = "{id: call, step_type: http, url: 'https://example.org'}";
const SLOW: &str = "{call: [{$delay_ms: 400, $status: 200, body: ok}]}";

#[test]
fn a_branch_around_an_approval_does_not_count_its_wait() {
    let inner = format!("  - {{id: if, step_type: if_else, if: 'true', then_steps: [{CALL}, {ASK}]}}\n");
    check(&inner, SLOW, &[5_000], &[("if", 400, 5_000), ("call", 400, 0), ("ask", 0, 5_000)]);
}

#[test]
fn every_round_of_a_loop_leaves_out_its_own_wait() {
    let source = format!("  - {{id: w, step_type: while, if: 'step.w.iteration < 2', body: [{CALL}, {ASK}]}}\n");
    let script = "{call: [{$delay_ms: 400, $status: 200, body: ok}, {$delay_ms: 100, $status: 200, body: ok}]}";
    let rounds = [("call", 400, 0), ("ask", 0, 1_000), ("call", 100, 0), ("ask", 0, 2_000)];
    check(&source, script, &[1_000, 2_000], &[&[("w", 500, 3_000)][..], &rounds].concat());
}

#[test]
fn side_by_side_only_the_time_counts_in_which_a_branch_works() {
    let branches = format!("[{{name: a, steps: [{ASK}]}}, {{name: b, steps: [{CALL}]}}]");
    let source = format!("  - {{id: p, step_type: parallel, branches: {branches}}}\n");
    // The virtual clock has moved by 400 ms for the call when the run is idle.
    check(&source, SLOW, &[1_000], &[("p", 400, 1_000), ("ask", 0, 1_400), ("call", 400, 0)]);
}

#[test]
fn a_wait_for_a_moment_is_no_work_of_the_steps_around_it() {
    let source = format!(
        "  - {{id: if, step_type: if_else, if: 'true', then_steps: [{CALL}, {{id: s, step_type: wait, duration: 1s}}]}}\n"
    );
    check(&source, SLOW, &[], &[("if", 400, 0), ("call", 400, 0), ("s", 0, 0)]);
}
