//! The fields of every object of a document.

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Expression, Kind, Options};

use crate::DocumentKinds as _;
use crate::fields::Type::{
    Any, Duration, Either, Entries, Filled, Flag, Form, Int, List, Map, Number, Object, Own, Ref, Several, Text, Words,
};
use crate::fields::{INTEGER, NUMBER, Style, Table, Type, field, unsupported};

pub(in crate::machine) const STYLE: Style = Style {
    missing: Kind::MissingField,
    conflict: Kind::Conflict,
    is_lenient: true,
    missing_at_start: false,
    ..Style::of(Kind::BadValue)
};

const TEXTS: Type = Several(&Text);

pub(in crate::machine) const DOCUMENT: Table = &[
    field("name", Filled, "The name of the workflow.").required(),
    field("version", Any, "For people."),
    field("description", Any, "What it is for."),
    field("author", Any, "Who wrote it."),
    field("tags", Any, "For people."),
    field("inputs", Either(&[List(&Object(&[NAME, INPUT])), Map(&Object(&[INPUT]))]), "What a run is started with."),
    field("outputs", Own(&Either(&[List(&Object(&[OUTPUT])), Map(&Any)])), "What it gives the workflows that call it."),
    field("env", TEXTS, "The environment variables that it reads."),
    field("states", Ref("states"), "`initial`, and the states by name.").required(),
    field("limits", Ref("limits"), crate::run_limits::ABOUT),
    field("hooks", Object(&[HOOKS]), "Actions at the start and at the end of a run."),
    unsupported("plugins"),
    unsupported("plugin"),
    unsupported("packs"),
    unsupported("pack"),
    unsupported("mcp_proxy"),
    unsupported("mcp"),
    unsupported("acp"),
    unsupported("tui"),
    unsupported("history"),
];

pub(in crate::machine) const OUTPUT: Table = &[
    field("name", Filled, "Its name.").required(),
    field("from", Filled, "An expression, such as `states.build.Output`.").required(),
    field("type", Any, "For people."),
    field("description", Any, "For people."),
];

const HOOKS: Table = &[
    field("workflow_start", ACTIONS, "Before the first state."),
    field("workflow_end", ACTIONS, "After a run that completes."),
    field("workflow_error", ACTIONS, "After a run that fails."),
    field("workflow_cancel", ACTIONS, "After a run that is cancelled."),
];

const ACTIONS: Type = Several(&Object(&[ACTION]));

const ACTION: Table = &[
    field("log", Text, "A message for the log; a template.").required(),
    field("command", Text, "A shell command; a template.").instead_of("log"),
];

const NAME: Table = &[field("name", Filled, "Its name.").required()];

const INPUT: Table = &[
    field("type", Words(&["string", "integer", "number", "boolean", "array", "object"]), "Its type; any if absent."),
    field("description", Any, "For people."),
    field("required", Flag, "Whether a run needs it.").or("false"),
    field("default", Any, "Its value if none is given."),
    field("validation", Object(&[VALIDATION]), "What holds for its value."),
];

const VALIDATION: Table = &[
    field("pattern", Text, "A regular expression that is found in it."),
    field("enum", List(&Any), "The values it may have."),
    field("min", NUMBER, "The least number."),
    field("max", NUMBER, "The largest number."),
    field("file_exists", Flag, "Whether it is the name of a file.").or("false"),
    field("file_extension", TEXTS, "What the name of the file ends with."),
];

pub(in crate::machine) const STATES: Table = &[field("initial", Text, "The state that a run begins with.").required()];

pub(in crate::machine) const TYPES: &[&str] =
    &["step", "command", "agent", "parallel", "for_each", "while", "call_workflow", "operation", "terminal"];

pub(in crate::machine) const TYPE: Table =
    &[field("type", Words(TYPES), "What the state does; fields such as `command` or `loop` show it if it is absent.")
        .kind(Kind::UnknownType)];

