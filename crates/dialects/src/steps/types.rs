//! The step types and their fields: one table, from which documents are checked and effects are made.

use branchpoint_core::effect::Kind;

use Family::{Control, Effect, Pure};
use Field::{
    Alias, Boolean, Command, Condition, Integer, Json, List, Number, Object, Plain, Required, Rule, Text, Value,
};

/// A type of step.
#[derive(Debug)]
pub(super) struct StepType {
    pub(super) name: &'static str,
    pub(super) family: Family,
    /// Its own fields; what every step has is not among them.
    pub(super) fields: &'static [(&'static str, Field)],
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// It asks this kind of runner.
    Effect(Kind),
    /// It makes a value of values.
    Pure,
    /// It decides what runs.
    Control,
}

/// What a field takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    /// A text with placeholders.
    Text,
    /// As `Text`; the step is nothing without it.
    Required,
    /// A text without placeholders.
    Plain,
    /// A shell command with placeholders.
    Command,
    /// Any value; texts in it may have placeholders.
    Value,
    /// The same; a text that is JSON is that value, so that nothing which is put into its texts can break out of them.
    Json,
    /// A list; texts in it may have placeholders.
    List,
    /// An object; texts in it may have placeholders.
    Object,
    /// `true` or `false`.
    Boolean,
    /// Any number.
    Number,
    /// A whole number from the first to the last.
    Integer(i64, i64),
    /// A condition in any spelling.
    Condition,
    /// An older name of another field.
    Alias(&'static str),
    /// Rules of its own look at it: lists of steps, conditions of the step, and whatever has a code of its own.
    Rule,
}

const ANY: i64 = i64::MAX;

