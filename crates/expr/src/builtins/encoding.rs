//! Functions that decode JSON and base64.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::Kind;
use crate::fault::{Outcome, fault};
use crate::value::View;
use crate::work::Work;

pub(super) fn from_json<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    match work.json(arguments[0].expect_text("fromJSON()")?)? {
        Ok(view) => Ok(view),
        Err(error) => fault(Kind::BadJson, format!("invalid JSON: {error}")),
    }
}

pub(super) fn from_base64<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let decoded = BASE64_STANDARD.decode(arguments[0].expect_text("fromBase64()")?).ok();
    match decoded.and_then(|bytes| String::from_utf8(bytes).ok()) {
        Some(text) => work.text(&text),
        None => fault(Kind::BadArgument, "fromBase64() takes base64 of UTF-8 text"),
    }
}
