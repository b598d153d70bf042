//! The workflows that people start from.

use branchpoint_expr::Dialect;

/// A workflow to start from, with what a run of it without models and people needs.
pub(crate) struct Template {
    pub(crate) name: &'static str,
    pub(crate) dialect: Dialect,
    pub(crate) about: &'static str,
    pub(crate) text: &'static str,
    /// The answers to its calls.
    pub(crate) script: &'static str,
    pub(crate) inputs: &'static str,
}

/// Reads the files of a template.
macro_rules! template {
    ($name:literal, $dialect:ident, $inputs:literal, $about:literal) => {
        Template {
            name: $name,
            dialect: Dialect::$dialect,
            about: $about,
            text: include_str!(concat!("templates/", $name, ".yaml")),
            script: include_str!(concat!("templates/", $name, ".script.yaml")),
            inputs: include_str!(concat!("templates/", $name, $inputs)),
        }
    };
}

pub(crate) static TEMPLATES: [Template; 9] = [
    template!("hello", Steps, ".inputs.json", "two steps without outside calls"),
    template!("approval", Steps, ".inputs.json", "a draft that people must approve"),
    template!("route", Steps, ".inputs.json", "one of several branches, chosen by a model"),
    template!("loop", Steps, ".inputs.json", "the same work for each item of a list"),
    template!("quality", Steps, ".inputs.json", "retries until the result is good enough"),
    template!("flow", Flow, ".inputs.json", "variables, a model call and a condition"),
    template!("machine", Machine, ".inputs.json", "commands and an agent in a loop"),
    template!("graph", Graph, ".inputs.json", "agents and an approval as nodes"),
    template!("session", Session, ".inputs.txt", "tools that an agent may use, step by step"),
];

impl Template {
    /// The end of the name of the file with its inputs: the lines of a conversation are text.
    pub(crate) fn inputs_ending(&self) -> &'static str {
        if self.dialect == Dialect::Session { "inputs.txt" } else { "inputs.json" }
    }

    /// The arguments that run it.
    pub(crate) fn command(&self, stem: &str, file: &str, with_script: bool) -> String {
        match (self.dialect, with_script) {
            (Dialect::Session, true) => format!("chat {file} --script {stem}.script.yaml < {stem}.inputs.txt"),
            (Dialect::Session, false) => format!("session {file}"),
            (_, true) => format!("run {file} --script {stem}.script.yaml -i @{stem}.inputs.json"),
            (_, false) => format!("check {file}"),
        }
    }
}
