//! The `OpenAPI` document, which is generated from the handlers, and its page.

use axum::response::Html;
use utoipa::OpenApi;
use utoipa::openapi::{ContentBuilder, InfoBuilder, OpenApi as Document, RefOr, ResponseBuilder, ServerBuilder};

use crate::problem::ProblemBody;

#[derive(OpenApi)]
#[openapi(components(schemas(ProblemBody)))]
struct Components;

/// The document before the routes are added.
pub(crate) fn base(version: &str, base_path: &str) -> Document {
    let mut document = Components::openapi();
    document.info = InfoBuilder::new()
        .title("Branchpoint")
        .version(version)
        .description(Some("Workflows, runs, live events, approvals and sessions. Errors are RFC 9457 problem details."))
        .build();
    let base_path = if base_path.is_empty() { "/" } else { base_path };
    document.servers = Some(vec![ServerBuilder::new().url(base_path).build()]);
    document
}

/// Adds to every operation the response of a failed request.
pub(crate) fn finish(mut document: Document) -> Document {
    let problem = |description: &str| {
        let schema = utoipa::openapi::Ref::from_schema_name("Problem");
        let content = ContentBuilder::new().schema(Some(schema)).build();
        RefOr::T(ResponseBuilder::new().description(description).content("application/problem+json", content).build())
    };
    for item in document.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.patch, &mut item.delete];
        for operation in operations.into_iter().filter_map(Option::as_mut) {
            operation.responses.responses.entry("default".to_owned()).or_insert_with(|| problem("The request failed"));
            if operation.request_body.is_some() {
                let invalid = || problem("The request is well-formed, and what it contains is invalid");
                operation.responses.responses.entry("422".to_owned()).or_insert_with(invalid);
            }
        }
    }
    document
}

/// A page that lists the operations. It needs nothing but the document.
pub(crate) async fn page() -> Html<&'static str> {
    Html(include_str!("openapi.html"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::router::documented;

    /// The web page's types are generated from this file.
    const STORED: &str = "../../web/src/api/openapi.json";

    #[test]
    fn the_stored_document_is_current() {
        let (_, document) = documented("0.0.0", "");
        let mut current = serde_json::to_string_pretty(&document).unwrap();
        current.push('\n');
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(STORED);
        if std::env::var_os("UPDATE_OPENAPI").is_some() {
            std::fs::write(&path, &current).unwrap();
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(stored == current, "web/src/api/openapi.json is not current. Renew it with: make api");
    }
}
