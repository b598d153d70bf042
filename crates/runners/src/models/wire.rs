//! One call over the wire, by way of the library.

use std::sync::Arc;

use futures_util::StreamExt;
use genai::chat::{ChatStreamEvent, ContentPart, MessageContent, StopReason, StreamEnd, ToolCall};
use genai::resolver::{Endpoint, ProviderConfig};
use serde_json::Value;

use super::ask::Ask;
use super::attached::Attached;
use super::fault::Fault;
use super::frames::{Facts, Frames};
use super::price::Tokens;
use super::relay::{Bounds, Passage, Sent};

/// What a model said.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    /// Everything it said, if there is more to it than text and calls, and the provider wants it back.
    pub(super) thoughts: Option<serde_json::Value>,
    pub(super) tokens: Tokens,
    /// The provider's word for an answer that ended because it had used up its tokens.
    pub(super) cut: Option<String>,
}

impl Said {
    pub(super) fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.calls.is_empty()
    }
}

pub(super) async fn streamed(
    client: &reqwest::Client,
    ask: &Ask,
    frames: &Arc<Frames>,
    hear: &(dyn Fn(&str) + Sync),
) -> Result<Said, Fault> {
    let passage = Passage::open(client, &ask.target.url, sent(ask), Bounds::of_stream(ask.max_bytes))?;
    let said = heard(&passage, ask, frames, hear).await;
    said.map_err(|fault| fault.after(frames.facts().tokens))
}

async fn heard(
    passage: &Passage,
    ask: &Ask,
    frames: &Arc<Frames>,
    hear: &(dyn Fn(&str) + Sync),
) -> Result<Said, Fault> {
    let options = ask.options.clone().with_raw_frame_sink_arc(frames.clone());
    let target = ask.target.service(Passage::url());
    let opened = passage.library().exec_chat_stream(target, ask.request.clone(), Some(&options)).await;
    let mut stream = opened.map_err(|error| passage.fault(&error))?.stream;
    let mut heard = Heard::default();
    while let Some(event) = stream.next().await {
        match event.map_err(|error| broken(passage, &error, &frames.facts()))? {
            ChatStreamEvent::Chunk(chunk) => {
                hear(&chunk.content);
                heard.text.push_str(&chunk.content);
            }
            ChatStreamEvent::ToolCallChunk(chunk) => heard.call(chunk.tool_call),
            ChatStreamEvent::End(end) => return ended(passage, end, &frames.facts()),
            _ => {}
        }
    }
    let facts = frames.facts();
    match () {
        // Some servers say why they ended, and leave out that they have.
        () if facts.reason.is_some() => heard.ended(&facts),
        // A whole answer says that it is over.
        () if facts.bytes > 0 => Err(cut(passage)),
        () => Err(passage.own_fault().unwrap_or_else(Fault::not_streamed)),
    }
}

/// An error in the middle of a stream; what was said before it may tell more.
fn broken(passage: &Passage, error: &genai::Error, facts: &Facts) -> Fault {
    declined(facts, None, "").unwrap_or_else(|| passage.fault(error))
}

/// An answer that ended before its end. The library does not always see that it was broken off, and never why.
fn cut(passage: &Passage) -> Fault {
    passage.own_fault().unwrap_or_else(Fault::cut)
}

fn ended(passage: &Passage, end: StreamEnd, facts: &Facts) -> Result<Said, Fault> {
    let tokens = end.captured_usage.as_ref().map_or(facts.tokens, Tokens::of);
    let reason = end.captured_stop_reason;
    let is_over = facts.over || reason.is_some();
    let said = told(end.captured_content.unwrap_or_default(), tokens);
    let said = judged(said, reason, facts)?;
    // The library also ends a stream that was closed before its end, for some providers.
    if is_over { Ok(said) } else { Err(cut(passage)) }
}

