//! What a host adds to the context of a condition outside of a run.

use branchpoint_expr::{Dialect, Object, Value};

/// Adds the values that runs of a dialect provide to every condition, unless the context has them: the time, and the text of the input in
/// lower case.
///
/// ```
/// use branchpoint_dialects::add_context_defaults;
/// use branchpoint_expr::{Dialect, Object, Value};
///
/// let mut context: Object = [("input".into(), "Hello".into())].into_iter().collect();
/// add_context_defaults(Dialect::Graph, &mut context, "2026-01-01T00:00:00Z");
/// assert_eq!(context.get("text"), Some(&"hello".into()));
/// ```
pub fn add_context_defaults(dialect: Dialect, context: &mut Object, now: &str) {
    match dialect {
        Dialect::Steps => {
            let datetime = context.entry("datetime".into()).or_insert_with(|| Value::from(Object::default()));
            if let Value::Object(datetime) = datetime
                && !datetime.contains_key("now")
            {
                datetime.edit(|fields| fields.insert("now".into(), Value::from(now)));
            }
        }
        Dialect::Graph => {
            let text = match context.get("input") {
                None | Some(Value::Null) => String::new(),
                Some(input) => input.to_string().to_lowercase(),
            };
            context.entry("text".into()).or_insert_with(|| Value::from(text));
        }
        Dialect::Machine | Dialect::Flow | Dialect::Session => {}
    }
}
