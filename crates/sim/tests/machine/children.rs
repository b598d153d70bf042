//! Called workflows in a host in memory: child runs, one level deeper.

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
fn a_child_run_has_the_same_runner_and_returns_its_outputs() {
    let source = "name: n\nstates:\n  initial: call\n  call: {type: call_workflow, workflow: greet, outputs: {hello: said}, on_success: done}\n  done: {type: terminal, message: '{{states.call.Response.said}}'}\n";
    let loaded = load_from(source, Some(Dialect::Machine), &Greet);
    let program = loaded.program.expect("a document without findings has a program");
    let script: Value = serde_json::from_str(r#"{"hello": {"$exit": 0, "stdout": "good day"}}"#).expect("valid JSON");
    let mut host = VirtualDriver::new(&program, 0).with_children(&loaded.children);
    host.start(Value::Null, Object::default()).expect("the run starts");
    let mut script = Script::read(&script).expect("the script is valid");
    host.run_until_idle(&mut |call| script.simulate(call));
    let message = host.result().and_then(|result| result.get("message")).cloned();
    assert_eq!(message, Some(Value::from("good day")));
}
