//! Sessions from their documents: the examples, what a gate promises its host, and sessions in a store.

mod examples;
mod kept;
