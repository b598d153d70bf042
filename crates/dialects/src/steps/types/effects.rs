//! The types of steps that call a runner.

use branchpoint_core::effect::Kind as Effect;

use branchpoint_expr::Kind;

use super::control::ATTACHMENTS;
use super::{Family, ID, StepType};
use crate::DocumentKinds as _;
use crate::fields::Content::{Command, Fixed, Json};
use crate::fields::Type::{Any, Filled, Flag, Int, List, Map, Own, Ref, Text, Words};
use crate::fields::{MAX, NUMBER, Table, field};
use crate::output_limit;

const fn effect(name: &'static str, kind: Effect, about: &'static str, fields: &'static [Table]) -> StepType {
    StepType { name, family: Family::Effect(kind), about, fields }
}

/// Sampling and limits of model calls with tools.
const LIMITS: Table = &[
    field("temperature", NUMBER, "The sampling temperature."),
    field("max_tokens", Int(1, MAX), "The longest reply, in tokens."),
    field("tools", Any, "The tools of the model: a list of names or definitions."),
    field("max_turns", Int(1, MAX), "The most turns it may take, if it has tools.").or("10"),
    field("token_budget", Int(1, MAX), "The most tokens that its turns may use."),
    field("cost_budget_micros", Int(1, MAX), "The most that its turns may cost, in millionths of a dollar."),
    field("sequential", Flag, "Whether the tool calls of one reply are made one after the other.").or("false"),
];

/// The files that go with a prompt.
const ATTACHED: Table = &[
    field("attachments", Any, "The files for the model: a selector, or a template; those of the input if absent."),
    field("attachment_rules", ATTACHMENTS, "Which attachments the model gets.").kind(Kind::AttachmentRule),
];

const PROMPT_CALL: Table = &[
    field("model", Text, "The model; absent or `default` is the host's.").or("default"),
    field("model_variant", Text, "The variant of the model."),
    field("prompt_template", Text, "The prompt of the model. A template.").or("{{input}}"),
    field("system_template", Text, "The system prompt. A template."),
    field("simple_format", Flag, "Whether the prompt is text, not messages.").or("true").content(Fixed),
    field("json_template", Any, "The messages as JSON, if `simple_format` is false.").content(Json),
];

const AGENT: Table = &[
    field("model", Text, "The model; absent or `default` is the host's.").or("default"),
    field("system", Text, "The system prompt. A template."),
    field("prompt", Text, "The prompt of the agent. A template.").or("{{input}}"),
    field("stop_when", Own(&Ref("stop_when")), "A condition, tested after each turn; `input` is the reply."),
];

const EVALUATE_STEP: Table = &[
    field("target_step_id", ID, "The step whose output is rated.").content(Fixed),
    field("evaluation_prompt", Text, "How to rate it. A template."),
    field("pass_threshold", NUMBER, "The lowest score that passes.").or("0.5").content(Fixed),
    field("evaluation_tier", Text, "The tier of the evaluating model."),
    field("expectation_config", Any, "What is expected, as the runner defines it."),
];

const RETRIEVAL: Table = &[
    field("knowledge_base_id", Text, "The knowledge base. A template.").or("default"),
    field("query", Text, "What is looked for. A template.").or("{{input}}"),
    field("top_n", Int(1, 100), "How many results are given.").or("20"),
    field("top_k", Int(1, MAX), "How many candidates are looked at."),
    field("reranker_model", Text, "The model that orders the candidates."),
    field("filter", Map(&Any), "Which documents are searched."),
    field("added_after", Text, "Only documents added after this date. A template."),
    field("added_before", Text, "Only documents added before this date. A template."),
    field("include_attachments", Flag, "Whether attachments are searched too.").or("true"),
];

const WEB_SEARCH: Table =
    &[field("query", Text, "What is looked for. A template."), field("limit", Int(1, MAX), "The most results.")];

const WEB_FETCH: Table = &[field("url", Text, "The address of the page. A template.")];

const EXTRACT_DATA: Table = &[
    field("expected_format", Words(&["html", "json", "xml"]), "The format of the input."),
    field("path", Text, "Which part of it. A template."),
];

const HTTP: Table = &[
    field("method", Text, "The method.").or("GET"),
    field("url", Text, "The address. A template.").required(),
    field("headers", Map(&Any), "Headers of the request; values are templates."),
    field("query", Map(&Any), "The query parameters."),
    field("body", Any, "The body; text in it is a template."),
    field("expect_status", Own(&Any), "Which statuses are a success; 200–299 if absent."),
];

