//! The cost of calls: a table of prices, which settings override.

use std::collections::BTreeMap;

use branchpoint_core::Usage;
use branchpoint_core::effect::ReplyUsage;

use super::settings::Price;

/// Prices by the beginning of a model's name: dollars per million input tokens, output tokens and cached input tokens. Prices change, so
/// these are estimates that settings override.
const TABLE: [(&str, f64, f64, f64); 24] = [
    ("gpt-5-nano", 0.05, 0.4, 0.005),
    ("gpt-5-mini", 0.25, 2.0, 0.025),
    ("gpt-5-pro", 15.0, 120.0, 15.0),
    ("gpt-5", 1.25, 10.0, 0.125),
    ("gpt-4.1-nano", 0.1, 0.4, 0.025),
    ("gpt-4.1-mini", 0.4, 1.6, 0.1),
    ("gpt-4.1", 2.0, 8.0, 0.5),
    ("gpt-4o-mini", 0.15, 0.6, 0.075),
    ("gpt-4o", 2.5, 10.0, 1.25),
    ("o3", 2.0, 8.0, 0.5),
    ("o4-mini", 1.1, 4.4, 0.275),
    ("claude-haiku-4", 1.0, 5.0, 0.1),
    ("claude-3-5-haiku", 0.8, 4.0, 0.08),
    ("claude-sonnet-4", 3.0, 15.0, 0.3),
    ("claude-3-7-sonnet", 3.0, 15.0, 0.3),
    ("claude-opus-4-5", 5.0, 25.0, 0.5),
    ("claude-opus-4", 15.0, 75.0, 1.5),
    ("gemini-2.5-flash-lite", 0.1, 0.4, 0.025),
    ("gemini-2.5-flash", 0.3, 2.5, 0.075),
    ("gemini-2.5-pro", 1.25, 10.0, 0.31),
    ("deepseek-chat", 0.28, 0.42, 0.028),
    ("deepseek-reasoner", 0.28, 0.42, 0.028),
    ("grok-4", 3.0, 15.0, 0.75),
    ("mistral-large", 2.0, 6.0, 2.0),
];

/// The tokens of one or more calls, as the provider counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    /// Input tokens, including cached ones.
    pub(super) input: u64,
    /// Cached input tokens.
    pub(super) cached: u64,
    /// Output tokens.
    pub(super) output: u64,
}

impl Tokens {
    /// Replaces the counts by those that a provider reports.
    pub(super) fn update(&mut self, input: Option<u64>, cached: Option<u64>, output: Option<u64>) {
        if let Some(input) = input {
            (self.input, self.cached) = (input, cached.unwrap_or_default().min(input));
        }
        self.output = output.unwrap_or(self.output);
    }

    pub(super) fn plus(self, more: Self) -> Self {
        Self {
            input: self.input.saturating_add(more.input),
            cached: self.cached.saturating_add(more.cached),
            output: self.output.saturating_add(more.output),
        }
    }

    /// Tokens and cost. The cost of a model without a price is 0.
    pub(super) fn usage(self, model: &str, own: &BTreeMap<String, Price>) -> Usage {
        let cost = price(model, own).map_or(0.0, |price| {
            let cached = price.cached.unwrap_or(price.input);
            // Dollars for a million tokens are millionths of a dollar for one.
            (self.input - self.cached) as f64 * price.input
                + self.cached as f64 * cached
                + self.output as f64 * price.output
        });
        Usage { tokens: self.input.saturating_add(self.output), cost_micros: whole(cost) }
    }

    /// The usage of a reply, for the run.
    pub(super) fn reply_usage(self, usage: Usage) -> ReplyUsage {
        let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        ReplyUsage {
            tokens: count(usage.tokens),
            input_tokens: count(self.input),
            output_tokens: count(self.output),
            cost_micros: count(usage.cost_micros),
        }
    }
}

/// Rounds a cost. Invalid prices give a cost of 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the bounds are checked")]
fn whole(cost: f64) -> u64 {
    if cost.is_finite() && cost > 0.0 && cost < 1e18 { cost.round() as u64 } else { 0 }
}

fn price(model: &str, own: &BTreeMap<String, Price>) -> Option<Price> {
    let set = own.iter().filter(|(begins, _)| model.starts_with(begins.as_str()));
    if let Some((_, price)) = set.max_by_key(|(begins, _)| begins.len()) {
        return Some(*price);
    }
    let known = TABLE.iter().filter(|(begins, ..)| model.starts_with(begins)).max_by_key(|(begins, ..)| begins.len());
    known.map(|(_, input, output, cached)| Price { input: *input, output: *output, cached: Some(*cached) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_of_a_name_has_the_price_and_settings_come_first() {
        let tokens = Tokens { input: 1_000, cached: 500, output: 100 };
        let cost = |model: &str, own: &BTreeMap<String, Price>| tokens.usage(model, own).cost_micros;
        let none = BTreeMap::new();
        assert_eq!(cost("gpt-5-mini-2025-08-07", &none), 338, "500 * 0.25 + 500 * 0.025 + 100 * 2, rounded");
        assert_eq!(cost("unheard-of", &none), 0);
        let own = BTreeMap::from([("gpt-5".to_owned(), Price { input: 1.0, output: 1.0, cached: None })]);
        assert_eq!(cost("gpt-5-mini", &own), 1_100);
        assert_eq!(tokens.usage("gpt-5", &none).tokens, 1_100);
        let odd = BTreeMap::from([("x".to_owned(), Price { input: f64::NAN, output: -1.0, cached: None })]);
        assert_eq!(cost("x", &odd), 0);
    }
}
