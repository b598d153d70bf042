//! A call until it is answered: again when the provider is busy, never beyond the limit of the attempt.

use std::sync::Arc;
use std::time::{Duration, Instant};

use branchpoint_core::{Again, Failed};
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;

use super::ask::{Ask, Shape, in_words};
use super::fault::{Cure, Fault};
use super::known::Known;
use super::wire::{self, Said};
use super::{Models, Piece, Settings, shape};
use crate::judge;
use crate::local::shell::Stream;
use crate::network::retry_after::{self, PATIENCE};
use crate::runner::{Answer, Call};
use crate::secrets::Secrets;
use crate::secrets::redact_stream::StreamRedactor;

/// The first pause before another try, and the longest that is our own idea.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);

/// Longer than any call takes.
const FAR: Duration = Duration::from_hours(24 * 365 * 10);

/// How long the names of models are awaited after a wrong one.
const NAMES: Duration = Duration::from_secs(5);

/// When a call that begins now has to be done, with everything that it takes.
pub(super) fn until(settings: &Settings, call: &Call) -> Instant {
    let limit = call.attempt_limit_ms().map(Duration::from_millis);
    after_now(limit.unwrap_or_else(|| Duration::from_secs(settings.time_limit_s)))
}

/// Asks until there is an answer, the time is over, or nobody wants to know any more.
pub(super) async fn attended(
    models: &Models,
    client: &reqwest::Client,
    call: &Call,
    ask: Ask,
    until: Instant,
    cancel: &CancellationToken,
) -> Answer {
    let (secrets, unspoken, model) = (ask.secrets.clone(), ask.unspoken.clone(), ask.target.model.clone());
    let known = Known::default();
    let work = timeout_at(until.into(), asked(models, client, call, ask, until, &known));
    let answer = match cancel.run_until_cancelled(work).await {
        Some(Ok(answer)) => answer,
        Some(Err(_)) => out_of_time(models, call, &known),
        None => Answer::Never,
    };
    match answer {
        // What was paid for counts, whatever came of it.
        Answer::Failed(failed) => {
            let usage = known.tokens().usage(&model, &models.settings.prices);
            unspoken.mask_answer(Answer::failed_after(failed, usage))
        }
        answer => secrets.mask_answer(answer),
    }
}

/// The answer of a call whose time is over: a refusal that is one already, or that there was none, with what is known of why.
fn out_of_time(models: &Models, call: &Call, known: &Known) -> Answer {
    if let Some(refusal) = known.refusal() {
        return Answer::Failed(refusal);
    }
    let failed = match call.attempt_limit_ms() {
        Some(_) if known.is_nothing() => return Answer::Never,
        Some(_) => judge::timeout(call),
        None => {
            let seconds = models.settings.time_limit_s;
            let message = format!("the model gave no answer within {seconds} s (`time_limit_s` of `[models]`)");
            Failed { kind: "timeout".into(), message: message.into(), again: Again::Soon, answered: false }
        }
    };
    let message = match known.trouble() {
        Some(trouble) => format!("{}; the try before failed: {trouble}", failed.message).into(),
        None => failed.message,
    };
    Answer::Failed(Failed { message, ..failed })
}

/// A moment from now on, or one that nobody lives to see.
fn after_now(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or(now + FAR)
}

async fn asked(
    models: &Models,
    client: &reqwest::Client,
    call: &Call,
    mut ask: Ask,
    until: Instant,
    known: &Known,
) -> Answer {
    let mut reasks = models.settings.reask;
    loop {
        let mut said = match tried(models, client, call, &mut ask, until, known).await {
            Ok(said) => said,
            Err(fault) => return failed(client, &ask, fault, known).await,
        };
        said.tokens = known.tokens();
        let problem = shape::problem(&ask.shape, &mut said);
        if let Some(failed) = cut_off(&ask, &said, problem.is_some()) {
            return failed;
        }
        let Some(problem) = problem else { return models.answer(&ask, said) };
        if reasks == 0 {
            // Whoever judges the answer says what is wrong with it.
            return models.answer(&ask, said);
        }
        reasks -= 1;
        known.failed_with(format!("the answer has not the shape it must have: {problem}"));
        (models.listener)(call, Piece::Again);
        shape::ask_again(&mut ask.request, said.text, &problem);
    }
}

/// An answer that ended because it had used up its tokens is no answer if it lost its shape by that, or if nobody wanted it so
/// short. Whoever set `max_tokens` gets what they asked for, and calls of tools go on: the model hears what is wrong with them.
fn cut_off(ask: &Ask, said: &Said, has_problem: bool) -> Option<Answer> {
    let word = said.cut.as_ref()?;
    let has_problem = has_problem || said.is_empty();
    if !has_problem && (ask.options.max_tokens.is_some() || !said.calls.is_empty()) {
        return None;
    }
    let kind = if has_problem && matches!(ask.shape, Shape::Schema(_)) { "output_schema" } else { "step_failed" };
    let message =
        format!("the model's answer was cut off when its tokens were used up (`{word}`); set a larger `max_tokens`");
    Some(Answer::refused(kind, message))
}

