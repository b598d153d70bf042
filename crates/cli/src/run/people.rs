//! Questions to people, answered from the script or at the terminal.

use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_core::{Offer, offers};
use branchpoint_engine::{Memory, Question, Runner as _};
use branchpoint_expr::Value;

use super::answers::{Answers, votes};
use crate::terminal;

/// Answers the oldest open question as far as there is an answer. False if there is none.
pub(crate) fn answer(program: &Program, host: &mut Memory<'_>, answers: &mut Answers) -> bool {
    let Some(question) = host.questions().iter().find(|question| question.open).cloned() else { return false };
    let step = step_of(&question);
    answers.at(host.now_ms());
    let Some(said) = answers.said(&step, &question.spec, &shown(&question)) else { return false };
    if let Some(votes) = votes(&said) {
        for vote in votes {
            if let Err(refused) = host.vote(question.request, vote.user, vote.choice, vote.comment) {
                terminal::complain(&format!("`{}` is no answer to the step `{step}`: {refused}", vote.choice));
            }
        }
        return !is_open(host, &question);
    }
    let choice = said.as_str().map_or_else(|| said.to_string(), ToOwned::to_owned);
    let recipients = offers(program, host.state()).into_iter().find_map(|offer| match offer {
        Offer::Vote { request, asked } if request == question.request => Some(asked.recipients),
        _ => None,
    });
    // Everyone who was asked says the same, until it is enough.
    for user in recipients.unwrap_or_default() {
        match host.vote(question.request, &user, &choice, None) {
            Ok(()) => {}
            // It was enough.
            Err(_) if !is_open(host, &question) => break,
            Err(refused) => {
                terminal::complain(&format!("`{choice}` is no answer to the step `{step}`: {refused}"));
                // A person may think again; what is written down stays as it is.
                return answers.can_ask(&step);
            }
        }
    }
    !is_open(host, &question)
}

fn is_open(host: &Memory<'_>, question: &Question) -> bool {
    host.questions().iter().any(|other| other.request == question.request && other.open)
}

/// The question as a person reads it.
fn shown(question: &Question) -> String {
    let prompt = question.spec.get("prompt").map(Value::to_string).unwrap_or_default();
    let prompt = prompt.trim_end().replace('\n', "\n  ");
    format!("The step `{}` asks people:\n  {prompt}\nChoices: {}\n", step_of(question), choices(question).join(", "))
}

/// The question, and how to answer it.
pub(crate) fn pending(question: &Question) -> String {
    let (step, choices) = (step_of(question), choices(question));
    let first = choices.first().map_or("", |choice| choice);
    let how = format!("To answer it here, write `{step}: [{first}]` into the file of --script.\n");
    shown(question) + &how
}

fn choices(question: &Question) -> Vec<String> {
    let choices = question.spec.get("choices").and_then(Value::as_list);
    choices.unwrap_or_default().iter().map(Value::to_string).collect()
}

/// The step that asks.
fn step_of(question: &Question) -> Arc<str> {
    question.spec.get("step").and_then(Value::as_str).unwrap_or("people").into()
}
