//! Requests to the provider, bounded in time and size.

use std::pin::Pin;
use std::time::Duration;

use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};

/// How long the provider may take to answer a request.
const PROVIDER_TIME: Duration = Duration::from_secs(10);

/// The maximum size of a response of the provider in bytes.
const MAX_RESPONSE_BYTES: usize = 1024 * 1024;

/// Sends the requests of the library with our client, which follows no redirects.
pub(super) struct ProviderClient(pub(super) reqwest::Client);

/// Why a request to the provider failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProviderError {
    #[error("the request failed")]
    Request(#[from] reqwest::Error),
    #[error("the response has more than {MAX_RESPONSE_BYTES} bytes")]
    TooLarge,
}

impl<'c> AsyncHttpClient<'c> for ProviderClient {
    type Error = ProviderError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, ProviderError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(send(&self.0, request))
    }
}

async fn send(client: &reqwest::Client, request: HttpRequest) -> Result<HttpResponse, ProviderError> {
    let (parts, body) = request.into_parts();
    let request = client.request(parts.method, parts.uri.to_string()).headers(parts.headers);
    let mut response = request.body(body).timeout(PROVIDER_TIME).send().await?;
    let mut answer = HttpResponse::new(Vec::new());
    *answer.status_mut() = response.status();
    *answer.headers_mut() = response.headers().clone();
    while let Some(chunk) = response.chunk().await? {
        if answer.body().len() + chunk.len() > MAX_RESPONSE_BYTES {
            return Err(ProviderError::TooLarge);
        }
        answer.body_mut().extend_from_slice(&chunk);
    }
    Ok(answer)
}
