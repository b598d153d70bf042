//! The front-ends of Branchpoint: from the text of a document to a program, with findings that point into the text.
//!
//! # Load a document
//!
//! [`load`] reads YAML or JSON, recognises the dialect, checks its rules and lowers the document to a program.
//!
//! ```
//! use branchpoint_dialects::load;
//! use branchpoint_expr::Dialect;
//!
//! let source = "name: greeting\nsteps:\n  - {id: greet, step_type: text, template: Hello}\n";
//! let loaded = load(source, None);
//! assert_eq!(loaded.dialect, Some(Dialect::Steps));
//! assert_eq!(&*loaded.program.unwrap().steps[0].id, "greet");
//! ```
//!
//! # Report findings
//!
//! A document with an error has no program. Each finding is a [`Diagnostic`](branchpoint_expr::Diagnostic): a kind, a span in the text
//! and help.
//!
//! ```
//! use branchpoint_dialects::load;
//!
//! let source = "name: greeting\nsteps:\n  - {id: greet, step_type: txt}\n";
//! let finding = &load(source, None).diagnostics[0];
//! assert_eq!(finding.cause().as_str(), "unknown_step_type");
//! assert!(finding.span.text(source).contains("txt"));
//! ```
//!
//! # Load called workflows
//!
//! [`load_from`] also loads the workflows that a document calls. A [`Library`] finds their texts. [`LoadOptions`] has what else can be
//! chosen.
//!
//! # Tools for authors
//!
//! [`format`] formats a document, [`schema`] is the JSON Schema of a dialect for editors, and [`picture`] draws a document.
//!
//! ```
//! use branchpoint_dialects::{load, picture};
//!
//! let source = "name: greeting\nsteps:\n  - {id: greet, step_type: text, template: Hello}\n";
//! let loaded = load(source, None);
//! let picture = picture(&loaded.program.unwrap(), source, loaded.dialect);
//! assert!(branchpoint_core::ir::picture::mermaid(&picture).contains("greet"));
//! ```

mod agent;
mod agent_loop;
mod approvals;
mod calls;
mod changes;
mod context;
mod edit;
mod environment;
mod export;
mod fields;
mod flow;
mod format;
mod graph;
mod help;
mod inputs;
mod kind;
mod load;
mod lowering;
mod machine;
mod outline;
mod output_limit;
mod path;
mod picture;
mod reader;
mod recognise;
mod report;
mod run_limits;
mod schema;
mod secrets;
mod session;
mod sketch;
mod start;
mod steps;
mod substitution;
mod trigger;

pub use agent::{agent_program, agent_program_for, agent_programs};
pub use changes::{Aspect, Change, ChangeKind, ChangeLines, Changes, ChangesError, Group, changes};
pub use context::add_context_defaults;
pub use edit::{
    Affected, EditError, EditErrorKind, Edited, Operation, PaletteEntry, Position, TextEdit, edit, is_editable, palette,
};
pub use format::format;
pub use kind::{DocumentKinds, all_kinds};
pub use load::{Library, LoadOptions, Loaded, load, load_all, load_from, load_with, preflight, recognise_text};
pub use outline::{OutlineBranch, StepOutline, StepRole, outline};
pub use path::Segment;
pub use picture::picture;
pub use reader::{limits, not_json, read};
pub use schema::schema;
pub use sketch::{Sketch, sketch};
pub use start::{
    STEPS_INPUTS, StartValues, accepts_attachments, document_name, input_with_id, requested_by, script_by_step,
    start_values, starts_runs,
};
pub use steps::missing_input;
pub use trigger::unserved_trigger;
