//! Frames open and close as one: who enters and leaves which scope where.

use super::super::nesting::Nesting;
use super::super::{Exit, Index, Op, PlaceId, Program, ScopeId};
use super::{Defect, DefectKind};

pub(super) fn outside_the_root(lost: &[ScopeId]) -> Vec<Defect> {
    let message = |scope: &ScopeId| match *scope {
        Program::ROOT => "the root lies in another scope".to_owned(),
        scope => format!("scope s{} encloses itself, or has no parent", scope.0),
    };
    lost.iter().map(|scope| Defect::new(DefectKind::ScopeTree, None, message(scope))).collect()
}

pub(super) fn check(program: &Program, nesting: &Nesting, homes: &[Option<ScopeId>]) -> Vec<Defect> {
    let mut wrong = Vec::new();
    for (id, place) in (0..).map(PlaceId).zip(&program.places) {
        let Some(home) = homes[id.index()] else { continue };
        let mut refuse = |kind, message: String| wrong.push(Defect::new(kind, Some(id), message));
        match &place.op {
            Op::Enter(scope) if program.scope(*scope).parent != Some(home) => {
                let message =
                    format!("this enters scope s{}, which does not lie directly in scope s{}", scope.0, home.0);
                refuse(DefectKind::EnteredOutside, message);
            }
            Op::Leave { scope, .. } if !nesting.encloses(*scope, home) => {
                let message = format!("this leaves scope s{}, which is not around scope s{}", scope.0, home.0);
                refuse(DefectKind::LeftOutside, message);
            }
            Op::Leave { scope: Program::ROOT, how: Exit::Goto(_) } => {
                refuse(DefectKind::BadExit, "nobody has entered the root, so nobody can go on outside it".into());
            }
            Op::Leave { scope, how: Exit::Close(_) } if *scope != Program::ROOT => {
                refuse(DefectKind::BadExit, format!("only the root closes a run, and this closes scope s{}", scope.0));
            }
            _ => {}
        }
    }
    wrong
}
