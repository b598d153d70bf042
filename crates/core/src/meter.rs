//! Meters: what an open part of a run with a budget has used.

use std::collections::BTreeMap;

use branchpoint_expr::{Value, duration_text};
use serde::{Deserialize, Serialize};

use crate::event::Usage;
use crate::ir::{BudgetLimits, Index, Program, StepId};
use crate::request::object;
use crate::state::{EffectNo, FrameNo, State, StrandNo, TimerNo};

/// The usage of an open frame with a budget.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Meter {
    pub(crate) limits: BudgetLimits,
    pub(crate) usage: Usage,
    /// The usage of each step inside. Work without a step is not listed.
    pub(crate) by_step: BTreeMap<StepId, Usage>,
    pub(crate) began_ms: i64,
    /// The time that the frame has waited for people, without the current wait.
    pub(crate) waited_ms: i64,
    /// The beginning of the current wait for people.
    pub(crate) waiting_since: Option<i64>,
    /// The timer of the time limit, unless the frame waits for people.
    pub(crate) timer: Option<TimerNo>,
    /// The largest usage of an attempt of each step, if the budget limits tokens or cost.
    pub(crate) largest: BTreeMap<Option<StepId>, Usage>,
}

/// A call that has not begun, because a budget around it has too little left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum HeldCall {
    /// The first attempt of the call at the place of this strand.
    First(StrandNo),
    /// The next attempt of an effect.
    Next(EffectNo),
}

/// The limit that a budget has used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetReason {
    /// The tokens.
    Tokens,
    /// The cost.
    Cost,
    /// The time.
    Time,
}

/// The usage of a part of a run with a budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BudgetRecord {
    /// The step whose part has the budget; none for the whole document.
    pub step: Option<StepId>,
    /// The limits.
    pub limits: BudgetLimits,
    /// The tokens and the cost of all calls of the part.
    pub usage: Usage,
    /// The time since the part began, without waiting for people.
    pub elapsed_ms: u64,
    /// The tokens and the cost of each step of the part that used any, in document order.
    pub steps: Vec<(StepId, Usage)>,
    /// The limit that ended the part; none if the part is open or has ended otherwise.
    pub ended_by: Option<BudgetReason>,
}

impl BudgetReason {
    /// The name in every output, which is that of the key in documents.
    ///
    /// ```
    /// assert_eq!(branchpoint_core::BudgetReason::Cost.as_str(), "cost_usd");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Cost => "cost_usd",
            Self::Time => "time",
        }
    }
}

impl Meter {
    pub(crate) fn elapsed_ms(&self, now_ms: i64) -> u64 {
        let waiting = self.waiting_since.map_or(0, |since| now_ms.saturating_sub(since));
        let elapsed = now_ms.saturating_sub(self.began_ms).saturating_sub(self.waited_ms).saturating_sub(waiting);
        u64::try_from(elapsed).unwrap_or(0)
    }

    /// The limit that is used up.
    pub(crate) fn used_up(&self, now_ms: i64) -> Option<BudgetReason> {
        let Usage { tokens, cost_micros } = self.usage;
        let limits = [
            (BudgetReason::Tokens, self.limits.tokens, tokens),
            (BudgetReason::Cost, self.limits.cost_micros, cost_micros),
            (BudgetReason::Time, self.limits.time_ms, self.elapsed_ms(now_ms)),
        ];
        let used_up = limits.into_iter().find(|(_, limit, used)| limit.is_some_and(|limit| *used >= limit));
        used_up.map(|(reason, ..)| reason)
    }

    /// Whether less than a tenth of the tokens or of the cost is left.
    pub(crate) fn is_nearly_used_up(&self) -> bool {
        let nearly = |limit: Option<u64>, used: u64| {
            limit.is_some_and(|limit| u128::from(limit.saturating_sub(used)) * 10 < u128::from(limit))
        };
        nearly(self.limits.tokens, self.usage.tokens) || nearly(self.limits.cost_micros, self.usage.cost_micros)
    }

    /// Whether the budget limits tokens or cost.
    pub(crate) fn limits_usage(&self) -> bool {
        self.limits.tokens.is_some() || self.limits.cost_micros.is_some()
    }

    /// What a call in flight probably uses: as much as the largest attempt of its step so far. Before the first has ended, a tenth of the
    /// budget; a child run may use all that is left.
    pub(crate) fn reservation(&self, step: Option<StepId>, is_child_run: bool) -> Usage {
        if let Some(largest) = self.largest.get(&step) {
            return *largest;
        }
        let left = self.remaining();
        let of = |limit: Option<u64>, left: Option<u64>| {
            if is_child_run { left.unwrap_or(0) } else { limit.map_or(0, |limit| limit.div_ceil(10)) }
        };
        Usage {
            tokens: of(self.limits.tokens, left.tokens),
            cost_micros: of(self.limits.cost_micros, left.cost_micros),
        }
    }

