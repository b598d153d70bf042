//! The outcome of a request as the output of its step.

use std::sync::Arc;

use branchpoint_expr::{Object, Value, iso_utc};

use super::{Request, Resolution, Rules, Vote, object};

impl Request {
    /// The outcome as an object: `{outcome, quorum_met, required, total_recipients, votes}`.
    ///
    /// ```
    #[doc = include_str!("../../docs/approval.txt")]
    /// let output = request.output(&Resolution::Timeout);
    /// assert_eq!(output.get("outcome"), Some(&"timeout".into()));
    /// ```
    pub fn output(&self, resolution: &Resolution) -> Value {
        let met = match resolution {
            Resolution::Veto(_) => self.votes.last().is_some_and(|vote| self.has_quorum_with(vote)),
            resolution => matches!(resolution, Resolution::Choice(_)),
        };
        let reason = match resolution {
            Resolution::Cancelled(reason) => reason.as_ref(),
            _ => None,
        };
        let count = |number: usize| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
        let mut output = object([
            ("outcome", Value::from(resolution.outcome())),
            ("quorum_met", Value::Bool(met)),
            ("required", self.required_output()),
            ("total_recipients", count(self.recipients.len())),
            ("votes", Value::from(self.votes.iter().map(|vote| vote.output(self.rules.is_some())).collect::<Vec<_>>())),
        ]);
        if let Some(rules) = &self.rules {
            output.extend(self.rules_output(resolution.rule(), rules));
        }
        if let Some(reason) = reason.filter(|reason| !reason.trim().is_empty()) {
            output.insert("cancellation_reason".into(), Value::Str(Arc::clone(reason)));
        }
        Value::from(output)
    }

    /// The number of votes that a choice needs; null if each group needs a number of its own.
    fn required_output(&self) -> Value {
        let has_groups = self.rules.as_ref().is_some_and(|rules| !rules.groups.is_empty());
        if has_groups { Value::Null } else { Value::Int(i64::from(self.required)) }
    }

    /// What the output has only if the workflow uses rules.
    fn rules_output(&self, settled_by: &'static str, rules: &Rules) -> Object {
        let settling = self.votes.last().filter(|_| matches!(settled_by, "quorum" | "veto"));
        let form = settling.and_then(|vote| vote.form.clone());
        let edited = form.as_ref().is_some_and(|form| rules.is_edited(form));
        let is_escalated = rules.escalation.as_ref().is_some_and(|escalation| escalation.escalated);
        object([
            ("settled_by", Value::from(settled_by)),
            ("need", rules.need()),
            ("form", form.unwrap_or_default()),
            ("edited", Value::Bool(edited)),
            ("shown_hash", Value::Str(rules.shown_hash.clone())),
            ("escalated", Value::Bool(is_escalated)),
        ])
    }
}

impl Vote {
    fn output(&self, has_rules: bool) -> Value {
        let mut output = object([
            ("user_id", Value::Str(Arc::clone(&self.user))),
            ("choice", Value::Str(Arc::clone(&self.choice))),
            ("comment", self.comment.clone().map_or(Value::Null, Value::Str)),
            ("decided_at", iso_utc(self.at_ms).map_or(Value::Null, Value::from)),
        ]);
        if has_rules || self.on_behalf_of.is_some() {
            let recipient = self.on_behalf_of.clone().map_or(Value::Null, Value::Str);
            output.insert("on_behalf_of".into(), recipient);
        }
        if has_rules {
            let groups = self.groups.iter().cloned().map(Value::Str).collect::<Vec<_>>();
            output.insert("groups".into(), Value::from(groups));
            output.insert("form".into(), self.form.clone().unwrap_or_default());
        }
        Value::from(output)
    }
}