pub(super) async fn at_once(client: &reqwest::Client, ask: &Ask, hear: &(dyn Fn(&str) + Sync)) -> Result<Said, Fault> {
    let passage = Passage::open(client, &ask.target.url, sent(ask), Bounds::of_whole(ask.max_bytes))?;
    let options = ask.options.clone().with_capture_raw_body(true);
    let target = ask.target.service(Passage::url());
    let answered = passage.library().exec_chat(target, ask.request.clone(), Some(&options)).await;
    let mut facts = Facts::default();
    let response = match answered {
        Ok(response) => response,
        Err(error) => {
            if let genai::Error::ChatResponseGeneration { response_body, .. } = &error {
                facts.read(response_body);
            }
            return Err(broken(&passage, &error, &facts).after(facts.tokens));
        }
    };
    facts.read(response.captured_raw_body.as_ref().unwrap_or(&Value::Null));
    let said = judged(told(response.content, Tokens::of(&response.usage)), response.stop_reason, &facts);
    let said = said.map_err(|fault| fault.after(facts.tokens))?;
    if !said.text.is_empty() {
        hear(&said.text);
    }
    Ok(said)
}

fn sent(ask: &Ask) -> Sent {
    Sent { key: Some(ask.key()), attached: Attached::to(&ask.request) }
}

/// The names of the models that the provider has; none if it does not tell.
pub(super) async fn model_names(client: &reqwest::Client, ask: &Ask) -> Vec<String> {
    let Ok(passage) = Passage::open(client, &ask.target.url, Sent::default(), Bounds::of_whole(ask.max_bytes)) else {
        return Vec::new();
    };
    let config = ProviderConfig::from_endpoint(Endpoint::from_static(Passage::url())).with_auth(ask.target.auth());
    passage.library().all_model_names(ask.target.protocol, config).await.unwrap_or_default()
}

fn told(content: MessageContent, tokens: Tokens) -> Said {
    let thinks = |part: &ContentPart| match part {
        ContentPart::ThoughtSignature(_) | ContentPart::Custom(_) => true,
        ContentPart::ToolCall(call) => call.thought_signatures.is_some(),
        _ => false,
    };
    let thoughts = content.iter().any(thinks).then(|| serde_json::to_value(&content).ok()).flatten();
    let text = content.texts().concat();
    Said { text, calls: content.into_tool_calls(), thoughts, tokens, cut: None }
}

/// An answer that is one: neither declined nor nothing at all.
fn judged(mut said: Said, reason: Option<StopReason>, facts: &Facts) -> Result<Said, Fault> {
    let reason = reason.or_else(|| facts.reason.clone().map(StopReason::from));
    if let Some(fault) = declined(facts, reason.as_ref(), &said.text) {
        return Err(fault);
    }
    said.cut = reason.filter(StopReason::is_max_tokens).map(|reason| reason.raw().to_owned());
    Ok(said)
}

/// Why there is no answer, if the model or its provider declined to give one.
fn declined(facts: &Facts, reason: Option<&StopReason>, text: &str) -> Option<Fault> {
    let filtered = reason.filter(|reason| matches!(reason, StopReason::ContentFilter(_))).map(StopReason::raw);
    let word = facts.blocked.as_deref().or(filtered);
    if word.is_none() && facts.refusal.is_empty() {
        return None;
    }
    let words = if facts.refusal.is_empty() { text } else { &facts.refusal };
    Some(Fault::declined(word.unwrap_or("refusal"), words))
}

/// What was heard of an answer piece by piece.
#[derive(Default)]
struct Heard {
    text: String,
    calls: Vec<ToolCall>,
}

impl Heard {
    /// A call as far as it is known; it comes again with every piece of its arguments.
    fn call(&mut self, call: ToolCall) {
        match self.calls.iter_mut().find(|known| known.call_id == call.call_id) {
            Some(known) => *known = call,
            None => self.calls.push(call),
        }
    }

    fn ended(self, facts: &Facts) -> Result<Said, Fault> {
        let tokens = facts.tokens;
        judged(Said { text: self.text, calls: self.calls, tokens, ..Said::default() }, None, facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::runtime;

    #[test]
    fn a_stream_that_ends_without_an_error_is_told_as_the_relay_knows_it() {
        let url = Arc::from("http://provider.invalid/");
        let client = crate::models::client::within().build().expect("a client");
        runtime().block_on(async {
            let passage = Passage::open(&client, &url, Sent::default(), Bounds::of_stream(5)).expect("a way");
            assert_eq!(ended(&passage, StreamEnd::default(), &Facts::default()).err(), Some(Fault::cut()));
            passage.break_off(Fault::too_long(5));
            assert_eq!(ended(&passage, StreamEnd::default(), &Facts::default()).err(), Some(Fault::too_long(5)));
        });
    }
}
