//! Pages of the web: the text of HTML, the value of JSON, anything else as it is.

use std::sync::Arc;

use branchpoint_core::effect::{FetchRequest, PageFormat};
use branchpoint_expr::Value;
use reqwest::Method;
use reqwest::header::{self, HeaderValue};
use tokio_util::sync::CancellationToken;

use super::blocking;
use super::deadline;
use super::failure::refused;
use super::http::address;
use super::page;
use super::wire::{Outgoing, Reply, Wire};
use crate::network::Source;
use crate::runner::{Answer, Body, Call};

/// Performs `fetch`.
#[derive(Clone, Debug)]
pub(super) struct Fetch {
    pub(super) wire: Arc<Wire>,
    pub(super) timeout_ms: u64,
}

impl Fetch {
    pub(super) async fn perform(&self, call: &Call, request: &FetchRequest, cancel: &CancellationToken) -> Answer {
        deadline::answer(call, cancel, self.timeout_ms, async {
            let url = address(request.url.as_deref())?;
            let mut out = Outgoing::new(Method::GET, url, Source::Document);
            let accept = "text/html, application/json;q=0.9, text/plain;q=0.9, */*;q=0.5";
            out.headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            let reply = self.wire.send(out).await?;
            let as_it_is = request.format == PageFormat::Html;
            Ok(blocking(move || answer(&reply, as_it_is)).await)
        })
        .await
    }
}

/// A page; a status that is no success is for the judge.
fn answer(reply: &Reply, as_it_is: bool) -> Answer {
    let text = reply.text();
    if !reply.is_success() {
        return Answer::Http { status: reply.status, headers: reply.headers(), body: Body::Text(text) };
    }
    let content_type = reply.header(header::CONTENT_TYPE).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_html = matches!(&*essence, "text/html" | "application/xhtml+xml")
        || essence.is_empty() && text.trim_start().starts_with('<');
    if is_html && !as_it_is {
        return match page::text(&text) {
            Ok(text) => Answer::Data { value: Value::from(text), content_type: Some("text/plain".into()) },
            Err(why) => refused(why),
        };
    }
    let is_json = essence == "application/json" || essence.ends_with("+json");
    let value = if is_json { serde_json::from_str(&text).ok() } else { None };
    let content_type = (!essence.is_empty()).then(|| essence.as_str().into());
    Answer::Data { value: value.unwrap_or(Value::Str(text)), content_type }
}
