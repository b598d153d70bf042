//! The fields of every object of a flow.

use branchpoint_core::RunKinds as _;
use branchpoint_expr::Kind;

use crate::DocumentKinds as _;
use crate::fields::Type::{
    Any, Either, Entries, Filled, Flag, Form, Int, List, Map, Nullable, Number, Object, Placeholder, Ref, Text, Words,
};
use crate::fields::{MAX, Style, Table, Type, Unknown, field};
use crate::{output_limit, secrets};

/// The style of the settings of a step.
pub(in crate::flow) const CONFIG: Style = Style::of(Kind::InvalidConfig);

/// The style of a flow and its steps, which may have fields of other systems.
pub(in crate::flow) const FLOW: Style = Style { unknown: Unknown::None, ..Style::of(Kind::InvalidFlow) };

const STEP_LIST: Type = List(&Ref("step"));
const VARIABLE: Type = Form(
    r"^[\p{Alphabetic}_][\p{Alphabetic}\p{N}_]*$",
    is_identifier,
    "the name of a variable: letters, digits and `_`",
);
const VARIABLE_PATH: Type =
    Form(r"^[^.]*[^.\s][^.]*(\.[^.]*[^.\s][^.]*)*$", is_path, "the name of a variable, with dots between its parts");

fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && letters.all(|c| c.is_alphanumeric() || c == '_')
}

fn is_path(name: &str) -> bool {
    name.split('.').all(|part| !part.trim().is_empty())
}

pub(in crate::flow) const DOCUMENT: Table = &[
    field("name", Filled, "The name of the flow.").required(),
    field("description", Text, "What it is for."),
    field("uuid", Text, "Its identity."),
    field("active", Flag, "Kept, not enforced.").or("true"),
    field("created_at", Any, "Kept."),
    field("updated_at", Any, "Kept."),
    field("inputs", Ref("inputs"), "The inputs of a run."),
    field("limits", Ref("limits"), crate::run_limits::ABOUT),
    field("steps", Entries(&Ref("step")), "The steps, one after another.").required(),
];

pub(in crate::flow) const STEP: Table = &[
    field("id", Text, "Names the step; its position if absent."),
    field("type", Text, "What the step does.").required(),
    field("label", Any, "For people."),
];

pub(in crate::flow) const STEP_CONFIG: Table =
    &[field("config", Map(&Any), "The settings of the step.").required().kind(Kind::InvalidConfig)];

/// Settings of every step.
pub(in crate::flow) const COMMON: Table = &[
    field("resultVariable", VARIABLE, "The variable that gets the data of the step."),
    field("responseVariable", VARIABLE, "The same as `resultVariable`."),
    field("directOutput", Flag, "Whether data that is not null ends the flow, as its output.").or("false"),
];

/// The types of variables, the default first.
pub(in crate::flow) const DECLARED_TYPES: &[&str] = &["string", "number", "boolean", "array", "object", "null"];
pub(in crate::flow) const ASSIGNED_TYPES: &[&str] =
    &["auto", "string", "number", "boolean", "datetime", "array", "object"];

const DECLARE: Table = &[field("variables", List(&Object(&[DECLARATION])), "The variables.").required()];

const DECLARATION: Table = &[
    field("name", VARIABLE_PATH, "Its name; dots make nested objects.").required(),
    field("type", Words(DECLARED_TYPES), "Its type.").or("string"),
    field("value", Any, "Its value when a run is not given one."),
    field("description", Text, "For people."),
    field("source", Words(&["user_input", "system", "node_output"]), "Where its value comes from.").or("user_input"),
];

const ASSIGN: Table =
    &[field("variables", List(&Object(&[ASSIGNMENT])), "The assignments, in order, all or nothing.").required()];

const ASSIGNMENT: Table = &[
    field("name", VARIABLE_PATH, "The variable; dots make nested objects.").required(),
    field("value", Nullable, "Its new value; text in it is a template.").required(),
    field("type", Words(ASSIGNED_TYPES), "The type it must have.").or("auto"),
];

const CONDITION: Table = &[
    field("condition", Ref("group"), "The condition as a typed group.").required(),
    field("if", Ref("if"), "The condition as an expression or a typed group.")
        .instead_of("condition")
        .kind(Kind::TwoConditions),
];

const PATHS: Table = &[
    field("truePath", STEP_LIST, "Runs when the condition holds."),
    field("falsePath", STEP_LIST, "Runs when it does not."),
];

const SWITCH: Table = &[
    field("variable", Nullable, "What is compared. A template.").required(),
    field("cases", List(&Object(&[CASE])), "The cases, tried in order.").required(),
    field("defaultBlocks", STEP_LIST, "Runs when no case matches."),
];

const CASE: Table = &[
    field("value", Nullable, "The value that the variable is compared with.").required(),
    field("blocks", Entries(&Ref("step")), "Runs when it matches.").required(),
];

const MOST_ROUNDS: i64 = 10_000;

pub(in crate::flow) const LOOP: Table = &[
    field("loopType", Words(&["for", "forEach", "while"]), "What the loop goes by.").required(),
    field("loopBlocks", STEP_LIST, "What runs each round.").required(),
    field("maxIterations", Either(&[Int(1, MOST_ROUNDS), Placeholder]), "The most rounds; 100 for `while`."),
    field("on_error", Words(&["continue", "fail"]), "Whether a round that fails fails the loop.").or("continue"),
];

const FOR: Table = &[
    field("startValue", Any, "The first value.").required(),
    field("endValue", Any, "The last value, included.").required(),
    field("stepValue", Any, "How the value grows.").or("1"),
    field("counterVariable", VARIABLE, "The variable that holds the value.").required(),
];

