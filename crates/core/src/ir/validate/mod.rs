//! What every program is held to before it runs. Whatever passes here, `advance` can run without looking twice.

mod ids;
mod loops;
mod meets;
mod settings;
mod slots;
mod structure;

use super::nesting::{Nesting, homes};
use super::{PlaceId, Program, ScopeId};

pub(crate) use ids::check_ids;

/// Something that is wrong with a program: a defect of the front-end that made it, never of a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", .place.map_or_else(String::new, |place| format!("p{}: ", place.0)))]
pub struct Defect {
    /// What kind of defect.
    pub kind: DefectKind,
    /// Where, if it is at a place.
    pub place: Option<PlaceId>,
    /// One sentence.
    pub message: String,
}

/// The kinds of defects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefectKind {
    /// A place was reserved and never defined.
    Undefined,
    /// A place or the start of a scope was defined twice.
    DefinedTwice,
    /// Nothing was said about how a scope begins, or the root has no beginning.
    NoEntries,
    /// A formula of the front-end that does not compile: it may hold more of a document than an expression can.
    Formula,
    /// An expression calls a function that runs do not have.
    UnknownFunction,
    /// More than a program may have.
    TooLarge,
    /// A number that names nothing.
    NoSuchId,
    /// A scope that encloses itself, or that the root does not enclose.
    ScopeTree,
    /// A place that can be reached in frames of two scopes.
    TwoScopes,
    /// A scope that is entered elsewhere than in its parent.
    EnteredOutside,
    /// A scope that is left where it is not open.
    LeftOutside,
    /// The root is closed like an inner scope, or an inner scope like the root.
    BadExit,
    /// The root wants what only a scope that is entered can have.
    RootGathers,
    /// A loop around something that parks, in the scope of a merge that waits for what comes after the loop.
    LoopWithoutScope,
    /// The tables of slots and scopes disagree.
    SlotHome,
    /// A slot that is not alive where it is used.
    SlotNotAlive,
    /// A slot that nobody can write.
    SlotReadOnly,
    /// An edge of a merge that is no frame slot, has a first value, or is not filled where it says.
    Edge,
    /// Merges that wait for each other.
    MeetCycle,
    /// A number that makes no sense: `First(0)`, no attempts, no fuel, a share above 1.
    Number,
    /// A fixed field of an effect that its request does not have, or that has a value it cannot have.
    Field,
    /// A wait that nothing can end.
    NoArms,
    /// Two signals, two views or two facts of one name.
    NameTwice,
}

impl Defect {
    pub(super) fn new(kind: DefectKind, place: Option<PlaceId>, message: impl Into<String>) -> Self {
        Self { kind, place, message: message.into() }
    }
}

/// Something that is allowed and yet hardly meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What.
    pub kind: WarningKind,
    /// Where.
    pub place: PlaceId,
    /// One sentence.
    pub message: String,
}

/// The kinds of warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningKind {
    /// A cycle that neither parks nor counts: it may go on for ever, bounded only by fuel.
    Spins,
    /// Nothing leads there.
    Unreachable,
}

/// Checks a program. The error lists all defects of one stage; a later stage relies on what the earlier ones have proved.
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

/// As [`validate`] without its warnings, for a program whose numbers were found to name something already. Tells where each
/// place runs.
pub(super) fn validate_named(program: &Program) -> Result<Vec<Option<ScopeId>>, Vec<Defect>> {
    stage(settings::check(program))?;
    let nesting = Nesting::new(program).map_err(|lost| structure::outside_the_root(&lost))?;
    let mut wrong = Vec::new();
    let homes = homes(program, |place, one, other| {
        let message = format!("this can be reached in scope s{} and in scope s{}", one.0, other.0);
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
