//! What answers say beside their text: why they ended, and whether the model or its provider declined to give one. The library
//! hands on some of it for some providers; here it is read from what came over the wire.

use std::sync::{Mutex, MutexGuard, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef, StopReason};
use serde_json::Value;

use super::price::Tokens;

/// Facts about one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// Why it ended, in the provider's word. None: nothing said that it had.
    pub(super) reason: Option<String>,
    /// Whether it said that it was over, with or without a reason.
    pub(super) over: bool,
    /// What the model or the provider said instead of an answer.
    pub(super) refusal: String,
    /// Whether the prompt was not even shown to the model, in the provider's word.
    pub(super) blocked: Option<String>,
    /// What it used up, as far as it has said so.
    pub(super) tokens: Tokens,
    /// How much came, in bytes.
    pub(super) bytes: u64,
}

/// Where the reason stands, by wire format: OpenAI; Anthropic, streamed and not; Gemini; Ollama.
const REASONS: [&str; 5] =
    ["/choices/0/finish_reason", "/delta/stop_reason", "/stop_reason", "/candidates/0/finishReason", "/done_reason"];

/// Where words stand that are told instead of an answer, streamed and not.
const REFUSALS: [&str; 4] = [
    "/choices/0/delta/refusal",
    "/choices/0/message/refusal",
    "/delta/stop_details/explanation",
    "/stop_details/explanation",
];

/// Where Gemini says more about the reason, whatever it is.
const REMARK: &str = "/candidates/0/finishMessage";

/// Events whose type says that an answer is over: those of Anthropic, and of OpenAI's Responses.
const ENDS: [&str; 4] = ["message_stop", "response.completed", "response.incomplete", "response.failed"];

impl Facts {
    /// Reads a part of an answer, or a whole one.
    pub(super) fn read(&mut self, body: &Value) {
        let text = |place: &&str| body.pointer(place).and_then(Value::as_str).filter(|text| !text.is_empty());
        if let Some(reason) = REASONS.iter().find_map(text) {
            self.reason = Some(reason.to_owned());
        }
        self.refusal.extend(REFUSALS.iter().filter_map(text));
        let is_declined = |reason: &String| matches!(StopReason::from(reason.clone()), StopReason::ContentFilter(_));
        if self.reason.as_ref().is_some_and(is_declined) {
            self.refusal.extend(text(&REMARK));
        }
        if let Some(blocked) = text(&"/promptFeedback/blockReason") {
            self.blocked = Some(blocked.to_owned());
            self.refusal.extend(text(&"/promptFeedback/blockReasonMessage"));
        }
        let says_so = text(&"/type").is_some_and(|kind| ENDS.contains(&kind)) || body.get("done") == Some(&true.into());
        self.over = self.over || self.reason.is_some() || says_so;
        self.tokens = self.tokens.heard(body);
    }
}

/// Listens to the frames of a stream.
#[derive(Debug, Default)]
pub(super) struct Frames(Mutex<Facts>);

impl Frames {
    pub(super) fn facts(&self) -> Facts {
        self.lock().clone()
    }

    /// Nobody panics while holding it, and facts that are half written are facts still.
    fn lock(&self) -> MutexGuard<'_, Facts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatFrameSink for Frames {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        let mut facts = self.lock();
        facts.bytes += frame.data.len() as u64;
        if frame.data == "[DONE]" {
            facts.over = true;
        } else if let Some(body) = frame.json() {
            facts.read(&body);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn why_an_answer_ended_is_read_from_every_wire_format() {
        let read = |bodies: &[Value]| {
            let mut facts = Facts::default();
            for body in bodies {
                facts.read(body);
            }
            (facts.reason.unwrap_or_default(), facts.over, facts.refusal, facts.blocked.unwrap_or_default())
        };
        let told = |reason: &str, over, refusal: &str, blocked: &str| {
            (reason.to_owned(), over, refusal.to_owned(), blocked.to_owned())
        };
        let piece = json!({"choices": [{"delta": {"refusal": "I "}, "finish_reason": null}]});
        let more = json!({"choices": [{"delta": {"refusal": "cannot."}, "finish_reason": "stop"}]});
        assert_eq!(read(&[piece.clone(), more]), told("stop", true, "I cannot.", ""));
        assert_eq!(read(&[piece]), told("", false, "I ", ""));
        let anthropic = json!({"type": "message_delta", "delta": {"stop_reason": "refusal"}});
        assert_eq!(read(&[anthropic, json!({"type": "message_stop"})]), told("refusal", true, "", ""));
        assert_eq!(read(&[json!({"candidates": [{"finishReason": "SAFETY"}]})]), told("SAFETY", true, "", ""));
        let remark = |reason: &str| json!({"candidates": [{"finishReason": reason, "finishMessage": "So it is."}]});
        assert_eq!(read(&[remark("SAFETY")]), told("SAFETY", true, "So it is.", ""));
        assert_eq!(read(&[remark("MAX_TOKENS")]), told("MAX_TOKENS", true, "", ""));
        assert_eq!(read(&[remark("STOP")]), told("STOP", true, "", ""));
        let blocked = json!({"promptFeedback": {"blockReason": "OTHER", "blockReasonMessage": "No."}});
        assert_eq!(read(&[blocked]), told("", false, "No.", "OTHER"));
        assert_eq!(read(&[json!({"message": {"content": "x"}, "done": true})]), told("", true, "", ""));
    }
}
