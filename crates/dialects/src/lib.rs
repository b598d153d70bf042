//! The front-ends of Branchpoint: from the text of a document to what runs, with findings that point into the text.
//!
//! [`load`] does it all: [`read`], the one reader for YAML and JSON, then the dialect's own grammar and rules, then lowering.

mod agent;
mod agent_loop;
mod calls;
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
mod output;
mod picture;
mod reader;
mod recognise;
mod report;
mod schema;
mod secrets;
mod session;
mod steps;
mod substitution;
mod trigger;

pub use agent::{agent_program, agent_program_for, agent_programs};
pub use format::format;
pub use kind::{DOCUMENT_KINDS, DocumentKinds, all_kinds};
pub use load::{Library, LoadOptions, Loaded, load, load_all, load_from, load_with, preflight, recognise_text};
pub use picture::picture;
pub use reader::{limits, not_json, read};
pub use recognise::recognise;
pub use schema::schema;
pub use steps::missing_input;
pub use trigger::unserved_trigger;
