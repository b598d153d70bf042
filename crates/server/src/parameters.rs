//! Rejects requests with query parameters that their endpoint does not have, because a misspelt filter must not select everything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::extract::{MatchedPath, Query, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::{OpenApi as Document, PathItem, RefOr};

use crate::problem::Problem;

/// The path of every endpoint of the API begins with this.
const API: &str = "/api/v1/";

/// Identity providers add parameters of their own to this path.
const OPEN: &str = "/api/v1/sign-in/oidc/callback";

/// The query parameters of every endpoint, by method and path, from the `OpenAPI` document.
#[derive(Clone, Debug)]
pub(crate) struct QueryParameters(Arc<BTreeMap<(String, String), BTreeSet<String>>>);

impl QueryParameters {
    pub(crate) fn of(document: &Document) -> Self {
        let mut known = BTreeMap::new();
        let paths = document.paths.paths.iter().filter(|(path, _)| path.starts_with(API) && *path != OPEN);
        for (path, item) in paths {
            for (method, operation) in operations(item) {
                known.insert((method.to_string(), path.clone()), names(operation));
            }
        }
        Self(Arc::new(known))
    }

    /// The first parameter of a query that an endpoint does not have, and those that it has.
    fn unknown(&self, method: &Method, path: &str, request: &Request) -> Option<(String, Vec<&str>)> {
        let begin = path.find(API)?;
        let known = self.0.get(&(method.to_string(), path[begin..].to_owned()))?;
        // A query that is not readable is an error of the handler.
        let Query(sent) = Query::<Vec<(String, String)>>::try_from_uri(request.uri()).ok()?;
        let (name, _) = sent.into_iter().find(|(name, _)| !known.contains(name))?;
        Some((name, known.iter().map(String::as_str).collect()))
    }
}

fn operations(item: &PathItem) -> impl Iterator<Item = (Method, &Operation)> {
    let operations = [
        (Method::GET, &item.get),
        (Method::PUT, &item.put),
        (Method::POST, &item.post),
        (Method::PATCH, &item.patch),
        (Method::DELETE, &item.delete),
    ];
    operations.into_iter().filter_map(|(method, operation)| Some((method, operation.as_ref()?)))
}

fn names(operation: &Operation) -> BTreeSet<String> {
    let parameters = operation.parameters.iter().flatten().filter_map(|parameter| match parameter {
        RefOr::T(parameter) => Some(parameter),
        RefOr::Ref(_) => None,
    });
    let of_query = parameters.filter(|parameter| matches!(parameter.parameter_in, ParameterIn::Query));
    of_query.map(|parameter| parameter.name.clone()).collect()
}

/// Rejects a request with an unknown query parameter.
pub(crate) async fn reject_unknown(
    State(known): State<QueryParameters>,
    path: MatchedPath,
    request: Request,
    next: Next,
) -> Response {
    let Some((name, known)) = known.unknown(request.method(), path.as_str(), &request) else {
        return next.run(request).await;
    };
    let name: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
    let detail = match known.as_slice() {
        [] => format!("`{name}` is not a parameter of this request, which has none."),
        known => format!("`{name}` is not a parameter of this request. The parameters are {}.", known.join(", ")),
    };
    Problem::bad_request(detail).into_response()
}
