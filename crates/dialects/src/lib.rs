//! The front-ends of Branchpoint: from the text of a document to what runs, with findings that point into the text.
//!
//! [`load`] does it all: [`read`], the one reader for YAML and JSON, then the dialect's own grammar and rules, then lowering.

mod flow;
mod load;
mod machine;
mod reader;
mod recognise;
mod steps;

pub use load::{Library, LoadOptions, Loaded, load, load_from, load_with};
pub use reader::read;
pub use recognise::recognise;
