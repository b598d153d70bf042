//! Calls of runners. The request is expanded first, so that an error in it does not count as a failed call.

use branchpoint_core::RunKinds as _;
use branchpoint_core::effect::{PathKey, Response, SecretForm, SecretText};
use branchpoint_core::ir::{Backoff, Effect, PlaceId, Retry, Write};
use branchpoint_expr::{Dialect, Kind, Reference};

use super::super::raw::{Call, CallKind};
use super::{Enclosing, Lower, StepPlaces};
use crate::substitution::check_arguments;

/// The pause before the first retry; before the n-th it is n times as long, up to the last bound.
const PAUSE_MS: u64 = 1_000;
const LONGEST_PAUSE_MS: u64 = 10_000;

impl Lower {
    pub(super) fn call(&mut self, call: &Call<'_>, places: StepPlaces<'_>) -> PlaceId {
        self.shell_arguments(&call.kind, places.enclosing);
        let request = self.request(&call.kind);
        let effect = self.b.effect(Effect {
            kind: request.kind,
            fixed: request.fixed,
            response: Response { failure_kind: Some(Kind::EffectFailed.as_str().into()), ..request.response },
            secrets: credentials(call),
            retry: (call.retries > 0).then(|| retry(call.retries)),
            attempt_limit_ms: call.timeout_s.map(milliseconds),
            step: Some(places.step),
        });
        let input = self.b.read(self.slots["work"]);
        let ask = self.b.do_(effect, input, Some(self.slots["data"]), places.end, Some(places.fail));
        let mut writes = vec![Write::Put(self.slots["work"], self.template(places.enclosing.scope, &request.parts))];
        for change in &request.changes {
            writes.push(self.store("work", change));
        }
        self.b.set(writes, ask, Some(places.fail))
    }
}

impl Lower {
    /// Warns about commands that are shells; others run without a shell.
    fn shell_arguments(&mut self, call_kind: &CallKind<'_>, enclosing: &Enclosing) {
        let CallKind::Process { command, args: Some(args), .. } = call_kind else { return };
        let words: Vec<_> = std::iter::once(*command).chain(args.items().unwrap_or_default()).collect();
        let is_counter = |reference: &Reference| match &reference.parts[..] {
            [name] => enclosing.counters.contains(name),
            _ => false,
        };
        self.own.findings.extend(check_arguments(&words, Dialect::Flow, is_counter));
    }
}

fn retry(retries: u32) -> Retry {
    Retry {
        max_attempts: retries + 1,
        delay_ms: PAUSE_MS,
        backoff: Backoff::Linear,
        max_delay_ms: LONGEST_PAUSE_MS,
        jitter: 0.0,
    }
}

/// The credentials of a call. The names are neither part of a request nor of a variable: the runner puts each secret where its
/// purpose says.
fn credentials(call: &Call<'_>) -> Vec<SecretText> {
    let credential = |(purpose, name): &(&str, &str)| {
        let (at, before) = match &call.kind {
            CallKind::Http { .. } if *purpose == "token" => (vec!["headers", "Authorization"], "Bearer "),
            CallKind::Http { .. } => (vec!["headers", *purpose], ""),
            CallKind::Process { .. } => (vec!["env", *purpose], ""),
            CallKind::Model { .. } => (vec!["api_key"], ""),
            CallKind::Action { .. } | CallKind::Tool { .. } => {
                unreachable!("these have no credentials: that was reported")
            }
        };
        let form = SecretForm::Credential { before: before.into(), secret: (*name).into() };
        SecretText { at: at.into_iter().map(PathKey::from).collect(), form }
    };
    call.credentials.iter().map(credential).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a timeout was found to be from 1 to 300")]
fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1_000.0).round() as u64
}
