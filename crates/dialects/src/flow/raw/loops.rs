//! Loops: over numbers, over a list, while a condition holds.

use std::sync::Arc;

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Kind, Located};

use super::steps::Place;
use super::tables::{COMMON, LOOP, LOOPS};
use super::{Reading, Step, StepKind, Test};
use crate::fields::{Access, Unknown};

/// A loop.
#[derive(Debug)]
pub(in super::super) struct Loop<'d> {
    pub(in super::super) rounds: Rounds<'d>,
    /// The number of rounds after which it ends with a warning.
    pub(in super::super) most: Option<&'d Located>,
    /// Whether a round that fails fails the loop.
    pub(in super::super) fails: bool,
    pub(in super::super) blocks: Vec<Step<'d>>,
}

/// The kind of a loop.
#[derive(Debug)]
pub(in super::super) enum Rounds<'d> {
    For { from: &'d Located, to: &'d Located, step: Option<&'d Located>, counter: Arc<str> },
    Each { items: &'d Located, item: Arc<str>, index: Option<Arc<str>> },
    While(Test<'d>),
}

impl Reading {
    pub(super) fn repeat<'d>(&mut self, config: &'d Located, at: Place<'_>) -> StepKind<'d> {
        let ty = config.str("loopType").map_or("", |ty| ty);
        let mut tables = vec![COMMON, LOOP];
        tables.extend(LOOPS.iter().filter(|(name, _)| *name == ty).map(|(_, table)| *table));
        let mut check = self.check_config();
        if tables.len() == 2 {
            check.style.unknown = Unknown::None;
        }
        check.object(at.config(), config, &tables);
        let rounds = match ty {
            "for" => Rounds::counted(config),
            "forEach" => self.each(config),
            "while" => Test::read(config).map(Rounds::While),
            _ => None,
        };
        let blocks = self.blocks(config, "loopBlocks", at);
        let fails = config.word("on_error") == "fail";
        match rounds {
            Some(rounds) => StepKind::Loop(Loop { rounds, most: config.given("maxIterations"), fails, blocks }),
            None => StepKind::Refused(blocks),
        }
    }

    fn each<'d>(&mut self, config: &'d Located) -> Option<Rounds<'d>> {
        let (item, index) = (config.str("itemVariable"), config.str("indexVariable"));
        if let Some(located) = config.given("indexVariable").filter(|_| item == index) {
            let message = "`itemVariable` and `indexVariable` must differ";
            self.error(Kind::InvalidConfig, located.span, message, "rename one of them");
        }
        let items = config.given("iterableVariable")?;
        Some(Rounds::Each { items, item: item.cloned().unwrap_or_default(), index: index.cloned() })
    }
}

impl<'d> Rounds<'d> {
    /// A missing variable name was reported; an empty one lets the rest of the loop be checked.
    fn counted(config: &'d Located) -> Option<Self> {
        let (from, to, step) = (config.given("startValue")?, config.given("endValue")?, config.given("stepValue"));
        Some(Self::For { from, to, step, counter: config.str("counterVariable").cloned().unwrap_or_default() })
    }
}