    /// Whether nothing would be left of the tokens or of the cost after so much more.
    pub(crate) fn would_be_used_up(&self, more: Usage) -> bool {
        let left = self.remaining();
        left.tokens.is_some_and(|left| left <= more.tokens)
            || left.cost_micros.is_some_and(|left| left <= more.cost_micros)
    }

    /// What is left of the tokens and of the cost.
    pub(crate) fn remaining(&self) -> BudgetLimits {
        let left = |limit: Option<u64>, used: u64| limit.map(|limit| limit.saturating_sub(used));
        BudgetLimits {
            tokens: left(self.limits.tokens, self.usage.tokens),
            cost_micros: left(self.limits.cost_micros, self.usage.cost_micros),
            time_ms: None,
        }
    }

    pub(crate) fn record(&self, step: Option<StepId>, now_ms: i64, ended_by: Option<BudgetReason>) -> BudgetRecord {
        let steps = self.by_step.iter().map(|(step, usage)| (*step, *usage)).collect();
        let (limits, usage, elapsed_ms) = (self.limits, self.usage, self.elapsed_ms(now_ms));
        BudgetRecord { step, limits, usage, elapsed_ms, steps, ended_by }
    }
}

impl BudgetRecord {
    /// What documents read as `budget`: what was used, what is left, and which limit ended the part.
    ///
    /// ```
    /// use branchpoint_core::{BudgetRecord, Usage};
    /// use branchpoint_core::ir::BudgetLimits;
    ///
    /// let limits = BudgetLimits { tokens: Some(1_000), ..BudgetLimits::default() };
    /// let usage = Usage { tokens: 400, cost_micros: 1_500_000 };
    /// let read = BudgetRecord { limits, usage, elapsed_ms: 2_500, ..BudgetRecord::default() }.reading();
    /// assert_eq!(read.get("remaining_tokens"), Some(&600.into()));
    /// assert_eq!(read.get("cost_usd"), Some(&1.5.into()));
    /// assert_eq!(read.get("elapsed_s"), Some(&2.5.into()));
    /// assert_eq!(read.get("remaining_s"), Some(&branchpoint_expr::Value::Null));
    /// ```
    pub fn reading(&self) -> Value {
        let left = |limit: Option<u64>, used: u64| limit.map(|limit| limit.saturating_sub(used));
        let tokens = |count: u64| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
        Value::from(object([
            ("tokens", tokens(self.usage.tokens)),
            ("cost_usd", fraction(self.usage.cost_micros, 1_000_000)),
            ("elapsed_s", fraction(self.elapsed_ms, 1_000)),
            ("remaining_tokens", left(self.limits.tokens, self.usage.tokens).map_or(Value::Null, tokens)),
            (
                "remaining_cost_usd",
                left(self.limits.cost_micros, self.usage.cost_micros)
                    .map_or(Value::Null, |left| fraction(left, 1_000_000)),
            ),
            (
                "remaining_s",
                left(self.limits.time_ms, self.elapsed_ms).map_or(Value::Null, |left| fraction(left, 1_000)),
            ),
            ("reason", self.ended_by.map_or(Value::Null, |reason| Value::from(reason.as_str()))),
        ]))
    }

    /// The limit that ended the part, and what was used of it, in words: `used 1200 tokens of 1000`.
    ///
    /// ```
    /// use branchpoint_core::{BudgetRecord, Usage};
    ///
    /// let usage = Usage { tokens: 1, cost_micros: 0 };
    /// assert_eq!(BudgetRecord { usage, ..BudgetRecord::default() }.usage_text(), "used 1 token in 0s");
    /// ```
    pub fn usage_text(&self) -> String {
        let of = |limit: Option<u64>, text: fn(u64) -> String| {
            limit.map(|limit| format!(" of {}", text(limit))).unwrap_or_default()
        };
        let limit = of(self.limits.tokens, |limit| limit.to_string());
        let mut parts = vec![format!("{}{limit}", tokens_text(self.usage.tokens))];
        if self.usage.cost_micros > 0 || self.limits.cost_micros.is_some() {
            parts.push(format!("{}{}", usd(self.usage.cost_micros), of(self.limits.cost_micros, usd)));
        }
        let time = format!("{}{}", duration_text(self.elapsed_ms), of(self.limits.time_ms, duration_text));
        format!("used {} in {time}", parts.join(" and "))
    }
}

