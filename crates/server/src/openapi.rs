//! The `OpenAPI` document, which is generated from the handlers, and its page.

use axum::response::Html;
use utoipa::OpenApi;
use utoipa::openapi::{ContentBuilder, InfoBuilder, OpenApi as Document, RefOr, ResponseBuilder, ServerBuilder};

use crate::app::App;
use crate::problem::ProblemBody;

#[derive(OpenApi)]
#[openapi(components(schemas(ProblemBody)))]
struct Components;

/// The document before the routes are added.
pub(crate) fn base(app: &App) -> Document {
    let mut document = Components::openapi();
    document.info = InfoBuilder::new()
        .title("Branchpoint")
        .version(app.content.version)
        .description(Some("Workflows, runs, live events, approvals and sessions. Errors are RFC 9457 problem details."))
        .build();
    let base = app.settings.base_path.trim_end_matches('/');
    document.servers = Some(vec![ServerBuilder::new().url(if base.is_empty() { "/" } else { base }).build()]);
    document
}

/// Adds to every operation the response of a failed request.
pub(crate) fn finish(mut document: Document) -> Document {
    let problem = || {
        let schema = utoipa::openapi::Ref::from_schema_name("Problem");
        let content = ContentBuilder::new().schema(Some(schema)).build();
        RefOr::T(
            ResponseBuilder::new()
                .description("The request failed")
                .content("application/problem+json", content)
                .build(),
        )
    };
    for item in document.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete];
        for operation in operations.into_iter().filter_map(Option::as_mut) {
            operation.responses.responses.entry("default".to_owned()).or_insert_with(problem);
        }
    }
    document
}

/// A page that lists the operations. It needs nothing but the document.
pub(crate) async fn page() -> Html<&'static str> {
    Html(include_str!("openapi.html"))
}
