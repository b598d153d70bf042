//! Questions to people.

use branchpoint_expr::{Kind, Located, Shape};

use super::Check;
use crate::DocumentKinds as _;
use crate::steps::tree::Step;

/// Outcomes that are no choices.
const RESERVED: [&str; 3] = ["timeout", "no_quorum", "cancelled"];

impl Check<'_, '_> {
    pub(super) fn people(&mut self, step: &Step<'_>) {
        let prompt = step.get("prompt_template");
        if prompt.is_none_or(|prompt| prompt.text().is_some_and(|text| text.trim().is_empty())) {
            let span = prompt.map_or(step.span(), |prompt| prompt.span);
            self.error(Kind::HitlPrompt, span, "a question needs a text", "give `prompt_template`");
        }
        self.recipients(step);
        self.choices(step);
        self.limits(step);
    }

    fn recipients(&mut self, step: &Step<'_>) {
        let distribution = step.get("recipient_distribution");
        let written = distribution.and_then(Located::text).map(|text| &**text);
        if let Some(distribution) = distribution
            && !matches!(written, Some("owner" | "owner_admins" | "selected_members"))
        {
            let message = "`recipient_distribution` is owner, owner_admins or selected_members";
            self.error(Kind::HitlDistribution, distribution.span, message, "without it, owner and admins are asked");
        }
        let users = step.get("recipient_user_ids");
        let listed = users.and_then(Located::items);
        let texts = listed.is_some_and(|users| users.iter().all(is_text));
        if let Some(users) = users.filter(|_| !texts) {
            let help = "write `recipient_user_ids: [u1, u2]`";
            self.error(Kind::HitlRecipients, users.span, "user ids are a list of texts that are not blank", help);
        } else if written == Some("selected_members") && listed.is_none_or(<[_]>::is_empty) {
            let help = "list them in `recipient_user_ids`";
            self.error(Kind::HitlRecipients, step.span(), "members are to be selected, and none are", help);
        }
        self.required(step, written == Some("selected_members"), listed.filter(|_| texts));
    }

    fn required(&mut self, step: &Step<'_>, selected: bool, listed: Option<&[Located]>) {
        let Some(required) = step.get("required_approvals") else { return };
        let Shape::Int(count @ 1..) = required.shape else {
            let message = "`required_approvals` is a whole number from 1";
            return self.error(Kind::HitlRequired, required.span, message, "one vote decides without it");
        };
        let mut users: Vec<&str> =
            listed.unwrap_or_default().iter().filter_map(Located::text).map(|id| &**id).collect();
        users.sort_unstable();
        users.dedup();
        if selected && !users.is_empty() && usize::try_from(count).is_ok_and(|count| count > users.len()) {
            let message = format!("{count} votes are required, and {} users are asked", users.len());
            self.error(Kind::HitlRequired, required.span, message, "ask more users, or require fewer votes");
        }
    }

    fn choices(&mut self, step: &Step<'_>) {
        let Some(choices) = step.get("choices") else { return };
        let items = choices.items().unwrap_or_default();
        if items.is_empty() {
            let help = "without `choices`, they are approve and deny";
            return self.error(Kind::HitlChoices, choices.span, "choices are a list with at least one text", help);
        }
        let mut seen: Vec<&str> = Vec::new();
        for choice in items {
            let text = choice.text().map_or("", |text| &**text);
            let problem = if !is_text(choice) {
                "a choice is text that is not blank".to_owned()
            } else if RESERVED.contains(&text) {
                format!("`{text}` is an outcome of its own and cannot be chosen")
            } else if seen.contains(&text) {
                format!("`{text}` is there twice")
            } else {
                seen.push(text);
                continue;
            };
            self.error(Kind::HitlChoices, choice.span, problem, "take another word");
        }
    }

    fn limits(&mut self, step: &Step<'_>) {
        let timeout = step.get("timeout_seconds");
        if let Some(timeout) = timeout.filter(|timeout| !is_positive(timeout)) {
            let help = "without `timeout_seconds`, the question waits for ever";
            self.error(Kind::HitlTimeout, timeout.span, "`timeout_seconds` is a number above 0", help);
        }
        if let Some(outcome) = step.get("timeout_outcome")
            && !outcome.text().is_some_and(|text| ["emit_timeout", "fail_run"].contains(&&**text))
        {
            let message = "`timeout_outcome` is emit_timeout or fail_run";
            self.error(Kind::HitlTimeoutOutcome, outcome.span, message, "without it, the outcome is `timeout`");
        }
        let (interval, count) = (step.get("reminder_interval_seconds"), step.get("reminder_max_count"));
        for reminder in interval.iter().chain(&count).filter(|_| timeout.is_none()) {
            let message = "reminders need an end";
            self.error(Kind::HitlReminders, reminder.span, message, "give `timeout_seconds`");
        }
        if let Some(count) = count.filter(|_| interval.is_none()) {
            let message = "a number of reminders needs the time between them";
            self.error(Kind::HitlReminders, count.span, message, "give `reminder_interval_seconds`");
        }
        if let Some(interval) = interval.filter(|interval| !is_positive(interval)) {
            let message = "`reminder_interval_seconds` is a number above 0";
            self.error(Kind::HitlReminders, interval.span, message, "such as 600");
        }
        if let Some(count) = count.filter(|count| !matches!(count.shape, Shape::Int(0..))) {
            let message = "`reminder_max_count` is a whole number";
            self.error(Kind::HitlReminders, count.span, message, "such as 3");
        }
    }
}

fn is_text(value: &Located) -> bool {
    value.text().is_some_and(|text| !text.trim().is_empty())
}

fn is_positive(value: &Located) -> bool {
    match value.shape {
        Shape::Int(int) => int > 0,
        Shape::Float(float) => float > 0.0,
        _ => false,
    }
}