/// Fields of states of every type.
pub(in crate::machine) const STATE: Table = &[
    field("description", Any, "For people."),
    field("on_success", Text, "The next state after success."),
    field("on_failure", Either(&[Text, Object(&[FAILURE])]), "The next state after failure, or how the run fails."),
    field("transitions", List(&Object(&[TRANSITION])), "Ways on, in order; the first whose condition holds is taken."),
    field("continue_on_error", Flag, "Whether `on_success` is used after a failure, too.").or("false"),
    field("timeout", Duration, "For all attempts together."),
    field("retry", Object(&[RETRY]), "How often it is tried, and with which pauses."),
    field("hooks", Object(&[STATE_HOOKS]), "Actions before and after the state."),
    field("dir", Text, "The working directory of commands; a template."),
    field("depends_on", Any, "No effect."),
    field("capture", Any, "No effect."),
    unsupported("plugin"),
    unsupported("acp"),
    unsupported("use_template"),
];

pub(in crate::machine) const OPERATION: Table = &[
    field("operation", Filled, "What is done: `http.request` or `notify.send`.").required(),
    field("inputs", Map(&Any), "The inputs of the operation; texts are templates."),
];

pub(in crate::machine) const HTTP_REQUEST: Table = &[
    field("url", Filled, "The address; a template.").required(),
    field("method", Filled, "GET, POST, PUT or DELETE; a template.").required(),
    field("headers", Map(&Text), "The headers; templates."),
    field("body", Text, "The body; a template."),
    field("timeout", Int(1, 86_400), "The time limit in seconds.").or("30"),
    field("retryable_status_codes", List(&Int(100, 999)), "The statuses that are failures."),
];

pub(in crate::machine) const NOTIFICATION: Table = &[
    field("backend", Words(&["desktop", "webhook"]), "How the notification is delivered.").required(),
    field("message", Filled, "The message; a template.").required(),
    field("title", Text, "The title; a template."),
    field("priority", Words(&["low", "default", "high"]), "How urgent it is.").or("default"),
    field("webhook_url", Text, "The address of a webhook; a template."),
];

const STATE_HOOKS: Table = &[field("pre", ACTIONS, "Before the state."), field("post", ACTIONS, "After the state.")];

const FAILURE: Table = &[
    field("message", Filled, "Why the run fails; a template.").required(),
    field("status", Int(1, 255), "The exit code.").or("1"),
];

const TRANSITION: Table = &[
    field("when", Text, "The condition; always if absent or empty."),
    field("condition", Text, "The same as `when`.").instead_of("when"),
    field("if", Any, "The condition as in every dialect: an expression, or a group.")
        .instead_of("when")
        .kind(Kind::TwoConditions),
    field("goto", Text, "The next state.").required(),
    field("target", Text, "The same as `goto`.").instead_of("goto"),
];

const RETRY: Table = &[
    field("max_attempts", Int(1, u32::MAX as i64), "Attempts, the first one included.").or("1"),
    field("initial_delay", Duration, "The first pause.").or("0"),
    field("max_delay", Duration, "The longest pause.").or("0"),
    field("backoff", Words(&["constant", "linear", "exponential"]), "How pauses grow.").or("constant"),
    field("multiplier", Number(0.0, f64::MAX), "How pauses grow if they are exponential.").or("2"),
    field("jitter", Number(0.0, 1.0), "The share of a pause that is random.").or("0"),
    field("retryable_exit_codes", List(&INTEGER), "The exit codes that are retried; all if absent."),
];

pub(in crate::machine) const COMMAND: Table = &[
    field("command", Filled, "A shell command; a template.").required(),
    field("script_file", Filled, "A file that holds the command, relative to the document; a template.")
        .instead_of("command"),
];

pub(in crate::machine) const AGENT_BLOCK: Table =
    &[field("agent", Object(&[AGENT]), "The fields of an agent, in a block of their own.")];

pub(in crate::machine) const AGENT: Table = &[
    field("provider", Filled, "Which agent program is called.").required(),
    field("prompt", Filled, "The prompt; a template.").required(),
    field("prompt_file", Filled, "A file that holds the prompt, relative to the document; a template.")
        .instead_of("prompt"),
    field("system_prompt", Text, "The system prompt."),
    field("role", Text, "Who the agent is: the name of a role, or the path of a folder or file of one; a template."),
    field("skills", List(&Either(&[Text, Object(&[SKILL])])), "Skills by name or path."),
    field("options", Any, "Passed to the provider as they are."),
    field("output_format", Words(&["text", "json"]), "Whether the reply is JSON, or holds a fenced block of it.")
        .or("text"),
    field("mode", Words(&["single", "conversation"]), "Whether it takes several turns.").or("single"),
    field("conversation", Object(&[CONVERSATION]), "How a conversation goes."),
    field("mcp_proxy", Object(&[MCP_PROXY]), "Tools of MCP servers that the agent may call."),
];

