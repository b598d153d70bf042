//! The step types and their fields, the source of checks, effects and the schema.

mod control;
mod effects;

use branchpoint_core::effect::Kind as EffectKind;
use branchpoint_expr::Kind;

use Family::Effect;

use super::cron::is_cron;
use super::policy::Action;
use super::raw::is_id;
use crate::DocumentKinds as _;
use crate::fields::Type::{
    Any, Duration, Either, Entries, Filled, Form, Int, List, Map, Number, Object, Own, Ref, Several, Text, Words,
};
use crate::fields::{Content, Field, MAX, Style, TEXTS, Table, Type, Unknown, field};

/// A type of step.
#[derive(Debug)]
pub(super) struct StepType {
    pub(super) name: &'static str,
    pub(super) family: Family,
    /// The description, in one line.
    pub(super) about: &'static str,
    /// Its own fields, without those of every step.
    pub(super) fields: &'static [Table],
}

/// The family of a type of step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// It calls this kind of runner.
    Effect(EffectKind),
    /// It computes a value.
    Pure,
    /// It decides what runs.
    Control,
}

/// All types of steps.
pub(super) fn types() -> impl Iterator<Item = &'static StepType> + Clone {
    effects::EFFECTS.iter().chain(control::CONTROL)
}

pub(super) const STYLE: Style =
    Style { missing: Kind::MissingField, missing_at_start: false, ..Style::of(Kind::BadField) };

/// A list of steps. The tree of steps is built before fields are checked.
const CHAIN: Type = Own(&List(&Ref("step")));
const BODY: Type = Entries(&Ref("step"));
const ID: Type = Form("^[a-zA-Z0-9_-]+$", is_id, "an id: letters, digits, `_` and `-`");

pub(super) const DOCUMENT: Table = &[
    field("name", Text, "The name of the workflow."),
    field("description", Text, "What it is for."),
    field("tags", TEXTS, "Words to find it by.").or("[]"),
    field("trigger", Object(&[TRIGGER]), "What starts a run.").or(r#"{"type":"dynamic_input"}"#),
    field("input_content_type", Text, "The content type of the input, such as text/plain. A template."),
    field("limits", Ref("limits"), crate::run_limits::ABOUT),
    field("inputs", Ref("inputs"), "The inputs of a run: `input`, or `metadata.` and a path."),
    POLICIES,
    BUDGET,
    ON_BUDGET,
    field("steps", Own(&BODY), "The steps, one after the other.").required(),
    field("child_steps", Own(&BODY), "The same as `steps`.").alias_of("steps"),
    field("change_id", Any, "Belongs to a stored workflow."),
];

const TRIGGERS: &[&str] = &["dynamic_input", "template_input", "schedule", "new_content", "email_received"];

pub(super) const TRIGGER: Table = &[
    field("type", Words(TRIGGERS), "The kind of trigger.").or("dynamic_input"),
    field(
        "cron",
        Form(CRON, is_cron, "a cron expression of five fields"),
        "`schedule`: minute, hour, day of month, month, day of week.",
    )
    .kind(Kind::BadSchedule),
    field("every", Duration, "`schedule`: the time between two runs, at least 1m.")
        .instead_of("cron")
        .kind(Kind::BadSchedule),
    field("timezone", Text, "`schedule`: the IANA time zone of `cron`.").or("UTC").kind(Kind::BadSchedule),
    field("input", Any, "`schedule` and `template_input`: the input of the runs."),
    field("metadata", Map(&Any), "`schedule` and `template_input`: the metadata of the runs."),
    field("mailbox", Filled, "`email_received`: the mailbox; any of the host if absent."),
    field("from", Several(&Filled), "`email_received`: the senders, `name@host` or `*@host`; any if absent."),
    field("source", Filled, "`new_content`: the content source; any if absent."),
    field("on", Words(&["added", "updated", "added_or_updated"]), "`new_content`: what starts a run.")
        .or("added_or_updated"),
];

/// The fields of each type of trigger, beside `type`.
pub(super) fn trigger_fields(kind: &str) -> &'static [&'static str] {
    match kind {
        "template_input" => &["input", "metadata"],
        "schedule" => &["cron", "every", "timezone", "input", "metadata"],
        "email_received" => &["mailbox", "from"],
        "new_content" => &["source", "on"],
        _ => &[],
    }
}

const CRON: &str = r"^\s*\S+(\s+\S+){4}\s*$";

