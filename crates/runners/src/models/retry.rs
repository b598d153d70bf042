//! Repeats a call until it succeeds or fails for good, within the time limit of the attempt.

use std::sync::Arc;
use std::time::{Duration, Instant};

use branchpoint_core::effect::Stream;
use branchpoint_core::{AttemptError, RetryHint};
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;

use super::exchange::{exchange, model_names};
use super::fault::{Fault, Remedy};
use super::formats::Reply;
use super::model_call::{ModelCall, Shape, schema_instruction};
use super::price::Tokens;
use super::{Models, Piece, Settings, reply_format};
use crate::judge;
use crate::network::retry_after::{self, MAX_CALL_WAIT};
use crate::runner::{Answer, Call};
use crate::secrets::Secrets;
use crate::secrets::redact_stream::StreamRedactor;
use crate::shorten::{by_similarity, shortened};

/// The first pause between tries, and the longest one that the provider does not ask for.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Longer than any call takes.
const NO_DEADLINE: Duration = Duration::from_hours(24 * 365 * 10);

/// The time limit for listing the provider's models, after an unknown model name.
const NAMES_TIMEOUT: Duration = Duration::from_secs(5);

/// The deadline of a call that begins now, including all its tries.
pub(super) fn deadline(settings: &Settings, call: &Call) -> Instant {
    let limit = call.attempt_limit_ms().map(Duration::from_millis);
    after_now(limit.unwrap_or_else(|| Duration::from_secs(settings.time_limit_s)))
}

/// Performs a call until it is answered or cancelled, or its deadline has passed.
pub(super) async fn perform(
    models: &Models,
    client: &reqwest::Client,
    call: &Call,
    request: ModelCall,
    deadline: Instant,
    cancel: &CancellationToken,
) -> Answer {
    let mut tries = Tries { models, client, call, request, deadline, spent: Tokens::default(), failure: None };
    let answer = cancel.run_until_cancelled(tries.answer()).await.unwrap_or(Answer::Missing);
    match answer {
        // A failed call has used tokens too.
        Answer::Failed(failed) => {
            let usage = tries.spent.usage(&tries.request.target.model, &models.settings.prices);
            tries.request.error_secrets.mask_answer(Answer::failed_after(failed, usage))
        }
        answer => tries.request.secrets.mask_answer(answer),
    }
}

/// The tries of one call.
struct Tries<'t> {
    models: &'t Models,
    client: &'t reqwest::Client,
    call: &'t Call,
    request: ModelCall,
    deadline: Instant,
    /// Usage of all tries.
    spent: Tokens,
    /// Why the previous try failed.
    failure: Option<String>,
}

