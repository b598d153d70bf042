//! The distributed host of runs, on Restate.
//!
//! The same state machine, stored bytes and runners as in the embedded host, with Restate's log, timers, routing and replication. It has no
//! semantics of its own: a conformance vector gives the same result on both hosts.
//!
//! - `Run` is a virtual object: one key, one run. Its exclusive handlers apply one fact after the other.
//! - `Calls` is a service that performs the calls of runs, and sends their results back as facts.
//! - `Workflow` is a virtual object with a document and its programs.
//!
//! A [`Worker`] serves these handlers. A [`Client`] starts runs and delivers facts through the server's ingress.

mod calls;
mod children;
mod client;
mod drive;
pub mod messages;
mod programs;
mod record;
mod run_object;
mod shared;
mod transition;
mod worker;
mod workflow_object;

pub use client::{Addresses, Client, ClientError};
pub use drive::settled;
pub use worker::Worker;
