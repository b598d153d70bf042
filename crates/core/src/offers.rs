//! Queries of a run: the signals and votes that it accepts now, its status, and views.

use std::sync::Arc;

use branchpoint_expr::{EvalError, Value};

use crate::advance::{Clock, ScopeView};
use crate::ir::{Arm, Index, Op, Program, Status, ViewId};
use crate::request::Request;
use crate::state::{Parked, RequestNo, State, Strand, StrandNo};

/// A signal or vote that a run accepts now.
#[derive(Clone, Debug, PartialEq)]
pub enum Offer {
    /// A signal that a strand waits for.
    Signal {
        /// The name of the signal.
        name: Arc<str>,
        /// The strand that waits for the signal.
        strand: StrandNo,
    },
    /// A vote on a request to people.
    Vote {
        /// The number of the request.
        request: RequestNo,
        /// The request with its votes so far.
        details: Request,
    },
}

/// The signals and votes that a run accepts now. An approval screen shows this list.
///
/// ```
#[doc = include_str!("../docs/approval.txt")]
/// assert!(matches!(offers(&program, &state)[..], [Offer::Vote { .. }]));
/// ```
pub fn offers(program: &Program, state: &State) -> Vec<Offer> {
    let mut offers = Vec::new();
    for (no, strand) in &state.strands {
        let (Parked::Wait { .. }, Op::Wait { arms, .. }) = (&strand.parked, &program.place(strand.at).op) else {
            continue;
        };
        for arm in arms {
            if let Arm::Signal { signal, .. } = arm {
                let name = Arc::clone(&program.signals[signal.index()].name);
                offers.push(Offer::Signal { name, strand: *no });
            }
        }
    }
    let votes = state.requests.iter();
    offers.extend(votes.map(|(no, pending)| Offer::Vote { request: *no, details: pending.request.clone() }));
    offers
}

/// Whether a run accepts any signal or vote now. Unlike [`offers`], this builds no list.
fn waits_for_people(program: &Program, state: &State) -> bool {
    let waits = |strand: &Strand| match (&strand.parked, &program.place(strand.at).op) {
        (Parked::Wait { .. }, Op::Wait { arms, .. }) => arms.iter().any(|arm| matches!(arm, Arm::Signal { .. })),
        _ => false,
    };
    !state.requests.is_empty() || state.strands.values().any(waits)
}

/// The status of a run.
///
/// ```
#[doc = include_str!("../docs/waiting.txt")]
/// assert_eq!(status(&program, &state), Status::WaitingTimer);
/// ```
pub fn status(program: &Program, state: &State) -> Status {
    if let Some(ended) = &state.ended {
        return ended.status;
    }
    let working = !state.ready.is_empty() || state.effects.values().any(|effect| effect.backoff.is_none());
    if working {
        Status::Running
    } else if waits_for_people(program, state) {
        Status::WaitingPeople
    } else if !state.timers.is_empty() {
        Status::WaitingTimer
    } else {
        Status::Running
    }
}

/// Evaluates a view of a run, such as the list of tools that are allowed now, at the time of the newest event. A run that has ended
/// has no slots, only its result.
///
/// ```
/// use branchpoint_core::ir::{Program, ViewId};
/// use branchpoint_core::{State, view};
/// use branchpoint_expr::{EvalError, Value};
///
/// fn allowed_tools(program: &Program, state: &State) -> Result<Value, EvalError> {
///     view(program, state, ViewId(0))
/// }
/// ```
pub fn view(program: &Program, state: &State, id: ViewId) -> Result<Value, EvalError> {
    let clock = Clock::at(state.now_ms);
    let view = ScopeView {
        program,
        state,
        frame: state.root().unwrap_or(crate::state::FrameNo(0)),
        entry: 0,
        locals: &[],
        payload: &Value::Null,
        clock: &clock,
        readings: &std::collections::BTreeMap::new(),
        spent: None,
    };
    program.exprs[program.views[id.index()].value.index()].value(&view)
}
