//! The fields of every object of a session.

use branchpoint_expr::Kind;

use crate::DocumentKinds as _;
use crate::fields::Type::{
    Any, Either, Entries, Flag, Form, Int, List, Map, Number, Object, Open, Ref, Several, Text, Words,
};
use crate::fields::{MAX, NUMBER, Style, TEXTS, Table, Type, field};

pub(in crate::session) const TEMPLATE_STYLE: Style = style(Kind::InvalidTemplate);
pub(in crate::session) const ORCHESTRATION_STYLE: Style = style(Kind::InvalidOrchestration);
pub(in crate::session) const STEP_STYLE: Style = style(Kind::InvalidStep);

const fn style(kind: Kind) -> Style {
    Style { null_is_absent: false, ..Style::of(kind) }
}

/// The whole agent.
pub(in crate::session) const TEMPLATE: Table = &[
    field("$schema", Any, "For editors."),
    field("version", Text, "The version of the agent.").required(),
    field("agentId", Text, "Who the agent is.").required(),
    field("name", Text, "What it is called.").required(),
    field("description", Text, "What it is for.").required(),
    field("personality", Several(&Text), "Its system prompt; a list is lines of one text.").required(),
    field("nodes", TEXTS, "Its tools, in order; the first that begins with `llm.` chooses the model.").required(),
    field("nodeConfigurations", Map(&Any), "Settings by node, such as `model` of `llm.openai`.").required(),
    field("chatSettings", Object(&[CHAT]), "How it talks.").required(),
    field("orchestration", Ref("orchestration"), "Its steps; absent: every tool is always offered."),
    field("options", Open(&[OPTIONS]), "Limits of a turn."),
    field("limits", Ref("limits"), crate::run_limits::ABOUT),
    field("maxConcurrency", NUMBER, "For hosts that run several agents."),
    field("tags", Any, "For people."),
    field("priority", Any, "For people."),
    field("notes", Any, "For people."),
    field("isEnabled", Any, "For people."),
];

const CHAT: Table = &[
    field("initialMessages", TEXTS, "What it says first."),
    field("chatPrompts", TEXTS, "What a client suggests to say."),
    field("historyPolicy", Words(&["none", "lastN", "all"]), "How many earlier messages are sent again.").or("lastN"),
    field("historyLength", NUMBER, "For `lastN`: from how many user messages back.").or("50"),
    field("placeholderText", Text, "What a client shows before the first message."),
];

const OPTIONS: Table = &[
    field("maxSteps", Int(1, MAX), "The most model calls of a turn.").or("5"),
    field("tokenOptimization", Open(&[OPTIMIZATION]), "What the system prompt contains."),
];

const OPTIMIZATION: Table =
    &[field("includeDetailedOrchestration", Flag, "Whether it lists all steps, or the active one alone.").or("true")];

pub(in crate::session) const ORCHESTRATION: Table = &[
    field("$schema", Any, "For editors."),
    field("steps", List(&Ref("step")), "In order: the first step whose conditions all hold becomes active.").required(),
    field("description", Several(&Text), "What the steps are for; a list is lines of one text."),
    field("defaultStep", Text, "The step that a session begins with."),
];

pub(in crate::session) const STEP: Table = &[
    field("name", FILLED, "A name that no other step has.").required(),
    field("description", Text, "What the step is for; a part of the system prompt."),
    field("isDefault", Flag, "Whether a session begins with it.").or("false"),
    field(
        "conditions",
        Ref("conditions"),
        "What must hold for it to become active. Without any, it can only be the default.",
    ),
    field("sequence", List(&Either(&[Text, Entries(&Text)])), "Tools in a fixed order; of a list, any tool fits."),
    field("availableTools", Object(&[TOOLS]), "The tools that it offers; `*` stands for any characters."),
    field("persona", Object(&[PERSONA]), "How the agent answers while the step is active."),
    field("resetSequenceOn", Any, "Of older documents; no effect."),
];

const PERSONA: Table = &[
    field("prompt", Several(&Text), "A part of the system prompt, after the personality; a list is lines of one text."),
    field("model", FILLED, "The model, instead of that of the agent."),
    field("options", Object(&[SAMPLING]), "Sampling options, each instead of that of the agent."),
];

const SAMPLING: Table = &[
    field("temperature", Number(0.0, f64::MAX), "The sampling temperature."),
    field("topP", Number(0.0, 1.0), "Nucleus sampling."),
    field("maxTokens", Int(1, 0xFFFF_FFFF), "The largest number of tokens of an answer."),
    field("seed", Int(0, MAX), "The sampling seed."),
    field("stop", TEXTS, "Texts that end an answer."),
    field("reasoningEffort", FILLED, "How much the model thinks: `none` to `max`."),
];

const FILLED: Type = Form(r"[\s\S]", |text| !text.is_empty(), "text that is not empty");

const TOOLS: Table = &[
    field("allowed", TEXTS, "Patterns of tools that are offered; all if empty or absent."),
    field("denied", TEXTS, "Patterns of tools that are not offered."),
];

/// A condition of a step; expressions and typed groups are compiled, not read.
pub(in crate::session) const CONDITION: Table = &[
    field("type", Words(CONDITION_TYPES), "What is tested: the tools that were used, or the current message.")
        .required(),
    field("if", Ref("if"), "An expression over `message`, `tools`, `step` and `sequence_index`, or a typed group.")
        .instead_of("type"),
    field("value", Any, "The tool, the text or the regular expression."),
    field("window", Any, "How many of the last tools `not_recently_used` looks at.").or("5"),
    field("description", Any, "For people."),
];

pub(in crate::session) const CONDITION_TYPES: &[&str] =
    &["tool_used", "sequence_match", "message_contains", "message_starts_with", "message_regex", "not_recently_used"];