const EACH: Table = &[
    field("iterableVariable", Any, "The list. A template.").required(),
    field("itemVariable", VARIABLE, "The variable that holds the item.").required(),
    field("indexVariable", VARIABLE, "The variable that holds the position, from 0."),
];

/// The types of loops, and the settings of each.
pub(in crate::flow) const LOOPS: &[(&str, Table)] = &[("for", FOR), ("forEach", EACH), ("while", CONDITION)];

/// Settings of every call.
const CALL: Table = &[
    field("timeout", Number(1.0, 300.0), "Seconds that an attempt may take; 30 if absent, without limit for models."),
    field("maxRetries", Int(0, 10), "How often a failed attempt is repeated.").or("0"),
];

const CREDENTIALS: Table = &[field(
    "credentials",
    Map(&Form(r"^[\p{Alphabetic}\p{N}_.-]+$", secrets::is_name, "the name of a secret")),
    "Names of secrets: for models the key, for requests `token` and headers, for commands variables.",
)];

/// Secrets of tools are in the settings of the host.
const NO_CREDENTIALS: Table = &[field("credentials", Any, "No effect.")];

const MODEL: Table = &[
    field("instruction", Filled, "The prompt of the model. A template.").required(),
    field("systemPrompt", Text, "The system prompt. A template."),
    field("provider", Text, "The provider; the host's if absent."),
    field("model", Text, "The model; the host's if absent."),
    field("temperature", Either(&[Number(0.0, 2.0), Placeholder]), "The sampling temperature.").or("0.7"),
    field("maxTokens", Either(&[Int(1, MAX), Placeholder]), "The longest answer, in tokens."),
    field("responseFormat", Words(&["text", "json", "json_schema"]), "What the answer is read as.").or("text"),
    field("jsonSchema", Either(&[Map(&Any), Text]), "The schema, for `json_schema`."),
];

const PAIRS: Type = Either(&[List(&Object(&[PAIR])), Placeholder]);

const PAIR: Table =
    &[field("key", Filled, "Its name.").required(), field("value", Nullable, "Its value. A template.").required()];

const HTTP: Table = &[
    field("url", Filled, "The address, http or https. A template.").required(),
    field("method", Filled, "The method.").or("GET"),
    field("headers", PAIRS, "The headers: a list of `{key, value}`.").or("[]"),
    field("bodyType", Words(&["json", "form_urlencoded", "form_multipart", "text", "raw"]), "How the body is sent.")
        .or("json"),
    field("body", Any, "The body; text in it is a template."),
    field("formData", PAIRS, "The fields of a form: a list of `{key, value}`."),
    field("followRedirects", Flag, "Whether redirects are followed.").or("true"),
];

const PROCESS: Table = &[
    field("command", Filled, "The program. A template.").required(),
    field("args", Either(&[List(&Any), Placeholder]), "Its arguments; templates.").or("[]"),
    field("cwd", Text, "The folder it runs in. A template."),
    field("env", Either(&[Map(&Any), Placeholder]), "Environment variables; values are templates.").or("{}"),
];

const ACTION: Table = &[
    field("provider", Words(&["local", "remote"]), "Where the server runs."),
    field("serverId", Filled, "The server.").required(),
    field("action", Filled, "The tool.").required(),
    field("params", Either(&[Map(&Any), Placeholder]), "The arguments of the tool; text in it is a template.").or("{}"),
];

const SEARCH: Table = &[field("query", Filled, "What is searched for. A template.").required()];
const SCRAPE: Table = &[field("url", Filled, "The address. A template.").required()];

const FINISH: Table =
    &[field("message", Any, "A message. A template."), field("data", Any, "Data; text in it is a template.")];

/// A type of step: its name, its description, and its settings beside the common ones.
pub(in crate::flow) type StepType = (&'static str, &'static str, &'static [Table]);

pub(in crate::flow) const TYPES: &[StepType] = &[
    ("flow_variables", "Declares variables, before every other step. Gives all variables.", &[DECLARE]),
    ("start", "The older name of flow_variables.", &[DECLARE]),
    ("setVariables", "Sets variables. Gives all variables.", &[ASSIGN]),
    ("conditional", "Takes one of two branches. Gives `{condition_result}`.", &[CONDITION, PATHS]),
    ("switch", "Takes the first case that equals a value. Gives `{condition_result, matched_case}`.", &[SWITCH]),
    ("loop", "Runs blocks again and again. Gives a list with one entry a round.", &[LOOP]),
    ("llmInstruction", "Calls a model. Gives its text, or parsed JSON.", &[MODEL, CALL, CREDENTIALS]),
    ("apiCall", "Sends an HTTP request. Gives the body: JSON if it is JSON, else text.", &[HTTP, CALL, CREDENTIALS]),
    (
        "runCommand",
        "Runs a program, without a shell. Gives its output.",
        &[PROCESS, output_limit::FIELDS, CALL, CREDENTIALS],
    ),
    ("mcpServerAction", "Calls a tool of an MCP server. Gives its result.", &[ACTION, CALL, NO_CREDENTIALS]),
    (
        "webSearch",
        "Searches the web with the host's tool. Other fields are its arguments.",
        &[SEARCH, CALL, NO_CREDENTIALS],
    ),
    (
        "webScraping",
        "Reads a page with the host's tool. Other fields are its arguments.",
        &[SCRAPE, CALL, NO_CREDENTIALS],
    ),
    ("finish", "Ends the flow. Gives `{message, terminated_at_step, flow_id, custom_data}`.", &[FINISH]),
];
