//! Calls of the outside. The request is expanded first, so that a mistake in it is not taken for a failed call.

use branchpoint_core::RunKinds as _;
use branchpoint_core::effect::{PathKey, Response, SecretForm, SecretText};
use branchpoint_core::ir::{Backoff, Effect, PlaceId, Retry, Write};
use branchpoint_expr::{Dialect, Kind, Reference};

use super::super::raw::{Asked, Call};
use super::{Around, Lower, Ways};
use crate::substitution::check_arguments;

/// The pause before the first retry; before the n-th it is n times as long, up to the last bound.
const PAUSE_MS: u64 = 1_000;
const LONGEST_PAUSE_MS: u64 = 10_000;

impl Lower {
    pub(super) fn call(&mut self, call: &Call<'_>, ways: Ways<'_>) -> PlaceId {
        self.shell_arguments(&call.what, ways.around);
        let request = self.request(&call.what);
        let effect = self.b.effect(Effect {
            kind: request.kind,
            fixed: request.fixed,
            response: Response { failure_kind: Some(Kind::EffectFailed.as_str().into()), ..request.response },
            secrets: credentials(call),
            retry: (call.retries > 0).then(|| retry(call.retries)),
            attempt_limit_ms: call.timeout_s.map(milliseconds),
            step: Some(ways.step),
        });
        let input = self.b.read(self.slots["work"]);
        let ask = self.b.do_(effect, input, Some(self.slots["data"]), ways.end, Some(ways.fail));
        let mut writes = vec![Write::Put(self.slots["work"], self.template(ways.around.scope, &request.parts))];
        for change in &request.changes {
            writes.push(self.put("work", change));
        }
        self.b.set(writes, ask, Some(ways.fail))
    }
}

impl Lower {
    /// A command runs without a shell, but it can be one.
    fn shell_arguments(&mut self, asked: &Asked<'_>, around: &Around) {
        let Asked::Process { command, args: Some(args), .. } = asked else { return };
        let words: Vec<_> = std::iter::once(*command).chain(args.items().unwrap_or_default()).collect();
        let is_counter = |reference: &Reference| match &reference.parts[..] {
            [name] => around.counters.contains(name),
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
        let (at, before) = match &call.what {
            Asked::Http { .. } if *purpose == "token" => (vec!["headers", "Authorization"], "Bearer "),
            Asked::Http { .. } => (vec!["headers", *purpose], ""),
            Asked::Process { .. } => (vec!["env", *purpose], ""),
            Asked::Model { .. } => (vec!["api_key"], ""),
            Asked::Action { .. } | Asked::Tool { .. } => unreachable!("these have no credentials: that was told"),
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
