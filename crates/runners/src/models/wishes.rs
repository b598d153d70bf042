//! How a model shall answer: the numbers and words that a call may say, with what each may be. What is none of that is refused
//! before anything is sent, because whoever wrote it would wait for it in vain.

use std::ops::RangeInclusive;

use branchpoint_expr::Value;
use genai::chat::ReasoningEffort;

use super::texts::{Texts, plain};
use crate::runner::Answer;

pub(super) struct Wishes<'t, 'c> {
    pub(super) texts: &'t Texts<'c>,
}

impl<'c> Wishes<'_, 'c> {
    pub(super) fn temperature(&self) -> Result<Option<f64>, Answer> {
        self.number(&["temperature"])
    }

    pub(super) fn top_p(&self) -> Result<Option<f64>, Answer> {
        self.number(&["topP", "top_p"])
    }

    pub(super) fn max_tokens(&self) -> Result<Option<u32>, Answer> {
        self.whole(&["max_tokens", "maxTokens"], 1..=u32::MAX)
    }

    pub(super) fn seed(&self) -> Result<Option<u64>, Answer> {
        self.whole(&["seed"], 0..=u64::MAX)
    }

    /// How much the model shall think. None: as much as it does by itself.
    pub(super) fn effort(&self) -> Result<Option<ReasoningEffort>, Answer> {
        let Some((_, word)) = self.said(&["reasoningEffort", "reasoning_effort"]) else { return Ok(None) };
        let word = plain(word);
        if word.trim() == "default" {
            return Ok(None);
        }
        let known = ReasoningEffort::from_keyword(&word);
        known.map(Some).ok_or_else(|| {
            let message = format!(
                "`{word}` is no reasoning effort; there are `none`, `minimal`, `low`, `medium`, `high`, `xhigh` and `max`"
            );
            Answer::impossible("step_failed", message)
        })
    }

    /// A text, or a list of them.
    pub(super) fn stop(&self) -> Vec<String> {
        let Some((_, stop)) = self.said(&["stop"]) else { return Vec::new() };
        stop.as_list().map_or_else(|| vec![plain(stop)], |list| list.iter().map(plain).collect())
    }

    /// How high it may be is told by the provider.
    fn number(&self, names: &[&str]) -> Result<Option<f64>, Answer> {
        let Some((name, value)) = self.said(names) else { return Ok(None) };
        let number = plain(value).trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        number.map(Some).ok_or_else(|| refused(name, value, "a number that is not negative"))
    }

    fn whole<N>(&self, names: &[&str], range: RangeInclusive<N>) -> Result<Option<N>, Answer>
    where
        N: std::str::FromStr + PartialOrd + std::fmt::Display,
    {
        let Some((name, value)) = self.said(names) else { return Ok(None) };
        let number = match value {
            // Whoever counts in floats means a whole number all the same.
            Value::Float(float) if float.fract() == 0.0 => format!("{float}").parse().ok(),
            value => plain(value).trim().parse().ok(),
        };
        let wanted = || format!("a whole number from {} to {}", range.start(), range.end());
        number.filter(|number| range.contains(number)).map(Some).ok_or_else(|| refused(name, value, &wanted()))
    }

    /// The first of some fields that says something, and its name: in the input, or in what is the same for every call. A template
    /// that came to nothing says nothing.
    fn said<'n>(&self, names: &[&'n str]) -> Option<(&'n str, &'c Value)> {
        let spec = &self.texts.call.definition.fixed;
        let within = |name: &str| ["configuration", "options"].iter().find_map(|key| spec.get(*key)?.get(name));
        let says = |value: &&Value| !plain(value).trim().is_empty();
        names.iter().find_map(|name| Some((*name, self.texts.field(name).or_else(|| within(name)).filter(says)?)))
    }
}

fn refused(name: &str, value: &Value, wanted: &str) -> Answer {
    Answer::impossible("step_failed", format!("`{name}` is {wanted}, and not `{}`", plain(value)))
}
