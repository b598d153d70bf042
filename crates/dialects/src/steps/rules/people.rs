//! Approvals by people.

use branchpoint_expr::{Expression, Kind, Located};

use super::Check;
use super::texts::options;
use crate::DocumentKinds as _;
use crate::approvals::ApprovalRules;
use crate::fields::Access;
use crate::steps::guard;
use crate::steps::tree::Step;

/// Outcomes that cannot be choices.
const RESERVED: [&str; 3] = ["timeout", "no_quorum", "cancelled"];

impl Check<'_, '_> {
    pub(super) fn people(&mut self, step: &Step<'_>) {
        self.recipients(step);
        self.choices(step);
        self.limits(step);
        self.approval_rules(step);
    }

    fn approval_rules(&mut self, step: &Step<'_>) {
        let Some(rules) = ApprovalRules::of(step.located) else { return };
        let listed = step.located.list("choices").iter().filter_map(Located::text).map(|choice| &**choice);
        let mut choices: Vec<&str> = listed.collect();
        if step.get("choices").is_none() {
            choices.push("deny");
        }
        let timeout_ms = step.get("timeout_seconds").and_then(guard::duration_ms);
        rules.check(&choices, timeout_ms, self.findings);
        let compiled = Expression::fields(&rules.computed(), options());
        self.compiled(compiled.map(|compiled| (compiled.warnings().to_vec(), compiled.references())));
    }

    fn recipients(&mut self, step: &Step<'_>) {
        let is_selected = step.text("recipient_distribution").is_some_and(|written| &**written == "selected_members");
        let users = step.located.list("recipient_user_ids");
        if is_selected && users.is_empty() && step.get("recipient_user_ids").is_none_or(|users| users.items().is_some())
        {
            let help = "list them in `recipient_user_ids`";
            self.error(Kind::HitlRecipients, step.span(), "no members are selected", help);
        }
        self.required(step, is_selected, users);
    }

    fn required(&mut self, step: &Step<'_>, selected: bool, listed: &[Located]) {
        let (Some(required), Some(count)) = (step.get("required_approvals"), step.int("required_approvals")) else {
            return;
        };
        let mut users: Vec<&str> = listed.iter().filter_map(Located::text).map(|id| &**id).collect();
        users.sort_unstable();
        users.dedup();
        if selected && !users.is_empty() && usize::try_from(count).is_ok_and(|count| count > users.len()) {
            let message = format!("{count} votes are required, but only {} users are selected", users.len());
            self.error(Kind::HitlRequired, required.span, message, "select more users, or require fewer votes");
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
        let (interval, count) = (step.get("reminder_interval_seconds"), step.get("reminder_max_count"));
        for reminder in interval.iter().chain(&count).filter(|_| timeout.is_none()) {
            let message = "reminders need an end";
            self.error(Kind::HitlReminders, reminder.span, message, "give `timeout_seconds`");
        }
        if let Some(count) = count.filter(|_| interval.is_none()) {
            let message = "a number of reminders needs the time between them";
            self.error(Kind::HitlReminders, count.span, message, "give `reminder_interval_seconds`");
        }
    }
}

fn is_text(value: &Located) -> bool {
    value.text().is_some_and(|text| !text.trim().is_empty())
}
