//! Checks the form of replies, and asks again for a reply with the required form.

use super::messages::{AssistantMessage, Message, Part};
use super::model_call::{ModelCall, Shape};
use crate::json_block;
use crate::judge::schema;

/// The problem of a reply, if it has one. JSON in a fenced block is extracted into `text`.
pub(super) fn problem(shape: &Shape, text: &mut String) -> Option<String> {
    if *shape == Shape::Free {
        return None;
    }
    let Some((body, value)) = json_block::json(text) else { return Some("it is not JSON".to_owned()) };
    *text = body.to_owned();
    match shape {
        Shape::Schema(schema) => schema::check(schema, &value).err().map(|mismatch| mismatch.to_string()),
        _ => None,
    }
}

/// Adds the reply and what is wrong with it to the conversation.
pub(super) fn ask_again(call: &mut ModelCall, reply: String, problem: &str) {
    let text = if reply.is_empty() { "(nothing)".to_owned() } else { reply };
    call.messages.push(Message::Assistant(AssistantMessage { text, ..AssistantMessage::default() }));
    call.messages.push(Message::User(vec![Part::Text(format!(
        "Your answer does not have the required form: {problem}. Answer again, with JSON and nothing else."
    ))]));
}

#[cfg(test)]
mod tests {
    use branchpoint_expr::Value;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fenced_block_is_accepted_and_a_wrong_type_is_a_problem() {
        let schema = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
        let shape = Shape::Schema(Value::from(&schema));
        let check = |text: &str| {
            let mut text = text.to_owned();
            (problem(&shape, &mut text).is_none(), text)
        };
        assert_eq!(check("Here:\n```json\n{\"n\": 1}\n```"), (true, "{\"n\": 1}".to_owned()));
        assert!(check(r#" {"n": 1} "#).0);
        assert!(check("```python\nprint(1)\n```\n```json\n{\"n\": 1}\n```").0);
        assert!(!check(r#"{"n": "one"}"#).0);
        assert!(!check("one").0);
    }
}
