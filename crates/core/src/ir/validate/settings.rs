//! Checks of numbers, names, functions and fields that need no knowledge of the control flow.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::{Backoff, Entries, Exit, OnFail, Op, PlaceId, Program, Retry, Status, Want};
use super::{Defect, DefectKind};
use crate::functions::ENVIRONMENT;
use crate::request::{CANCEL_REQUEST, VOTE};

pub(super) fn check(program: &Program) -> Vec<Defect> {
    let mut wrong = Vec::new();
    let mut reject = |kind, place, message: String| wrong.push(Defect::new(kind, place, message));
    if program.fuel == 0 {
        reject(DefectKind::Number, None, "the fuel is 0, so no op could run".into());
    }
    // The root has no entering strand, so it has no items.
    if !matches!(&program.scope(Program::ROOT).start, Entries::Branches(places) if !places.is_empty()) {
        reject(DefectKind::NoEntries, None, "the root has no entries".into());
    }
    // The root ends by a verdict, not by the results of its entries.
    let root = program.scope(Program::ROOT);
    let gathers = root.into.is_some() || root.outcomes.is_some() || root.width > 0;
    if gathers || root.want != Want::All || root.on_fail != OnFail::Stop {
        reject(
            DefectKind::RootGathers,
            None,
            "the root cannot have a width or collect results; use an inner scope".into(),
        );
    }
    for (id, scope) in program.scopes.iter().enumerate() {
        if scope.want == Want::First(0) {
            reject(DefectKind::Number, None, format!("scope s{id} waits for the first 0 of its entries"));
        }
        if let Some(reason) = scope.retry.and_then(|retry| retry_problem(&retry)) {
            reject(DefectKind::Number, None, format!("scope s{id} {reason}"));
        }
    }
    for pair in program.budgets.windows(2).filter(|pair| pair[0].scope >= pair[1].scope) {
        let message = format!("scope s{} has two budgets, or the budgets are not sorted by scope", pair[1].scope.0);
        reject(DefectKind::Budget, None, message);
    }
    for budget in &program.budgets {
        if budget.scope == Program::ROOT && budget.exhausted.is_some() {
            reject(
                DefectKind::Budget,
                None,
                "the budget of the root has an exit, but no strand entered the root".into(),
            );
        }
    }
    for (id, effect) in program.effects.iter().enumerate() {
        if let Some(reason) = effect.retry.and_then(|retry| retry_problem(&retry)) {
            reject(DefectKind::Number, None, format!("effect {id} {reason}"));
        }
        if let Err(error) = effect.request() {
            reject(DefectKind::Field, None, format!("effect {id}: {error}"));
        }
    }
    let functions = program.exprs.iter().flat_map(|expr| expr.host_functions());
    let functions = functions.chain(program.conditions.iter().flat_map(|condition| condition.host_functions()));
    for name in functions.filter(|name| ENVIRONMENT.functions.get(name).is_none()) {
        reject(DefectKind::UnknownFunction, None, format!("{name}() is not a function of runs"));
    }
    for name in [VOTE, CANCEL_REQUEST] {
        if program.signals.iter().any(|signal| &*signal.name == name) {
            reject(DefectKind::NameTwice, None, format!("the signal name `{name}` is reserved for requests to people"));
        }
    }
    for (id, place) in (0..).map(PlaceId).zip(&program.places) {
        if let Op::Leave { how: Exit::Close(verdict), .. } = &place.op
            && matches!(verdict.status, Status::Running | Status::WaitingPeople | Status::WaitingTimer)
        {
            reject(
                DefectKind::BadExit,
                Some(id),
                "the status of an ended run must be completed, failed or cancelled".into(),
            );
        }
        if matches!(&place.op, Op::Wait { arms, .. } if arms.is_empty()) {
            reject(DefectKind::NoArms, Some(id), "the wait has no arms".into());
        }
    }
    let names = [
        ("signal", duplicate(program.signals.iter().map(|signal| &signal.name))),
        ("view", duplicate(program.views.iter().map(|view| &view.name))),
        ("fact", duplicate(program.facts.iter())),
    ];
    for (what, name) in names {
        if let Some(name) = name {
            reject(DefectKind::NameTwice, None, format!("there are two {what}s named `{name}`"));
        }
    }
    wrong
}

fn retry_problem(retry: &Retry) -> Option<&'static str> {
    let factor = match retry.backoff {
        Backoff::Exponential(factor) => factor,
        Backoff::Constant | Backoff::Linear => 1.0,
    };
    if retry.max_attempts == 0 {
        Some("has a retry policy with 0 attempts")
    } else if !(0.0..=1.0).contains(&retry.jitter) {
        Some("has a jitter that is not from 0 to 1")
    } else if !(factor.is_finite() && factor >= 0.0) {
        Some("has a backoff factor that is not a positive number")
    } else {
        None
    }
}

fn duplicate<'n>(mut names: impl Iterator<Item = &'n Arc<str>>) -> Option<&'n Arc<str>> {
    let mut seen = BTreeSet::new();
    names.find(|name| !seen.insert(*name))
}