const WEBHOOK_CALL: Table = &[
    field("url", Text, "The address. A template.").required(),
    field("method", Words(&["POST", "PUT"]), "The method.").or("POST"),
    field("content_type", Text, "The content type.").or("application/json"),
    field("headers", Map(&Any), "Headers of the request; values are templates."),
    field("payload", Any, "The body; the step's input if absent."),
];

const COMMAND: Table = &[
    field("command", Text, "Run by `sh -c`; values are quoted words. A template.").content(Command).required(),
    field("argv", List(&Any), "The program and its arguments, without a shell. Templates.").instead_of("command"),
    field("cwd", Text, "The folder it runs in. A template."),
    field("env", Map(&Any), "Environment variables; values are templates."),
    field("stdin", Text, "What it reads; the step's input if absent."),
];

const SEND_EMAIL: Table = &[
    field("to", Any, "Who gets it. A template."),
    field("recipient", Any, "The same as `to`.").alias_of("to"),
    field("subject", Text, "The subject. A template."),
    field("html_body", Text, "The body as HTML. A template."),
    field("text_body", Text, "The body as text. A template."),
    field("template", Text, "The same as `text_body`. A template.").alias_of("text_body"),
];

const CALL_WORKFLOW: Table = &[
    field("workflow", Text, "Its name, as it is.").required().content(Fixed),
    field("input", Any, "Its input. A template.").or("{{input}}"),
    field("metadata", Any, "Its metadata."),
];

const CALL_AGENT: Table = &[
    field("agent", Filled, "The workflow of the agent, as it is.").or("default").content(Fixed),
    field("agent_id", Filled, "The same as `agent`.").alias_of("agent").content(Fixed),
    field("input", Any, "Its input. A template.").or("{{input}}"),
    field("metadata", Any, "Its metadata."),
];

const LOAD_CONTENT: Table = &[field("content_version_id", Text, "Which version. A template.")];

const LOAD_CONTENT_ATTACHMENT: Table = &[field("attachment_key", Text, "Which attachment. A template.")];

const WRITE_CONTENT_ATTACHMENT: Table = &[
    field("attachment_key", Text, "Which attachment. A template."),
    field("content", Text, "What is written. A template."),
    field("content_type", Text, "Its content type. A template."),
    field("indexed", Flag, "Whether `retrieval` finds it, in the knowledge base `default`.").or("false"),
];

const WRITE_METADATA: Table = &[
    field("metadata_key", Filled, "The key. A template."),
    field("key", Filled, "The same as `metadata_key`. A template.").alias_of("metadata_key"),
    field("content", Any, "The value. A template."),
];

const PUBLISH_CONTENT: Table = &[
    field("key", Filled, "The key below `published/`; without it, one of the step run. A template."),
    field("content", Any, "The content. A template.").or("{{input}}"),
    field("content_type", Text, "Its media type. A template."),
];

const ADD_CHAT_TURN: Table = &[
    field("chat_id", Text, "The chat. A template."),
    field("role", Words(&["user", "assistant", "system"]), "Who speaks.").or("user"),
    field("content", Text, "The text of the turn. A template.").or("{{input}}"),
];

const LOAD_CHAT_HISTORY: Table =
    &[field("chat_id", Text, "The chat. A template."), field("limit", Int(1, 1_000), "The number of turns.").or("20")];

const ADD_MEMORY: Table = &[
    field("collection", Text, "The collection. A template.").or("default"),
    field("content", Text, "The text. A template.").or("{{input}}"),
    field("metadata", Map(&Any), "Facts about the entry; texts in it are templates."),
    field("key", Text, "The key; an entry with the same key is replaced. A template."),
];

const SEARCH_MEMORY: Table = &[
    field("collection", Text, "The collection. A template.").or("default"),
    field("query", Text, "The text whose words are searched for. A template.").or("{{input}}"),
    field("top_n", Int(1, 100), "The number of results.").or("10"),
];

const LOAD_MEMORY: Table = &[
    field("collection", Text, "The collection. A template.").or("default"),
    field("key", Text, "The key of the entry. A template."),
];

