//! Commands, and the parts of every call: attempts, limits, and the check of the answer.

use branchpoint_core::effect::{Kind, Response};
use branchpoint_core::ir::builder::ScopeSpec;
use branchpoint_core::ir::{Attempt, Backoff, DecisionId, DecisionKind, Effect, Exit, ExprId, PlaceId, Retry};
use branchpoint_expr::{Object, Value};

use super::Lower;
use super::state::{CurrentState, Outcomes};
use super::templates::{FROM_FILE, call_text, effect_of, object, plain, secret_texts};
use crate::machine::raw::{self, Command, Source, State};

impl<'d> Lower<'d> {
    pub(super) fn command(&mut self, current: CurrentState<'d>, command: &'d Command, outcomes: Outcomes) -> PlaceId {
        let (text, file) = match &command.source {
            Some(Source::Text(text)) => (call_text(Some(text)), None),
            Some(Source::File(file)) => (None, Some(file)),
            None => (None, None),
        };
        let codes = current.state.retry.iter().flat_map(|retry| &retry.exit_codes).copied().collect();
        let mut response = Response { retry_exit_codes: codes, ..report(current.state, EXIT_CODE) };
        command.limit.add_to(&mut response);
        let mut effect = effect_of(current, Kind::Process, response);
        effect.fixed = user_shell();
        effect.secrets = secret_texts([("command", written(command.source.as_ref()))]);
        // A script may name its interpreter; a command is always read by the shell.
        if file.is_some() {
            effect.fixed.insert("script".into(), Value::Bool(true));
        }
        let input = format!(
            r#"{{"command": request.command ?? request.{FROM_FILE}, "dir": request.dir, "inputs": environment}}"#
        );
        let input = self.formula(&input);
        let call = self.call_within(current, effect, input, current.state.timeout_ms, outcomes);
        let next = match file {
            Some(file) => self.file_text(current, file, call, outcomes),
            None => call,
        };
        let template = object([("command", text), ("dir", plain(current.state.dir.as_ref()))]);
        self.expand(self.scope(current.context), &template, self.slots["request"], next, outcomes.unexpanded)
    }

