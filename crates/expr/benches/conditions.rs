//! What one evaluation costs: `cargo bench -p branchpoint-expr`. The peers stand beside us in `benches/peers`.
//!
//! Each figure is the least of samples that each take about a millisecond: on a busy machine, a median measures the neighbours. The
//! floor is the same decision written by hand over the same slots.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::time::Instant;

use branchpoint_expr::{Bind, Binding, Condition, Options, Slots, Value};
use serde_json::json;

const SAMPLES: usize = 200;
const SAMPLE_NS: u128 = 1_000_000;

const PATHS: [&[&str]; 8] = [
    &["inputs", "count"],
    &["inputs", "mode"],
    &["states", "check", "ExitCode"],
    &["states", "check", "Output"],
    &["a", "b", "c", "d", "e"],
    &["text"],
    &["name"],
    &["names"],
];

struct Paths;

impl Bind for Paths {
    fn bind(&self, path: &[&str]) -> Option<Binding> {
        let slot = PATHS.iter().position(|known| path.starts_with(known))?;
        Some(Binding { slot: u32::try_from(slot).ok()?, parts: PATHS[slot].len() })
    }
}

fn main() {
    let context = context();
    let at = |path: &[&str]| Value::from(path.iter().fold(&context, |value, key| &value[*key]));
    let slots: Vec<Value> = PATHS.iter().map(|path| at(path)).collect();
    println!("{:<24} {:>10} {:>10} {:>10} {:>12}", "condition", "floor ns", "slots ns", "JSON ns", "compile ns");
    for (label, text) in conditions() {
        let bound = Condition::expression(&text, Options::default().bound(&Paths)).expect("it compiles");
        let named = Condition::compile(&text).expect("it compiles");
        let over_slots = measure(|| bound.evaluate(black_box(&Slots(&slots))) == Ok(true));
        let over_json = measure(|| named.evaluate(black_box(&context)) == Ok(true));
        let compile = measure(|| Condition::compile(black_box(&text)).is_ok());
        let floor = match label.get(..3) {
            Some("(1)") => format!("{:.1}", measure(|| count_and_mode(black_box(&slots)))),
            Some("(4)") => format!("{:.1}", measure(|| deep_number(black_box(&slots)))),
            _ => "-".to_owned(),
        };
        println!("{label:<24} {floor:>10} {over_slots:>10.1} {over_json:>10.1} {compile:>12.0}");
    }
}

fn count_and_mode(slots: &[Value]) -> bool {
    matches!((&slots[0], &slots[1]), (Value::Int(count), Value::Str(mode)) if *count > 10 && &**mode == "prod")
}

fn deep_number(slots: &[Value]) -> bool {
    matches!(&slots[4], Value::Float(number) if *number >= 3.5)
}

fn measure(mut run: impl FnMut() -> bool) -> f64 {
    assert!(run(), "every condition of the benchmark holds");
    let mut iterations = 1_u32;
    while sample(iterations, &mut run) < SAMPLE_NS {
        iterations *= 2;
    }
    let samples = (0..SAMPLES).map(|_| sample(iterations, &mut run) as f64 / f64::from(iterations));
    samples.fold(f64::INFINITY, f64::min)
}

fn sample(iterations: u32, run: &mut impl FnMut() -> bool) -> u128 {
    let start = Instant::now();
    for _ in 0..iterations {
        black_box(run());
    }
    start.elapsed().as_nanos()
}

fn conditions() -> [(&'static str, String); 7] {
    let modes = ["dev0", "dev1", "dev2", "dev3", "dev4", "dev5", "dev6", "dev7", "dev8", "prod"];
    [
        ("(1) count and mode", "inputs.count > 10 && inputs.mode == \"prod\"".into()),
        ("(2) exit and output", "states.check.ExitCode == 0 && states.check.Output contains \"success\"".into()),
        ("(3) one of ten", modes.map(|mode| format!("inputs.mode == \"{mode}\"")).join(" || ")),
        ("(4) deep number", "a.b.c.d.e >= 3.5".into()),
        ("(5) prefix and suffix", "text startsWith \"release/\" && text endsWith \".tar.gz\"".into()),
        ("(6) in context list", "name in names".into()),
        ("(6b) in literal list", format!("name in {:?}", names())),
    ]
}

fn names() -> Vec<String> {
    (0..50).map(|number| format!("name-{number:02}")).collect()
}

fn context() -> serde_json::Value {
    json!({
        "inputs": {"count": 42, "mode": "prod", "user": "ada"},
        "states": {"check": {"ExitCode": 0, "Output": "3 files checked: success", "Status": "completed"}},
        "a": {"b": {"c": {"d": {"e": 4.5}}}},
        "text": format!("release/{}.tar.gz", "x".repeat(1009)),
        "name": "name-49",
        "names": names(),
    })
}
