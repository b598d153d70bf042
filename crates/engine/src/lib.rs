//! Hosts of runs, and the runners that perform what runs ask for.
//!
//! [`Memory`] is the smallest host: one run, a virtual clock, everything in memory. A [`Runner`] performs calls and gives
//! raw answers; [`judge`] turns a raw answer into the value of a step or into its error, the same way for every runner.

mod agents;
mod judge;
mod live;
mod local;
mod memory;
mod runner;
mod script;
mod secrets;
mod shell;
mod stop;

pub use judge::judge;
pub use live::{Outside, Programs, Ran};
pub use local::{Local, SecretStore};
pub use memory::{Memory, Question};
pub use runner::{Answer, Body, Call, Runner};
pub use script::{BadScript, Script};
pub use secrets::{Secrets, is_secret};
pub use shell::{KEPT_BYTES, Listener, Shell, Stream};
pub use stop::Stop;
