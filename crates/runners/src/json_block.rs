//! Finds JSON in a model's reply: the whole reply, or a fenced code block in it, because models often add text around JSON.

use branchpoint_expr::Value;

const FENCE: &str = "```";

/// The JSON text in a reply and its value: the whole reply, or the first fenced block that is JSON.
pub(crate) fn json(text: &str) -> Option<(&str, Value)> {
    let whole = text.trim();
    serde_json::from_str(whole).ok().map(|value| (whole, value)).or_else(|| fenced(text))
}

fn fenced(mut text: &str) -> Option<(&str, Value)> {
    loop {
        let (_, after) = text.split_once(FENCE)?;
        // The language of a block is on the line of the fence; in a block of one line, it is the first word.
        let lines = after.split_once('\n').map(|(_, lines)| lines);
        let words = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        if let Some(json) = lines.and_then(block).or_else(|| block(words)) {
            return Some(json);
        }
        (_, text) = after.split_once(FENCE)?;
    }
}

/// A JSON value that is followed by a fence. The JSON parser decides where it ends, because strings in it may contain fences.
fn block(text: &str) -> Option<(&str, Value)> {
    let text = text.trim_start();
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let (body, rest) = text.split_at(values.byte_offset());
    rest.trim_start().starts_with(FENCE).then_some((body, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_found_whole_or_in_the_first_block_that_is_json() {
        for (text, expected) in [
            (" {\"n\": 1} ", Some("{\"n\": 1}")),
            ("Here:\n```json\n{\"n\": 1}\n```", Some("{\"n\": 1}")),
            ("```\n[1]\n```\nor\n```\n[2]\n```", Some("[1]")),
            ("```python\nprint(1)\n```\ngives\n```json\n{\"n\": 1}\n```", Some("{\"n\": 1}")),
            ("```python\nprint(1)\n```\n5\n```json\n{\"n\": 1}\n```", Some("{\"n\": 1}")),
            ("```json {\"n\": 1}```", Some("{\"n\": 1}")),
            ("```json title={1}\n{\"n\": 1}\n```", Some("{\"n\": 1}")),
            ("```{\"n\": 1}```", Some("{\"n\": 1}")),
            ("```json\r\n{\"n\": \"```js x```\"}\r\n```\r\n", Some("{\"n\": \"```js x```\"}")),
            ("```json\n{\"n\": 1}", None),
            ("```json\n{\"n\": 1} and more\n```", None),
            ("one", None),
            ("```", None),
            ("", None),
        ] {
            assert_eq!(json(text).map(|(body, _)| body), expected, "{text}");
        }
        assert_eq!(json("```\n7\n```").map(|(_, value)| value), Some(Value::Int(7)));
    }
}