/// Fields of every step.
pub(super) const COMMON: Table = &[
    field("step_type", Own(&Ref("step_type")), "What the step does.").required(),
    field("id", Own(&ID), "Names the step; unique in the document. `step_<n>` if absent."),
    field("name", Text, "A label, without effect."),
    field("purpose", Text, "A description, without effect."),
    field("child_steps", CHAIN, "Steps that get the output of this step."),
    field("steps", CHAIN, "The same as `child_steps`.").alias_of("child_steps"),
    POLICIES,
    BUDGET,
    ON_BUDGET,
];

const POLICIES: Field = field("policies", List(&Object(&[RULE])), "Rules for the values of the steps that they cover.")
    .kind(Kind::BadPolicy)
    .content(Content::Fixed);

const BUDGET: Field = field("budget", Object(&[LIMITS]), "What the calls inside may use; at least one limit.")
    .kind(Kind::BadBudget)
    .content(Content::Fixed);
const ON_BUDGET: Field = field("on_budget", Own(&BODY), "What runs when the budget is used up; a failure if absent.");

/// The limits of a budget.
const LIMITS: Table = &[
    field("tokens", Int(1, MAX), "Tokens."),
    field("cost_usd", Number(super::budget::LEAST_USD, super::budget::MOST_USD), "Cost, in US dollars."),
    field("time", Duration, "Time, without waiting for people."),
];

/// A policy.
const RULE: Table = &[
    field("name", ID, "Its name, in traces and errors.").required(),
    field("on", Words(&["input", "output"]), "The value that it is evaluated over.").required(),
    field("if", Own(&Ref("if")), "When it applies: a condition, in which `input` is the value."),
    field("judge", Filled, "When it applies: a model rates how well this describes the value. A template.")
        .instead_of("if"),
    field("model", Text, "The model of `judge`; absent or `default` is the host's.").or("default"),
    field("then", Words(Action::WORDS), "What happens when it applies.").required(),
    field("message", Text, "The reason, for people."),
    field("mask", Filled, "`mask`: a regular expression; each match becomes `***`."),
];

const TIMEOUT: Table =
    &[field("timeout", Duration, "How long an attempt may take; of loops and `parallel`, the whole step.")
        .kind(Kind::BadDuration)
        .content(Content::Fixed)];
const RETRY: Table = &[field("retry", Object(&[POLICY]), "How a failed attempt is repeated.")
    .kind(Kind::BadRetryPolicy)
    .content(Content::Fixed)];
const ON_ERROR: Table =
    &[field("on_error", Own(&Either(&[Words(&["fail", "continue"]), BODY])), "What happens when the step fails.")
        .or("fail")];
const OUTPUT_SCHEMA: Table =
    &[field("output_schema", Own(&Ref("json_schema")), "A JSON Schema that the output must satisfy.")];

const POLICY: Table = &[
    field("max_attempts", Int(1, 20), "Attempts, the first included.").required(),
    field("delay", Duration, "The first wait.").kind(Kind::BadDuration),
    field("backoff", Number(1.0, f64::MAX), "How waits grow.").or("1"),
    field("max_delay", Duration, "The longest wait.").or("1h").kind(Kind::BadDuration),
];

/// A deprecated name of a type, the current one, and the field value that the deprecated one implies.
type DeprecatedName = (&'static str, &'static str, Option<(&'static str, &'static str)>);

const DEPRECATED: [DeprecatedName; 8] = [
    ("promptcall", "prompt_call", None),
    ("transform", "regex_replace", None),
    ("combinator", "merge", None),
    ("insight", "extract_data", None),
    ("extract_json", "extract_content", Some(("expected_format", "json"))),
    ("extract_html", "extract_content", Some(("expected_format", "html"))),
    ("extract_xml", "extract_content", Some(("expected_format", "xml"))),
    ("write_memory", "add_memory", None),
];

/// Names in other systems of the types.
const SIMILAR: &[(&str, &[&str])] = &[
    ("command", &["shell", "bash", "sh", "exec", "script", "run", "cmd", "run_command", "runCommand", "process"]),
    ("prompt_call", &["llm", "model", "prompt", "chat", "completion", "generate", "ai", "llm_call", "llmInstruction"]),
    ("text", &["template", "print", "echo", "set", "format", "output_text", "log"]),
    ("human_in_the_loop", &["approval", "approve", "human", "ask", "hitl", "review", "confirm", "input"]),
    ("if_else", &["if", "condition", "branch", "decision"]),
    ("switch", &["case", "route", "router", "match"]),
    ("for_each", &["foreach", "for", "loop", "map", "each"]),
    ("while", &["until", "repeat", "do_while"]),
    ("http", &["request", "api", "rest", "api_call", "apiCall", "fetch", "http_request", "curl"]),
    ("webhook_call", &["webhook"]),
    ("send_email", &["email", "mail", "smtp"]),
    ("wait", &["sleep", "delay", "pause", "timer"]),
    ("web_search", &["search", "google"]),
    ("display_result", &["result", "output", "display", "show", "return", "end", "finish"]),
    ("call_workflow", &["workflow", "subworkflow", "sub_workflow", "call", "subflow"]),
    ("regex_replace", &["replace", "regex", "substitute"]),
    ("extract_data", &["extract", "parse", "jsonpath"]),
];

