//! A Restate server on this machine, with a worker in this process, for vectors and tests.

mod live_run;
mod server;
mod stepped_host;

pub use live_run::{live_run, set_runner};
pub use server::{Server, server};
pub use stepped_host::SteppedHost;
