//! Export and import of runs: equal bytes, and an import of the whole file or of nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use branchpoint_core::effect::ProcessResult;
use branchpoint_core::ir::{Program, Status};
use branchpoint_dialects::{Library, load_from};
use branchpoint_expr::{Object, Value};
use branchpoint_host::VirtualDriver;
use branchpoint_host::host::{DrivenRuns, Host, MAX_OPS, Start, Ticket, TurnOutput};
use branchpoint_host::store::{Document, Durability, Filter, ImportLimits, Store, TransferError, Workflow};
use branchpoint_runners::{Answer, Call};
use branchpoint_sim::vectors::round_trip;

/// The files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("it is there").flatten() {
        let path = entry.path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

struct Beside<'f>(&'f Path);

impl Library for Beside<'_> {
    fn workflow(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.0.join(format!("{name}.yaml"))).ok()
    }
}

/// Answers the first 200 calls with text, and later ones with a failure.
#[derive(Default)]
struct Some200(usize);

impl Some200 {
    fn answer(&mut self, _: &Call) -> Answer {
        self.0 += 1;
        if self.0 < 200 { Answer::data("text") } else { Answer::impossible("test", "that is enough") }
    }
}

#[test]
fn every_example_is_exported_and_imported_with_equal_bytes() {
    let mut paths = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"), &mut paths);
    let mut ran = 0;
    for path in paths {
        let Ok(source) = fs::read_to_string(&path) else { continue };
        let loaded = load_from(&source, None, &Beside(path.parent().expect("the file is in a folder")));
        let Some(program) = loaded.program else { continue };
        let mut memory = VirtualDriver::new(&program, 0).with_children(&loaded.children).with_max_ops(100_000);
        if memory.start(Value::from(Object::default()), Object::default()).is_err() {
            continue;
        }
        let mut some = Some200::default();
        memory.run_until_idle(&mut |call| some.answer(call).into());
        assert_eq!(round_trip(memory.store()), None, "{}", path.display());
        ran += 1;
    }
    assert!(ran >= 30, "only {ran} examples were run");
}

