//! Continues a run on a changed program: replays what was recorded into the new program, with the functions that run it.
//!
//! Every event of the journal is handed to the new program at its time. Results are found by the step, the iteration path, the count
//! and the attempt of their call, because the numbers of effects differ between programs. Timers are those of the new program. Nothing
//! is performed: the outcome is a journal of the new program, or the first difference.

mod calls;
mod replay;
mod same_future;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use branchpoint_expr::Value;
use serde::{Deserialize, Serialize};

use crate::fold::{JournalRow, Pending};
use crate::ir::{Effect, Program, Status};
use crate::state::State;
use calls::{Recorded, join};
use replay::Replay;

/// Two programs, and what the host knows that a replay needs.
pub struct Revision<'r> {
    /// The program that the run has.
    pub old: &'r Program,
    /// The program on which it continues.
    pub new: &'r Program,
    /// The offsets of time zones at a time.
    pub offsets_s: &'r Offsets,
    /// A fact that the new program needs and that the start of the run does not have.
    pub fact: &'r dyn Fn(&str) -> Value,
    /// Whether a call of a child run means the same program in both: its result was computed by the old one.
    pub has_same_child: &'r dyn Fn(&Effect, &Value) -> bool,
}

/// The offsets from UTC of time zones at a time, in seconds.
pub type Offsets = dyn Fn(&[Arc<str>], i64) -> Vec<i32>;

/// A run on its new program.
#[derive(Debug)]
pub struct Continued {
    /// The journal of the run on the new program.
    pub rows: Vec<JournalRow>,
    /// Its state.
    pub state: State,
    /// Its pending effects and requests.
    pub pending: Pending,
    /// The pending calls of the old run at that point.
    pub in_flight: Vec<CallName>,
    /// The pending calls of the new run that were not recorded.
    pub new_calls: Vec<(CallName, Value)>,
    /// The approvals that people must answer again, with the number of their votes, which are void.
    pub void_votes: Vec<(CallName, usize)>,
    /// The steps that the old run and the new one wait at.
    pub waiting: [BTreeSet<WaitingStep>; 2],
    /// The largest number that the old run has assigned.
    last_no: u64,
}

/// A call or an approval of a run, in words that both programs share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallName {
    /// The step.
    pub step: Arc<str>,
    /// The positions of the enclosing items, outermost first.
    pub path: Vec<u32>,
    /// Its number among the calls of the step at this position, counted from 1.
    pub count: u32,
}

/// A step at which a run waits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaitingStep {
    /// The step.
    pub step: Arc<str>,
    /// The positions of the enclosing items, outermost first.
    pub path: Vec<u32>,
    /// Whether it waits for people; otherwise it waits for a time.
    pub for_people: bool,
}

/// Why a run cannot continue on a changed program: the first difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The call, approval or signal at which the histories differ.
    pub at: CallName,
    /// How they differ.
    pub cause: Cause,
}

/// How the recorded history and that of the new program differ. Values are JSON texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Cause {
    /// The new program makes the call with another request.
    OtherRequest {
        /// The fields of the request that differ: name, recorded value, new value.
        fields: Vec<(String, String, String)>,
    },
    /// The new program does not make a call whose result is recorded.
    NotCalled {
        /// The call that it makes instead, if any.
        instead: Option<CallName>,
    },
    /// The call has a recorded result, but the called workflow has changed.
    OtherChild,
    /// The call was made and abandoned, and the new program waits for it.
    Abandoned,
    /// The approval was answered, but it has changed, or what follows it has, so people must answer again.
    OpenAgain,
    /// The new program does not accept a recorded signal.
    Signal {
        /// Why.
        rejected: String,
    },
    /// The new program rejects the start.
    Start {
        /// Why.
        rejected: String,
    },
    /// The recorded journal cannot be folded.
    Journal {
        /// Why.
        message: String,
    },
    /// The new program executes many more operations than the old one, and the replay was stopped.
    TooLong,
    /// The run has already moved between programs in a way that cannot be replayed.
    Unsupported,
    /// The run would perform a call that is not recorded.
    NewCall,
    /// The run would end.
    Ended {
        /// Its final status.
        status: String,
    },
    /// The run would wait at other steps.
    OtherWait {
        /// Where the run waits.
        old: Vec<String>,
        /// Where it would wait.
        new: Vec<String>,
    },
    /// Calls of the run are in flight.
    InFlight,
}

/// Replays a journal into a changed program, up to the end of the rows.
///
/// ```
/// use branchpoint_core::ir::builder::Builder;
/// use branchpoint_core::{Event, Revision, Stamp, State, advance, continue_on};
/// use branchpoint_expr::Value;
///
/// let program = Builder::sample();
/// let start = Event::start("hello");
/// let check = advance(&program, &mut State::new(), &Stamp::default(), start.clone()).unwrap().check;
/// let revision = Revision {
///     old: &program,
///     new: &program,
///     offsets_s: &|_, _| Vec::new(),
///     fact: &|_| Value::Null,
///     has_same_child: &|_, _| true,
/// };
/// let continued = continue_on(&revision, vec![(Stamp::default(), start, check)]).unwrap();
/// assert!(continued.state.result().is_some());
/// ```
///
/// # Errors
///
/// The first difference, if a recorded result or signal does not fit.
pub fn continue_on(revision: &Revision<'_>, journal: Vec<JournalRow>) -> Result<Continued, Difference> {
    let recorded = Recorded::read(revision.old, journal)?;
    Replay::new(revision, &recorded).run()
}

