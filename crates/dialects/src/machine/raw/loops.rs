//! Loops: as types of states, and as a block in a state.

use branchpoint_expr::{Expression, Kind, Located, Options};

use super::kinds::only_in_block;
use super::{Fields, Findings, Guard, Text};

use crate::DocumentKinds as _;

#[derive(Debug)]
pub(in crate::machine) struct Loop {
    pub(in crate::machine) over: Times,
    pub(in crate::machine) body: Vec<Text>,
    pub(in crate::machine) max_iterations: Option<Text>,
    pub(in crate::machine) break_when: Option<Guard>,
    pub(in crate::machine) on_complete: Option<Text>,
}

/// How often a loop goes round.
#[derive(Debug)]
pub(in crate::machine) enum Times {
    Each(Option<Items>),
    While(Option<Guard>),
}

/// What a loop goes over: a list, or a text that becomes one.
#[derive(Debug)]
pub(in crate::machine) struct Items(pub(in crate::machine) Located);

impl Loop {
    /// `is_while` is what the state's type says, if it has one.
    pub(super) fn read(state: &mut Fields<'_>, is_while: Option<bool>, found: &mut Findings) -> Self {
        let Some(mut block) = state.object("loop", found) else {
            return Self::body(state, is_while.unwrap_or(true), found);
        };
        let keys = ["items", "while", "condition", "body", "max_iterations", "break_when"];
        only_in_block(state, &keys, "loop", found);
        let words = [("while", true), ("for_each", false)];
        if !block.has("type") && is_while.is_none() {
            block.missing("type", found);
        }
        let said = block.word("type", &words, found);
        if let (Some(said), Some(is_while)) = (said, is_while)
            && said != is_while
        {
            let message = format!("`{}` says another loop than the type of the state", block.path("type"));
            found.error(Kind::Conflict, block.span, message);
        }
        // Without a word, what it goes over shows which loop was meant.
        let is_while = said.or(is_while).unwrap_or(!block.has("items"));
        let mut read = Self::body(&mut block, is_while, found);
        block.finish(found);
        if let Some(on_complete) = state.filled("on_complete", found) {
            if read.on_complete.is_some() {
                let message = format!("`{}` is said in the block already", state.path("on_complete"));
                found.error(Kind::Conflict, on_complete.span(), message);
            }
            read.on_complete = Some(on_complete);
        }
        read
    }

    fn body(fields: &mut Fields<'_>, is_while: bool, found: &mut Findings) -> Self {
        let over = if is_while {
            let guard = Guard::of(fields, "while", "condition", found);
            if guard.is_none() && !["while", "condition", "if"].iter().any(|key| fields.has(key)) {
                fields.missing("while", found);
            }
            Times::While(guard)
        } else {
            Times::Each(items(fields, found))
        };
        if !fields.has("body") {
            fields.missing("body", found);
        }
        let body = fields.texts("body", found);
        if body.as_ref().is_some_and(Vec::is_empty) {
            fields.missing("body", found);
        }
        Self {
            over,
            body: body.unwrap_or_default(),
            max_iterations: max_iterations(fields, found),
            break_when: fields.text("break_when", found).map(|text| Guard(text.0)),
            on_complete: fields.filled("on_complete", found),
        }
    }
}

fn items(fields: &mut Fields<'_>, found: &mut Findings) -> Option<Items> {
    let Some(items) = fields.take("items") else {
        fields.missing("items", found);
        return None;
    };
    if items.items().is_some() {
        return Some(Items(items.clone()));
    }
    let text = Text::of(items);
    if text.is_none() {
        fields.bad("items", items, "a list or a text", found);
    }
    text.map(|text| Items(text.0))
}

/// An integer from 0 to 10000, of which 0 says nothing, or a template or expression for one.
fn max_iterations(fields: &mut Fields<'_>, found: &mut Findings) -> Option<Text> {
    const MOST: i64 = 10_000;
    const WANTED: &str = "a whole number from 0 to 10000, or a template for one";
    let written = fields.said("max_iterations")?;
    let Some(text) = Text::of(written) else {
        fields.bad("max_iterations", written, WANTED, found);
        return None;
    };
    if text.text().contains("{{") {
        return Some(text);
    }
    let arithmetic = || {
        let compiled = Expression::compile(text.text(), Options::default());
        written.text().is_some() && compiled.is_ok_and(|compiled| compiled.references().is_empty())
    };
    match text.text().trim().parse::<i64>() {
        Ok(0) => None,
        Ok(1..=MOST) => Some(text),
        Err(_) if arithmetic() => Some(text),
        _ => {
            fields.bad("max_iterations", written, WANTED, found);
            None
        }
    }
}
