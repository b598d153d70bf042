//! Any text as an expression of any dialect: it compiles or is refused, evaluates or fails, and never panics or hangs.
#![no_main]

use branchpoint_expr::{Condition, Dialect, Options, Value};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let context: Value = serde_json::from_str(
        r#"{"inputs": {"a": "1", "s": "text", "l": [1, "x", null]}, "states": {"x": {"Output": "ok", "ExitCode": 0}},
            "a": 1, "s": "text", "l": [1, "x", null], "o": {"k": {"n": 1.5}}, "input": "[1]", "tools": ["t"]}"#,
    )
    .expect("the context is JSON");
    for dialect in Dialect::ALL {
        if let Ok(condition) = Condition::expression(text, Options::dialect(dialect)) {
            let evaluated = condition.evaluate(&context);
            assert_eq!(condition.explain(&context).outcome, evaluated, "explaining changes nothing");
        }
    }
});
