//! Rules of flows that no vector covers: time, attempts, variables of loops, the ends of flows, and the trace.

mod calls;
mod examples;
mod loops;
mod steps;

use branchpoint_core::ir::Program;
use branchpoint_dialects::load;
use branchpoint_expr::{Dialect, Object, Value};
use branchpoint_host::{Script, VirtualDriver};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[track_caller]
fn program(steps: &str) -> Program {
    let source = format!(r#"{{"name": "n", "description": "d", "uuid": "u", "steps": [{steps}]}}"#);
    let loaded = load(&source, Some(Dialect::Flow));
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    loaded.program.expect("a document without findings has a program")
}

fn ran<'p>(program: &'p Program, input: &str, script: &str) -> VirtualDriver<'p> {
    let mut host = VirtualDriver::new(program, 0);
    host.start(json(input), Object::default()).expect("the run starts");
    let mut script = Script::read(&json(script)).expect("the script is valid");
    host.run_until_idle(&mut |call| script.simulate(call));
    host
}

/// Runs a flow and compares `status`, and `variables`, `output` and `error` if they are expected.
#[track_caller]
fn check(steps: &str, input: &str, script: &str, expect: &str) {
    let program = program(steps);
    let host = ran(&program, input, script);
    let result = host.result().expect("a flow ends").clone();
    for (key, wanted) in json(expect).as_object().expect("an object") {
        let got = result.get(key).cloned().unwrap_or_default();
        let got = match (&**key, wanted.as_object()) {
            // Only the expected keys are compared.
            ("variables" | "error", Some(wanted)) => {
                let got = wanted.keys().filter_map(|name| Some((name.clone(), got.get(name)?.clone())));
                Value::from(got.collect::<Object>())
            }
            _ => got,
        };
        assert_eq!(got, *wanted, "{key} of {result:?}");
    }
}

fn set(name: &str, value: &str) -> String {
    format!(
        r#"{{"id": "set_{name}", "type": "setVariables", "config": {{"variables": [{{"name": "{name}", "value": {value}}}]}}}}"#
    )
}

fn over(items: &str, blocks: &str, rest: &str) -> String {
    format!(
        r#"{{"id": "l", "type": "loop", "config": {{"loopType": "forEach", "iterableVariable": {items}, "itemVariable": "it",
        "resultVariable": "all", "loopBlocks": [{blocks}]{rest}}}}}"#
    )
}
