//! The server of the real program, over HTTP.

mod approvals;
mod client;
mod events;
mod identity;
mod links;
mod runs;
mod sessions;
mod workflows;
