//! The front-ends of Branchpoint: from the text of a document to what runs, with findings that point into the text.
//!
//! [`load`] does it all: [`read`], the one reader for YAML and JSON, then the dialect's own grammar and rules, then lowering.

mod flow;
mod graph;
mod load;
mod reader;
mod recognise;
mod report;
mod session;
mod steps;

pub use load::{Loaded, load, preflight};
pub use reader::read;
pub use recognise::recognise;
