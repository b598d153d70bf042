//! Any text as a template of any dialect: what a placeholder yields is never expanded again, and nothing panics.
#![no_main]

use branchpoint_expr::{Dialect, Expression, Options, Value, render_json, render_terminal};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let context: Value = serde_json::from_str(
        r#"{"inputs": {"a": "{{inputs.b}}", "b": "B"}, "a": "{{ $b }}", "b": 2, "l": [{"n": 1}, {}],
            "input": "{{metadata.x}}", "metadata": {"x": "{\"y\":1}"}, "PREVIOUS_OUTPUT": "{{PREVIOUS_OUTPUT}}"}"#,
    )
    .expect("the context is JSON");
    for dialect in Dialect::ALL {
        for compiled in [
            Expression::template(text, Options::dialect(dialect)),
            Expression::text(text, Options::dialect(dialect)),
        ] {
            match compiled {
                Ok(template) => {
                    let _ = template.files(&context);
                    let _ = template.value(&context);
                }
                Err(problems) => {
                    let _ = render_terminal(&problems.0, text, "template", false);
                    let _ = render_json(&problems.0, text, "template");
                }
            }
        }
    }
});
