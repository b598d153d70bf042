//! The dialect `flow`: grammar and rules, after `docs/spec/flow.md`.
//!
//! `raw` is the document as written, `lower` builds the program. One strand runs the whole flow; all variables are
//! one object in a slot of the root, and loop variables are slots of their loop, found by name before that object.
//!
//! | rule | how it is lowered | pinned by the vector |
//! |---|---|---|
//! | a step without id is named by its position | `raw::steps` | `steps-without-id` |
//! | input names with dots nest | `nested` before the first step | `runtime-dotted-keys` |
//! | variables are declared first, wherever that is listed | order of the chain | `flow-variables-run-first-wherever-listed` |
//! | declared types are applied | `declared` | `flow-variables-types-applied` |
//! | assignments see earlier ones, all or nothing | one `Set` | `set-variables-in-order`, `set-variable-below-text-fails` |
//! | every clause of a condition is evaluated | the typed group itself | `every-clause-is-evaluated` |
//! | a failing block fails its branch and the flow | `fail` of every op leads outwards | `branch-block-failure-fails-flow` |
//! | a switch compares structurally, then text without case | a `Decide` over `sameAs` | `switch-match-case-insensitive` |
//! | a failing block ends its round, not the loop | `fail` leads to the end of the round | `loop-block-failure-ends-iteration` |
//! | a round's entry holds what was set in it | a slot `touched` for each loop around a write | `for-loop-counts-up` |
//! | loop variables hide and never leak | slots of the loop's scope | `loop-variable-hides-outer` |
//! | a cap leaves a warning | a mark on the way out | `for-loop-cap-warns` |
//! | `while` is evaluated before every round | the head of the cycle | `while-re-evaluates-after-branch` |
//! | `finish` and `directOutput` end the flow at any depth | the root is closed | `finish-deep-with-output`, `direct-output-deep` |
//! | a null result is stored | `putPath` | `null-result-is-stored` |
//! | a 4xx answer is not repeated | `final_status` of the effect | `api-call-404-fails-branch-and-flow` |
//! | a template is expanded once | templates are compiled, values are not | `input-with-braces-reaches-prompt-as-text` |

mod lower;
mod raw;
mod schema;

pub(crate) use schema::schema;

use branchpoint_core::ir::Program;
use branchpoint_expr::{Diagnostic, Located, Severity};

/// The program of a document, and the findings.
pub(crate) fn load(document: &Located) -> (Option<Program>, Vec<Diagnostic>) {
    let (flow, mut findings) = raw::Flow::read(document);
    let Some(flow) = flow else { return (None, findings) };
    let refused = findings.iter().any(|finding| finding.severity == Severity::Error);
    let (program, compiled) = lower::lower(&flow, document.span, refused);
    findings.extend(compiled);
    (program, findings)
}
