//! Loops, parallel branches, waits.

use branchpoint_expr::{Kind, Located, Shape};

use super::{Check, given};
use crate::DocumentKinds as _;
use crate::steps::tree::{Role, Step};

const RULE_KEYS: [&str; 6] = ["source", "step_id", "kind", "pattern", "name", "index"];

impl Check<'_, '_> {
    pub(super) fn for_each(&mut self, step: &Step<'_>) {
        self.body(step);
        let by_attachment = step.flag("iterate_attachments", false);
        let blank = step.text("input_template").is_some_and(|text| text.trim().is_empty());
        if !by_attachment && (step.get("input_template").is_none() || blank) {
            let message = "this loop is not told what to go over";
            let help = "give `input_template`, such as \"{{input}}\", or `iterate_attachments: true`";
            self.error(Kind::ForEachInputMissing, step.span(), message, help);
        }
        let (offset, limit) = (self.bound(step, "offset"), self.bound(step, "limit"));
        if let (Some(offset), Some(limit)) = (offset, limit)
            && offset >= limit
        {
            let span = step.get("limit").map_or(step.span(), |limit| limit.span);
            let message =
                format!("`limit` {limit} is an index, not a count, and `offset` is {offset}: nothing is left");
            self.error(Kind::ForEachBounds, span, message, "`limit` must be above `offset`");
        }
        for key in ["attachment_rules", "attachments"] {
            if let Some(rules) = given(step.located, key) {
                self.attachment_rules(rules);
            }
        }
    }

    fn bound(&mut self, step: &Step<'_>, name: &str) -> Option<i64> {
        let value = step.get(name)?;
        match value.shape {
            Shape::Int(int) if int >= 0 => Some(int),
            _ => {
                let message = format!("`{name}` is a whole number from 0");
                self.error(Kind::ForEachBounds, value.span, message, "it counts positions, the first is 0");
                None
            }
        }
    }

    fn body(&mut self, step: &Step<'_>) {
        if step.list(Role::Body).is_none_or(|list| list.steps.is_empty()) {
            // A body that is no list is told already.
            let body = step.get("body").filter(|body| body.items().is_none_or(|items| !items.is_empty()));
            if body.is_none() {
                let help = "give `body` at least one step";
                self.error(Kind::LoopBody, step.span(), "this loop has no body", help);
            }
        }
    }

    fn attachment_rules(&mut self, rules: &Located) {
        let list = match &rules.shape {
            // A single selector, as older files have it.
            Shape::Str { .. } => return,
            Shape::List(list) => list,
            _ => {
                let message = format!("attachment rules are a list, and this is {}", rules.describe());
                return self.error(Kind::AttachmentRule, rules.span, message, "write each rule after a `-`");
            }
        };
        for rule in list {
            if !rule.is_object() {
                let message = format!("an attachment rule is an object, and this is {}", rule.describe());
                self.error(Kind::AttachmentRule, rule.span, message, "give it `source` and `kind`");
                continue;
            }
            self.unknown_keys(rule, &RULE_KEYS, "an attachment rule");
            self.attachment_rule(rule);
        }
    }

    fn attachment_rule(&mut self, rule: &Located) {
        let text = |key: &str| given(rule, key).and_then(Located::text).map(|text| &**text);
        let problem = match (text("source"), text("kind")) {
            (source, _) if given(rule, "source").is_some() && !matches!(source, Some("input" | "agent" | "step")) => {
                "`source` is input, agent or step"
            }
            (Some("step"), _) if text("step_id").is_none_or(|id| self.document.find(id).is_none()) => {
                "`source: step` needs the `step_id` of a step of this document"
            }
            (_, kind) if given(rule, "kind").is_some() && kind.is_none() => "`kind` is all, pattern, name or index",
            (_, None | Some("all")) => return,
            (_, Some("pattern")) if text("pattern").is_some_and(|pattern| !pattern.is_empty()) => return,
            (_, Some("name")) if text("name").is_some_and(|name| !name.is_empty()) => return,
            (_, Some("index")) if matches!(given(rule, "index").map(|index| &index.shape), Some(Shape::Int(0..))) => {
                return;
            }
            (_, Some("pattern")) => "`kind: pattern` needs a `pattern`",
            (_, Some("name")) => "`kind: name` needs a `name`",
            (_, Some("index")) => "`kind: index` needs an `index` from 0",
            _ => "`kind` is all, pattern, name or index",
        };
        let help = "such as {source: input, kind: pattern, pattern: \"*.pdf\"}";
        self.error(Kind::AttachmentRule, rule.span, problem, help);
    }

    pub(super) fn while_loop(&mut self, step: &Step<'_>) {
        self.body(step);
        if let Some(most) = step.get("max_iterations")
            && !matches!(most.shape, Shape::Int(1..=10_000))
        {
            let message = "`max_iterations` is a whole number from 1 to 10000";
            self.error(Kind::WhileMax, most.span, message, "without it, 100 rounds are allowed");
        }
        if let Some(on_limit) = step.get("on_limit")
            && !on_limit.text().is_some_and(|text| ["complete", "fail"].contains(&&**text))
        {
            let message = "`on_limit` is `complete` or `fail`";
            self.error(Kind::BadField, on_limit.span, message, "without it, the loop completes with a warning");
        }
    }

    pub(super) fn parallel(&mut self, step: &Step<'_>) {
        let branches = step.get("branches").and_then(Located::items).unwrap_or_default();
        if branches.is_empty() {
            let span = step.get("branches").map_or(step.span(), |branches| branches.span);
            let help = "give `branches` a list of `{name, steps}`";
            self.error(Kind::ParallelBranches, span, "a parallel step needs at least one branch", help);
        }
        let mut names: Vec<&str> = Vec::new();
        for branch in branches {
            self.unknown_keys(branch, &["name", "steps"], "a branch");
            match given(branch, "name").and_then(Located::text).filter(|name| !name.trim().is_empty()) {
                None => {
                    let message = "a branch needs a `name`, which is text";
                    self.error(Kind::ParallelBranches, branch.span, message, "it is the key of its result");
                }
                Some(name) if names.contains(&&**name) => {
                    let message = format!("there are two branches `{name}`");
                    self.error(Kind::ParallelBranches, branch.span, message, "give one of them another name");
                }
                Some(name) => names.push(name),
            }
        }
        if let Some(wait) = step.get("wait")
            && !wait.text().is_some_and(|text| ["all", "any"].contains(&&**text))
        {
            self.error(Kind::BadField, wait.span, "`wait` is `all` or `any`", "without it, all are waited for");
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
            let message = format!("`{}` is no date and time", until.1);
            self.error(Kind::BadField, until.0, message, "such as 2026-02-18T12:00:00Z");
        }
    }
}
