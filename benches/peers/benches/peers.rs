//! Nanoseconds per evaluation, pre-compiled condition over a prepared context.

use branchpoint_peers::{Probe, environment, table};

fn main() {
    table(Probe::Nanoseconds);
    println!("\n{}", environment());
}
