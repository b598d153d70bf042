//! What an approval needs to be settled: groups, vetoes, delegations, escalation, reminders and the form.

use std::sync::Arc;

use branchpoint_core::Request;
use branchpoint_expr::Value;
use branchpoint_runners::Secrets;
use serde::Serialize;
use utoipa::ToSchema;

use crate::time::rfc3339;

/// A group whose votes a choice needs.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct GroupNeed {
    group: String,
    needed: u32,
    members: Vec<String>,
}

/// The votes of a group for a choice.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct GroupVotes {
    group: String,
    votes: u32,
    needed: u32,
}

/// The votes for a choice.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct ChoiceProgress {
    choice: String,
    votes: usize,
    /// The votes that it needs; null if each group needs a number of its own.
    required: Option<u32>,
    /// The votes of each group; empty without groups.
    groups: Vec<GroupVotes>,
}

/// A recipient's vote that somebody else may use.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct DelegationRecord {
    recipient: String,
    to: String,
    until: String,
}

/// Approvers who are added when the approval is not settled in time.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct EscalationRecord {
    at: String,
    users: Vec<String>,
    escalated: bool,
}

/// Reminders of the approvers who have not voted.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct ReminderRecord {
    interval_ms: i64,
    /// The most reminders; null if there is no limit.
    max: Option<u32>,
    /// How many were sent.
    sent: u32,
    /// When the next is sent, unless the approval is settled before.
    next: Option<String>,
}

/// What an approval needs to be settled. All of it is empty if the first answer settles it.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub(crate) struct ApprovalRules {
    /// The form that a vote carries, as a JSON Schema; null without a form.
    #[schema(value_type = Option<Object>)]
    form: Value,
    /// The proposed values of the form, by field.
    #[schema(value_type = Option<Object>)]
    form_defaults: Value,
    /// The groups whose votes a choice needs; empty if votes of any approvers count.
    need: Vec<GroupNeed>,
    /// The votes for each choice, in the order of the choices.
    progress: Vec<ChoiceProgress>,
    /// The approvers whose no settles the approval.
    veto: Vec<String>,
    /// The user who started the run, if that user may not vote.
    excluded: Option<String>,
    delegations: Vec<DelegationRecord>,
    escalation: Option<EscalationRecord>,
    reminder: Option<ReminderRecord>,
    /// The hash of what voters see. A vote that sends it is rejected if the approval shows something else.
    shown_hash: Option<String>,
    /// What has changed since the earlier approval that this one replaces: `{path, before, after}`.
    #[schema(value_type = Vec<Object>)]
    changes: Vec<Value>,
}

impl ApprovalRules {
    /// The rules of a request, with the specification that the workflow wrote.
    pub(super) fn of(request: Option<&Request>, spec: &Value, secrets: &Secrets) -> Self {
        let Some(request) = request else { return Self::default() };
        let rules = request.rules.as_deref();
        let texts = |texts: &[Arc<str>]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let changes = spec.get("changed").and_then(Value::as_list).unwrap_or_default();
        Self {
            form: rules.map(|rules| secrets.mask_value(&rules.form)).unwrap_or_default(),
            form_defaults: rules.map(|rules| secrets.mask_value(&rules.defaults)).unwrap_or_default(),
            need: rules
                .iter()
                .flat_map(|rules| &rules.groups)
                .map(|group| GroupNeed {
                    group: group.name.to_string(),
                    needed: group.needed,
                    members: texts(&group.members),
                })
                .collect(),
            progress: request.choices.iter().map(|choice| progress(request, choice, secrets)).collect(),
            veto: rules.map(|rules| texts(&rules.veto)).unwrap_or_default(),
            excluded: rules.and_then(|rules| rules.excluded.as_ref().map(ToString::to_string)),
            delegations: request
                .delegations
                .iter()
                .map(|delegation| DelegationRecord {
                    recipient: delegation.recipient.to_string(),
                    to: delegation.to.to_string(),
                    until: rfc3339(delegation.until_ms),
                })
                .collect(),
            escalation: rules.and_then(|rules| rules.escalation.as_ref()).map(|escalation| EscalationRecord {
                at: rfc3339(escalation.at_ms),
                users: texts(&escalation.users),
                escalated: escalation.escalated,
            }),
            reminder: reminder(request),
            shown_hash: rules.map(|rules| rules.shown_hash.to_string()),
            changes: changes.iter().map(|change| secrets.mask_value(change)).collect(),
        }
    }
}

fn progress(request: &Request, choice: &Arc<str>, secrets: &Secrets) -> ChoiceProgress {
    let groups: Vec<_> = request
        .group_progress(choice)
        .into_iter()
        .map(|of| GroupVotes { group: of.group.to_string(), votes: of.votes, needed: of.needed })
        .collect();
    ChoiceProgress {
        choice: secrets.mask(choice).into_owned(),
        // Votes with different forms do not count together.
        votes: request.votes_for(choice).len(),
        required: groups.is_empty().then_some(request.required),
        groups,
    }
}

fn reminder(request: &Request) -> Option<ReminderRecord> {
    let (interval_ms, max) = request.reminder?;
    let next_ms = request.requested_ms.saturating_add(interval_ms.saturating_mul(i64::from(request.reminded) + 1));
    let is_due = request.reminded < max && request.deadline_ms.is_none_or(|deadline_ms| next_ms < deadline_ms);
    Some(ReminderRecord {
        interval_ms,
        max: (max != u32::MAX).then_some(max),
        sent: request.reminded,
        next: is_due.then(|| rfc3339(next_ms)),
    })
}
