//! Variables: their declaration and their assignment.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_expr::{Kind, Located};

use super::Reading;
use super::tables::{ASSIGNED_TYPES, DECLARED_TYPES};
use crate::DocumentKinds as _;
use crate::fields::Access;

/// A variable that a flow declares.
#[derive(Debug)]
pub(in super::super) struct Declaration<'d> {
    pub(in super::super) path: Vec<Arc<str>>,
    pub(in super::super) ty: &'static str,
    /// Its value without an input.
    pub(in super::super) default: Option<&'d Located>,
    /// Whether it is an input of the person who starts the run; then it always exists.
    pub(in super::super) is_user_input: bool,
}

/// One assignment of a step.
#[derive(Debug)]
pub(in super::super) struct Assignment<'d> {
    pub(in super::super) path: Vec<Arc<str>>,
    pub(in super::super) ty: &'static str,
    pub(in super::super) value: &'d Located,
}

impl Reading {
    pub(super) fn declarations<'d>(&mut self, config: &'d Located) -> Vec<Declaration<'d>> {
        let mut names = BTreeSet::new();
        for name in config.list("variables").iter().filter_map(|entry| entry.get("name")) {
            if name.text().is_some_and(|text| !names.insert(text)) {
                let message = "this variable is declared already";
                self.error(Kind::DuplicateVariable, name.span, message, "declare each variable once");
            }
        }
        let read = |entry: &'d Located| {
            let is_user_input = entry.str("source").is_none_or(|source| &**source == "user_input");
            let ty = known_type(entry, DECLARED_TYPES)?;
            Some(Declaration { path: path(entry)?, ty, default: entry.get("value"), is_user_input })
        };
        config.list("variables").iter().filter_map(read).collect()
    }
}

impl<'d> Assignment<'d> {
    pub(super) fn read_all(config: &'d Located) -> Vec<Self> {
        let read = |entry: &'d Located| {
            let ty = known_type(entry, ASSIGNED_TYPES)?;
            Some(Self { path: path(entry)?, ty, value: entry.get("value")? })
        };
        config.list("variables").iter().filter_map(read).collect()
    }
}

/// The type of an entry, by default the first known one; none if it was reported.
fn known_type(entry: &Located, known: &'static [&'static str]) -> Option<&'static str> {
    let written = entry.given("type").map_or(Some(known[0]), |ty| ty.text().map(|ty| &**ty))?;
    known.iter().copied().find(|ty| *ty == written)
}

/// The parts of the name of a variable.
fn path(entry: &Located) -> Option<Vec<Arc<str>>> {
    Some(entry.str("name")?.split('.').map(Arc::from).collect())
}
