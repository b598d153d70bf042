//! The cache of formulas of a front-end. A document has thousands of formulas, and most differ only in values and slots, so each text is
//! compiled once and copied for each use.

use std::collections::BTreeMap;

use branchpoint_expr::{Bind, Binding, Dialect, Fillable, Formula, Options, Problems, Value};

use super::super::SlotId;
use crate::functions::ENVIRONMENT;

/// Compiled formulas by text.
#[derive(Debug)]
pub(super) struct Formulas<T, Id> {
    texts: BTreeMap<Box<str>, Vec<CompiledFormula<T, Id>>>,
}

impl<T, Id> Default for Formulas<T, Id> {
    fn default() -> Self {
        Self { texts: BTreeMap::new() }
    }
}

/// A compiled formula, whose slots are the positions of its names.
#[derive(Debug)]
struct CompiledFormula<T, Id> {
    dialect: Dialect,
    names: Box<[Box<str>]>,
    /// The lists of names with which the formula was requested.
    requests: Vec<RequestedNames>,
    holes: Box<[Box<str>]>,
    formula: Formula<T>,
    /// The ids of formulas without constants, by slots.
    ids: BTreeMap<Box<[SlotId]>, Id>,
}

/// Names that a front-end passed, and the positions of the names that the text uses. Front-ends pass all their names, and searching the
/// text for each of them takes time.
#[derive(Debug)]
struct RequestedNames {
    names: Box<[Box<str>]>,
    used: Box<[usize]>,
}

/// A formula as written by a front-end.
#[derive(Clone, Copy)]
pub(super) struct Written<'w> {
    pub(super) text: &'w str,
    pub(super) dialect: Dialect,
    pub(super) slots: &'w [(&'w str, SlotId)],
    pub(super) constants: &'w [(&'w str, Value)],
}

impl<T: Fillable, Id: Copy> Formulas<T, Id> {
    /// The id of a formula; `push` appends a new one. A formula with a large part of a document may exceed the limits of expressions.
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
        if let Some(id) = compiled.ids.get(&*slots) {
            return Ok(*id);
        }
        let id = push(fill(&[]));
        compiled.ids.insert(slots.into(), id);
        Ok(id)
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
        Ok(Self { dialect, names, requests: Vec::new(), holes, formula, ids: BTreeMap::new() })
    }

    fn is(&self, written: Written<'_>) -> bool {
        self.dialect == written.dialect
            && written.holes().eq(self.holes.iter().map(|hole| &**hole))
            && (self.requests.iter().any(|requested| written.matches(requested))
                || written.named().map(|(_, name)| name).eq(self.names.iter().map(|name| &**name)))
    }

    /// The positions of the used names in the passed list.
    fn positions(&mut self, written: Written<'_>) -> &[usize] {
        let compiled = self.requests.iter().position(|requested| written.matches(requested));
        let compiled = compiled.unwrap_or_else(|| {
            let names = written.slots.iter().map(|(name, _)| (*name).into()).collect();
            self.requests.push(RequestedNames { names, used: written.named().map(|(position, _)| position).collect() });
            self.requests.len() - 1
        });
        &self.requests[compiled].used
    }
}

impl<'w> Written<'w> {
    /// The names of slots that the text may use, with their positions.
    fn named(self) -> impl Iterator<Item = (usize, &'w str)> {
        let names = self.slots.iter().map(|(name, _)| *name).enumerate();
        names.filter(move |(_, name)| self.text.contains(name))
    }

    fn matches(self, requested: &RequestedNames) -> bool {
        self.slots.iter().map(|(name, _)| *name).eq(requested.names.iter().map(|name| &**name))
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
