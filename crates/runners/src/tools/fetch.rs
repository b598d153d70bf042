//! Fetches web pages: HTML as text, JSON as a value, anything else unchanged.

use branchpoint_core::effect::{Body, Content, FetchRequest, PageFormat};
use branchpoint_expr::Value;
use reqwest::Method;
use reqwest::header::{self, HeaderValue};

use super::failure::refused;
use super::http::address;
use super::page;
use super::wire::{Outgoing, Reply};
use super::{Tools, blocking};
use crate::network::Source;
use crate::runner::Answer;

impl Tools {
    /// Performs `fetch`.
    pub(super) async fn fetch(&self, request: &FetchRequest) -> Result<Answer, Answer> {
        let mut out = Outgoing::new(Method::GET, address(request.url.as_deref())?, Source::Document);
        let accept = "text/html, application/json;q=0.9, text/plain;q=0.9, */*;q=0.5";
        out.headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        let reply = self.wire.send(out).await?;
        let unchanged = request.format == PageFormat::Html;
        blocking(move || answer(&reply, unchanged)).await
    }
}

/// The answer for a page. The judge reports unsuccessful statuses.
fn answer(reply: &Reply, unchanged: bool) -> Result<Answer, Answer> {
    let text = reply.text();
    if !reply.is_success() {
        return Ok(reply.answer(Body::Text(text)));
    }
    let content_type = reply.header(header::CONTENT_TYPE).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_html = matches!(&*essence, "text/html" | "application/xhtml+xml")
        || essence.is_empty() && text.trim_start().starts_with('<');
    if is_html && !unchanged {
        let value = Value::from(page::text(&text).map_err(refused)?);
        return Ok(Answer::Data(Content { value, content_type: Some("text/plain".into()) }));
    }
    let is_json = essence == "application/json" || essence.ends_with("+json");
    let value = if is_json { serde_json::from_str(&text).ok() } else { None };
    let content_type = (!essence.is_empty()).then(|| essence.as_str().into());
    Ok(Answer::Data(Content { value: value.unwrap_or(Value::Str(text)), content_type }))
}
