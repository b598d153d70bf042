//! A template is expanded once: what a placeholder yields is data, whatever it looks like.

use branchpoint_expr::{Dialect, Expression, Options, Value};
use proptest::prelude::*;
use serde_json::json;

use crate::cases;
use crate::generate::{template, text};

/// The placeholder of each dialect that shows `inputs.a`, or what takes its place there, and its context.
fn placeholder(dialect: Dialect, value: &str) -> (&'static str, serde_json::Value) {
    match dialect {
        Dialect::Machine => ("{{inputs.a}}", json!({"inputs": {"a": value}})),
        Dialect::Flow => ("{{ $a }}", json!({"a": value})),
        Dialect::Steps => ("{{metadata.a}}", json!({"metadata": {"a": value}})),
        Dialect::Graph => ("{{PREVIOUS_OUTPUT}}", json!({"PREVIOUS_OUTPUT": value})),
        Dialect::Session => ("", json!({})),
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn what_a_placeholder_yields_is_never_expanded(value in prop_oneof![template(), text()]) {
        for dialect in Dialect::ALL {
            let (placeholder, context) = placeholder(dialect, &value);
            let shown = if placeholder.is_empty() { "" } else { value.as_str() };
            let options = Options::dialect(dialect);
            let template = Expression::template(&format!("<{placeholder}|{placeholder}>"), options)
                .expect("the placeholder of the dialect compiles");
            prop_assert_eq!(template.value(&context).expect("it has a value"), Value::from(format!("<{shown}|{shown}>")));
            if !placeholder.is_empty() {
                let single = Expression::template(placeholder, options).expect("it compiles");
                prop_assert_eq!(single.value(&context).expect("it has a value"), Value::from(shown));
            }
        }
    }

    #[test]
    fn data_is_never_parsed_as_an_expression(value in text()) {
        let same = Expression::compile("inputs.a == inputs.b", Options::dialect(Dialect::Session)).expect("it compiles");
        let context = json!({"inputs": {"a": value, "b": value}});
        prop_assert_eq!(same.value(&context).expect("it has a value"), Value::Bool(true));
    }
}