/// One answer, after as many tries as it takes and the settings allow.
async fn tried(
    models: &Models,
    client: &reqwest::Client,
    call: &Call,
    ask: &mut Ask,
    until: Instant,
    known: &Known,
) -> Result<Said, Fault> {
    let mut tries = 0;
    loop {
        let hearing = hearing(models, call, &ask.secrets);
        let listener = hearing.listener();
        let hear = |text: &str| listener(Stream::Out, text);
        let said = if ask.stream {
            wire::streamed(client, ask, &known.frames(), &hear).await
        } else {
            wire::at_once(client, ask, &hear).await
        };
        ask.answers += u32::from(said.as_ref().map_or_else(|fault| fault.answered, |_| true));
        known.spent(said.as_ref().map_or_else(|fault| fault.tokens, |said| said.tokens));
        let fault = match said {
            Ok(said) if said.is_empty() && said.cut.is_none() && !ask.may_be_empty => Fault::empty(),
            Ok(said) => {
                hearing.finish();
                (models.listener)(call, Piece::End);
                return Ok(said);
            }
            Err(fault) => fault,
        };
        match (&fault.cure, &ask.shape) {
            (Cure::Later(wanted), _) if tries < models.settings.retries => {
                // A longer wait is not for a call: it is handed to the run, which may have another attempt.
                if wanted.is_some_and(|wanted| wanted > PATIENCE) {
                    return Err(fault);
                }
                let pause = pause(call, tries, *wanted);
                if after_now(pause) >= until {
                    return Err(fault);
                }
                tokio::time::sleep(pause).await;
            }
            (Cure::NoSchema, Shape::Schema(schema)) if ask.options.response_format.is_some() => {
                ask.options.response_format = None;
                let told = in_words(schema);
                let system = ask.request.system.take().unwrap_or_default();
                ask.request.system = Some(format!("{system}\n\n{told}").trim().to_owned());
            }
            // That it must be JSON stands in words already.
            (Cure::NoSchema, Shape::Json) if ask.options.response_format.is_some() => {
                ask.options.response_format = None;
            }
            (Cure::NoStream, _) if ask.stream => ask.stream = false,
            _ => return Err(fault),
        }
        tries += 1;
        known.failed_with(fault.told(&ask.unspoken));
        (models.listener)(call, Piece::Again);
    }
}

/// Whoever listens hears no secret, however the answer comes in pieces.
fn hearing(models: &Models, call: &Call, secrets: &Secrets) -> StreamRedactor {
    let (listener, call) = (Arc::clone(&models.listener), call.clone());
    let mut unheard = models.mask.secrets();
    unheard.add(secrets.values());
    StreamRedactor::new(Arc::new(move |_, text| listener(&call, Piece::Text(text))), unheard)
}

/// Longer each time, a little different for each call, and never shorter than the provider wants.
fn pause(call: &Call, tries: u32, wanted: Option<Duration>) -> Duration {
    let own = FIRST.saturating_mul(1_u32.checked_shl(tries).unwrap_or(u32::MAX)).min(LONGEST);
    let spread = own / 64 * u32::try_from((call.effect.0 * 7 + u64::from(call.attempt)) % 16).unwrap_or_default();
    wanted.map_or(own + spread, |wanted| wanted + spread.min(FIRST))
}

async fn failed(client: &reqwest::Client, ask: &Ask, fault: Fault, known: &Known) -> Answer {
    let again = match fault.cure {
        Cure::Later(wanted) => retry_after::again(wanted),
        Cure::None | Cure::Name | Cure::NoSchema | Cure::NoStream => Again::Never,
    };
    let told = fault.told(&ask.unspoken);
    let refusal = |message: String| Failed {
        kind: "step_failed".into(),
        message: message.into(),
        again,
        answered: fault.answered,
    };
    if fault.cure != Cure::Name {
        return Answer::Failed(refusal(told));
    }
    // It stands, whether there is time to hear names or not.
    known.refused_with(refusal(unknown(ask, &told, &[])));
    let names = tokio::time::timeout(NAMES, wire::model_names(client, ask)).await.unwrap_or_default();
    Answer::Failed(refusal(unknown(ask, &told, &names)))
}

/// A model that the provider does not know, and names that are near.
fn unknown(ask: &Ask, told: &str, names: &[String]) -> String {
    let (model, provider) = (&ask.target.model, &ask.target.provider);
    let mut near: Vec<(f64, &String)> =
        names.iter().map(|name| (strsim::jaro_winkler(model, name), name)).filter(|(score, _)| *score > 0.75).collect();
    near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let near: Vec<String> = near.iter().take(3).map(|(_, name)| format!("`{name}`")).collect();
    let near = if near.is_empty() { String::new() } else { format!(" Near names are {}.", near.join(", ")) };
    format!("the provider `{provider}` has no model `{model}`: {}.{near}", told.trim_end_matches('.'))
}
