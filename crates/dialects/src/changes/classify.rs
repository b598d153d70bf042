//! The groups and aspects of changes, by the names of fields.

use super::{Aspect, Group};

/// Types of steps that ask people.
const APPROVALS: [&str; 3] = ["human_in_the_loop", "approval", "input"];

/// Fields of the document that count even if the program is the same: they decide when and with what runs start.
const ALWAYS: [&str; 4] = ["inputs", "trigger", "limits", "budget"];

/// Fields that decide which branch runs.
const DECISIONS: &[&str] = &[
    "if",
    "conditions",
    "condition",
    "match",
    "elif",
    "cases",
    "discriminator",
    "value_type",
    "on_match",
    "when",
    "while",
    "transitions",
    "on_success",
    "on_failure",
    "on_complete",
    "break_when",
    "stop_conditions",
    "variable",
    "initial",
    "defaultStep",
    "isDefault",
    "sequence",
    "connections",
    "continue_on_error",
    "on_error",
];

const APPROVERS: &[&str] = &[
    "recipient_distribution",
    "recipient_user_ids",
    "required_approvals",
    "choices",
    "need",
    "veto",
    "self_approval",
    "escalate_after",
    "escalate_to",
    "end_early",
    "form",
    "approval",
];

const PROMPTS: &[&str] = &[
    "prompt",
    "prompt_template",
    "prompt_file",
    "system_prompt",
    "systemPrompt",
    "userPrompt",
    "instruction",
    "persona",
    "personality",
    "evaluation_prompt",
    "show",
    "judge",
    "inject_context",
];

const LIMITS: &[&str] = &[
    "timeout",
    "timeout_seconds",
    "max_iterations",
    "maxIterations",
    "max_concurrency",
    "max_concurrent",
    "max_output",
    "max_turns",
    "maxSteps",
    "max_retries",
    "limit",
    "limits",
    "budget",
    "max_tokens",
    "maxTokens",
    "step_limit",
    "reminder_interval_seconds",
    "reminder_max_count",
    "window",
];

const RETRIES: &[&str] = &["retry", "maxRetries"];

/// Whether a field of the document counts even if the program is the same.
pub(super) fn always_counts(field: &str) -> bool {
    ALWAYS.contains(&field)
}

/// The group of a step that was added, removed, moved or renamed.
pub(super) fn group_of_step(kind: &str) -> Group {
    if APPROVALS.contains(&kind) { Group::Approvals } else { Group::Steps }
}

/// The group and the aspect of a changed field. `path` begins with the name of the field; `kind` is the type of the step, or empty for
/// the document.
pub(super) fn classify_field(step: Option<&str>, name: &str, path: &str) -> (Group, Aspect) {
    let root = name.split('.').next().unwrap_or(name);
    let parts = path.split(['.', '[', ' ']);
    // The innermost name that has an aspect counts: `transitions[0].when` is a condition, `policies.no_secrets.judge` a policy.
    let aspect = if root == "inputs" {
        Aspect::Input
    } else if root == "policies" {
        Aspect::Policy
    } else {
        parts.rev().find_map(aspect_of).or_else(|| aspect_of(root)).unwrap_or(Aspect::Setting)
    };
    let group = match (step, aspect) {
        (Some(kind), _) if APPROVALS.contains(&kind) && root != "connections" => Group::Approvals,
        (_, Aspect::Input) | (Some("flow_variables" | "start"), _) => Group::Inputs,
        _ if DECISIONS.contains(&root) => Group::Decisions,
        (Some(_), _) => Group::Steps,
        (None, _) => Group::Other,
    };
    (group, aspect)
}

fn aspect_of(name: &str) -> Option<Aspect> {
    let is_in = |names: &[&str]| names.contains(&name);
    if is_in(DECISIONS) {
        Some(Aspect::Condition)
    } else if is_in(APPROVERS) {
        Some(Aspect::Approvers)
    } else if is_in(PROMPTS) {
        Some(Aspect::Prompt)
    } else if is_in(LIMITS) {
        Some(Aspect::Limit)
    } else if is_in(RETRIES) {
        Some(Aspect::Retry)
    } else {
        None
    }
}
