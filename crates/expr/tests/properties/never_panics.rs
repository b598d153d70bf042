//! No text and no document panics anywhere: compiling, evaluating, explaining, rendering.

use branchpoint_expr::{
    Cases, Condition, Dialect, Expression, Gate, Located, Options, Problems, Value, render_json, render_terminal,
};
use proptest::prelude::*;
use serde_json::Value as Json;

use crate::cases;
use crate::generate::{any_json, condition, context, expression, soup, structured, template};

/// Evaluates and explains what compiled; renders what did not. Every place must lie in the source.
fn exercise(compiled: Result<Condition, Problems>, source: &str, context: &Json) {
    match compiled {
        Err(problems) => rendered(&problems, source),
        Ok(condition) => {
            assert!(condition.is_well_formed(), "{source}");
            let outcome = condition.evaluate(context);
            if let Err(error) = &outcome {
                let _ = render_terminal(&[error.to_diagnostic()], source, "source", true);
            }
            let explanation = condition.explain(context);
            let _ = (explanation.tree.render(), explanation.to_json());
            assert_eq!(explanation.outcome, outcome, "explaining changed the outcome of {source}");
        }
    }
}

fn rendered(problems: &Problems, source: &str) {
    for problem in &problems.0 {
        assert!(problem.span.start <= problem.span.end, "{problem:?} in {source:?}");
        assert!(problem.span.end as usize <= source.len(), "{problem:?} in {source:?}");
    }
    let _ = problems.first();
    let _ = render_terminal(&problems.0, source, "source", false);
    let _ = render_json(&problems.0, source, "source");
}

fn exercise_value(compiled: Result<Expression, Problems>, source: &str, context: &Json) {
    match compiled {
        Err(problems) => rendered(&problems, source),
        Ok(expression) => {
            assert!(expression.is_well_formed(), "{source}");
            drop((expression.value(context), expression.files(context), expression.pieces()));
        }
    }
}

fn exercise_text(text: &str, dialect: Dialect, context: &Json) {
    let options = Options::dialect(dialect);
    exercise(Condition::expression(text, options), text, context);
    exercise_value(Expression::compile(text, options), text, context);
    exercise_value(Expression::template(text, options), text, context);
    exercise_value(Expression::text(text, options), text, context);
}

/// Every spelling that a document can have, whatever the document is.
fn exercise_document(document: &Json, dialect: Dialect, context: &Json) {
    let options = Options::dialect(dialect);
    let located = Located::from(&Value::from(document));
    exercise(Condition::group(&located, options), "", context);
    exercise(Condition::targets(&located, options), "", context);
    exercise(Condition::if_key(&located, options), "", context);
    exercise(Condition::history(&located, None, options), "", context);
    exercise(Condition::text_match(&located, options), "", context);
    if let Some(conditions) = located.get("conditions") {
        exercise(Condition::history(conditions, located.get("sequence"), options), "", context);
    }
    match Gate::compile(&located, options) {
        Err(problems) => rendered(&problems, ""),
        Ok(gate) => drop(gate.passes(context)),
    }
    match Cases::compile(&located, options) {
        Err(problems) => rendered(&problems, ""),
        Ok(cases) => drop(cases.choose(context)),
    }
    exercise_value(Expression::document(&located, options), "", context);
    exercise_value(Expression::replacements(&located, options), "", context);
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn text_and_soup_of_tokens(text in soup(), context in context()) {
        for dialect in Dialect::ALL {
            exercise_text(&text, dialect, &context);
        }
    }

    #[test]
    fn expressions_that_compile(text in expression(Dialect::Machine), context in context()) {
        for dialect in [Dialect::Machine, Dialect::Steps, Dialect::Session, Dialect::Graph] {
            exercise_text(&text, dialect, &context);
        }
    }

    #[test]
    fn expressions_of_flow_that_compile(text in expression(Dialect::Flow), context in context()) {
        exercise_text(&text, Dialect::Flow, &context);
    }

    #[test]
    fn templates(text in template(), context in context()) {
        for dialect in Dialect::ALL {
            exercise_text(&text, dialect, &context);
        }
    }

    #[test]
    fn documents_of_any_shape(document in any_json(), context in context()) {
        for dialect in Dialect::ALL {
            exercise_document(&document, dialect, &context);
        }
    }

    #[test]
    fn documents_that_look_like_conditions(document in prop_oneof![structured(), condition()], context in context()) {
        for dialect in Dialect::ALL {
            exercise_document(&document, dialect, &context);
        }
    }
}
