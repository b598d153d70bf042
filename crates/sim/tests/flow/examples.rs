//! The examples of flows load without findings, and run with their scripts.

use std::fs;
use std::path::Path;

use branchpoint_core::codec::{decode_program, encode_program};
use branchpoint_core::ir::Index;
use branchpoint_core::{State, StepStatus, replay, steps};
use branchpoint_dialects::{load, read};
use branchpoint_expr::{Object, Value, render_terminal};
use branchpoint_host::{Script, VirtualDriver};
use branchpoint_sim::examples::examples;

/// The steps of a run, then its result.
fn summary(path: &Path) -> String {
    let source = fs::read_to_string(path).unwrap();
    let loaded = load(&source, None);
    let shown = render_terminal(&loaded.diagnostics, &source, &path.display().to_string(), false);
    assert!(loaded.diagnostics.is_empty(), "{shown}");
    let program = loaded.program.expect("a document without findings has a program");
    let script = fs::read_to_string(path.with_extension("script.yaml")).expect("each example has a script");
    let script = read(&script).expect("the script is YAML").to_value();
    let mut host = VirtualDriver::new(&program, 0);
    host.start(Value::Null, Object::default()).expect("an example runs without input");
    let mut script = Script::read(&script).expect("the script is valid");
    host.run_until_idle(&mut |call| script.simulate(call));
    // A run is pinned to the bytes of its program, so the decoded program must give the same state and notes.
    let stored = decode_program(&encode_program(&program).unwrap()).unwrap();
    let (state, notes) = replay(&stored, State::new(), host.journal()).expect("the journal can be folded again");
    assert_eq!((&state, notes.as_slice()), (host.state(), host.notes()), "{}", path.display());
    let mut lines = Vec::new();
    for record in steps(&program, host.notes(), host.status()) {
        let id = &program.steps[record.step.index()].id;
        let branch = record.branch.map_or(String::new(), |branch| format!(" -> {branch}"));
        let attempts =
            if record.attempts.len() > 1 { format!(" in {} attempts", record.attempts.len()) } else { String::new() };
        let error = record.error.and_then(|error| error.get("kind").cloned());
        let status = match (record.status, error) {
            (StepStatus::Failed, Some(kind)) => format!("failed ({kind})"),
            (StepStatus::Skipped(reason), _) => format!("skipped ({reason})"),
            (status, _) => format!("{status:?}").to_lowercase(),
        };
        lines.push(format!("{id}{branch}: {status}{attempts}"));
    }
    lines.push(String::new());
    for (key, value) in host.result().and_then(Value::as_object).expect("the run has ended") {
        lines.push(format!("{key}: {value:?}"));
    }
    lines.join("\n")
}

#[test]
fn flows_end_as_recorded() {
    let examples = examples("flow");
    assert!(examples.len() >= 8, "only {} examples were found", examples.len());
    for path in examples {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        insta::assert_snapshot!(format!("flow-{name}"), summary(&path));
    }
}