impl Continued {
    /// Why the run cannot continue at this point in place of the old one, if it cannot: it must wait at the same steps, with nothing
    /// new to perform.
    pub fn migration_problem(&self) -> Option<Difference> {
        let nowhere = || CallName { step: "".into(), path: Vec::new(), count: 0 };
        let difference = |at: CallName, cause| Some(Difference { at, cause });
        if let Some((call, _)) = self.new_calls.first() {
            return difference(call.clone(), Cause::NewCall);
        }
        if let Some(call) = self.in_flight.first() {
            return difference(call.clone(), Cause::InFlight);
        }
        if let Some((status, _)) = self.state.result() {
            return difference(nowhere(), Cause::Ended { status: status.as_str().to_owned() });
        }
        let [old, new] = &self.waiting;
        if old != new || old.is_empty() {
            let names = |steps: &BTreeSet<WaitingStep>| steps.iter().map(ToString::to_string).collect();
            return difference(nowhere(), Cause::OtherWait { old: names(old), new: names(new) });
        }
        None
    }

    /// Makes sure that new calls have other numbers than all calls of the old run, for a run that keeps its id: appends an event that
    /// skips the numbers.
    pub fn skip_numbers(&mut self, program: &Program, now_ms: i64) {
        let adopted = crate::advance::with_numbers_after(&self.state, self.last_no);
        let Some((last, _, _)) = self.rows.last().filter(|_| adopted.last_no > self.state.last_no) else { return };
        let stamp = crate::Stamp { now_ms: now_ms.max(self.state.now_ms), ..last.clone() };
        let event = crate::Event::Adopt(Box::new(adopted));
        let outcome = crate::advance(program, &mut self.state, &stamp, event.clone());
        let outcome = outcome.expect("a run that has not ended can skip numbers");
        self.rows.push((stamp, event, outcome.check));
    }
}

impl Difference {
    /// The same with other texts of values, for a host that removes secrets from them.
    #[must_use]
    pub fn with_values(mut self, change: impl Fn(&str) -> String) -> Self {
        if let Cause::OtherRequest { fields } = &mut self.cause {
            for (_, old, new) in fields {
                (*old, *new) = (change(old), change(new));
            }
        }
        self
    }
}

impl fmt::Display for CallName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.step)?;
        if !self.path.is_empty() {
            write!(f, " (iteration {})", join(&self.path))?;
        }
        if self.count > 1 { write!(f, ", call {}", self.count) } else { Ok(()) }
    }
}

impl fmt::Display for WaitingStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.step)?;
        if self.path.is_empty() { Ok(()) } else { write!(f, " (iteration {})", join(&self.path)) }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = &self.at;
        match &self.cause {
            Cause::OtherRequest { fields } => {
                write!(f, "step {at} was called with another request than the new version makes:")?;
                let mut separator = " ";
                for (name, old, new) in fields {
                    write!(f, "{separator}`{name}` was {old} and would be {new}")?;
                    separator = "; ";
                }
                Ok(())
            }
            Cause::NotCalled { instead: None } => {
                write!(f, "step {at} has a recorded result, and the new version does not call it")
            }
            Cause::NotCalled { instead: Some(other) } => {
                write!(f, "step {at} has a recorded result, and the new version calls step {other} instead")
            }
            Cause::OtherChild => {
                write!(f, "step {at} has a recorded result, and the workflow that it calls has changed")
            }
            Cause::Abandoned => {
                write!(f, "the call of step {at} was abandoned, and the new version would wait for its result")
            }
            Cause::OpenAgain => {
                write!(
                    f,
                    "approval {at} would be open again: it, or what follows it, has changed since it was answered"
                )
            }
            Cause::Signal { rejected } => write!(f, "the new version rejects a recorded signal to {at}: {rejected}"),
            Cause::Start { rejected } => write!(f, "the new version rejects the start of the run: {rejected}"),
            Cause::Journal { message } => write!(f, "the recorded events cannot be replayed: {message}"),
            Cause::TooLong => f.write_str("the new version executes many more operations than the recorded run did"),
            Cause::Unsupported => f.write_str("the run is a session that has already moved to a changed document"),
            Cause::NewCall => write!(f, "the new version would call step {at}, which has no recorded result"),
            Cause::Ended { status } => write!(f, "the run would end: {status}"),
            Cause::OtherWait { old, new } if old.is_empty() => {
                write!(f, "the run does not wait for people or for a time, and would wait at: {}", new.join(", "))
            }
            Cause::OtherWait { old, new } => {
                let new = if new.is_empty() { "no step".to_owned() } else { new.join(", ") };
                write!(f, "the run waits at {}, and would wait at {new}", old.join(", "))
            }
            Cause::InFlight => write!(f, "the call of step {at} is in flight"),
        }
    }
}

impl std::error::Error for Difference {}

/// The final status of a state, in words; none if the run has not ended.
fn ended(state: &State) -> Option<Status> {
    state.result().map(|(status, _)| status)
}