const fn effect(name: &'static str, kind: Kind, fields: &'static [(&'static str, Field)]) -> StepType {
    StepType { name, family: Effect(kind), fields }
}

const fn pure(name: &'static str, fields: &'static [(&'static str, Field)]) -> StepType {
    StepType { name, family: Pure, fields }
}

const fn control(name: &'static str, fields: &'static [(&'static str, Field)]) -> StepType {
    StepType { name, family: Control, fields }
}

pub(super) static TYPES: &[StepType] = &[
    effect(
        "prompt_call",
        Kind::Model,
        &[
            ("model", Text),
            ("model_variant", Text),
            ("prompt_template", Text),
            ("system_template", Text),
            ("temperature", Number),
            ("max_tokens", Integer(1, ANY)),
            ("simple_format", Boolean),
            ("json_template", Json),
            ("tools", Value),
            ("max_turns", Integer(1, ANY)),
            ("token_budget", Integer(1, ANY)),
            ("cost_budget_micros", Integer(1, ANY)),
            ("sequential", Boolean),
        ],
    ),
    effect(
        "agent",
        Kind::Model,
        &[
            ("model", Text),
            ("system", Text),
            ("prompt", Text),
            ("temperature", Number),
            ("max_tokens", Integer(1, ANY)),
            ("tools", Value),
            ("max_turns", Integer(1, ANY)),
            ("token_budget", Integer(1, ANY)),
            ("cost_budget_micros", Integer(1, ANY)),
            ("sequential", Boolean),
            ("stop_when", Condition),
        ],
    ),
    effect(
        "evaluate_step",
        Kind::Model,
        &[
            ("target_step_id", Plain),
            ("evaluation_prompt", Text),
            ("pass_threshold", Number),
            ("evaluation_tier", Text),
            ("expectation_config", Value),
        ],
    ),
    effect(
        "retrieval",
        Kind::Retrieval,
        &[
            ("knowledge_base_id", Text),
            ("query", Text),
            ("top_n", Integer(1, 100)),
            ("top_k", Integer(1, ANY)),
            ("reranker_model", Text),
            ("filter", Object),
            ("added_after", Text),
            ("added_before", Text),
            ("include_attachments", Boolean),
        ],
    ),
    effect("web_search", Kind::Search, &[("query", Text), ("limit", Integer(1, ANY))]),
    effect("web_fetch", Kind::Fetch, &[("url", Text)]),
    effect("extract_data", Kind::Extract, &[("expected_format", Text), ("path", Text)]),
    effect("extract_content", Kind::Extract, &[("expected_format", Text), ("path", Text)]),
    effect(
        "http",
        Kind::Http,
        &[
            ("method", Text),
            ("url", Required),
            ("headers", Object),
            ("query", Object),
            ("body", Value),
            ("expect_status", Rule),
        ],
    ),
    effect(
        "webhook_call",
        Kind::Webhook,
        &[("url", Required), ("method", Text), ("content_type", Text), ("headers", Object), ("payload", Value)],
    ),
    effect(
        "command",
        Kind::Process,
        &[
            ("command", Command),
            ("argv", List),
            ("cwd", Text),
            ("env", Object),
            ("stdin", Text),
            ("max_output", Rule),
            ("truncate", Rule),
        ],
    ),
    effect(
        "send_email",
        Kind::Mail,
        &[
            ("to", Value),
            ("recipient", Alias("to")),
            ("subject", Text),
            ("html_body", Text),
            ("text_body", Text),
            ("template", Alias("text_body")),
        ],
    ),
    effect("call_workflow", Kind::Run, &[("workflow", Plain), ("input", Value), ("metadata", Value)]),
    effect("call_agent", Kind::Run, &[("agent", Plain), ("agent_id", Alias("agent")), ("input", Value)]),
    effect("load_content", Kind::Files, &[("content_version_id", Text)]),
    effect("load_content_attachment", Kind::Files, &[("attachment_key", Text)]),
    effect(
        "write_content_attachment",
        Kind::Files,
        &[("attachment_key", Text), ("content", Text), ("content_type", Text), ("indexed", Boolean)],
    ),
    effect("write_metadata", Kind::Files, &[("metadata_key", Text), ("content", Value)]),
    effect("publish_content", Kind::Files, &[]),
    effect("add_chat_turn", Kind::ChatHistory, &[("chat_id", Text), ("role", Text), ("content", Text)]),
    effect("load_chat_history", Kind::ChatHistory, &[("chat_id", Text), ("limit", Integer(1, 1_000))]),
    effect("add_memory", Kind::Memory, &[("collection", Text), ("content", Text), ("metadata", Object), ("key", Text)]),
    effect("search_memory", Kind::Memory, &[("collection", Text), ("query", Text), ("top_n", Integer(1, 100))]),
    effect("load_memory", Kind::Memory, &[("collection", Text), ("key", Text)]),
    effect(
        "write_aws_s3_object",
        Kind::ObjectStore,
        &[("bucket", Text), ("key", Text), ("content", Text), ("content_type", Text)],
    ),
    effect("wait", Kind::Scripted, &[("duration", Rule), ("until", Text)]),
    pure("text", &[("template", Text)]),
    pure("regex_replace", &[("rules", Rule)]),
    pure("merge", &[("template", Text)]),
    pure("display_result", &[("template", Text), ("html_format", Boolean)]),
    pure("streaming_result", &[]),
    control(
        "if_else",
        &[
            ("conditions", Rule),
            ("match", Rule),
            ("if", Rule),
            ("input_template", Text),
            ("then_steps", Rule),
            ("else_steps", Rule),
        ],
    ),
    control(
        "conditional",
        &[("if", Rule), ("conditions", Rule), ("match", Rule), ("then", Rule), ("elif", Rule), ("else", Rule)],
    ),
    control("switch", &[("discriminator", Text), ("value_type", Rule), ("cases", Rule), ("else_steps", Rule)]),
    control(
        "for_each",
        &[
            ("input_template", Text),
            ("offset", Rule),
            ("limit", Rule),
            ("parallel", Boolean),
            ("max_concurrency", Integer(1, 1_000_000)),
            ("fail_fast", Boolean),
            ("fail_on_empty", Boolean),
            ("iterate_attachments", Boolean),
            ("attachment_rules", Rule),
            ("attachments", Rule),
            ("body", Rule),
        ],
    ),
    control(
        "while",
        &[
            ("conditions", Rule),
            ("match", Rule),
            ("if", Rule),
            ("body", Rule),
            ("max_iterations", Rule),
            ("on_limit", Rule),
        ],
    ),
    control(
        "parallel",
        &[("branches", Rule), ("wait", Rule), ("fail_fast", Boolean), ("max_concurrency", Integer(1, 1_000_000))],
    ),
    control("gate", &[("conditions", Rule), ("match", Rule), ("if", Rule), ("on_match", Rule)]),
    control("join", &[("target", Rule)]),
    control("retry", &[("target_step_id", Rule), ("max_retries", Rule)]),
    control(
        "human_in_the_loop",
        &[
            ("prompt_template", Text),
            ("prompt", Alias("prompt_template")),
            ("recipient_distribution", Rule),
            ("recipient_user_ids", Rule),
            ("choices", Rule),
            ("required_approvals", Rule),
            ("timeout_seconds", Rule),
            ("timeout_outcome", Rule),
            ("reminder_interval_seconds", Rule),
            ("reminder_max_count", Rule),
        ],
    ),
];

/// An older name of a type, the newer one, and what the older one says about a field.
type Older = (&'static str, &'static str, Option<(&'static str, &'static str)>);

const OLDER: [Older; 8] = [
    ("promptcall", "prompt_call", None),
    ("transform", "regex_replace", None),
    ("combinator", "merge", None),
    ("insight", "extract_data", None),
    ("extract_json", "extract_content", Some(("expected_format", "json"))),
    ("extract_html", "extract_content", Some(("expected_format", "html"))),
    ("extract_xml", "extract_content", Some(("expected_format", "xml"))),
    ("write_memory", "add_memory", None),
];

/// Keys that every step has.
pub(super) const COMMON: [&str; 6] = ["step_type", "id", "name", "purpose", "child_steps", "steps"];

/// The type of a name, and the newer name of an older one.
pub(super) fn find(name: &str) -> Option<&'static StepType> {
    let newer = older(name).unwrap_or(name);
    TYPES.iter().find(|known| known.name == newer)
}

/// The newer name of an older one.
pub(super) fn older(name: &str) -> Option<&'static str> {
    OLDER.iter().find(|(older, ..)| *older == name).map(|(_, newer, _)| *newer)
}

/// What an older name of a type says about a field.
pub(super) fn implied(name: &str) -> Option<(&'static str, &'static str)> {
    OLDER.iter().find(|(older, ..)| *older == name).and_then(|(.., implied)| *implied)
}

impl StepType {
    pub(super) fn is_effect(&self) -> bool {
        matches!(self.family, Effect(_))
    }

    /// It ends its line: nothing stands below it.
    pub(super) fn is_leaf(&self) -> bool {
        ["display_result", "streaming_result", "join", "retry"].contains(&self.name)
    }

    /// It shows the run's output.
    pub(super) fn shows(&self) -> bool {
        ["display_result", "streaming_result"].contains(&self.name)
    }

    /// It picks one of its arms.
    pub(super) fn branches(&self) -> bool {
        ["if_else", "conditional", "switch"].contains(&self.name)
    }

    /// Its `child_steps` are a chain; those of every other step fan out.
    pub(super) fn has_chain_below(&self) -> bool {
        self.branches() || ["for_each", "while", "parallel", "human_in_the_loop"].contains(&self.name)
    }

    /// An error in it must not pick a branch, so nothing handles it here.
    pub(super) fn refuses_on_error(&self) -> bool {
        self.branches() || self.is_leaf() || self.name == "gate"
    }

    /// Which of the keys `timeout`, `retry`, `on_error`, `output_schema` it takes.
    pub(super) fn guards(&self) -> &'static [&'static str] {
        match (self.family, self.name) {
            (Effect(_), "wait") => &["timeout", "on_error"],
            (Effect(_), _) => &["timeout", "retry", "on_error", "output_schema"],
            (_, "for_each" | "while" | "parallel") => &["timeout", "on_error"],
            _ if self.refuses_on_error() => &[],
            _ => &["on_error"],
        }
    }

    /// What a field of that name takes.
    pub(super) fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
    }
}

/// Whether a field takes no placeholders, because it is part of how the call is made and not of its request.
pub(super) fn is_fixed(name: &str) -> bool {
    ["pass_threshold", "simple_format"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alias_names_a_field_of_its_type_and_every_older_name_a_type() {
        for kind in TYPES {
            for (name, field) in kind.fields {
                if let Alias(newer) = field {
                    assert!(kind.field(newer).is_some(), "{}.{name}", kind.name);
                }
            }
        }
        for (older, newer, _) in OLDER {
            assert!(TYPES.iter().any(|kind| kind.name == newer), "{older}");
        }
    }
}
