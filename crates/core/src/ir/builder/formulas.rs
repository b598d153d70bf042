//! The formulas of a front-end. A document has thousands of them, and few that differ in more than values and slots: each text
//! is compiled once, and copied for each use.

use std::collections::BTreeMap;

use branchpoint_expr::{Bind, Binding, Dialect, Fillable, Formula, Options, Problems, Value};

use super::super::SlotId;
use crate::functions::ENVIRONMENT;

/// What was compiled so far, by text.
#[derive(Debug)]
pub(super) struct Formulas<T, Id> {
    texts: BTreeMap<Box<str>, Vec<CompiledFormula<T, Id>>>,
}

impl<T, Id> Default for Formulas<T, Id> {
    fn default() -> Self {
        Self { texts: BTreeMap::new() }
    }
}

/// A text with the names that it was compiled with, over slots that are the positions of these names.
#[derive(Debug)]
struct CompiledFormula<T, Id> {
    dialect: Dialect,
    names: Box<[Box<str>]>,
    /// The lists of names that it was asked for with.
    given: Vec<Given>,
    holes: Box<[Box<str>]>,
    formula: Formula<T>,
    /// The same text over the same slots is the same expression, unless values of the document differ.
    made: BTreeMap<Box<[SlotId]>, Id>,
}

/// Names that a front-end gave, and where among them those of the text stand: it gives all that it has, and to look for each
/// of them in the text takes time.
#[derive(Debug)]
struct Given {
    names: Box<[Box<str>]>,
    used: Box<[usize]>,
}

/// A formula as a front-end writes it.
#[derive(Clone, Copy)]
pub(super) struct Written<'w> {
    pub(super) text: &'w str,
    pub(super) dialect: Dialect,
    pub(super) slots: &'w [(&'w str, SlotId)],
    pub(super) constants: &'w [(&'w str, Value)],
}

impl<T: Fillable, Id: Copy> Formulas<T, Id> {
    /// The number of a formula; `push` appends one that is not there yet. A formula that holds much of a document may have more
    /// parts than an expression can.
    pub(super) fn number(
        &mut self,
        written: Written<'_>,
        compile: impl FnOnce(&str, Options<'_>) -> Result<T, Problems>,
        push: impl FnOnce(T) -> Id,
    ) -> Result<Id, Problems> {
        let compiled = self.compiled(written, compile)?;
        let slots: Vec<SlotId> =
            compiled.positions(written).iter().map(|position| written.slots[*position].1).collect();
        let fill = |values: &[Value]| compiled.formula.fill_over(values, |position| slots[position as usize].0);
        if !written.constants.is_empty() {
            let values: Vec<Value> = written.constants.iter().map(|(_, value)| value.clone()).collect();
            return Ok(push(fill(&values)));
        }
        if let Some(made) = compiled.made.get(&*slots) {
            return Ok(*made);
        }
        let made = push(fill(&[]));
        compiled.made.insert(slots.into(), made);
        Ok(made)
    }

    fn compiled(
        &mut self,
        written: Written<'_>,
        compile: impl FnOnce(&str, Options<'_>) -> Result<T, Problems>,
    ) -> Result<&mut CompiledFormula<T, Id>, Problems> {
        let same = self.texts.entry(written.text.into()).or_default();
        let position = if let Some(position) = same.iter().position(|compiled| compiled.is(written)) {
            position
        } else {
            same.push(CompiledFormula::new(written, compile)?);
            same.len() - 1
        };
        Ok(&mut same[position])
    }
}

impl<T: Fillable, Id> CompiledFormula<T, Id> {
    fn new(
        written: Written<'_>,
        compile: impl FnOnce(&str, Options<'_>) -> Result<T, Problems>,
    ) -> Result<Self, Problems> {
        let Written { text, dialect, .. } = written;
        let holes: Vec<&str> = written.holes().collect();
        let names: Box<[Box<str>]> = written.named().map(|(_, name)| name.into()).collect();
        let positions = Positions { names: &names };
        let formula = Formula::compile(
            text,
            Options::dialect(dialect).bound(&positions).environment(&ENVIRONMENT).generated(),
            &holes,
            compile,
        )?;
        let holes = holes.into_iter().map(Into::into).collect();
        Ok(Self { dialect, names, given: Vec::new(), holes, formula, made: BTreeMap::new() })
    }

    fn is(&self, written: Written<'_>) -> bool {
        self.dialect == written.dialect
            && written.holes().eq(self.holes.iter().map(|hole| &**hole))
            && (self.given.iter().any(|given| written.gives(given))
                || written.named().map(|(_, name)| name).eq(self.names.iter().map(|name| &**name)))
    }

    /// Where its names stand among those that are given.
    fn positions(&mut self, written: Written<'_>) -> &[usize] {
        let compiled = self.given.iter().position(|given| written.gives(given));
        let compiled = compiled.unwrap_or_else(|| {
            let names = written.slots.iter().map(|(name, _)| (*name).into()).collect();
            self.given.push(Given { names, used: written.named().map(|(position, _)| position).collect() });
            self.given.len() - 1
        });
        &self.given[compiled].used
    }
}

impl<'w> Written<'w> {
    /// The names of slots that it may read, with their positions: those that the text does not hold make no difference.
    fn named(self) -> impl Iterator<Item = (usize, &'w str)> {
        let names = self.slots.iter().map(|(name, _)| *name).enumerate();
        names.filter(move |(_, name)| self.text.contains(name))
    }

    fn gives(self, given: &Given) -> bool {
        self.slots.iter().map(|(name, _)| *name).eq(given.names.iter().map(|name| &**name))
    }

    fn holes(self) -> impl Iterator<Item = &'w str> {
        self.constants.iter().map(|(name, _)| *name)
    }
}

/// The names of a formula, bound to their positions.
struct Positions<'b> {
    names: &'b [Box<str>],
}

impl Bind for Positions<'_> {
    fn bind(&self, path: &[&str]) -> Option<Binding> {
        let root = path.first()?;
        let position = self.names.iter().position(|name| **name == **root)?;
        Some(Binding { slot: super::count(position), parts: 1 })
    }
}
