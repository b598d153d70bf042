//! Many sessions in one process: `cargo bench -p branchpoint-sim --bench sessions`.
//!
//! 10,000 sessions of one document with 100 events each: the time of an event, and the memory of all sessions.

use std::fs;
use std::time::Instant;

use branchpoint_dialects::load;
use branchpoint_host::gate::{Gate, SESSION_TTL_S, SessionAction, Sessions};

const SESSIONS: usize = 10_000;
const EVENTS: usize = 100;

/// Six steps with every type of condition, a sequence, and patterns.
const DOCUMENT: &str = r#"{"steps": [
    {"name": "locked", "conditions": [{"if": "len(tools) > 90 && message contains 'delete'"}], "availableTools": {"denied": ["*"]}},
    {"name": "write", "conditions": [{"type": "tool_used", "value": "think"}, {"type": "not_recently_used", "value": "search"}],
     "availableTools": {"allowed": ["summarize", "save_*"]}},
    {"name": "order", "conditions": [{"type": "message_regex", "value": "(?i)order #[0-9]+"}], "availableTools": {"allowed": ["lookup"]}},
    {"name": "plan", "conditions": [{"type": "message_contains", "value": "plan"}], "availableTools": {"allowed": ["think", "list_*"]}},
    {"name": "review", "sequence": ["search", ["think", "reflect"], "save_result"], "conditions": [{"type": "tool_used", "value": "review"}]},
    {"name": "general", "isDefault": true}]}"#;
const TOOLS: [&str; 8] = ["search", "think", "reflect", "summarize", "save_result", "lookup", "list_steps", "review"];

fn main() {
    let loaded = load(DOCUMENT, None);
    let program = loaded.program.expect("the document loads");
    let mut sessions =
        Sessions::new(Gate::new(&program, Some(&TOOLS), SESSION_TTL_S).expect("the program has a session"));
    let ids: Vec<String> = (0..SESSIONS).map(|number| format!("session-{number}")).collect();
    let before = resident_kb();
    let mut nanos = Vec::with_capacity(SESSIONS * EVENTS);
    let begin = Instant::now();
    for event in 0..EVENTS {
        for (number, id) in ids.iter().enumerate() {
            let request = request(event, number);
            let sent = Instant::now();
            let answer = sessions.request(id, request, i64::try_from(event).unwrap_or_default());
            nanos.push(u32::try_from(sent.elapsed().as_nanos()).unwrap_or(u32::MAX));
            assert!(answer.is_ok(), "every event is accepted: {answer:?}");
        }
    }
    let elapsed = begin.elapsed();
    let memory_kb = resident_kb().zip(before).map(|(after, before)| after.saturating_sub(before));
    nanos.sort_unstable();
    let at = |per_mille: usize| micros(nanos[(nanos.len() - 1) * per_mille / 1_000]);
    println!("{SESSIONS} sessions, {EVENTS} events each, {:.1} s in all", elapsed.as_secs_f64());
    println!(
        "an event: median {:.1} us, p99 {:.1} us, p99.9 {:.1} us, slowest {:.1} us",
        at(500),
        at(990),
        at(999),
        at(1_000)
    );
    match memory_kb {
        Some(kb) => println!("all sessions together: {:.1} MB, including the measured times", kb as f64 / 1024.0),
        None => println!("memory: unknown on this system"),
    }
}

/// One event in four is a message, one is a query, the others are tools.
fn request(event: usize, session: usize) -> SessionAction {
    match event % 4 {
        0 => SessionAction::Message(
            ["plan it", "where is order #7?", "hello", "delete it"][(event / 4 + session) % 4].into(),
        ),
        1 => SessionAction::Query,
        _ => SessionAction::Tool(TOOLS[(event * 7 + session) % TOOLS.len()].into()),
    }
}

fn micros(nanos: u32) -> f64 {
    f64::from(nanos) / 1_000.0
}

/// The resident memory of the process, if the system reports it.
fn resident_kb() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}