impl Tries<'_> {
    async fn answer(&mut self) -> Answer {
        let mut reasks = self.models.settings.reask;
        loop {
            let mut reply = match self.reply().await {
                Ok(reply) => reply,
                Err(fault) => return self.failed(&fault).await,
            };
            reply.tokens = self.spent;
            // A reply that calls tools is not the answer yet.
            let is_answer = reply.calls.is_empty();
            let problem = if is_answer { reply_format::problem(&self.request.shape, &mut reply.text) } else { None };
            if let Some(failed) = truncated(&self.request, &reply, problem.is_some()) {
                return failed;
            }
            // Without another try, the judge reports the problem.
            let Some(problem) = problem.filter(|_| reasks > 0) else { return self.models.answer(&self.request, reply) };
            reasks -= 1;
            self.start_again(format!("the reply does not have the required form: {problem}"));
            reply_format::ask_again(&mut self.request, reply.text, &problem);
        }
    }

    /// Gets one reply, with at most as many tries as the settings allow.
    async fn reply(&mut self) -> Result<Reply, Fault> {
        let mut tries = 0;
        loop {
            let fault = match self.one_try().await {
                Ok(reply) => return Ok(reply),
                Err(fault) => fault,
            };
            match &fault.remedy {
                Remedy::Later(wait) if tries < self.models.settings.retries => {
                    let pause = pause(self.call, tries, *wait);
                    // For a longer wait the call fails, and the run waits if it has another attempt.
                    if wait.is_some_and(|wait| wait > MAX_CALL_WAIT) || after_now(pause) >= self.deadline {
                        return Err(fault);
                    }
                    tokio::time::sleep(pause).await;
                }
                Remedy::NoSchema if self.request.sends_shape && self.request.shape != Shape::Free => {
                    self.request.sends_shape = false;
                    // For plain JSON, the system prompt has the instruction already.
                    if let Shape::Schema(schema) = &self.request.shape {
                        let words = schema_instruction(schema);
                        let system = &mut self.request.system;
                        *system = if system.is_empty() { words } else { format!("{system}\n\n{words}") };
                    }
                }
                _ => return Err(fault),
            }
            tries += 1;
            self.start_again(fault.message(&self.request.error_secrets));
        }
    }

    async fn one_try(&mut self) -> Result<Reply, Fault> {
        let redacted = redacted_listener(self.models, self.call, &self.request.secrets);
        let listener = redacted.listener();
        let on_text = |text: &str| listener(Stream::Out, text);
        let mut reply = Reply::default();
        let work = exchange(self.client, &self.request, &mut reply, &on_text);
        let result = timeout_at(self.deadline.into(), work).await.unwrap_or_else(|_| Err(Fault::timed_out()));
        self.spent = self.spent.plus(reply.tokens);
        self.request.responses += u32::from(result.as_ref().map_or_else(|fault| fault.answered, |()| true));
        result?;
        if reply.is_empty() && reply.truncated().is_none() && !self.request.may_be_empty() {
            return Err(Fault::empty());
        }
        redacted.finish();
        (self.models.listener)(self.call, Piece::End);
        Ok(reply)
    }

    /// Starts another try after a failure.
    fn start_again(&mut self, failure: String) {
        self.failure = Some(failure);
        (self.models.listener)(self.call, Piece::Restart);
    }

    async fn failed(&self, fault: &Fault) -> Answer {
        let again = match fault.remedy {
            Remedy::Later(wait) => retry_after::retry_hint(wait),
            Remedy::TimedOut => return self.timed_out(),
            Remedy::None | Remedy::Name | Remedy::NoSchema => RetryHint::Never,
        };
        let mut message = fault.message(&self.request.error_secrets);
        if fault.remedy == Remedy::Name {
            let deadline = after_now(NAMES_TIMEOUT).min(self.deadline);
            let names = timeout_at(deadline.into(), model_names(self.client, &self.request)).await.unwrap_or_default();
            message = unknown_model(&self.request, &message, &names);
        }
        let (kind, message) = ("step_failed".into(), message.into());
        Answer::Failed(AttemptError { kind, message, retry: again, answered: fault.answered })
    }

    /// The answer to a call that has timed out, with the failure of the previous try.
    fn timed_out(&self) -> Answer {
        let failed = match self.call.attempt_limit_ms() {
            Some(_) if self.failure.is_none() && self.spent == Tokens::default() => return Answer::Missing,
            Some(_) => judge::timeout(self.call),
            None => {
                let seconds = self.models.settings.time_limit_s;
                let message = format!(
                    "the model did not respond within {seconds} s; raise `time_limit_s` in `[models]` if it needs longer"
                );
                AttemptError {
                    kind: "timeout".into(),
                    message: message.into(),
                    retry: RetryHint::Soon,
                    answered: false,
                }
            }
        };
        let message = match &self.failure {
            Some(failure) => format!("{}; the previous try failed: {failure}", failed.message).into(),
            None => failed.message,
        };
        Answer::Failed(AttemptError { message, ..failed })
    }
}

/// The failure of a reply that was truncated at the limit of tokens. Such a reply is accepted if the step sets `max_tokens`, or if it
/// calls tools: errors in tool calls are reported to the model.
fn truncated(request: &ModelCall, reply: &Reply, has_problem: bool) -> Option<Answer> {
    let word = reply.truncated()?;
    let has_problem = has_problem || reply.is_empty();
    if !has_problem && (request.request.max_tokens.is_some() || !reply.calls.is_empty()) {
        return None;
    }
    let has_schema = matches!(request.shape, Shape::Schema(_));
    let kind = if has_problem && has_schema { "output_schema" } else { "step_failed" };
    let message =
        format!("the model's reply was truncated at the limit of tokens (`{word}`); set a larger `max_tokens`");
    Some(Answer::refused(kind, message))
}

/// An instant after now. It cannot overflow.
fn after_now(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or(now + NO_DEADLINE)
}

/// The listener with secrets redacted, even if they span several pieces of a reply.
fn redacted_listener(models: &Models, call: &Call, secrets: &Secrets) -> StreamRedactor {
    let (listener, call) = (Arc::clone(&models.listener), call.clone());
    let mut redacted = models.mask.secrets();
    redacted.add(secrets.values());
    StreamRedactor::new(Arc::new(move |_, text| listener(&call, Piece::Text(text))), redacted)
}

/// The backoff: exponential, with jitter for each call, and never shorter than the wait that the provider asks for.
fn pause(call: &Call, tries: u32, wanted: Option<Duration>) -> Duration {
    let own = FIRST_PAUSE.saturating_mul(1_u32.checked_shl(tries).unwrap_or(u32::MAX)).min(LONGEST_PAUSE);
    let spread = own / 64 * u32::try_from((call.effect.0 * 7 + u64::from(call.attempt)) % 16).unwrap_or_default();
    wanted.map_or(own + spread, |wanted| wanted + spread.min(FIRST_PAUSE))
}

/// The message for a model that the provider does not have, with similar names.
fn unknown_model(request: &ModelCall, message: &str, names: &[String]) -> String {
    let (model, provider) = (&request.target.model, &request.target.provider);
    let near = by_similarity(model, names, |name| name).into_iter().filter(|(score, _)| *score > 0.75);
    let near: Vec<String> = near.take(3).map(|(_, name)| format!("`{}`", shortened(name))).collect();
    let near = if near.is_empty() { String::new() } else { format!(" Similar names: {}.", near.join(", ")) };
    format!("the provider `{provider}` has no model `{}`: {}.{near}", shortened(model), message.trim_end_matches('.'))
}
