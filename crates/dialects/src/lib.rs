//! The front-ends of Branchpoint: from the text of a document to what runs, with findings that point into the text.
//!
//! It begins with [`read`], the one reader for YAML and JSON that all dialects share.

mod reader;

pub use reader::read;
