//! Embeddings of texts, computed by an endpoint that is compatible with OpenAI's `/embeddings`.

use std::sync::Arc;
use std::time::Duration;

use branchpoint_core::RetryHint;
use reqwest::Method;
use reqwest::header::{self, HeaderValue};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::Tools;
use super::failure::{denied, impossible, refused};
use super::settings::EmbeddingsSettings;
use super::wire::{Outgoing, Reply};
use crate::network::Source;
use crate::network::retry_after::MAX_CALL_WAIT;
use crate::runner::Answer;
use crate::shorten::shortened;
use crate::storage::{ModelVector, Vector};

/// How often [`Tools::embed_documents`] repeats a request that may succeed later.
const RETRIES: u32 = 4;

/// The most texts of one request.
const MAX_BATCH: usize = 64;

/// Why texts cannot be embedded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EmbeddingError(pub String);

/// The response of an endpoint.
#[derive(Deserialize)]
struct Embedded {
    data: Vec<EmbeddedText>,
}

#[derive(Deserialize)]
struct EmbeddedText {
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Tools {
    /// The configured embedding model.
    ///
    /// ```
    /// use branchpoint_runners::{no_secrets, tools};
    ///
    /// assert_eq!(tools::Tools::new(tools::Settings::default(), no_secrets()).embedding_model(), None);
    /// ```
    pub fn embedding_model(&self) -> Option<Arc<str>> {
        self.settings.embeddings.as_ref().map(EmbeddingsSettings::name)
    }

    /// The vectors of texts, in their order; `None` if no embedding model is configured. Transient failures are retried.
    pub async fn embed_documents(
        &self,
        texts: &[&str],
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<Vector>>, EmbeddingError> {
        let Some(settings) = &self.settings.embeddings else { return Ok(None) };
        let mut vectors = Vec::new();
        for batch in texts.chunks(MAX_BATCH) {
            let embedded = cancel.run_until_cancelled(self.embed_with_retries(settings, batch)).await;
            vectors.extend(embedded.unwrap_or_else(|| Err(EmbeddingError("cancelled".to_owned())))?);
        }
        Ok(Some(vectors))
    }

    /// The vector of a query; `None` if no embedding model is configured. Transient failures are retried.
    pub async fn embed_query(
        &self,
        query: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<ModelVector>, EmbeddingError> {
        let vector = self.embed_documents(&[query], cancel).await?.and_then(|mut vectors| vectors.pop());
        Ok(self.embedding_model().zip(vector).map(|(model, vector)| ModelVector { model, vector }))
    }

    async fn embed_with_retries(
        &self,
        settings: &EmbeddingsSettings,
        texts: &[&str],
    ) -> Result<Vec<Vector>, EmbeddingError> {
        let limit = Duration::from_millis(self.settings.http.timeout_ms);
        let mut wait = Duration::from_secs(1);
        for retry in 0.. {
            let Ok(embedded) = tokio::time::timeout(limit, self.embed(settings, texts)).await else {
                return Err(EmbeddingError(format!("the embedding model did not respond within {limit:?}")));
            };
            let (message, pause) = match embedded {
                Ok(vectors) => return Ok(vectors),
                Err(Answer::Failed(failed)) => match failed.retry {
                    RetryHint::Never => (failed.message, None),
                    RetryHint::Soon => (failed.message, Some(wait)),
                    RetryHint::After(ms) => {
                        (failed.message, Some(Duration::from_millis(ms)).filter(|wait| *wait <= MAX_CALL_WAIT))
                    }
                },
                Err(other) => (format!("unexpected answer: {other:?}").into(), None),
            };
            match pause {
                Some(pause) if retry < RETRIES => tokio::time::sleep(pause).await,
                _ => return Err(EmbeddingError(self.settings_secrets().mask(&message).into_owned())),
            }
            wait *= 2;
        }
        Err(EmbeddingError("the embedding model did not respond".to_owned()))
    }

    fn settings_secrets(&self) -> crate::secrets::Secrets {
        let name = self.settings.embeddings.as_ref().and_then(|settings| settings.key_env.as_ref());
        self.lookup.secrets(name)
    }

    /// The vector of a text; `None` if no embedding model is configured.
    pub(super) async fn embed_text(&self, text: &str) -> Result<Option<ModelVector>, Answer> {
        let Some(settings) = &self.settings.embeddings else { return Ok(None) };
        let vector = self.embed(settings, &[text]).await?.pop();
        Ok(vector.map(|vector| ModelVector { model: settings.name(), vector }))
    }

    /// The vectors of the passages of a document and the name of their model; `None` if no embedding model is configured.
    pub(super) async fn embed_passages(&self, passages: &[&str]) -> Result<Option<(Arc<str>, Vec<Vector>)>, Answer> {
        let Some(settings) = self.settings.embeddings.as_ref().filter(|_| !passages.is_empty()) else {
            return Ok(None);
        };
        let mut vectors = Vec::new();
        for batch in passages.chunks(MAX_BATCH) {
            vectors.extend(self.embed(settings, batch).await?);
        }
        Ok(Some((settings.name(), vectors)))
    }

    /// Why texts cannot be embedded although a model is configured.
    pub(super) fn embeddings_unavailable_reason(&self) -> Option<String> {
        let name = self.settings.embeddings.as_ref()?.key_env.as_ref()?;
        let message = format!("the embedding model needs a key in the environment variable {name}, which is not set");
        self.lookup.get(name).is_none().then_some(message)
    }

    async fn embed(&self, settings: &EmbeddingsSettings, texts: &[&str]) -> Result<Vec<Vector>, Answer> {
        if let Some(reason) = self.embeddings_unavailable_reason() {
            return Err(impossible(reason));
        }
        let key = settings.key_env.as_ref().and_then(|name| self.lookup.get(name));
        let reply = self.wire.send(outgoing(settings, key.as_deref(), texts)?).await?;
        vectors(settings, &reply, texts.len())
    }
}

fn outgoing(settings: &EmbeddingsSettings, key: Option<&str>, texts: &[&str]) -> Result<Outgoing, Answer> {
    let url = Url::parse(&format!("{}/embeddings", settings.url.trim_end_matches('/')))
        .map_err(|error| impossible(format!("`url` of [embeddings] in the settings is not a valid URL: {error}")))?;
    let texts: Vec<&str> = texts.iter().map(|text| truncated(text, settings.max_input_bytes)).collect();
    let mut body = serde_json::json!({ "model": settings.model, "input": texts, "encoding_format": "float" });
    if let Some(dimensions) = settings.dimensions {
        body["dimensions"] = dimensions.into();
    }
    let mut out = Outgoing::new(Method::POST, url, Source::Operator);
    out.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    out.body = Some(body.to_string().into_bytes());
    if let Some(key) = key {
        let mut value = HeaderValue::try_from(format!("Bearer {key}"))
            .map_err(|_| impossible("the key of the embedding model has a character that a header cannot contain"))?;
        value.set_sensitive(true);
        out.headers.insert(header::AUTHORIZATION, value);
    }
    Ok(out)
}

/// Truncates a text between characters.
fn truncated(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

/// The vectors of a response, in the order of the texts.
fn vectors(settings: &EmbeddingsSettings, reply: &Reply, texts: usize) -> Result<Vec<Vector>, Answer> {
    let text = reply.text();
    if !reply.is_success() {
        let message = format!("the embedding model responded with status {}: {}", reply.status, shortened(&text));
        return Err(reply.rejection(message));
    }
    let embedded: Embedded = serde_json::from_str(&text)
        .map_err(|error| denied(format!("the response of the embedding model cannot be parsed: {error}")))?;
    if embedded.data.len() != texts {
        let given = embedded.data.len();
        return Err(denied(format!("the embedding model returned {given} vectors for {texts} texts")));
    }
    let mut ordered: Vec<Option<Vector>> = vec![None; texts];
    for (position, EmbeddedText { index, embedding }) in embedded.data.into_iter().enumerate() {
        let given = embedding.len();
        if let Some(expected) = settings.dimensions.filter(|expected| usize::try_from(*expected) != Ok(given)) {
            return Err(refused(format!(
                "the embedding model returned a vector of {given} numbers, but `dimensions` of [embeddings] is {expected}; change one of them"
            )));
        }
        let vector = Vector::new(embedding)
            .ok_or_else(|| denied(format!("the embedding model returned an invalid vector of {given} numbers")))?;
        if let Some(place) = ordered.get_mut(index.unwrap_or(position)) {
            *place = Some(vector);
        }
    }
    let ordered: Option<Vec<Vector>> = ordered.into_iter().collect();
    let ordered = ordered
        .ok_or_else(|| denied("the embedding model returned no vector for one text, and several for another"))?;
    if ordered.windows(2).any(|pair| pair[0].dimensions() != pair[1].dimensions()) {
        return Err(denied("the embedding model returned vectors of different sizes"));
    }
    Ok(ordered)
}
