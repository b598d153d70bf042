//! One call over the wire, by way of the library.

use futures_util::StreamExt;
use genai::chat::{ChatStreamEvent, ContentPart, MessageContent, ToolCall};
use genai::resolver::ProviderConfig;

use super::ask::Ask;
use super::fault::Fault;
use super::price::Tokens;

/// What a model said.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    /// Everything it said, if there is more to it than text and calls, and the provider wants it back.
    pub(super) thoughts: Option<serde_json::Value>,
    pub(super) tokens: Tokens,
}

pub(super) async fn streamed(client: &genai::Client, ask: &Ask, hear: &dyn Fn(&str)) -> Result<Said, Fault> {
    let opened = client.exec_chat_stream(ask.target.service(), ask.request.clone(), Some(&ask.options)).await;
    let mut stream = opened.map_err(|error| Fault::of(&error))?.stream;
    while let Some(event) = stream.next().await {
        match event.map_err(|error| Fault::of(&error))? {
            ChatStreamEvent::Chunk(chunk) => hear(&chunk.content),
            ChatStreamEvent::End(end) => {
                let tokens = end.captured_usage.as_ref().map(Tokens::of).unwrap_or_default();
                return Ok(told(end.captured_content.unwrap_or_default(), tokens));
            }
            _ => {}
        }
    }
    // A whole answer says that it is over.
    Err(Fault::cut())
}

pub(super) async fn at_once(client: &genai::Client, ask: &Ask, hear: &dyn Fn(&str)) -> Result<Said, Fault> {
    let answered = client.exec_chat(ask.target.service(), ask.request.clone(), Some(&ask.options)).await;
    let response = answered.map_err(|error| Fault::of(&error))?;
    let said = told(response.content, Tokens::of(&response.usage));
    if !said.text.is_empty() {
        hear(&said.text);
    }
    Ok(said)
}

/// The names of the models that the provider has; none if it does not tell.
pub(super) async fn model_names(client: &genai::Client, ask: &Ask) -> Vec<String> {
    let config = ProviderConfig::from_endpoint(ask.target.endpoint()).with_auth(ask.target.auth());
    client.all_model_names(ask.target.protocol, config).await.unwrap_or_default()
}

fn told(content: MessageContent, tokens: Tokens) -> Said {
    let thinks = |part: &ContentPart| match part {
        ContentPart::ThoughtSignature(_) | ContentPart::Custom(_) => true,
        ContentPart::ToolCall(call) => call.thought_signatures.is_some(),
        _ => false,
    };
    let thoughts = content.iter().any(thinks).then(|| serde_json::to_value(&content).ok()).flatten();
    let text = content.texts().concat();
    Said { text, calls: content.into_tool_calls(), thoughts, tokens }
}
