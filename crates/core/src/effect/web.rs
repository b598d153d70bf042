//! Requests over the network: HTTP, webhooks, mail, pages, searches, and values taken out of texts.

use std::sync::Arc;

use branchpoint_expr::{Object, Value};

use super::fields::{request, result, word};

request! {
    /// An HTTP request.
    HttpRequest {
        /// The method; none: GET.
        method: Option<String>,
        /// The whole address.
        url: Option<String>,
        /// The headers by name.
        headers: Object,
        /// The query parameters; a list repeats its parameter.
        query: Object,
        /// The body.
        body: Value,
        /// How the body is encoded.
        body_type: BodyType,
        /// Whether redirects are followed; none: unless a redirect is expected.
        follow_redirects: Option<bool>,
    }
}

/// A response over HTTP, whatever its status.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// The headers by name.
    pub headers: Object,
    /// The body.
    pub body: Body,
}

/// The body of a response.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// As it came over the wire.
    Text(Arc<str>),
    /// Decoded already.
    Decoded(Value),
}

word! {
    /// How a body is encoded.
    BodyType, "auto, json, text, raw, form_urlencoded or form_multipart" {
        /// Text as text, everything else as JSON.
        #[default]
        Auto = "auto",
        /// JSON.
        Json = "json",
        /// Plain text.
        Text = "text",
        /// As it is, without a content type.
        Raw = "raw",
        /// A URL-encoded form.
        FormUrlencoded = "form_urlencoded",
        /// A multipart form.
        FormMultipart = "form_multipart",
    }
}

request! {
    /// A signed notification.
    WebhookRequest {
        /// The method; none: POST.
        method: Option<String>,
        /// The whole address.
        url: Option<String>,
        /// The media type of the payload; none: JSON.
        content_type: Option<String>,
        /// The headers by name.
        headers: Object,
        /// The payload.
        payload: Value,
    }
}

request! {
    /// A mail.
    MailRequest {
        /// The recipients: texts with one address or several, separated by commas.
        to: Vec<String>,
        /// Recipients of a copy.
        cc: Vec<String>,
        /// Recipients of a hidden copy.
        bcc: Vec<String>,
        /// Where answers go.
        reply_to: Vec<String>,
        /// The subject.
        subject: Option<String>,
        /// The plain text.
        text_body: Option<String>,
        /// The HTML text.
        html_body: Option<String>,
    }
}

request! {
    /// A web page.
    FetchRequest {
        /// The whole address.
        url: Option<String>,
        /// Whether the page is read as text or kept as HTML.
        format: PageFormat,
    }
}

word! {
    /// The form of a web page.
    PageFormat, "text or html" {
        /// Its text, or its value if it is JSON.
        #[default]
        Text = "text",
        /// The page as it is.
        Html = "html",
    }
}

request! {
    /// A web search.
    SearchRequest {
        /// What to search for.
        query: Option<String>,
        /// How many results are wanted.
        limit: Option<u64>,
    }
}

result! {
    /// A result of a web search.
    SearchHit {
        /// The title of the page.
        title: Value,
        /// Its address.
        url: Value,
        /// The part of it that matches.
        snippet: Value,
    }
}

request! {
    /// A value out of a text.
    ExtractRequest {
        /// The text, or a value that is searched as JSON.
        source: Value,
        /// `json`, `html` or `xml`; none: as the text looks.
        format: Option<String>,
        /// The path or selector; none: everything.
        path: Option<String>,
    }
}
