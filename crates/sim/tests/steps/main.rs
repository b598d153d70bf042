//! Step trees from their documents: the examples, what the vectors leave open, and calls of other workflows.

mod attachments;
mod calls;
mod examples;
mod policies;
mod rules;