impl BudgetRecord {
    /// The record as JSON.
    pub fn to_value(&self, program: &Program) -> Value {
        let count = |count: u64| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
        let cost = |micros: u64| fraction(micros, 1_000_000);
        let seconds = |ms: u64| fraction(ms, 1_000);
        let or_null = |limit: Option<u64>, number: &dyn Fn(u64) -> Value| limit.map_or(Value::Null, number);
        let name = |step: StepId| Value::from(step_name(program, step));
        let steps = self.steps.iter().map(|(step, usage)| {
            let (tokens, cost) = (count(usage.tokens), cost(usage.cost_micros));
            Value::from(object([("step", name(*step)), ("tokens", tokens), ("cost_usd", cost)]))
        });
        Value::from(object([
            ("step", self.step.map_or(Value::Null, name)),
            ("ended_by", self.ended_by.map_or(Value::Null, |reason| Value::from(reason.as_str()))),
            (
                "limits",
                Value::from(object([
                    ("tokens", or_null(self.limits.tokens, &count)),
                    ("cost_usd", or_null(self.limits.cost_micros, &cost)),
                    ("time_s", or_null(self.limits.time_ms, &seconds)),
                ])),
            ),
            (
                "used",
                Value::from(object([
                    ("tokens", count(self.usage.tokens)),
                    ("cost_usd", cost(self.usage.cost_micros)),
                    ("elapsed_s", seconds(self.elapsed_ms)),
                ])),
            ),
            ("steps", Value::from(steps.collect::<Vec<_>>())),
        ]))
    }

    /// The budget with its usage in one line: `loop: used 120 tokens of 100 in 3s; the tokens are used up`.
    pub fn line(&self, program: &Program) -> String {
        let owner = self.step.map_or("workflow", |step| step_name(program, step));
        let ended = match self.ended_by {
            Some(BudgetReason::Tokens) => "; the tokens are used up",
            Some(BudgetReason::Cost) => "; the cost is used up",
            Some(BudgetReason::Time) => "; the time is used up",
            None => "",
        };
        format!("{owner}: {}{ended}", self.usage_text())
    }

    /// The usage of each step in words: `draft 700 tokens, $0.02`.
    pub fn step_texts(&self, program: &Program) -> Vec<String> {
        let text = |(step, usage): &(StepId, Usage)| {
            let cost = if usage.cost_micros > 0 { format!(", {}", usd(usage.cost_micros)) } else { String::new() };
            format!("{} {}{cost}", step_name(program, *step), tokens_text(usage.tokens))
        };
        self.steps.iter().map(text).collect()
    }
}

fn tokens_text(count: u64) -> String {
    if count == 1 { "1 token".to_owned() } else { format!("{count} tokens") }
}

/// An amount of money as text: `$0.0125`.
pub(crate) fn usd(micros: u64) -> String {
    let (whole, part) = (micros / 1_000_000, micros % 1_000_000);
    let part = format!("{part:06}");
    let part = part.trim_end_matches('0');
    format!("${whole}.{part:0<2}")
}

/// A whole number of parts as a number: an integer if it has no fraction.
fn fraction(count: u64, parts: u64) -> Value {
    match i64::try_from(count / parts) {
        Ok(whole) if count.is_multiple_of(parts) => Value::Int(whole),
        _ => Value::from(count as f64 / parts as f64),
    }
}

impl State {
    /// The budgets of the open parts of the run, the outermost first.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// assert!(state.budgets(&program).is_empty());
    /// ```
    pub fn budgets(&self, program: &Program) -> Vec<BudgetRecord> {
        let open = self.meters.iter().filter(|(_, meter)| !meter.limits.is_none());
        let records = open.filter_map(|(no, meter)| {
            let step = program.budget_of(self.frames.get(no)?.scope).and_then(|budget| budget.step);
            Some(meter.record(step, self.now_ms, None))
        });
        records.collect()
    }

    /// What the budgets around a call have left, for the run that performs the call.
    ///
    /// ```
    /// use branchpoint_core::ir::{BudgetLimits, builder::Builder};
    /// use branchpoint_core::{EffectNo, State};
    ///
    /// assert_eq!(State::new().left_for(EffectNo(1)), BudgetLimits::default());
    /// ```
    pub fn left_for(&self, effect: EffectNo) -> BudgetLimits {
        let strand = self.effects.get(&effect).map(|flight| flight.strand);
        let frames = strand.map(|strand| self.metered_around(strand)).unwrap_or_default();
        let left = frames.iter().filter_map(|frame| self.meters.get(frame)).map(Meter::remaining);
        left.fold(BudgetLimits::default(), BudgetLimits::stricter)
    }

    /// The frames with a meter around a strand, the innermost first.
    pub(crate) fn metered_around(&self, no: StrandNo) -> Vec<FrameNo> {
        let mut frames = Vec::new();
        if self.meters.is_empty() {
            return frames;
        }
        let mut strand = self.strands.get(&no);
        while let Some(inner) = strand {
            if self.meters.contains_key(&inner.frame) {
                frames.push(inner.frame);
            }
            strand =
                self.frames.get(&inner.frame).and_then(|frame| frame.entered_by).and_then(|by| self.strands.get(&by));
        }
        frames
    }
}

/// The name of a step, for messages.
pub(crate) fn step_name(program: &Program, step: StepId) -> &str {
    &program.steps[step.index()].id
}
