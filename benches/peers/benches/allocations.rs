//! Allocations per evaluation, on the same table.

use branchpoint_peers::{Probe, table};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() {
    println!("Allocations per evaluation:\n");
    table(Probe::Allocations);
    println!();
}
