//! Any bytes as an export of runs: they are imported or refused, and the store stays usable either way.
#![no_main]

use branchpoint_host::store::{Filter, ImportLimits, Store};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let store = Store::in_memory().expect("there is memory");
    let imported = store.import(bytes, ImportLimits::default(), 1_700_000_000_000);
    let runs = store.runs(&Filter::default()).expect("the store can be read");
    match imported {
        Ok(imported) => assert_eq!(runs.len(), imported.runs.len(), "each imported run is there"),
        Err(_) => assert!(runs.is_empty(), "what is refused leaves nothing behind"),
    }
    let runs: Vec<_> = runs.iter().map(|run| run.run).collect();
    let mut exported = Vec::new();
    store.export(&runs, &mut exported).expect("what was imported can be exported");
});
