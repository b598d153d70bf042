//! Every evaluation ends within its bounds, however large the numbers in it are.

use branchpoint_expr::{Condition, Dialect, Expression, Options};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use crate::cases;

/// Lists of all sizes, written in a few letters.
fn list() -> BoxedStrategy<String> {
    let leaf = select(&["1..3", "1..200000", "1..9223372036854775807", "-5..5", "9..1", "inputs.list", "[]"][..]);
    leaf.prop_map(|list| format!("({list})"))
        .prop_recursive(4, 12, 3, |inner| {
            let body = prop_oneof![
                select(&["#", "[#, #]", "# % 2 == 0", "string(#)", "{'k': #}", "#index"][..]).prop_map(String::from),
                inner.clone(),
            ];
            let map = (select(&["map", "filter", "sortBy", "groupBy", "sum", "count", "all"][..]), inner.clone(), body);
            let whole =
                select(&["uniq", "reverse", "flatten", "sort", "toJSON", "string", "keys", "len", "values"][..]);
            prop_oneof![
                map.prop_map(|(function, list, body)| format!("{function}({list}, {body})")),
                (whole, inner.clone()).prop_map(|(function, list)| format!("{function}({list})")),
                (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left} == {right})")),
                (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left} in {right})")),
                inner.clone().prop_map(|list| format!("[{list}, {list}, {list}]")),
                inner.clone().prop_map(|list| format!("reduce({list}, [#acc, #acc], 1)")),
                inner.clone().prop_map(|list| format!("reduce({list}, #acc + #acc, 'x')")),
                inner.clone().prop_map(|list| format!("{list}[1:]")),
                inner.prop_map(|list| format!("concat({list}, {list})")),
            ]
        })
        .boxed()
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn evaluations_of_hostile_lists_end(text in list()) {
        let context = json!({"inputs": {"list": [1, 2, [3, [4]], "x", {"a": 1}]}});
        let options = Options::dialect(Dialect::Session);
        if let Ok(expression) = Expression::compile(&text, options) {
            let _ = expression.value(&context);
        }
        let text = format!("{text} == 1");
        if let Ok(condition) = Condition::expression(&text, options) {
            let outcome = condition.evaluate(&context);
            let explanation = condition.explain(&context);
            let _ = (explanation.to_json(), explanation.tree.render());
            prop_assert_eq!(outcome, explanation.outcome);
        }
    }
}
