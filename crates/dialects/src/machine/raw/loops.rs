//! Loops: as types of states, and as a block in a state.

use branchpoint_expr::{Kind, Located};

use super::tables::{COMPLETE, EACH, LOOP_BLOCK, LOOP_TYPE, ROUNDS, STATE, TYPE, WHILE};
use super::{Findings, Guard, Text};
use crate::fields::{Access, Path, Table};

use crate::DocumentKinds as _;

#[derive(Debug)]
pub(in crate::machine) struct Loop {
    pub(in crate::machine) over: Repetition,
    pub(in crate::machine) body: Vec<Text>,
    pub(in crate::machine) max_iterations: Option<Text>,
    pub(in crate::machine) break_when: Option<Guard>,
    pub(in crate::machine) on_complete: Option<Text>,
}

/// The kind of a loop.
#[derive(Debug)]
pub(in crate::machine) enum Repetition {
    Each(Option<Items>),
    While(Option<Guard>),
}

/// The items of a loop: a list, or a text that becomes one.
#[derive(Debug)]
pub(in crate::machine) struct Items(pub(in crate::machine) Located);

impl Loop {
    /// Reads a loop. `is_while` is from the type of the state, if it has one.
    pub(super) fn read(path: Path<'_>, state: &Located, is_while: Option<bool>, findings: &mut Findings) -> Self {
        let mut check = findings.check();
        let Some(block) = state.given("loop") else {
            let is_while = is_while.unwrap_or(true);
            check.object(path, state, &[TYPE, STATE, LOOP_BLOCK, COMPLETE, rounds(is_while), ROUNDS]);
            return Self::body(state, is_while);
        };
        check.misplaced = Some((vec![EACH, WHILE, ROUNDS], "loop"));
        check.object(path, state, &[TYPE, STATE, LOOP_BLOCK, COMPLETE]);
        let path = Path::Key(&path, "loop");
        let by_block = block.given("type").map(|_| block.word("type") == "while");
        // Without a type, the fields show the kind of the loop.
        let by_type = by_block.or(is_while).unwrap_or(block.given("items").is_none());
        check.object(path, block, &[LOOP_TYPE, COMPLETE, rounds(by_type), ROUNDS]);
        if by_block.or(is_while).is_none() {
            check.missing(block, &format!("{path}.type"), None, "add `type: while` or `type: for_each`");
        }
        if is_while.is_some_and(|is_while| is_while != by_type) {
            let message = format!("`{path}.type` and the type of the state name different loops");
            check.error(Kind::Conflict, block.span, message, "remove one of the types");
        }
        let mut read = Self::body(block, by_type);
        if let Some(on_complete) = state.filled("on_complete") {
            if read.on_complete.is_some() {
                let message = format!("`{path}.on_complete` and `on_complete` of the state exclude each other");
                check.error(Kind::Conflict, on_complete.span(), message, "keep one of them");
            }
            read.on_complete = Some(on_complete);
        }
        read
    }

    fn body(object: &Located, is_while: bool) -> Self {
        let items = || object.given("items").map(|items| Text::of(items).map_or_else(|| items.clone(), |text| text.0));
        let over = if is_while {
            Repetition::While(Guard::of(object, ["while", "condition", "if"]))
        } else {
            Repetition::Each(items().map(Items))
        };
        Self {
            over,
            body: object.texts("body").unwrap_or_default(),
            max_iterations: object.filled("max_iterations").filter(|most| most.text().trim() != "0"),
            break_when: object.text_at("break_when").map(|text| Guard(text.0)),
            on_complete: object.filled("on_complete"),
        }
    }
}

fn rounds(is_while: bool) -> Table {
    if is_while { WHILE } else { EACH }
}
