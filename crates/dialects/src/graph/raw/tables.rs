//! The fields of every object of a graph.

use branchpoint_expr::Kind;

use crate::DocumentKinds as _;
use crate::approvals::RULES;
use crate::fields::Type::{Any, Flag, Form, List, Object, Open, Ref, Text, Words};
use crate::fields::{Style, Table, Unknown, field};

/// Editors keep fields of their own in graphs.
pub(in crate::graph) const GRAPH: Style = Style { unknown: Unknown::None, ..Style::of(Kind::InvalidPayload) };

pub(in crate::graph) const PART: Style = Style { missing_at_start: false, ..GRAPH };

pub(in crate::graph) const DATA: Style = Style { unknown: Unknown::Similar, ..Style::of(Kind::InvalidField) };

pub(in crate::graph) const CONDITION_STYLE: Style = Style { null_is_absent: false, ..DATA };

pub(in crate::graph) const DOCUMENT: Table = &[
    field("inputs", Ref("inputs"), "The input of a run: `input`, which replaces the text of the start node."),
    field("limits", Ref("limits"), crate::run_limits::ABOUT),
    field("nodes", List(&Ref("node")), "The nodes, exactly one of them a start.").required(),
    field("strict_tools", Flag, STRICT_TOOLS).or("false"),
    field(
        "connections",
        List(&Ref("connection")),
        "Connections of nodes. Several from one handle start together, in order.",
    )
    .required(),
];

const STRICT_TOOLS: &str =
    "Whether a tool that is not configured prevents the run. Otherwise agents run without it, with a warning.";

pub(in crate::graph) const TYPES: &[(&str, &str, Table)] = &[
    ("start", "Where the run begins.", START),
    ("agent", "Calls a model; its answer is the output.", AGENT),
    ("if", "Conditions in order; the first that matches chooses `condition-0`, `condition-1` …, else `false`.", IF),
    ("approval", "A person decides; the handles are `approve` and `reject`.", APPROVAL),
    ("input", "An older name of `approval`.", APPROVAL),
    ("end", "The end of a branch; not needed.", &[]),
];

pub(in crate::graph) const NODE: Table = &[
    field("id", Form(r"[\s\S]", |id| !id.is_empty(), "text that is not empty"), "A text that no other node has.")
        .required(),
    field("type", Words(&["start", "agent", "if", "approval", "input", "end"]), "What the node does.")
        .required()
        .kind(Kind::UnknownNodeType),
    field("data", Open(&[]), "The settings of its type.").kind(Kind::InvalidField),
    field("x", Any, "Where an editor draws it."),
    field("y", Any, "Where an editor draws it."),
];

const START: Table = &[field("initialInput", Any, "What the run begins with, if it has no input.")];

const AGENT: Table = &[
    field("agentName", Text, "Its name.").or("Agent"),
    field("systemPrompt", Text, "The system prompt.").or("You are a helpful assistant."),
    field("userPrompt", Text, "The prompt; `{{PREVIOUS_OUTPUT}}` is the output before it. Blank: that output."),
    field("model", Text, "The model; blank is the default of the installation."),
    field("reasoningEffort", Text, "`low`, `medium` or `high`; blank is the default of the installation."),
    field("tools", Any, "The tools it may use: `web_search`, and `subagents` for agents at its handle `subagent`."),
    field("strict_tools", Flag, "The same as `strict_tools` of the graph, for this agent.")
        .or("the value of the graph"),
];

const IF: Table = &[
    field("conditions", List(&Ref("condition")), "What the text before it is compared with, in any case."),
    field("condition", Any, "Of older documents: a text that must be contained."),
];

const APPROVAL: Table = &[
    field("prompt", Any, "What the person is shown."),
    field(
        "approval",
        Object(&[RULES]),
        "Who may decide, and by which rules. Without it, the first answer of anyone decides.",
    ),
];

pub(in crate::graph) const CONNECTION: Table = &[
    field("source", Any, "The id of the node that it leaves.").required().kind(Kind::BrokenConnection),
    field("target", Any, "The id of the node that it leads to.").required().kind(Kind::BrokenConnection),
    field("sourceHandle", Text, "The handle of the source. `subagent` makes the target a tool of the source."),
    field("targetHandle", Text, "The handle of the target: `input`."),
];

/// A condition of a node; expressions and typed groups are compiled, not read.
pub(in crate::graph) const CONDITION: Table = &[
    field("operator", Words(&["equal", "contains"]), "Whether the text is the value, or contains it.").or("equal"),
    field("value", Ref("scalar"), "What it is compared with; a blank one never matches."),
    field("if", Ref("if"), "Instead of both: an expression over `input` and `text`, or a typed group."),
];
