//! What it costs to load a document of 1 MB, for each dialect that has large ones: `cargo bench -p branchpoint-dialects`.
//!
//! The goal is 100 ms. The documents are made here: a long chain, one whose steps read each other, one with every kind of
//! branch, a flow and a state machine.

use std::fmt::Write as _;
use std::time::Instant;

use branchpoint_dialects::load;
use branchpoint_expr::Dialect;

const BYTES: usize = 1_000_000;

fn main() {
    for (name, dialect, head, entry, tail) in DOCUMENTS {
        let source = document(head, *entry, tail);
        let mut samples: Vec<f64> = (0..9)
            .map(|_| {
                let begin = Instant::now();
                let loaded = load(&source, Some(*dialect));
                let took = begin.elapsed().as_secs_f64() * 1e3;
                assert!(loaded.program.is_some(), "{name}: {:?}", loaded.diagnostics.first());
                took
            })
            .collect();
        samples.sort_by(f64::total_cmp);
        println!("{name:<10} {:>8} bytes: {:>5.0} ms", source.len(), samples[samples.len() / 2]);
    }
}

/// A name, a dialect, what stands before the entries, the n-th entry, and what stands after them.
type Kind = (&'static str, Dialect, &'static str, fn(usize) -> String, &'static str);

const DOCUMENTS: &[Kind] = &[
    ("steps", Dialect::Steps, "name: big\nsteps:\n", plain, ""),
    ("references", Dialect::Steps, "name: big\nsteps:\n", reading, ""),
    ("branches", Dialect::Steps, "name: big\nsteps:\n", branching, ""),
    ("flow", Dialect::Flow, "{\"name\": \"big\", \"steps\": [\n", flow, "{\"type\": \"finish\", \"config\": {}}]}"),
    ("machine", Dialect::Machine, "name: big\nstates:\n  initial: s0\n", machine, "  end: {type: terminal}\n"),
];

fn document(head: &str, entry: fn(usize) -> String, tail: &str) -> String {
    let mut text = head.to_owned();
    for number in 0.. {
        if text.len() >= BYTES {
            break;
        }
        text.push_str(&entry(number));
    }
    text + tail
}

fn plain(n: usize) -> String {
    format!(
        "  - {{id: s{n}, step_type: text, template: \"Answer {n}: {{{{input}}}}, and words that fill the line to its end\"}}\n"
    )
}

fn reading(n: usize) -> String {
    let before = n.saturating_sub(1);
    format!(
        "  - {{id: s{n}, step_type: text, template: \"Answer {n}: {{{{step.s{before}.output}}}}, and some more words\"}}\n"
    )
}

fn branching(n: usize) -> String {
    let text = |id: &str| format!("{{id: {id}{n}, step_type: text, template: \"{id} {{{{input}}}}\"}}");
    let rest = match n % 4 {
        0 => format!("if_else, if: len(input) > {n}, then_steps: [{}], else_steps: [{}]", text("t"), text("e")),
        1 => format!("switch, cases: [{{name: a, match: A, steps: [{}]}}], else_steps: [{}]", text("a"), text("z")),
        2 => format!("for_each, input_template: \"[1,2,3]\", body: [{}]", text("f")),
        _ => format!(
            "gate, conditions: [{{target: input, operator: $regex, value: \"a+{n}\"}}], child_steps: [{}]",
            text("g")
        ),
    };
    format!("  - {{id: s{n}, step_type: {rest}}}\n")
}

fn flow(n: usize) -> String {
    let set = format!(
        r#"{{"id": "t{n}", "type": "setVariables", "config": {{"variables": [{{"name": "x", "value": "{{{{$x}}}}1"}}]}}}}"#
    );
    let config = match n % 3 {
        0 => format!(
            r#""conditional", "config": {{"condition": {{"combinator": "and", "conditions": [{{"variable": "{{{{$x}}}}", "operator": "equals", "value": "{n}"}}]}}, "truePath": [{set}]}}"#
        ),
        1 => format!(
            r#""switch", "config": {{"variable": "{{{{$x}}}}", "cases": [{{"value": "a", "blocks": [{set}]}}]}}"#
        ),
        _ => format!(
            r#""loop", "config": {{"loopType": "forEach", "iterableVariable": "{{{{$l}}}}", "itemVariable": "it", "loopBlocks": [{set}]}}"#
        ),
    };
    format!("{{\"id\": \"s{n}\", \"type\": {config}}},\n")
}

fn machine(n: usize) -> String {
    let mut state =
        format!("  s{n}:\n    command: \"echo {{{{states.s0.Output}}}} {n} and words that fill the line\"\n");
    let next = n + 1;
    // The last of them has no next one, so all have a way to the end.
    writeln!(
        state,
        "    transitions:\n      - {{when: \"states.s{n}.ExitCode == 0 && states.s{n}.Output contains 'ok'\", goto: s{n}}}\n      - {{when: \"states.s{n}.ExitCode > {next}\", goto: s{}}}\n      - goto: end",
        n / 2
    )
    .expect("writing to a text does not fail");
    state
}
