//! Exports of runs, real ones with changed characters and any bytes at all: they are imported or refused, and the store stays
//! usable either way.
#![no_main]

use std::sync::LazyLock;

use branchpoint_dialects::load;
use branchpoint_expr::{Dialect, Object, Value};
use branchpoint_host::store::{Filter, ImportLimits, Store};
use branchpoint_host::{Script, VirtualDriver};
use libfuzzer_sys::fuzz_target;

const WORKFLOW: &str = "
name: fuzzed
steps:
  - {id: ask, step_type: prompt_call, prompt_template: 'x {{input}}'}
  - id: loop
    step_type: while
    if: input != 'never'
    max_iterations: 3
    body: [{id: body, step_type: text, template: 'round'}]
  - {id: approve, step_type: human_in_the_loop, prompt_template: 'Go?'}
";

/// The lines of the export of a run that waits for an approval.
static EXPORT: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let program = load(WORKFLOW, Some(Dialect::Steps)).program.expect("the workflow is valid");
    let script = serde_json::from_str(r#"{"ask": ["yes"]}"#).expect("the script is JSON");
    let mut driver = VirtualDriver::new(&program, 0);
    driver.start(Value::from("text"), Object::default()).expect("the run starts");
    let mut script = Script::read(&script).expect("the script is valid");
    driver.run_until_idle(&mut |call| script.simulate(call));
    let runs: Vec<_> = driver.store().runs(&Filter::default()).expect("runs").iter().map(|run| run.run).collect();
    let mut export = Vec::new();
    driver.store().export(&runs, &mut export).expect("the run is exported");
    export.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
});

/// The lines of the header and of the workflow stay: behind a wrong hash nothing else would be reached.
const KEPT_LINES: usize = 2;

/// The characters that lines are made of.
const CHARACTERS: &[u8] = b"0123456789abcdef0123456789abcdef\"{}:,-";

/// The export with four bytes for each change: the line, the position in it, the character.
fn changed(changes: &[u8]) -> Vec<u8> {
    let mut lines = EXPORT.clone();
    let count = lines.len() - KEPT_LINES;
    for change in changes.chunks_exact(4) {
        let line = &mut lines[KEPT_LINES + usize::from(change[0]) % count];
        if !line.is_empty() {
            let at = usize::from(u16::from_be_bytes([change[1], change[2]])) % line.len();
            line[at] = CHARACTERS[usize::from(change[3]) % CHARACTERS.len()];
        }
    }
    lines.join(&b'\n')
}

fuzz_target!(|bytes: &[u8]| {
    let export = match bytes.split_first() {
        Some((0..128, changes)) => changed(changes),
        _ => bytes.to_vec(),
    };
    let store = Store::in_memory().expect("there is memory");
    let imported = store.import(&export[..], ImportLimits::default(), 1_700_000_000_000);
    let runs = store.runs(&Filter::default()).expect("the store can be read");
    match imported {
        Ok(imported) => assert_eq!(runs.len(), imported.runs.len(), "each imported run is there"),
        Err(_) => assert!(runs.is_empty(), "what is refused leaves nothing behind"),
    }
    let runs: Vec<_> = runs.iter().map(|run| run.run).collect();
    let mut exported = Vec::new();
    store.export(&runs, &mut exported).expect("what was imported can be exported");
});