const WRITE_AWS_S3_OBJECT: Table = &[
    field("bucket", Text, "The bucket. A template."),
    field("key", Text, "The key of the object. A template."),
    field("content", Text, "The content. A template.").or("{{input}}"),
    field("content_type", Text, "Its media type. A template."),
];

const WAIT: Table = &[
    field("duration", Ref("wait_duration"), "How long. A template.").required(),
    field("until", Text, "Until which moment, ISO 8601. A template.").instead_of("duration"),
];

pub(super) static EFFECTS: &[StepType] = &[
    effect("prompt_call", Effect::Model, "Asks a model once; gives its text.", &[LIMITS, ATTACHED, PROMPT_CALL]),
    effect(
        "agent",
        Effect::Model,
        "Lets a model work with tools, turn by turn; gives its last reply.",
        &[LIMITS, ATTACHED, AGENT],
    ),
    effect(
        "evaluate_step",
        Effect::Model,
        "Lets a model rate the output of a step; gives `{score, passed, …}`.",
        &[ATTACHED, EVALUATE_STEP],
    ),
    effect("retrieval", Effect::Retrieval, "Searches a knowledge base; gives a JSON list.", &[RETRIEVAL]),
    effect("web_search", Effect::Search, "Searches the web.", &[WEB_SEARCH]),
    effect("web_fetch", Effect::Fetch, "Fetches a page.", &[WEB_FETCH]),
    effect("extract_data", Effect::Extract, "Extracts values from its input.", &[ATTACHED, EXTRACT_DATA]),
    effect("extract_content", Effect::Extract, "Extracts the content of its input.", &[EXTRACT_DATA]),
    effect("http", Effect::Http, "Sends an HTTP request; gives its body, `.status` and `.headers`.", &[HTTP]),
    effect("webhook_call", Effect::Webhook, "Calls a webhook; gives the response's text.", &[WEBHOOK_CALL]),
    effect(
        "command",
        Effect::Process,
        "Runs a program; gives its stdout, `.exit_code` and `.stderr`.",
        &[COMMAND, output_limit::FIELDS],
    ),
    effect("send_email", Effect::Mail, "Sends a mail; gives the delivery id.", &[SEND_EMAIL]),
    effect(
        "call_workflow",
        Effect::Run,
        "Runs another workflow; gives its output, and fails when it fails.",
        &[CALL_WORKFLOW],
    ),
    effect("call_agent", Effect::Run, "Runs an agent; gives its output, and fails when it fails.", &[CALL_AGENT]),
    effect("load_content", Effect::Files, "Loads content. Only with a content trigger.", &[LOAD_CONTENT]),
    effect(
        "load_content_attachment",
        Effect::Files,
        "Loads an attachment. Only with a content trigger.",
        &[LOAD_CONTENT_ATTACHMENT],
    ),
    effect(
        "write_content_attachment",
        Effect::Files,
        "Writes an attachment. Only with a content trigger.",
        &[WRITE_CONTENT_ATTACHMENT],
    ),
    effect(
        "write_metadata",
        Effect::Files,
        "Writes metadata of the content. Only with a content trigger.",
        &[WRITE_METADATA],
    ),
    effect(
        "publish_content",
        Effect::Files,
        "Publishes content; gives its `storage_key`. Only with a content trigger.",
        &[PUBLISH_CONTENT],
    ),
    effect("add_chat_turn", Effect::ChatHistory, "Appends a turn to a stored chat; gives its input.", &[ADD_CHAT_TURN]),
    effect(
        "load_chat_history",
        Effect::ChatHistory,
        "Loads the newest turns of a stored chat, oldest first.",
        &[LOAD_CHAT_HISTORY],
    ),
    effect("add_memory", Effect::Memory, "Adds an entry to a memory; gives its input.", &[ADD_MEMORY]),
    effect(
        "search_memory",
        Effect::Memory,
        "Searches a memory; gives a list of entries, best first.",
        &[SEARCH_MEMORY],
    ),
    effect("load_memory", Effect::Memory, "Loads an entry of a memory; gives null if there is none.", &[LOAD_MEMORY]),
    effect(
        "write_aws_s3_object",
        Effect::ObjectStore,
        "Writes an object; gives its bucket, key and size.",
        &[WRITE_AWS_S3_OBJECT],
    ),
    effect("wait", Effect::Scripted, "Waits; gives its input.", &[WAIT]),
];
