//! Placeholders that are looked up when a step begins: `{{attachments[0]}}`, `{{attachments[name.ext]}}`,
//! `{{attachments[*.pdf]}}` in what travels with its input; `{{datetime ZONE}}`, `{{date ZONE}}` on the clock.

use branchpoint_core::ir::builder::ROOT;
use branchpoint_core::ir::{ExprId, SlotId, Write};
use branchpoint_expr::Value;

use super::Lower;
use crate::lowering::texts;
use crate::steps::attachments;
use crate::steps::tree::StepIndex;

/// How many keys can follow a selector; values are not nested as deep as that.
const MOST_KEYS: usize = 100;

/// A placeholder of the document, the local that holds its value, and how that is computed.
#[derive(Debug)]
pub(super) struct Selector {
    text: String,
    local: SlotId,
    value: ExprId,
}

impl Lower<'_, '_> {
    /// Finds the selectors in all texts and gives each a name.
    pub(super) fn selectors(&mut self) {
        for text in texts(self.own.document.located).flat_map(|text| text.split("{{").skip(1)) {
            let content = text.split("}}").next().unwrap_or_default();
            self.selector(&content.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }

    /// The clock of a zone. That of UTC is the clock of the run; the offsets of the others come with every event.
    fn clock(&mut self, text: &str) {
        let formula = match text.split_once(' ') {
            Some(("datetime", zone)) if is_utc(zone) => "now",
            Some(("date", zone)) if is_utc(zone) => "now[0:10]",
            Some((what @ ("datetime" | "date"), zone)) if is_zone(zone) => {
                let clock = self.b.clock(zone, what == "date");
                return self.b.name(ROOT, &[text], clock);
            }
            _ => return,
        };
        if self.own.named_selectors.iter().all(|known| known.text != text) {
            let local = self.b.local(text);
            self.b.name(ROOT, &[text], local);
            let now = self.b.now();
            let value = self.formula_with(formula, &[("now", now)], &[]);
            self.own.named_selectors.push(Selector { text: text.to_owned(), local, value });
        }
    }

    fn selector(&mut self, text: &str) {
        self.clock(text);
        let Some((selector, rest)) = text.strip_prefix("attachments[").and_then(|text| text.rsplit_once(']')) else {
            return;
        };
        let is_path = rest.split('.').skip(1).all(|key| !key.is_empty() && key.bytes().all(is_word));
        if !(rest.is_empty() || rest.starts_with('.') && is_path)
            || self.own.named_selectors.iter().any(|known| known.text == text)
        {
            return;
        }
        let rule = attachments::selected(selector);
        let one = matches!(rule.get("kind").and_then(Value::as_str), Some("index" | "name"));
        let rules = self.b.slot(ROOT, text, Some(Value::from(vec![rule])));
        let local = self.b.local(text);
        self.b.name(ROOT, &[text], local);
        let position = if one { "[0]" } else { "" };
        let formula = match rest.matches('.').count() {
            0..=MOST_KEYS => format!("pickAttachments(rules, {{\"input\": files}}){position}{rest} ?? \"\""),
            _ => "\"\"".to_owned(),
        };
        let value = self.formula_with(&formula, &[("rules", rules)], &[]);
        self.own.named_selectors.push(Selector { text: text.to_owned(), local, value });
    }

    /// What a step has to look up before its templates are rendered.
    pub(super) fn selected_by(&self, index: StepIndex) -> Vec<Write> {
        if self.own.named_selectors.is_empty() {
            return Vec::new();
        }
        let written = format!("{:?}", self.own.document.steps[index].located.to_value());
        let stem = |text: &str| text.split([' ', '[']).next().unwrap_or_default().to_owned();
        let own = self.own.named_selectors.iter().filter(|selector| written.contains(&stem(&selector.text)));
        own.map(|selector| Write::Put(selector.local, selector.value)).collect()
    }
}

/// Whether there is a time zone of that name.
pub(in crate::steps) fn is_zone(zone: &str) -> bool {
    is_utc(zone) || jiff::tz::TimeZone::get(zone).is_ok()
}

/// Whether a zone is the one in which clocks are kept.
fn is_utc(zone: &str) -> bool {
    ["UTC", "Etc/UTC", "GMT", "Z"].contains(&zone)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