const MCP_PROXY: Table = &[
    field("enable", Flag, "Whether the block has an effect.").or("false"),
    field("intercept_builtins", Flag, "Whether the agent's own tools are replaced; only `false` is supported.")
        .or("true"),
    field("plugin_tools", List(&Object(&[PLUGIN_TOOLS])), "The tools by server."),
];

const PLUGIN_TOOLS: Table = &[
    field("plugin", Filled, "The MCP server, by its name in the settings.").required(),
    field("expose", List(&Text), "The names of its tools.").required(),
];

const SKILL: Table = &[field("name", Text, "Its name."), field("path", Text, "The folder that holds it.")];

const CONVERSATION: Table = &[
    field("stop_conditions", TEXTS, "It ends when one of these holds."),
    field("stop_condition", TEXTS, "The same as `stop_conditions`.").instead_of("stop_conditions"),
    field("max_turns", Int(1, 100), "The most turns.").or("10"),
    field("inject_context", Text, "Text before each turn; a template."),
    field("continue_from", Text, "A state whose session it continues."),
];

pub(in crate::machine) const PARALLEL: Table = &[
    field("parallel", Either(&[Entries(&Text), Text]), "The states that run at once.").required(),
    field("strategy", Words(&["all_succeed", "any_succeed", "best_effort"]), "When it has succeeded.")
        .or("all_succeed"),
    field("max_concurrent", Int(0, u32::MAX as i64), "How many run at once; 0 is no limit.").or("0"),
];

pub(in crate::machine) const LOOP_BLOCK: Table = &[field("loop", Ref("loop"), "A loop, in a block of its own.")];

/// A field of loops that states and blocks both have.
pub(in crate::machine) const COMPLETE: Table = &[field("on_complete", Text, "The next state after the last round.")];

pub(in crate::machine) const LOOP_TYPE: Table = &[field("type", Words(&["while", "for_each"]), "Which kind of loop.")];

pub(in crate::machine) const WHILE: Table = &[
    field("while", Text, "The condition, evaluated before every round.").required(),
    field("condition", Text, "The same as `while`.").instead_of("while"),
    field("if", Any, "The condition as in every dialect: an expression, or a group.")
        .instead_of("while")
        .kind(Kind::TwoConditions),
];

pub(in crate::machine) const EACH: Table =
    &[field("items", Either(&[List(&Any), Text]), "A list, or a template that gives one.").required()];

pub(in crate::machine) const ROUNDS: Table = &[
    field("body", Either(&[Entries(&Text), Text]), "The states of one round, in order.").required(),
    field("max_iterations", Either(&[Int(0, MOST_ROUNDS), ROUNDS_TEXT]), "The most rounds; 100 for `while`."),
    field("break_when", Text, "A condition that ends the loop after a state of the body."),
];

const MOST_ROUNDS: i64 = 10_000;
const ROUNDS_TEXT: Type = Form("", is_rounds, "a template or an expression for one");

/// A template, a number, or an expression that reads nothing.
fn is_rounds(text: &str) -> bool {
    let arithmetic = || Expression::compile(text, Options::default()).is_ok_and(|read| read.references().is_empty());
    text.contains("{{") || text.trim().parse().map_or_else(|_| arithmetic(), |most| (0..=MOST_ROUNDS).contains(&most))
}

pub(in crate::machine) const CALL: Table = &[
    field("workflow", Filled, "The name of a workflow beside this document.").required(),
    field("inputs", Map(&Any), "What it is started with."),
    field(
        "outputs",
        Map(&Text),
        "Declared outputs of the called workflow, or its states, and the names that they get here.",
    ),
];

pub(in crate::machine) const TERMINAL: Table = &[
    field("status", Words(&["success", "failure"]), "How the run ends.").or("success"),
    field("message", Text, "What the run ends with; a template."),
];
