//! A call until it is answered: again when the provider is busy, never beyond the limit of the attempt.

use std::time::{Duration, Instant};

use branchpoint_core::{Again, Failed};

use super::ask::{Ask, Shape, in_words};
use super::client::runtime;
use super::fault::{Cure, Fault};
use super::price::Tokens;
use super::wire::{self, Said};
use super::{Models, Piece, shape};
use crate::patience::{PATIENCE, after};
use crate::runner::{Answer, Call};
use crate::secrets::Secrets;
use crate::stop::Stop;

/// The first pause before another try, and the longest that is our own idea.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);

/// How often somebody looks whether the call was called off.
const LOOK: Duration = Duration::from_millis(100);

/// How long the names of models are awaited after a wrong one.
const NAMES: Duration = Duration::from_secs(5);

/// Asks until there is an answer, the time is over, or nobody wants to know any more.
pub(super) fn attended(models: &Models, client: &genai::Client, call: &Call, ask: Ask, stop: &Stop) -> Answer {
    let limit = call.attempt_limit_ms.map(Duration::from_millis);
    let until = Instant::now() + limit.unwrap_or_else(|| Duration::from_secs(models.settings.time_limit_s));
    let (named, key) = (Secrets::from_values(ask.secrets.clone()), Secrets::from_values(ask.target.key.clone()));
    let work = async {
        let work = std::pin::pin!(asked(models, client, call, ask, until));
        let stopped = std::pin::pin!(async {
            while !stop.is_set() {
                tokio::time::sleep(LOOK).await;
            }
        });
        let ended = futures_util::future::select(work, stopped);
        match tokio::time::timeout_at(until.into(), ended).await {
            Ok(futures_util::future::Either::Left((answer, _))) => answer,
            Ok(futures_util::future::Either::Right(_)) => Answer::Never,
            Err(_) if limit.is_some() => Answer::Never,
            Err(_) => {
                let seconds = models.settings.time_limit_s;
                Answer::failed(
                    "timeout",
                    format!("the model gave no answer within {seconds} s (`time_limit_s` of `[models]`)"),
                )
            }
        }
    };
    let answer = match runtime().block_on(work) {
        // The model never sees the key, and one such as `none` may be a word of its answer; a complaint may quote it.
        Answer::Failed(failed) => key.mask_answer(Answer::Failed(failed)),
        answer => answer,
    };
    named.mask_answer(answer)
}

async fn asked(models: &Models, client: &genai::Client, call: &Call, mut ask: Ask, until: Instant) -> Answer {
    let mut tokens = Tokens::default();
    let mut reasks = models.settings.reask;
    loop {
        let mut said = match tried(models, client, call, &mut ask, until).await {
            Ok(said) => said,
            Err(fault) => return failed(client, &ask, fault).await,
        };
        tokens = tokens.plus(said.tokens);
        said.tokens = tokens;
        let Some(problem) = shape::problem(&ask.shape, &mut said) else { return models.answer(&ask, said) };
        if reasks == 0 {
            // Whoever judges the answer says what is wrong with it.
            return models.answer(&ask, said);
        }
        reasks -= 1;
        (models.listener)(call, Piece::Again);
        shape::ask_again(&mut ask.request, said.text, &problem);
    }
}

/// One answer, after as many tries as it takes and the settings allow.
async fn tried(
    models: &Models,
    client: &genai::Client,
    call: &Call,
    ask: &mut Ask,
    until: Instant,
) -> Result<Said, Fault> {
    let mut tries = 0;
    loop {
        let hear = |text: &str| (models.listener)(call, Piece::Text(text));
        let said = if models.settings.stream {
            wire::streamed(client, ask, &hear).await
        } else {
            wire::at_once(client, ask, &hear).await
        };
        let fault = match said {
            Ok(said) => return Ok(said),
            Err(fault) => fault,
        };
        match (&fault.cure, &ask.shape) {
            (Cure::Later(wanted), _) if tries < models.settings.retries => {
                let pause = pause(call, tries, *wanted);
                let over = Instant::now() + pause >= until;
                // A provider that wants us to wait longer than that gets its refusal told instead.
                if over || wanted.is_some_and(|wanted| wanted > PATIENCE) {
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
            _ => return Err(fault),
        }
        tries += 1;
        (models.listener)(call, Piece::Again);
    }
}

/// Longer each time, a little different for each call, and never shorter than the provider wants.
fn pause(call: &Call, tries: u32, wanted: Option<Duration>) -> Duration {
    let own = FIRST.saturating_mul(1_u32.checked_shl(tries).unwrap_or(u32::MAX)).min(LONGEST);
    let spread = own / 64 * u32::try_from((call.effect.0 * 7 + u64::from(call.attempt)) % 16).unwrap_or_default();
    wanted.map_or(own + spread, |wanted| wanted + spread.min(FIRST))
}

async fn failed(client: &genai::Client, ask: &Ask, fault: Fault) -> Answer {
    let again = match fault.cure {
        Cure::Later(wanted) => wanted.map_or(Again::Soon, after),
        Cure::None | Cure::Name | Cure::NoSchema => Again::Never,
    };
    let message = if fault.cure == Cure::Name { unknown(client, ask, &fault).await } else { fault.message };
    Answer::Failed(Failed { kind: "step_failed".into(), message: message.into(), again, answered: fault.answered })
}

/// A model that the provider does not know, and names that are near.
async fn unknown(client: &genai::Client, ask: &Ask, fault: &Fault) -> String {
    let (model, provider) = (&ask.target.model, &ask.target.provider);
    let names = tokio::time::timeout(NAMES, wire::model_names(client, ask)).await.unwrap_or_default();
    let mut near: Vec<(f64, &String)> =
        names.iter().map(|name| (strsim::jaro_winkler(model, name), name)).filter(|(score, _)| *score > 0.75).collect();
    near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let near: Vec<String> = near.iter().take(3).map(|(_, name)| format!("`{name}`")).collect();
    let near = if near.is_empty() { String::new() } else { format!(" Near names are {}.", near.join(", ")) };
    format!("the provider `{provider}` has no model `{model}`: {}.{near}", fault.message.trim_end_matches('.'))
}
