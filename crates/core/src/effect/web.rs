//! Requests over the network: HTTP, webhooks, mail, pages and searches; and the extraction of values from texts.

use std::sync::Arc;

use branchpoint_expr::{Object, Value};

use super::fields::{request, result, word};

request! {
    /// An HTTP request.
    HttpRequest {
        /// The method; none: GET.
        method: Option<String>,
        /// The full URL.
        url: Option<String>,
        /// The headers by name.
        headers: Object,
        /// The query parameters; a list repeats its parameter.
        query: Object,
        /// The body.
        body: Value,
        /// How the body is encoded.
        body_type: BodyType,
        /// Whether to follow redirects; none: follow them unless a redirect status is expected.
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
    /// The text as received.
    Text(Arc<str>),
    /// A decoded value.
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
        /// Unchanged text without a content type.
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
        /// The full URL.
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
        /// The recipients. Each text has one or more addresses, separated by commas.
        to: Vec<String>,
        /// Recipients of a copy.
        cc: Vec<String>,
        /// Recipients of a blind copy.
        bcc: Vec<String>,
        /// The addresses for replies.
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
        /// The full URL.
        url: Option<String>,
        /// Whether to return the text or the HTML of the page.
        format: PageFormat,
    }
}

word! {
    /// The form of a web page.
    PageFormat, "text or html" {
        /// The text of the page, or its value if it is JSON.
        #[default]
        Text = "text",
        /// The HTML of the page.
        Html = "html",
    }
}

request! {
    /// A web search.
    SearchRequest {
        /// The search terms.
        query: Option<String>,
        /// The maximum number of results.
        limit: Option<u64>,
    }
}

result! {
    /// A result of a web search.
    SearchHit {
        /// The title of the page.
        title: Value,
        /// The URL of the page.
        url: Value,
        /// The part of the page that matches.
        snippet: Value,
    }
}

request! {
    /// The extraction of a value from a text.
    ExtractRequest {
        /// The text, or a value to search as JSON.
        source: Value,
        /// `json`, `html` or `xml`; none: detected from the text.
        format: Option<String>,
        /// The path or selector; none: the whole text.
        path: Option<String>,
    }
}