/// The help for a type without a similar name.
pub(super) const COMMON_TYPES: &str = "common step types: prompt_call, agent, command, http, text, if_else, switch, for_each, \
     while, parallel, gate, human_in_the_loop, display_result; docs/spec/steps.md lists all in section 3";

/// The type for a name in other systems.
pub(super) fn similar(name: &str) -> Option<&'static str> {
    SIMILAR.iter().find(|(_, names)| names.iter().any(|other| name.eq_ignore_ascii_case(other))).map(|(ty, _)| *ty)
}

/// The type of a current or deprecated name.
pub(super) fn find(name: &str) -> Option<&'static StepType> {
    let newer = current_name(name).unwrap_or(name);
    types().find(|known| known.name == newer)
}

/// The current name for a deprecated one.
pub(super) fn current_name(name: &str) -> Option<&'static str> {
    DEPRECATED.iter().find(|(current_name, ..)| *current_name == name).map(|(_, newer, _)| *newer)
}

/// The field value that a deprecated name implies.
pub(super) fn implied(name: &str) -> Option<(&'static str, &'static str)> {
    DEPRECATED.iter().find(|(current_name, ..)| *current_name == name).and_then(|(.., implied)| *implied)
}

impl StepType {
    pub(super) fn is_effect(&self) -> bool {
        matches!(self.family, Effect(_))
    }

    /// It ends its line, so it has no children.
    pub(super) fn is_leaf(&self) -> bool {
        ["display_result", "streaming_result", "join", "retry"].contains(&self.name)
    }

    /// It shows the run's output.
    pub(super) fn shows(&self) -> bool {
        ["display_result", "streaming_result"].contains(&self.name)
    }

    /// It chooses one of its arms.
    pub(super) fn branches(&self) -> bool {
        ["if_else", "conditional", "switch"].contains(&self.name)
    }

    /// Its `child_steps` are a chain; those of every other step fan out.
    pub(super) fn has_chain_below(&self) -> bool {
        self.branches() || ["for_each", "while", "parallel", "human_in_the_loop"].contains(&self.name)
    }

    /// An error in it must not choose a branch, so it has no handler.
    pub(super) fn refuses_on_error(&self) -> bool {
        self.branches() || self.is_leaf() || self.name == "gate"
    }

    /// Which of the fields `timeout`, `retry`, `on_error`, `output_schema` it has.
    pub(super) fn guards(&self) -> &'static [Table] {
        match (self.family, self.name) {
            (Effect(_), "wait") => &[TIMEOUT, ON_ERROR],
            (Effect(_), _) => &[TIMEOUT, RETRY, ON_ERROR, OUTPUT_SCHEMA],
            (_, "for_each" | "while" | "parallel") => &[TIMEOUT, ON_ERROR],
            _ => &[ON_ERROR],
        }
    }

    /// All its fields.
    pub(super) fn tables(&self) -> Vec<Table> {
        [&[COMMON], self.guards(), self.fields].concat()
    }

    /// The style of its fields. Runners may support more fields than Branchpoint.
    pub(super) fn style(&self) -> Style {
        let has_runner = self.is_effect() && self.name != "wait";
        let unknown = if has_runner { Unknown::Similar } else { Unknown::All };
        Style { has_placeholders: self.is_effect(), unknown, ..STYLE }
    }

    /// Its own field of that name.
    pub(super) fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().flat_map(|table| table.iter()).find(|field| field.name == name)
    }
}

/// The deprecated names of types.
pub(super) fn deprecated_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    DEPRECATED.into_iter().map(|(current_name, newer, _)| (current_name, newer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alias_names_a_field_of_its_type_and_every_older_name_a_type() {
        for kind in types() {
            for newer in kind.fields.iter().flat_map(|table| table.iter()).filter_map(|field| field.replaces) {
                assert!(kind.field(newer).is_some(), "{}.{newer}", kind.name);
            }
        }
        for (current_name, newer, _) in DEPRECATED {
            assert!(types().any(|kind| kind.name == newer), "{current_name}");
        }
    }
}
