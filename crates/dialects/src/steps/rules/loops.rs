//! Loops, parallel branches, waits.

use std::collections::BTreeSet;

use branchpoint_expr::{Kind, Located};

use super::Check;
use crate::DocumentKinds as _;
use crate::fields::Access;
use crate::steps::tree::{Role, Step};

impl Check<'_, '_> {
    pub(super) fn for_each(&mut self, step: &Step<'_>) {
        self.body(step);
        let by_attachment = step.flag("iterate_attachments", false);
        let blank = step.text("input_template").is_some_and(|text| text.trim().is_empty());
        if !by_attachment && (step.get("input_template").is_none() || blank) {
            let message = "`input_template` is missing: the loop has no items";
            let help = "give `input_template`, such as \"{{input}}\", or `iterate_attachments: true`";
            self.error(Kind::ForEachInputMissing, step.span(), message, help);
        }
        if let (Some(offset), Some(limit)) = (step.int("offset"), step.int("limit"))
            && offset >= limit
        {
            let span = step.get("limit").map_or(step.span(), |limit| limit.span);
            let message =
                format!("`limit` {limit} is an index, not a count, and `offset` is {offset}: nothing is left");
            self.error(Kind::ForEachBounds, span, message, "`limit` must be above `offset`");
        }
        self.attachment_rules(step, &["attachment_rules", "attachments"]);
    }

    pub(super) fn attachment_rules(&mut self, step: &Step<'_>, keys: &[&str]) {
        for rule in keys.iter().flat_map(|key| step.located.list(key)).filter(|rule| rule.is_object()) {
            self.attachment_rule(rule);
        }
    }

    pub(super) fn body(&mut self, step: &Step<'_>) {
        if step.list(Role::Body).is_none_or(|list| list.steps.is_empty()) {
            // A body that is not a list was reported.
            let body = step.get("body").filter(|body| body.items().is_none_or(|items| !items.is_empty()));
            if body.is_none() {
                let help = "give `body` at least one step";
                self.error(Kind::LoopBody, step.span(), "`body` is missing or empty", help);
            }
        }
    }

    fn attachment_rule(&mut self, rule: &Located) {
        if let Some((id, span)) = rule.given("step_id").and_then(|id| Some((id.text()?, id.span))) {
            self.refers(id, span);
        }
        let text = |key: &str| rule.given(key).and_then(Located::text).map(|text| &**text);
        let is_empty = |key: &str| text(key).is_none_or(str::is_empty);
        let problem = match (text("source"), text("kind")) {
            (Some("step"), _) if text("step_id").is_none_or(|id| self.document.find(id).is_none()) => {
                "`source: step` needs the `step_id` of a step of this document"
            }
            (_, Some("pattern")) if is_empty("pattern") => "`kind: pattern` needs a `pattern`",
            (_, Some("name")) if is_empty("name") => "`kind: name` needs a `name`",
            (_, Some("index")) if !matches!(rule.int("index"), Some(0..)) => "`kind: index` needs an `index` from 0",
            _ => return,
        };
        let help = "such as {source: input, kind: pattern, pattern: \"*.pdf\"}";
        self.error(Kind::AttachmentRule, rule.span, problem, help);
    }

    pub(super) fn parallel(&mut self, step: &Step<'_>) {
        let mut names = BTreeSet::new();
        for branch in step.located.list("branches") {
            if let Some(name) = branch.str("name").filter(|name| !names.insert((*name).clone())) {
                let message = format!("there are two branches `{name}`");
                self.error(Kind::ParallelBranches, branch.span, message, "give one of them another name");
            }
        }
    }

    pub(super) fn wait(&mut self, step: &Step<'_>) {
        if let Some(duration) = step.get("duration") {
            if duration.text().is_some_and(|text| text.contains("{{")) {
                self.template(duration);
            } else {
                self.duration(duration);
            }
        }
        if let Some(until) = step.get("until").and_then(|until| until.text().map(|text| (until.span, text)))
            && !until.1.contains("{{")
            && crate::steps::effect::instant_ms(until.1).is_none()
        {
            let message = format!("`{}` is not a date and time", until.1);
            self.error(Kind::BadField, until.0, message, "such as 2026-02-18T12:00:00Z");
        }
    }
}
