//! Any JSON as every structured spelling of a condition, over itself as the context.
#![no_main]

use branchpoint_expr::{Cases, Condition, Dialect, Expression, Gate, Located, Options, Value};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    let located = Located::from(&value);
    for dialect in Dialect::ALL {
        let options = Options::dialect(dialect);
        let conditions = [
            Condition::group(&located, options),
            Condition::targets(&located, options),
            Condition::if_key(&located, options),
            Condition::text_match(&located, options),
            Condition::history(&located, Some(&located), options),
        ];
        for condition in conditions.into_iter().flatten() {
            let _ = condition.evaluate(&value);
        }
        let _ = Gate::compile(&located, options).map(|gate| gate.passes(&value).is_ok());
        let _ = Cases::compile(&located, options).map(|cases| cases.choose(&value).is_ok());
        let _ = Expression::document(&located, options).map(|document| document.value(&value).is_ok());
        let _ = Expression::replacements(&located, options).map(|rules| rules.value(&value).is_ok());
    }
});
