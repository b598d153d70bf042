//! Searches the web with the configured provider. Results are a list of `{title, url, snippet}`.

use branchpoint_core::effect::{SearchHit, SearchRequest};
use branchpoint_expr::Value;
use reqwest::Method;
use reqwest::header::{self, HeaderValue};
use url::Url;

use super::Tools;
use super::failure::{denied, impossible};
use super::settings::{SearchProvider, SearchSettings};
use super::wire::{Outgoing, Reply};
use crate::network::Source;
use crate::runner::Answer;

/// The default number of results.
const RESULTS: usize = 10;

impl Tools {
    /// Performs `search`.
    pub(super) async fn search(&self, request: &SearchRequest) -> Result<Answer, Answer> {
        let (None, Some(settings)) = (self.search_unavailable_reason(), &self.settings.search) else {
            return Err(impossible(self.search_unavailable_reason().unwrap_or_default()));
        };
        let query = request.query.as_deref().unwrap_or_default();
        if query.trim().is_empty() {
            return Err(impossible("`query` is empty; set the words to search for"));
        }
        let limit = request.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(RESULTS);
        let key = settings.key_env.as_ref().and_then(|name| self.lookup.get(name));
        let reply = self.wire.send(outgoing(settings, key.as_deref(), query, limit)?).await?;
        Ok(Answer::data(results(&reply, settings.provider, limit)?))
    }

    /// Why the web cannot be searched; `None` if it can.
    pub(super) fn search_unavailable_reason(&self) -> Option<String> {
        let Some(settings) = &self.settings.search else {
            return Some(
                "no search provider is configured; add [search] with provider = \"brave\", \"tavily\" or \"searxng\" to \
                 the settings"
                    .to_owned(),
            );
        };
        if settings.provider == SearchProvider::Searxng {
            let message = "SearXNG needs the address of an instance; add url to [search] in the settings";
            return settings.url.is_none().then(|| message.to_owned());
        }
        match &settings.key_env {
            None => {
                Some("the search provider needs a key; add key_env = \"NAME\" to [search] in the settings".to_owned())
            }
            Some(name) if self.lookup.get(name).is_none() => {
                Some(format!("the search provider needs a key in the environment variable {name}, which is not set"))
            }
            Some(_) => None,
        }
    }
}

fn outgoing(settings: &SearchSettings, key: Option<&str>, query: &str, limit: usize) -> Result<Outgoing, Answer> {
    let (base, path, key_header, scheme) = match settings.provider {
        SearchProvider::Brave => ("https://api.search.brave.com", "res/v1/web/search", "x-subscription-token", ""),
        SearchProvider::Tavily => ("https://api.tavily.com", "search", "authorization", "Bearer "),
        SearchProvider::Searxng => ("", "search", "authorization", "Bearer "),
    };
    let base = settings.url.as_deref().unwrap_or(base).trim_end_matches('/');
    let url = Url::parse(&format!("{base}/{path}"))
        .map_err(|error| impossible(format!("`url` of [search] in the settings is not a valid URL: {error}")))?;
    let json = HeaderValue::from_static("application/json");
    let count = limit.clamp(1, 20);
    let mut out = Outgoing::new(Method::GET, url, Source::Operator);
    match settings.provider {
        SearchProvider::Tavily => {
            out.method = Method::POST;
            out.headers.insert(header::CONTENT_TYPE, json.clone());
            out.body = Some(serde_json::json!({ "query": query, "max_results": count }).to_string().into_bytes());
        }
        provider => {
            let count = count.to_string();
            let more = if provider == SearchProvider::Brave { ("count", &*count) } else { ("format", "json") };
            out.url.query_pairs_mut().extend_pairs([("q", query), more]);
        }
    }
    out.headers.insert(header::ACCEPT, json);
    if let Some(key) = key {
        let mut value = HeaderValue::try_from(format!("{scheme}{key}"))
            .map_err(|_| impossible("the key of the search provider has a character that a header cannot contain"))?;
        value.set_sensitive(true);
        out.headers.insert(key_header, value);
    }
    Ok(out)
}

fn results(reply: &Reply, provider: SearchProvider, limit: usize) -> Result<Value, Answer> {
    if !reply.is_success() {
        return Err(reply.rejection(format!("the search provider responded with status {}", reply.status)));
    }
    let answer: Value =
        serde_json::from_str(&reply.text()).map_err(|_| denied("the response of the search provider is not JSON"))?;
    let (list, snippet) = match provider {
        SearchProvider::Brave => (answer.get("web").and_then(|web| web.get("results")), "description"),
        SearchProvider::Tavily | SearchProvider::Searxng => (answer.get("results"), "content"),
    };
    let list = list.and_then(Value::as_list).unwrap_or_default();
    let result = |found: &Value| {
        let field = |name: &str| found.get(name).cloned().unwrap_or_default();
        Value::from(SearchHit { title: field("title"), url: field("url"), snippet: field(snippet) })
    };
    Ok(Value::from(list.iter().take(limit).map(result).collect::<Vec<_>>()))
}