    /// Calls a runner. The runner limits a single attempt; a limit of several attempts needs a frame.
    pub(super) fn call_within(
        &mut self,
        current: CurrentState<'d>,
        effect: Effect,
        input: ExprId,
        limit: Option<u64>,
        outcomes: Outcomes,
    ) -> PlaceId {
        let retry = retry(current.state);
        let judged = if let Some(retry) = retry {
            self.last_attempt(current, retry, outcomes)
        } else {
            let error = self.test("answer.error != nil");
            self.b.decide([(error, outcomes.bad)], outcomes.ok, None)
        };
        let kind = effect.response.failure_kind.as_deref().unwrap_or(EXIT_CODE);
        let no_answer = self.timed_out_or(&format!(r#""{kind}""#), r#""""#, outcomes.bad);
        if limit.is_none() || retry.is_none() {
            let effect_id = self.b.effect(Effect { retry, attempt_limit_ms: limit, ..effect });
            return self.b.do_(effect_id, input, Some(self.slots["answer"]), judged, Some(self.fail_to(no_answer)));
        }
        let answered = self.assign("answer", "got[0]", judged);
        let fail = Some(self.fail_to(no_answer));
        let spec = ScopeSpec {
            time_limit_ms: limit,
            into: Some(self.slots["got"]),
            next: Some(answered),
            fail,
            ..ScopeSpec::default()
        };
        let scope = self.b.scope(self.scope(current.context), spec);
        let answer = self.b.read(self.slots["answer"]);
        let leave = self.b.leave(scope, Exit::Done(Some(answer)));
        let effect_id = self.b.effect(Effect { retry, ..effect });
        let inner = self.b.do_(effect_id, input, Some(self.slots["answer"]), leave, None);
        self.b.begin(scope, &[inner]);
        self.b.enter(scope)
    }

    /// Evaluates the answer of the last attempt. The core records the attempts before it; the failure of this one is an answer.
    fn last_attempt(&mut self, current: CurrentState<'d>, retry: Retry, outcomes: Outcomes) -> PlaceId {
        let tests = ["answer.error != nil && answer.attempt != nil", "answer.error != nil"];
        let arms = tests.map(|test| (self.test(test), outcomes.bad));
        let decide = self.b.decide(arms, outcomes.ok, None);
        let number = self.formula("answer.attempt");
        let codes = current.state.retry.as_ref().map_or(&[][..], |retry| &retry.exit_codes);
        let refused = match &current.state.kind {
            raw::StateKind::Command(_) if !codes.is_empty() => {
                format!("the exit code is not in retryable_exit_codes {codes:?}")
            }
            _ => "another attempt would not help".to_owned(),
        };
        let last = format!("attempt {} is the last", retry.max_attempts);
        let (decision, fail) = self.no_retry(current, retry, number, &last);
        let texts = [("REFUSED", Value::from(refused)), ("LAST", Value::from(last))];
        let text = format!("answer.attempt < {} ? REFUSED : LAST", retry.max_attempts);
        let reason = self.formula_with(&text, &[], &texts);
        self.b.reason(decision, fail, reason);
        self.b.decides(decide, decision, [Some(fail), None, None])
    }

    /// Records that a text of the state cannot be expanded, which is never retried. This happens before the first attempt.
    pub(super) fn not_retried(&mut self, current: CurrentState<'d>, bad: PlaceId) -> PlaceId {
        let is_one_call = match &current.state.kind {
            raw::StateKind::Command(_) | raw::StateKind::Call(_) | raw::StateKind::Operation(_) => true,
            raw::StateKind::Agent(agent) => !agent.converses,
            _ => false,
        };
        let Some(retry) = retry(current.state).filter(|_| is_one_call) else { return bad };
        let decide = self.b.decide([], bad, None);
        let first = self.b.value(Value::Int(1));
        let (decision, fail) = self.no_retry(current, retry, first, "template errors are not retried");
        self.b.decides(decide, decision, [Some(fail)])
    }

    /// Declares that no attempt follows the one of this number, which failed with the error in the slot `answer`. Returns the
    /// decision and the branch.
    fn no_retry(&mut self, current: CurrentState<'d>, retry: Retry, number: ExprId, rule: &str) -> (DecisionId, u32) {
        let decision = self.b.decision(current.step, DecisionKind::Retry);
        let most = self.b.value(Value::Int(retry.max_attempts.into()));
        let error = self.formula("answer.error");
        self.b.decision_mut(decision).attempt = Some(Attempt { number, limit: most });
        self.b.decision_mut(decision).error = Some(error);
        self.b.rule_branch(decision, "retry", "an attempt is left, and the error allows another", None);
        let fail = self.b.rule_branch(decision, "fail", rule, None);
        let fails = self.formula(r#""the step fails (" + answer.error.kind + ")""#);
        self.b.branch_mut(decision, fail).leads_to = Some(fails);
        (decision, fail)
    }
}

/// The text of a source in the document.
pub(super) fn written(source: Option<&Source>) -> Option<&raw::Text> {
    match source {
        Some(Source::Text(text)) => Some(text),
        _ => None,
    }
}

/// Commands are read by the user's shell.
pub(super) fn user_shell() -> Object {
    [("user_shell".into(), Value::Bool(true))].into_iter().collect()
}

/// The kind of error of a command that failed.
pub(super) const EXIT_CODE: &str = "exit_code";

/// The response rules of a state: a failure of its last attempt is an answer with an error of this kind.
pub(super) fn report(state: &State, failure_kind: &str) -> Response {
    reported(retry(state).map_or(1, |retry| retry.max_attempts), failure_kind)
}

/// Like [`report`], for a number of attempts.
pub(super) fn reported(attempts: u32, failure_kind: &str) -> Response {
    Response { report: Some(attempts), failure_kind: Some(failure_kind.into()), ..Response::default() }
}

/// The retry policy of a state. A failure of anything but a command has exit code 1.
pub(super) fn retry(state: &State) -> Option<Retry> {
    let retry = state.retry.as_ref().filter(|retry| retry.max_attempts > 1)?;
    let command = matches!(state.kind, raw::StateKind::Command(_));
    if !command && !retry.exit_codes.is_empty() && !retry.exit_codes.contains(&1) {
        return None;
    }
    Some(Retry {
        max_attempts: retry.max_attempts,
        delay_ms: retry.initial_delay_ms,
        backoff: match retry.backoff {
            raw::Backoff::Constant => Backoff::Constant,
            raw::Backoff::Linear => Backoff::Linear,
            raw::Backoff::Exponential => Backoff::Exponential(retry.multiplier),
        },
        max_delay_ms: retry.max_delay_ms,
        jitter: retry.jitter,
    })
}
