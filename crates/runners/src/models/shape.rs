//! Answers that must have a shape: what is wrong with one, and how it is asked for again.

use genai::chat::{ChatMessage, ChatRequest};

use super::ask::Shape;
use super::wire::Said;
use crate::json_block;
use crate::judge::schema;

/// What is wrong with an answer; none if it will do. JSON in a fence is taken out of it, because models cannot help it.
pub(super) fn problem(shape: &Shape, said: &mut Said) -> Option<String> {
    // A reply that calls tools is no answer yet.
    if *shape == Shape::Free || !said.calls.is_empty() {
        return None;
    }
    let Some((body, value)) = json_block::json(&said.text) else { return Some("it is not JSON".to_owned()) };
    said.text = body.to_owned();
    match shape {
        Shape::Schema(schema) => schema::check(schema, &value).err().map(|mismatch| mismatch.to_string()),
        _ => None,
    }
}

/// The same conversation, with the answer and what is wrong with it.
pub(super) fn ask_again(request: &mut ChatRequest, answer: String, problem: &str) {
    let answer = if answer.is_empty() { "(nothing)".to_owned() } else { answer };
    request.messages.push(ChatMessage::assistant(answer));
    request.messages.push(ChatMessage::user(format!(
        "Your answer has not the shape it must have: {problem}. Answer once more, with JSON and nothing else."
    )));
}

#[cfg(test)]
mod tests {
    use branchpoint_expr::Value;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fence_is_no_problem_and_a_wrong_type_is() {
        let schema = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
        let shape = Shape::Schema(Value::from(&schema));
        let check = |text: &str| {
            let mut said = Said { text: text.to_owned(), ..Said::default() };
            (problem(&shape, &mut said).is_none(), said.text)
        };
        assert_eq!(check("Here:\n```json\n{\"n\": 1}\n```"), (true, "{\"n\": 1}".to_owned()));
        assert!(check(r#" {"n": 1} "#).0);
        assert!(check("```python\nprint(1)\n```\n```json\n{\"n\": 1}\n```").0);
        assert!(!check(r#"{"n": "one"}"#).0);
        assert!(!check("one").0);
    }
}
