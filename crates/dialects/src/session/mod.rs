//! The dialect `session`: grammar and rules, after `docs/spec/session.md`.
//!
//! `raw` is the document as written, `warnings` reports probable mistakes, `lower` builds the program: one strand
//! that waits for an event, evaluates the steps in order, and waits again. The offered tools are a view.
//!
//! | rule | how it is lowered | pinned by the vector |
//! |---|---|---|
//! | the first step whose conditions all hold wins | a chain of `Decide`s in document order | `tool_used_basic` |
//! | else the active step, else the default | the end of the chain | `maintain_current_step_no_match` |
//! | a step that is gone is forgotten | the end of the chain tests the name | `stale_active_step_no_default` |
//! | a change of step begins its sequence | the `Set` that activates | `reentry_after_reset` |
//! | a tool counts for the old step | history and index are set before the steps are evaluated | `stale_step_then_tool_counts_for_default` |
//! | patterns and sequences limit the tools | `offeredTools` in the view | `legacy_not_recently_used_after_reset` |
//! | expiry is a reset by time | `After` in the `Wait` closes the run | `expired_session_restarts_from_default` |

mod lower;
mod picture;
mod raw;
mod schema;
mod warnings;

use branchpoint_core::ir::Program;
use branchpoint_expr::{Diagnostic, Located, Severity};

pub(crate) use picture::picture;
pub(crate) use schema::schema;

use crate::report::Report;

/// The program of a document, and the findings.
pub(crate) fn load(document: &Located) -> (Option<Program>, Vec<Diagnostic>) {
    let mut report = Report::default();
    let agent = raw::Agent::read(document, &mut report);
    warnings::warn(&agent, &mut report);
    let program = lower::lower(&agent, document.span, &mut report);
    let refused = report.findings.iter().any(|finding| finding.severity == Severity::Error);
    (program.filter(|_| !refused), report.findings)
}
