//! Sessions: the examples, the contract of a gate, and sessions in a store.

mod examples;
mod stored;
