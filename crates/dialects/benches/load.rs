//! What it costs to load a document of 1 MB, in many shapes: `cargo bench -p branchpoint-dialects --bench load`.
//!
//! The goal is 100 ms. The documents are made here: chains, steps that read each other, every kind of branch and loop,
//! questions, retries and merges by the thousand, and one of each other dialect. A name as an argument chooses a document, and
//! a number how often it is loaded, because a profiler wants one document, once.

use std::sync::LazyLock;
use std::time::Instant;

use branchpoint_dialects::load;
use branchpoint_expr::Dialect;

const BYTES: usize = 1_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let times = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(15);
    let names: Vec<&String> = arguments.iter().filter(|argument| argument.parse::<usize>().is_err()).collect();
    for (name, dialect, made) in DOCUMENTS {
        if !names.is_empty() && !names.iter().any(|chosen| chosen == name) {
            continue;
        }
        let source = made();
        let samples = samples(name, &source, *dialect, times);
        let (least, median) = (samples[0], samples[samples.len() / 2]);
        println!("{name:<10} {:>8} bytes: {median:>5.0} ms, at least {least:>5.0} ms", source.len());
    }
}

/// How long loading took each time, in milliseconds, the least first.
fn samples(name: &str, source: &str, dialect: Dialect, times: usize) -> Vec<f64> {
    let mut samples: Vec<f64> = (0..times.max(1))
        .map(|_| {
            let begin = now_ms();
            let loaded = load(source, Some(dialect));
            let took = now_ms() - begin;
            assert!(loaded.program.is_some(), "{name}: {:?}", loaded.diagnostics.first());
            took
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    samples
}

/// CPU time of this thread, where the system reports it: on a busy machine, a clock also measures other processes.
fn now_ms() -> f64 {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let at_work = schedstat.and_then(|schedstat| schedstat.split(' ').next()?.parse::<f64>().ok());
    at_work.map_or_else(|| BEGIN.elapsed().as_secs_f64() * 1e3, |nanoseconds| nanoseconds / 1e6)
}

type Source = fn() -> String;

const DOCUMENTS: &[(&str, Dialect, Source)] = &[
    ("steps", Dialect::Steps, || steps(plain)),
    ("references", Dialect::Steps, || steps(reading)),
    ("branches", Dialect::Steps, || steps(branching)),
    ("loops", Dialect::Steps, || steps(looping)),
    ("people", Dialect::Steps, || steps(approvals)),
    ("retries", Dialect::Steps, || steps(retrying)),
    ("merges", Dialect::Steps, || steps(merging)),
    ("flow", Dialect::Flow, || {
        let blocks = entries(BYTES, flow);
        format!(r#"{{"name": "big", "steps": [{blocks} {{"type": "finish", "config": {{}}}}]}}"#)
    }),
    ("machine", Dialect::Machine, || {
        let states = entries(BYTES, machine);
        let last = states.matches("command:").count() - 1;
        format!("name: big\nstates:\n  initial: s{last}\n{states}  end: {{type: terminal}}\n")
    }),
    ("graph", Dialect::Graph, || {
        let nodes = entries(BYTES / 2, node);
        let ways = entries(BYTES / 2, connection);
        format!(r#"{{"nodes": [{nodes} {{"id": "start", "type": "start"}}], "connections": [{ways} {START}]}}"#)
    }),
    ("session", Dialect::Session, || {
        let steps = entries(BYTES, session);
        format!(r#"{{"steps": [{steps} {{"name": "rest", "isDefault": true}}]}}"#)
    }),
];

fn steps(entry: fn(usize) -> String) -> String {
    format!("name: big\nsteps:\n{}", entries(BYTES, entry))
}

/// As many entries as fill that many bytes.
fn entries(bytes: usize, entry: fn(usize) -> String) -> String {
    let mut text = String::with_capacity(bytes + 1_000);
    for number in 0.. {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&entry(number));
    }
    text
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

fn looping(n: usize) -> String {
    let text = |id: &str| format!("{{id: {id}{n}, step_type: text, template: \"{id} {{{{input}}}}\"}}");
    let rest = match n % 3 {
        0 => format!("for_each, input_template: \"[1,2,3]\", parallel: true, body: [{}]", text("f")),
        1 => format!("while, if: len(input) < {n}, max_iterations: 5, body: [{}]", text("w")),
        _ => format!("parallel, branches: [{{name: a, steps: [{}]}}, {{name: b, steps: [{}]}}]", text("a"), text("b")),
    };
    format!("  - {{id: s{n}, step_type: {rest}}}\n")
}

fn approvals(n: usize) -> String {
    format!(
        "  - {{id: s{n}, step_type: human_in_the_loop, prompt_template: \"Shall {{{{input}}}} go on?\", timeout_seconds: {}}}\n",
        n + 60
    )
}

/// Every other retry goes back over the whole document so far: the steps that a retry repeats must not be copied.
fn retrying(n: usize) -> String {
    let target = if n.is_multiple_of(2) { "s0".to_owned() } else { format!("s{}", n - 1) };
    format!(
        "  - {{id: s{n}, step_type: gate, conditions: [{{target: input, operator: $eq, value: \"{n}\"}}], child_steps: [{{id: r{n}, step_type: retry, target_step_id: {target}, max_retries: 2}}]}}\n"
    )
}

fn merging(n: usize) -> String {
    format!(
        "  - {{id: s{n}, step_type: text, template: x, child_steps: [{{id: j{n}, step_type: join, target: m{n}}}, {{id: m{n}, step_type: merge, template: \"{n} {{{{input}}}}\"}}]}}\n"
    )
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

/// Each state leads to the one before it, so all can be reached from the last.
fn machine(n: usize) -> String {
    let before = n.saturating_sub(1);
    format!(
        r#"  s{n}:
    command: "echo {{{{states.s0.Output}}}} {n} and words that fill the line"
    transitions:
      - {{when: "states.s{n}.ExitCode == 0 && states.s{n}.Output contains 'ok'", goto: s{n}}}
      - {{when: "states.s{n}.ExitCode > {n}", goto: s{before}}}
      - goto: end
"#
    )
}

const START: &str = r#"{"source": "start", "target": "n0"}"#;

fn node(n: usize) -> String {
    let data = match n % 3 {
        0 => format!(r#""agent", "data": {{"agentName": "A{n}", "userPrompt": "Say {{{{PREVIOUS_OUTPUT}}}}"}}"#),
        1 => format!(r#""if", "data": {{"conditions": [{{"operator": "contains", "value": "word {n}"}}]}}"#),
        _ => format!(r#""approval", "data": {{"prompt": "Shall {n} go on?"}}"#),
    };
    format!("{{\"id\": \"n{n}\", \"type\": {data}}},\n")
}

/// Connections are shorter than nodes, so the first nodes have two targets: the next node and one far ahead.
fn connection(n: usize) -> String {
    let (from, to) = (n % NODES, (n + 1 + n / NODES * 100) % NODES);
    let handle = ["output", "condition-0", "approve"][from % 3];
    format!("{{\"source\": \"n{from}\", \"target\": \"n{to}\", \"sourceHandle\": \"{handle}\"}},\n")
}

/// There are a few more nodes than this.
const NODES: usize = 4_500;

fn session(n: usize) -> String {
    let condition = match n % 4 {
        0 => format!(r#"{{"type": "tool_used", "value": "tool{n}"}}"#),
        1 => format!(r#"{{"type": "message_contains", "value": "word {n}"}}"#),
        2 => format!(r#"{{"type": "message_regex", "value": "a+{n}"}}"#),
        _ => format!(r#"{{"if": "len(tools) > {n}"}}"#),
    };
    format!(
        r#"{{"name": "s{n}", "conditions": [{condition}], "availableTools": {{"allowed": ["search", "tool{n}"]}}}},
"#
    )
}
