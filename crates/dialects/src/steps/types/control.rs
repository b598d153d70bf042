//! The types of steps that compute values or decide what runs.

use branchpoint_expr::Kind;

use super::{BODY, CHAIN, Family, ID, StepType};
use crate::DocumentKinds as _;
use crate::approvals::{END_EARLY, RULES};
use crate::fields::Type::{Any, Either, Entries, Filled, Flag, Form, Int, List, Object, Own, Ref, Text, Words};
use crate::fields::{ABOVE_ZERO, MAX, Table, Type, field};

const fn pure(name: &'static str, about: &'static str, fields: &'static [Table]) -> StepType {
    StepType { name, family: Family::Pure, about, fields }
}

const fn control(name: &'static str, about: &'static str, fields: &'static [Table]) -> StepType {
    StepType { name, family: Family::Control, about, fields }
}

/// The condition of a step or of a part of it.
const CONDITION: Table = &[
    field("conditions", Own(&Ref("conditions")), "A list of conditions.").required(),
    field("match", Own(&Any), "Whether `all` conditions must hold, or `any`.").or("all"),
    field("if", Own(&Ref("if")), "The condition as an expression or a typed group.").instead_of("conditions"),
];

const ELIF: Table = &[field("then", CHAIN, "Runs when it is the first that holds.")];

const CASE_NAME: Type = Form(r"^(?!else$)[\s\S]*\S", |name| name != "else", "a name");

const CASE: Table = &[
    field("name", Own(&CASE_NAME), "Its name, unique, not `else`.").required(),
    field("match", Own(&Ref("values")), "A value, or a list of values.").required(),
    field("steps", CHAIN, "What runs when it matches."),
];

const BRANCH: Table =
    &[field("name", Filled, "Its name, a key of the output.").required(), field("steps", CHAIN, "What runs in it.")];

pub(super) const ATTACHMENTS: Type = Either(&[Text, List(&Object(&[ATTACHMENT]))]);

const ATTACHMENT: Table = &[
    field("source", Words(&["input", "agent", "step"]), "Where they come from.").or("input"),
    field("step_id", Any, "The step, when `source` is `step`."),
    field("kind", Words(&["all", "pattern", "name", "index"]), "How they are chosen.").or("all"),
    field("pattern", Any, "Wildcards `*`, `?`, `[…]` over the whole name."),
    field("name", Any, "The exact name."),
    field("index", Any, "The position, from 0."),
];

const TEXT: Table = &[field("template", Text, "The text. A template.")];

const REGEX_REPLACE: Table =
    &[field("rules", Own(&Ref("rules")), "Each rule works on the result of the one before.").or("[]")];

const MERGE: Table = &[field("template", Text, "The output; what arrived, joined by newlines, if absent. A template.")];

const DISPLAY_RESULT: Table = &[
    field("template", Text, "The output; the step's input if absent. A template.").or("{{input}}"),
    field("html_format", Flag, "Whether it is shown as HTML.").or("true"),
];

const IF_ELSE: Table = &[
    field("input_template", Text, "The text of the targets `input` and `input_length`. A template."),
    field("then_steps", CHAIN, "Runs when the condition holds."),
    field("else_steps", CHAIN, "Runs when it does not."),
];

const CONDITIONAL: Table = &[
    field("then", CHAIN, "Runs when the condition holds."),
    field("elif", List(&Object(&[CONDITION, ELIF])), "Further conditions, tried in order.").or("[]"),
    field("else", CHAIN, "Runs when none holds."),
];

const SWITCH: Table = &[
    field("discriminator", Text, "What is compared. A template.").or("{{input}}"),
    field("value_type", Own(&Words(&["string", "number", "date", "datetime"])), "How it is compared.").or("string"),
    field("cases", Own(&Entries(&Object(&[CASE]))), "The cases, tried in order.").required(),
    field("else_steps", CHAIN, "Runs when no case matches."),
];

const FOR_EACH: Table = &[
    field("input_template", Text, "Gives a JSON array, or an integer when `limit` is set. A template."),
    field("offset", Int(0, MAX), "The position of the first item.").or("0").kind(Kind::ForEachBounds),
    field("limit", Int(0, MAX), "The position after the last item.").kind(Kind::ForEachBounds),
    field("parallel", Flag, "Whether items run at once.").or("false"),
    field("max_concurrency", Int(1, 1_000_000), "How many run at once.").or("8"),
    field("fail_fast", Flag, "Whether the first failure ends the loop.").or("true"),
    field("fail_on_empty", Flag, "Whether no items are a failure.").or("false"),
    field("iterate_attachments", Flag, "Whether the items are attachments.").or("false"),
    field("attachment_rules", ATTACHMENTS, "Which attachments are items; all if absent.").kind(Kind::AttachmentRule),
    field("attachments", ATTACHMENTS, "The same as `attachment_rules`.").kind(Kind::AttachmentRule),
    field("body", Own(&BODY), "What runs each time, one step after the other.").required(),
];

