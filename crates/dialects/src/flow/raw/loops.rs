//! Loops: over numbers, over a list, while a condition holds.

use std::sync::Arc;

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Kind, Located};

use super::fields::{COMMON, Config};
use super::steps::Place;
use super::{Reading, Step, Test, What};

/// A loop.
#[derive(Debug)]
pub(in super::super) struct Loop<'d> {
    pub(in super::super) rounds: Rounds<'d>,
    /// After how many rounds it ends with a warning.
    pub(in super::super) most: Option<&'d Located>,
    /// Whether a round that fails fails the loop.
    pub(in super::super) fails: bool,
    pub(in super::super) blocks: Vec<Step<'d>>,
}

/// What a loop goes by.
#[derive(Debug)]
pub(in super::super) enum Rounds<'d> {
    For { from: &'d Located, to: &'d Located, step: Option<&'d Located>, counter: Arc<str> },
    Each { items: &'d Located, item: Arc<str>, index: Option<Arc<str>> },
    While(Test<'d>),
}

impl Reading {
    pub(super) fn repeat<'d>(&mut self, config: Config<'d>, at: Place<'_>) -> What<'d> {
        self.required(config, "loopType");
        let rounds = match self.word(config, "loopType", &["for", "forEach", "while"]) {
            Some("for") => self.counted(config),
            Some("forEach") => self.each(config),
            Some("while") => self.repeated_while(config),
            _ => None,
        };
        self.required(config, "loopBlocks");
        let blocks = self.blocks(config, "loopBlocks", at);
        let fails = self.word(config, "on_error", &["continue", "fail"]) == Some("fail");
        match rounds {
            Some(rounds) => What::Loop(Loop { rounds, most: config.get("maxIterations"), fails, blocks }),
            None => What::Refused(blocks),
        }
    }

    fn counted<'d>(&mut self, config: Config<'d>) -> Option<Rounds<'d>> {
        self.loop_keys(config, &["startValue", "endValue", "stepValue", "counterVariable"]);
        let (from, to) = (self.required(config, "startValue"), self.required(config, "endValue"));
        let counter = self.loop_variable(config, "counterVariable");
        Some(Rounds::For {
            from: from?,
            to: to?,
            step: config.get("stepValue"),
            counter: counter.unwrap_or_else(unnamed),
        })
    }

    fn each<'d>(&mut self, config: Config<'d>) -> Option<Rounds<'d>> {
        self.loop_keys(config, &["iterableVariable", "itemVariable", "indexVariable"]);
        let items = self.required(config, "iterableVariable");
        let item = self.loop_variable(config, "itemVariable");
        let index = self.identifier(config, "indexVariable");
        if let (Some(item), Some(name), Some(located)) = (&item, &index, config.get("indexVariable"))
            && item == name
        {
            let message = "the item and its index cannot have one name";
            self.error(Kind::InvalidConfig, located.span, message, "rename one of them");
        }
        Some(Rounds::Each { items: items?, item: item.unwrap_or_else(unnamed), index })
    }

    fn repeated_while<'d>(&mut self, config: Config<'d>) -> Option<Rounds<'d>> {
        self.loop_keys(config, &["condition", "if"]);
        self.condition(config).map(Rounds::While)
    }

    fn loop_variable(&mut self, config: Config<'_>, key: &str) -> Option<Arc<str>> {
        self.required(config, key)?;
        self.identifier(config, key)
    }

    fn loop_keys(&mut self, config: Config<'_>, of_type: &[&'static str]) {
        self.unknown_keys(
            config.located,
            &[&COMMON, &["loopType", "loopBlocks", "maxIterations", "on_error"], of_type],
        );
    }
}

/// The name of a variable that was refused: with it, the rest of the loop is looked at all the same.
fn unnamed() -> Arc<str> {
    "".into()
}
