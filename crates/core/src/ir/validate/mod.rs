//! Validation of programs before they run. `advance` relies on these checks and does not repeat them.

mod ids;
mod loops;
mod meets;
mod settings;
mod slots;
mod structure;

use super::nesting::{Nesting, homes};
use super::{PlaceId, Program, ScopeId};

pub(crate) use ids::check_ids;

/// A defect of a program. Defects are errors of the front-end that built the program, not of the document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", .place.map_or_else(String::new, |place| format!("p{}: ", place.0)))]
pub struct Defect {
    /// The kind of defect.
    pub kind: DefectKind,
    /// The place of the defect, if it has one.
    pub place: Option<PlaceId>,
    /// A description in one sentence.
    pub message: String,
}

/// The kinds of defects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefectKind {
    /// A place was reserved and never defined.
    Undefined,
    /// A place or the start of a scope was defined twice.
    DefinedTwice,
    /// The start of a scope is not defined, or the root has no entries.
    NoEntries,
    /// A formula of the front-end does not compile, for example because it contains a part of the document that is too large.
    Formula,
    /// An expression calls a function that runs do not have.
    UnknownFunction,
    /// The program exceeds the size limit.
    TooLarge,
    /// An id does not exist.
    NoSuchId,
    /// A scope encloses itself, or is not inside the root.
    ScopeTree,
    /// A place can be reached in frames of two scopes.
    TwoScopes,
    /// A scope is entered outside of its parent.
    EnteredOutside,
    /// A scope is left at a place that it does not enclose.
    LeftOutside,
    /// The root has an exit of inner scopes, or an inner scope has an exit of the root.
    BadExit,
    /// The root has options that only inner scopes can have.
    RootGathers,
    /// A loop with an op that parks has no scope of its own, although a merge waits for a place after the loop.
    LoopWithoutScope,
    /// The tables of slots and scopes disagree.
    SlotHome,
    /// A slot is used outside of its scope.
    SlotNotAlive,
    /// A read-only slot is written.
    SlotReadOnly,
    /// An edge of a merge is not a slot of a frame, has a first value, or is not filled at its place.
    Edge,
    /// Merges wait for each other.
    MeetCycle,
    /// A number is out of range: `First(0)`, no attempts, no fuel, a share above 1.
    Number,
    /// A scope has two budgets, or the budget of the root has an exit.
    Budget,
    /// A fixed field of an effect is unknown or has an invalid value.
    Field,
    /// A wait has no arms.
    NoArms,
    /// Two signals, views or facts have the same name.
    NameTwice,
}

impl Defect {
    pub(super) fn new(kind: DefectKind, place: Option<PlaceId>, message: impl Into<String>) -> Self {
        Self { kind, place, message: message.into() }
    }
}

/// A valid but suspicious part of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The kind of warning.
    pub kind: WarningKind,
    /// The place.
    pub place: PlaceId,
    /// A description in one sentence.
    pub message: String,
}

/// The kinds of warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningKind {
    /// A cycle neither parks nor counts, so it may never end.
    Spins,
    /// The place is unreachable.
    Unreachable,
}

/// Checks a program. The error lists all defects of one stage, because later stages rely on earlier ones.
///
/// ```
/// use branchpoint_core::ir::{Program, builder::Builder, validate};
///
/// assert_eq!(validate(&Builder::sample()), Ok(vec![]));
/// assert!(validate(&Program::default()).is_err());
/// ```
pub fn validate(program: &Program) -> Result<Vec<Warning>, Vec<Defect>> {
    stage(check_ids(program))?;
    let homes = validate_named(program)?;
    Ok(loops::warnings(program, &homes))
}

/// Like [`validate`] without warnings, for a program with valid ids. Returns the scope in which each place runs.
pub(super) fn validate_named(program: &Program) -> Result<Vec<Option<ScopeId>>, Vec<Defect>> {
    stage(settings::check(program))?;
    let nesting = Nesting::new(program).map_err(|lost| structure::outside_the_root(&lost))?;
    let mut wrong = Vec::new();
    let homes = homes(program, |place, one, other| {
        let message = format!("the place can be reached in scope s{} and in scope s{}", one.0, other.0);
        wrong.push(Defect::new(DefectKind::TwoScopes, Some(place), message));
    });
    wrong.extend(structure::check(program, &nesting, &homes));
    stage(wrong)?;
    stage(slots::check(program, &nesting, &homes))?;
    stage(meets::check(program, &nesting, &homes))?;
    Ok(homes)
}

fn stage(wrong: Vec<Defect>) -> Result<(), Vec<Defect>> {
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}
