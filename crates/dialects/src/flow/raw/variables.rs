//! Variables: their declaration and their assignment.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Kind, Located};

use super::fields::{COMMON, Config};
use super::{Reading, start_of};

use crate::DocumentKinds as _;

const DECLARED_TYPES: [&str; 6] = ["string", "number", "boolean", "array", "object", "null"];
const ASSIGNED_TYPES: [&str; 7] = ["auto", "string", "number", "boolean", "datetime", "array", "object"];
const SOURCES: [&str; 3] = ["user_input", "system", "node_output"];

/// A variable that a flow declares.
#[derive(Debug)]
pub(in super::super) struct Declaration<'d> {
    pub(in super::super) path: Vec<Arc<str>>,
    pub(in super::super) ty: &'static str,
    /// What it holds when no input is given.
    pub(in super::super) default: Option<&'d Located>,
    /// Whether the person who starts the run is asked for it; then it exists in any case.
    pub(in super::super) asked: bool,
}

/// One assignment of a step.
#[derive(Debug)]
pub(in super::super) struct Assignment<'d> {
    pub(in super::super) path: Vec<Arc<str>>,
    pub(in super::super) ty: &'static str,
    pub(in super::super) value: &'d Located,
}

impl Reading {
    pub(super) fn declarations<'d>(&mut self, config: Config<'d>) -> Option<Vec<Declaration<'d>>> {
        let entries = self.entries(config)?;
        let mut names = BTreeSet::new();
        let read = entries.iter().filter_map(|entry| {
            let located = self.entry(entry, &["name", "type", "value", "description", "source"])?;
            let path = self.path(located);
            if let Some(name) = located.get("name").filter(|_| path.is_some())
                && !names.insert(name.text().cloned())
            {
                let message = "this variable is declared already";
                self.error(Kind::DuplicateVariable, name.span, message, "declare each variable once");
            }
            self.optional_text(located, "description");
            let ty = self.ty_of(located, &DECLARED_TYPES, "string");
            let source = self.word(located, "source", &SOURCES);
            let asked = source.is_none_or(|source| source == "user_input");
            Some(Declaration { path: path?, ty: ty?, default: located.located.get("value"), asked })
        });
        Some(read.collect())
    }

    pub(super) fn assignments<'d>(&mut self, config: Config<'d>) -> Option<Vec<Assignment<'d>>> {
        let entries = self.entries(config)?;
        let read = entries.iter().filter_map(|entry| {
            let located = self.entry(entry, &["name", "value", "type"])?;
            let path = self.path(located);
            let ty = self.ty_of(located, &ASSIGNED_TYPES, "auto");
            let value = located.located.get("value");
            if value.is_none() {
                let message = "an assignment needs a `value`";
                self.error(Kind::InvalidConfig, start_of(entry), message, "write \"value\": null to set it to null");
            }
            Some(Assignment { path: path?, ty: ty?, value: value? })
        });
        Some(read.collect())
    }

    fn entries<'d>(&mut self, config: Config<'d>) -> Option<&'d [Located]> {
        self.unknown_keys(config.located, &[&COMMON, &["variables"]]);
        let list = self.required(config, "variables")?;
        if list.items().is_none() {
            self.odd(list, "`variables` is a list", "put the variables in square brackets");
        }
        list.items()
    }

    fn entry<'d>(&mut self, entry: &'d Located, known: &[&'static str]) -> Option<Config<'d>> {
        if !entry.is_object() {
            self.odd(entry, "a variable is an object", "write {\"name\": …, \"value\": …}");
            return None;
        }
        self.unknown_keys(entry, &[known]);
        Some(Config { located: entry })
    }

    /// The name of a variable; dots lead into objects.
    fn path(&mut self, entry: Config<'_>) -> Option<Vec<Arc<str>>> {
        let Some(name) = entry.get("name") else {
            self.error(
                Kind::InvalidConfig,
                start_of(entry.located),
                "a variable needs a `name`",
                "add \"name\": \"…\"",
            );
            return None;
        };
        let path: Option<Vec<Arc<str>>> = name.text().map(|text| text.split('.').map(Arc::from).collect());
        let path = path.filter(|path| path.iter().all(|part| !part.trim().is_empty()));
        if path.is_none() {
            self.error(
                Kind::InvalidConfig,
                name.span,
                "this is no name of a variable",
                "a name is text, and dots in it stand between parts that are not blank",
            );
        }
        path
    }

    fn ty_of(&mut self, entry: Config<'_>, known: &[&'static str], default: &'static str) -> Option<&'static str> {
        match entry.get("type") {
            None => Some(default),
            Some(_) => self.word(entry, "type", known),
        }
    }
}
