//! The server of the real program, over HTTP.

mod approvals;
mod client;
mod events;
mod runs;
mod sessions;
mod workflows;
