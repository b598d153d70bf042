//! Encodes request bodies: JSON, text and forms.

use std::fmt::Write as _;

use branchpoint_core::effect::BodyType;
use branchpoint_expr::{Object, Value};
use url::form_urlencoded::Serializer;

use super::failure::impossible;
use crate::runner::Answer;

/// An encoded body and its content type.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EncodedBody {
    pub(super) bytes: Vec<u8>,
    pub(super) content_type: Option<String>,
}

impl EncodedBody {
    fn new(text: impl Into<String>, content_type: impl Into<String>) -> Self {
        Self { bytes: text.into().into_bytes(), content_type: Some(content_type.into()) }
    }
}

/// Encodes a value as the request says. Null gives no body, and a form must be an object.
pub(super) fn encode_body(value: &Value, form: BodyType, boundary: &str) -> Result<Option<EncodedBody>, Answer> {
    if *value == Value::Null {
        return Ok(None);
    }
    Ok(Some(match form {
        BodyType::Json => EncodedBody::new(json(value), "application/json"),
        BodyType::FormUrlencoded => {
            let encode_body = Serializer::new(String::new()).extend_pairs(form_fields(value)?).finish();
            EncodedBody::new(encode_body, "application/x-www-form-urlencoded")
        }
        BodyType::FormMultipart => EncodedBody::new(
            multipart(&form_fields(value)?, boundary),
            format!("multipart/form-data; boundary={boundary}"),
        ),
        BodyType::Raw => EncodedBody { bytes: value.to_string().into_bytes(), content_type: None },
        BodyType::Text => EncodedBody::new(value.to_string(), "text/plain; charset=utf-8"),
        BodyType::Auto if value.as_str().is_some() => EncodedBody::new(value.to_string(), "text/plain; charset=utf-8"),
        BodyType::Auto => EncodedBody::new(value.to_string(), "application/json"),
    }))
}

/// A text that is JSON is sent unchanged, because bodies with placeholders are written as text. Other text becomes a JSON string.
fn json(value: &Value) -> String {
    match value.as_str() {
        Some(text) if serde_json::from_str::<serde_json::Value>(text).is_ok() => text.to_owned(),
        Some(text) => serde_json::Value::from(text).to_string(),
        None => value.to_string(),
    }
}

/// The fields of a form.
fn form_fields(value: &Value) -> Result<Vec<(String, String)>, Answer> {
    let error = || impossible("`body` must be an object of fields, because it is sent as a form");
    value.as_object().map(pairs).ok_or_else(error)
}

/// The fields of an object as pairs. A list repeats its field for each item, and null is left out.
pub(super) fn pairs(fields: &Object) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for (name, value) in fields {
        match value.as_list() {
            Some(items) => pairs.extend(items.iter().map(|item| (name.to_string(), item.to_string()))),
            None if *value == Value::Null => {}
            None => pairs.push((name.to_string(), value.to_string())),
        }
    }
    pairs
}

fn multipart(pairs: &[(String, String)], boundary: &str) -> String {
    let mut text = String::new();
    for (name, value) in pairs {
        // A name must not contain characters that end its quotes or its line.
        let name = name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
        let _ = write!(text, "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
    }
    let _ = write!(text, "--{boundary}--\r\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, form: BodyType, expected: (&str, Option<&str>)) {
        let value: Value = serde_json::from_str(value).expect("this is JSON");
        let encode_body = encode_body(&value, form, "B").expect("it can be sent").expect("there is a body");
        assert_eq!(String::from_utf8_lossy(&encode_body.bytes), expected.0);
        assert_eq!(encode_body.content_type.as_deref(), expected.1);
    }

    #[test]
    fn a_body_is_encoded_in_the_requested_form() {
        let json = Some("application/json");
        let text = Some("text/plain; charset=utf-8");
        check(r#"{"a": 1}"#, BodyType::Auto, (r#"{"a":1}"#, json));
        check(r#""plain""#, BodyType::Auto, ("plain", text));
        check(r#""plain""#, BodyType::Json, (r#""plain""#, json));
        check(r#""{\"a\": 2}""#, BodyType::Json, (r#"{"a": 2}"#, json));
        check(r#"{"a": 1}"#, BodyType::Text, (r#"{"a":1}"#, text));
        check(r#""<x/>""#, BodyType::Raw, ("<x/>", None));
        let form = Some("application/x-www-form-urlencoded");
        check(r#"{"a": "b c&", "l": [1, 2], "n": null}"#, BodyType::FormUrlencoded, ("a=b+c%26&l=1&l=2", form));
        let parts = "--B\r\nContent-Disposition: form-data; name=\"a%22\"\r\n\r\nx\r\n--B--\r\n";
        check(r#"{"a\"": "x"}"#, BodyType::FormMultipart, (parts, Some("multipart/form-data; boundary=B")));
    }

    #[test]
    fn null_gives_no_body() {
        assert!(encode_body(&Value::Null, BodyType::Json, "B").is_ok_and(|body| body.is_none()));
    }

    #[test]
    fn a_form_must_be_an_object() {
        for form in [BodyType::FormUrlencoded, BodyType::FormMultipart] {
            for value in [Value::from("a=b"), Value::Int(7), Value::from(vec![Value::Int(7)])] {
                let Err(Answer::Failed(failed)) = encode_body(&value, form, "B") else {
                    panic!("{value:?} was encoded")
                };
                assert!(failed.message.starts_with("`body` must be an object"), "{}", failed.message);
            }
        }
    }
}