const WHILE: Table = &[
    field("body", Own(&BODY), "What runs each time, one step after the other.").required(),
    field("max_iterations", Int(1, 10_000), "The most rounds.").or("100").kind(Kind::WhileMax),
    field("on_limit", Words(&["complete", "fail"]), "What happens when a further round is due.").or("complete"),
];

const PARALLEL: Table = &[
    field("branches", Entries(&Object(&[BRANCH])), "The branches, with unique names.")
        .required()
        .kind(Kind::ParallelBranches),
    field("wait", Words(&["all", "any"]), "Whether all branches count, or the first that delivers.").or("all"),
    field("fail_fast", Flag, "Whether the first failure ends the others.").or("true"),
    field("max_concurrency", Int(1, 1_000_000), "How many run at once.").or("8"),
];

const GATE: Table =
    &[field("on_match", Own(&Words(&["continue", "stop"])), "What happens when the condition holds.").or("continue")];

const JOIN: Table = &[field("target", Own(&ID), "The id of the merge.").required()];

const RETRY: Table = &[
    field("target_step_id", Own(&ID), "The step that runs again.").required(),
    field("max_retries", Own(&Int(1, 10)), "How often.").required(),
];

const HUMAN_IN_THE_LOOP: Table = &[
    field("prompt_template", Filled, "The question. A template.").required().kind(Kind::HitlPrompt),
    field("prompt", Filled, "The same as `prompt_template`. A template.")
        .alias_of("prompt_template")
        .kind(Kind::HitlPrompt),
    field("recipient_distribution", Words(&["owner", "owner_admins", "selected_members"]), "The people who decide.")
        .or("owner_admins")
        .kind(Kind::HitlDistribution),
    field("recipient_user_ids", List(&Filled), "The users, for `selected_members`.").kind(Kind::HitlRecipients),
    field("choices", Own(&Ref("choices")), "What they can choose.").or("[\"approve\",\"deny\"]"),
    field("required_approvals", Int(1, MAX), "How many votes a choice needs.").or("1").kind(Kind::HitlRequired),
    field("timeout_seconds", ABOVE_ZERO, "How long to wait; for ever if absent.").kind(Kind::HitlTimeout),
    field("timeout_outcome", Words(&["emit_timeout", "fail_run"]), "What happens then.")
        .or("emit_timeout")
        .kind(Kind::HitlTimeoutOutcome),
    field("reminder_interval_seconds", ABOVE_ZERO, "How often missing voters are reminded.").kind(Kind::HitlReminders),
    field("reminder_max_count", Int(0, MAX), "How often at most.").kind(Kind::HitlReminders),
];

pub(super) static CONTROL: &[StepType] = &[
    pure("text", "Renders a template.", &[TEXT]),
    pure("regex_replace", "Replaces what patterns find in its input.", &[REGEX_REPLACE]),
    pure("merge", "Waits for its own branch and every join that names it.", &[MERGE]),
    pure("display_result", "Sets the run's output.", &[DISPLAY_RESULT]),
    pure("streaming_result", "Streams the text of the prompt_call it is a child of.", &[]),
    control("if_else", "Takes one of two ways.", &[CONDITION, IF_ELSE]),
    control("conditional", "Takes the first way whose condition holds.", &[CONDITION, CONDITIONAL]),
    control("switch", "Takes the first case that matches a text.", &[SWITCH]),
    control("for_each", "Runs its body once for each item; gives the list of results.", &[FOR_EACH]),
    control("while", "Runs its body as long as a condition holds.", &[CONDITION, WHILE]),
    control("parallel", "Runs branches at once; gives an object of their results.", &[PARALLEL]),
    control("gate", "Lets its branch go on, or blocks it.", &[CONDITION, GATE]),
    control("join", "Hands its input to a merge. It has no children.", &[JOIN]),
    control("retry", "Goes back to an earlier step, so often. It has no children.", &[RETRY]),
    control(
        "human_in_the_loop",
        "Asks people and waits; gives `{outcome, quorum_met, votes, …}`.",
        &[HUMAN_IN_THE_LOOP, RULES, END_EARLY],
    ),
];
