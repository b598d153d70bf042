//! Called workflows in the host in memory: runs of their own, one level deeper.

use branchpoint_dialects::{Library, load_from};
use branchpoint_expr::{Dialect, Object, Value};
use branchpoint_host::{Script, VirtualDriver};

struct Greet;

impl Library for Greet {
    fn workflow(&self, name: &str) -> Option<String> {
        let text = "name: greet\nstates:\n  initial: hello\n  hello: {command: x, on_success: done}\n  done: {type: terminal}\n";
        (name == "greet").then(|| text.to_owned())
    }
}

#[test]
fn a_child_runs_with_the_same_runner_and_its_outputs_come_back() {
    let source = "name: n\nstates:\n  initial: call\n  call: {type: call_workflow, workflow: greet, outputs: {hello: said}, on_success: done}\n  done: {type: terminal, message: '{{states.call.Response.said}}'}\n";
    let loaded = load_from(source, Some(Dialect::Machine), &Greet);
    let program = loaded.program.expect("nothing is wrong with it");
    let script: Value = serde_json::from_str(r#"{"hello": {"$exit": 0, "stdout": "good day"}}"#).expect("this is JSON");
    let mut host = VirtualDriver::new(&program, 0).with_children(&loaded.children);
    host.start(Value::Null, Object::default()).expect("it starts");
    let mut script = Script::read(&script).expect("this is a script");
    host.run_until_idle(&mut |call| script.simulate(call));
    let message = host.result().and_then(|result| result.get("message")).cloned();
    assert_eq!(message, Some(Value::from("good day")));
}