const WAITS: &str = "name: waits
inputs: [{name: amount, type: integer, default: 250, validation: {min: 1, max: 1000}}]
states:
  initial: act
  act: {command: \"echo one\", on_success: again}
  again: {command: \"echo two\", on_success: done}
  done: {type: terminal, message: \"{{inputs.amount}}\"}
";

fn program(text: &str) -> Program {
    let loaded = load_from(text, None, &Beside(Path::new("/nowhere")));
    loaded.program.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

fn host(store: Store) -> Host {
    Host::new(store, "test", DrivenRuns::Requested, Arc::new(|_| Value::Null), 0)
        .expect("the host starts")
        .deterministic()
}

/// A store with one run of a document under that id, which waits for its second call.
fn store_with(text: &str, id: &str, script: Option<&str>) -> Store {
    store_of(text, &program(text), MAX_OPS, id, script)
}

fn store_of(text: &str, program: &Program, max_ops: u64, id: &str, script: Option<&str>) -> Store {
    let store = Store::in_memory().expect("a store in memory opens");
    let name = |text: &str| text.to_owned();
    let document = Document { name: name("test"), dialect: name("machine"), origin: name("test"), text: text.into() };
    let workflow = Workflow { document: &document, program, children: &BTreeMap::new() };
    let workflow = store.save(workflow, 0).expect("the document is stored");
    let mut host = host(store).with_max_ops(max_ops);
    let script = script.map(|script| serde_json::from_str(script).expect("valid JSON"));
    let input = Value::from(Object::default());
    host.start(Start { script, ..Start::new(workflow, id.into(), input) }, Ticket::default());
    let mut first = true;
    while host.next_ms().is_some_and(|at_ms| at_ms <= 1) {
        for output in host.turn(1).expect("the host can take its turn") {
            if let TurnOutput::Perform { run, call, reply: None, .. } = output
                && std::mem::take(&mut first)
            {
                host.settle(run, &call, Answer::Process(ProcessResult::new(0, "one", "")));
            }
        }
    }
    host.into_store().expect("the host closes")
}

fn exported(store: &Store) -> String {
    let runs: Vec<_> =
        store.runs(&Filter::default()).expect("the store is readable").iter().map(|run| run.run).collect();
    let mut bytes = Vec::new();
    store.export(&runs, &mut bytes).expect("the run can be exported");
    String::from_utf8(bytes).expect("UTF-8")
}

/// How many workflows and runs a store has.
fn counts(store: &Store) -> (usize, usize) {
    let runs = store.runs(&Filter { children: true, ..Filter::default() }).expect("the store is readable").len();
    (store.workflows().expect("the store is readable").len(), runs)
}

#[test]
fn a_damaged_file_is_imported_whole_or_not_at_all() {
    let text = exported(&store_with(WAITS, "r", None));
    let second = exported(&store_with(&WAITS.replace("waits", "other"), "s", None));
    // A second run follows the damaged first one, and the other way round.
    let both = format!("{text}{}", second.split_once('\n').expect("the export has several lines").1);
    let lines: Vec<&str> = both.lines().collect();
    let whole = counts(&imported(&both).expect("the file is valid").0);
    assert_eq!(whole, (2, 2));
    let mut refused = 0;
    for index in 0..lines.len() {
        let line = lines[index];
        let middle = line.len() / 2;
        let digit = if &line[middle..=middle] == "1" { "2" } else { "1" };
        let changed = [
            line[..middle].to_owned(),
            format!("{}{digit}{}", &line[..middle], &line[middle + 1..]),
            String::new(),
            format!("{line}\n{line}"),
            "{\"run\": {\"id\": 1}}".to_owned(),
            "[".repeat(100_000),
            line.replace("\"events\":", "\"events\":9"),
        ];
        for changed in changed {
            let mut lines = lines.clone();
            lines[index] = &changed;
            match imported(&lines.join("\n")) {
                Err(failed) => {
                    refused += 1;
                    assert_eq!(counts(&failed.0), (0, 0), "line {index} changed to {changed:.200}");
                }
                Ok((store, _)) => assert_eq!(counts(&store), whole, "line {index} changed to {changed:.200}"),
            }
        }
    }
    assert!(refused > lines.len() * 4, "{refused} of {} files were refused", lines.len() * 7);
    for end in [1, both.len() / 3, both.len() / 2, both.len() - 20] {
        let failed = imported(&both[..end]).expect_err("it is truncated");
        assert_eq!(counts(&failed.0), (0, 0), "the first {end} bytes");
    }
}

type Import<T> = Result<(Store, T), Box<(Store, TransferError)>>;

fn imported(text: &str) -> Import<Vec<String>> {
    let store = Store::in_memory().expect("a store in memory opens");
    match store.import(text.as_bytes(), ImportLimits::default(), 0) {
        Ok(imported) => Ok((store, imported.runs)),
        Err(error) => Err(Box::new((store, error))),
    }
}

#[test]
fn an_endless_line_is_read_up_to_the_limit() {
    let store = Store::in_memory().expect("a store in memory opens");
    let header = "{\"branchpoint\": \"runs\", \"format\": 1}\n";
    let mut endless = header.as_bytes().chain(std::io::repeat(b' '));
    let error = store.import(BufReader::new(&mut endless), ImportLimits::default(), 0).expect_err("it never ends");
    assert!(matches!(&error, TransferError::Limit { what, .. } if what == "line 2"), "{error}");
}

#[test]
fn a_known_run_is_unchanged_and_another_run_of_its_id_is_an_error() {
    let (here, there) = (store_with(WAITS, "r", None), store_with(&WAITS.replace("two", "three"), "r", None));
    let before = exported(&here);
    assert_eq!(
        here.import(before.as_bytes(), ImportLimits::default(), 0).expect("the run is the same").existing,
        ["r"]
    );
    let with_more = format!(
        "{}{}",
        exported(&there),
        exported(&store_with(WAITS, "s", None)).split_once('\n').expect("the export has several lines").1
    );
    let error = here.import(with_more.as_bytes(), ImportLimits::default(), 0).expect_err("it is another run");
    assert!(matches!(&error, TransferError::Run { run, .. } if run == "r"), "{error}");
    assert_eq!((exported(&here), counts(&here)), (before, (1, 1)));
}

#[test]
fn an_imported_run_continues_with_its_script() {
    let script = r#"{"act": {"$exit": 0, "stdout": "a"}, "again": {"$exit": 0, "stdout": "b", "$delay_ms": 60000}}"#;
    let store = store_with(WAITS, "r", Some(script));
    let text = exported(&store);
    assert_eq!(round_trip(&store), None);
    let (store, runs) = imported(&text).map_err(|failed| failed.1).expect("the file is valid");
    assert_eq!(runs, ["r"]);
    let run = store.run("r").expect("the store is readable").expect("the run exists");
    assert_eq!(run.status, Status::Running);
    let mut host = host(store);
    host.resume(run.run, false, Ticket::default());
    let mut delays = Vec::new();
    while host.next_ms().is_some_and(|at_ms| at_ms <= 2) {
        for output in host.turn(2).expect("the host can take its turn") {
            if let TurnOutput::Perform { reply, .. } = output {
                delays.push(reply.expect("nothing is executed").delay_ms);
            }
        }
    }
    assert_eq!(delays, [60_000]);
}

#[test]
fn a_program_with_too_much_fuel_is_not_imported() {
    let mut program = program(WAITS);
    program.fuel = u32::MAX;
    let text = exported(&store_of(WAITS, &program, MAX_OPS, "r", None));
    let failed = imported(&text).map(|(_, runs)| runs).expect_err("one event could take for ever");
    assert!(
        matches!(&failed.1, TransferError::Line { reason, .. } if reason.contains("4294967295 ops")),
        "{}",
        failed.1
    );
}

#[test]
fn a_run_that_may_execute_more_than_the_operator_allows_is_not_imported() {
    let text = exported(&store_of(WAITS, &program(WAITS), 0, "r", None));
    let failed = imported(&text).map(|(_, runs)| runs).expect_err("it has no bound");
    assert!(
        matches!(&failed.1, TransferError::Run { reason, .. } if reason.contains("any number of ops")),
        "{}",
        failed.1
    );
    let store = Store::in_memory().expect("a store in memory opens");
    let limits = ImportLimits { run_ops: 0, ..ImportLimits::default() };
    assert_eq!(store.import(text.as_bytes(), limits, 0).expect("the operator allows it").runs, ["r"]);
}

#[test]
fn replaying_an_import_is_bounded_and_needs_no_lock() {
    let text = exported(&store_with(WAITS, "r", None));
    let folder = tempfile::tempdir().expect("a temporary folder can be created");
    let file = folder.path().join("store.db");
    let store = Store::open(&file, Durability::Normal).expect("the database opens");
    let writer = rusqlite::Connection::open(&file).expect("the database opens");
    writer.execute_batch("BEGIN IMMEDIATE").expect("no other writer");
    let limits = ImportLimits { total_ops: 3, ..ImportLimits::default() };
    let error = store.import(text.as_bytes(), limits, 0).expect_err("it executes more");
    assert!(matches!(&error, TransferError::Limit { limit, .. } if limit == "3 ops"), "{error}");
    writer.execute_batch("COMMIT").expect("the transaction commits");
    assert_eq!(counts(&store), (0, 0));
}
