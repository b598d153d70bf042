//! Checks of where scopes are entered and left.

use super::super::nesting::Nesting;
use super::super::{Exit, Index, Op, PlaceId, Program, ScopeId};
use super::{Defect, DefectKind};

pub(super) fn outside_the_root(scopes: &[ScopeId]) -> Vec<Defect> {
    let message = |scope: &ScopeId| match *scope {
        Program::ROOT => "the root is inside another scope".to_owned(),
        scope => format!("scope s{} encloses itself, or has no parent", scope.0),
    };
    scopes.iter().map(|scope| Defect::new(DefectKind::ScopeTree, None, message(scope))).collect()
}

pub(super) fn check(program: &Program, nesting: &Nesting, homes: &[Option<ScopeId>]) -> Vec<Defect> {
    let mut wrong = Vec::new();
    for (id, place) in (0..).map(PlaceId).zip(&program.places) {
        let Some(home) = homes[id.index()] else { continue };
        let mut reject = |kind, message: String| wrong.push(Defect::new(kind, Some(id), message));
        match &place.op {
            Op::Enter(scope) if program.scope(*scope).parent != Some(home) => {
                let message = format!("the place enters scope s{}, whose parent is not scope s{}", scope.0, home.0);
                reject(DefectKind::EnteredOutside, message);
            }
            Op::Leave { scope, .. } if !nesting.encloses(*scope, home) => {
                let message = format!("the place leaves scope s{}, which does not enclose scope s{}", scope.0, home.0);
                reject(DefectKind::LeftOutside, message);
            }
            Op::Leave { scope: Program::ROOT, how: Exit::Goto(_) } => {
                reject(DefectKind::BadExit, "the root cannot be left by a jump, because no strand entered it".into());
            }
            Op::Leave { scope, how: Exit::Close(_) } if *scope != Program::ROOT => {
                reject(
                    DefectKind::BadExit,
                    format!("only the root can close a run, but the place closes scope s{}", scope.0),
                );
            }
            _ => {}
        }
    }
    wrong
}
