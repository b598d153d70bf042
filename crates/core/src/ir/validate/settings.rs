//! Numbers and names that make sense on their own.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::{Backoff, Entries, Exit, OnFail, Op, PlaceId, Program, Retry, Status, Want};
use super::{Defect, DefectKind};
use crate::functions::ENVIRONMENT;
use crate::request::{CANCEL_REQUEST, VOTE};

pub(super) fn check(program: &Program) -> Vec<Defect> {
    let mut wrong = Vec::new();
    let mut refuse = |kind, place, message: String| wrong.push(Defect::new(kind, place, message));
    if program.fuel == 0 {
        refuse(DefectKind::Number, None, "without fuel nothing ever runs".into());
    }
    // The root has nobody who could hand it items.
    if !matches!(&program.scope(Program::ROOT).start, Entries::Branches(places) if !places.is_empty()) {
        refuse(DefectKind::NoEntries, None, "the root begins at no place".into());
    }
    // Its end is told by a verdict, not by what became of its entries.
    let root = program.scope(Program::ROOT);
    let gathers = root.into.is_some() || root.outcomes.is_some() || root.width > 0;
    if gathers || root.want != Want::All || root.on_fail != OnFail::Stop {
        refuse(DefectKind::RootGathers, None, "the root gathers nothing: open a scope in it for that".into());
    }
    for (id, scope) in program.scopes.iter().enumerate() {
        if scope.want == Want::First(0) {
            refuse(DefectKind::Number, None, format!("scope s{id} wants the first 0 of its entries"));
        }
        if let Some(reason) = scope.retry.and_then(|retry| odd(&retry)) {
            refuse(DefectKind::Number, None, format!("scope s{id} {reason}"));
        }
    }
    for (id, effect) in program.effects.iter().enumerate() {
        if let Some(reason) = effect.retry.and_then(|retry| odd(&retry)) {
            refuse(DefectKind::Number, None, format!("effect {id} {reason}"));
        }
        if let Err(error) = effect.request() {
            refuse(DefectKind::Field, None, format!("effect {id}: {error}"));
        }
    }
    let functions = program.exprs.iter().flat_map(|expr| expr.host_functions());
    let functions = functions.chain(program.conditions.iter().flat_map(|condition| condition.host_functions()));
    for name in functions.filter(|name| ENVIRONMENT.functions.get(name).is_none()) {
        refuse(DefectKind::UnknownFunction, None, format!("{name}() is not a function of runs"));
    }
    for name in [VOTE, CANCEL_REQUEST] {
        if program.signals.iter().any(|signal| &*signal.name == name) {
            refuse(DefectKind::NameTwice, None, format!("the signal `{name}` is that of questions to people"));
        }
    }
    for (id, place) in (0..).map(PlaceId).zip(&program.places) {
        if let Op::Leave { how: Exit::Close(verdict), .. } = &place.op
            && matches!(verdict.status, Status::Running | Status::WaitingPeople | Status::WaitingTimer)
        {
            refuse(DefectKind::BadExit, Some(id), "a run does not end by going on".into());
        }
        if matches!(&place.op, Op::Wait { arms, .. } if arms.is_empty()) {
            refuse(DefectKind::NoArms, Some(id), "nothing can end this wait".into());
        }
    }
    let names = [
        ("signal", twice(program.signals.iter().map(|signal| &signal.name))),
        ("view", twice(program.views.iter().map(|view| &view.name))),
        ("fact", twice(program.facts.iter())),
    ];
    for (what, name) in names {
        if let Some(name) = name {
            refuse(DefectKind::NameTwice, None, format!("there are two {what}s named `{name}`"));
        }
    }
    wrong
}

fn odd(retry: &Retry) -> Option<&'static str> {
    let factor = match retry.backoff {
        Backoff::Exponential(factor) => factor,
        Backoff::Constant | Backoff::Linear => 1.0,
    };
    if retry.max_attempts == 0 {
        Some("is never attempted")
    } else if !(0.0..=1.0).contains(&retry.jitter) {
        Some("has a jitter that is no share from 0 to 1")
    } else if !(factor.is_finite() && factor >= 0.0) {
        Some("has waits that grow by no sensible factor")
    } else {
        None
    }
}

fn twice<'n>(mut names: impl Iterator<Item = &'n Arc<str>>) -> Option<&'n Arc<str>> {
    let mut seen = BTreeSet::new();
    names.find(|name| !seen.insert(*name))
}
