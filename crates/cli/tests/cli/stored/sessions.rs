//! `branchpoint session` with a store, and `branchpoint sessions`.

use super::{Bench, has};

const AGENT: &str = include_str!("../../../../../examples/session/post-analysis.json");

fn lines(bench: &Bench, arguments: &[&str], stdin: &str) -> Vec<serde_json::Value> {
    let all = [&["session", "agent.json", "--tools", "think,search,summarize"][..], arguments].concat();
    let output = bench.run_with(&all, stdin);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("lines are text");
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

#[test]
fn a_stored_session_answers_like_one_in_memory_and_continues() {
    let bench = Bench::new();
    std::fs::write(bench.folder.path().join("agent.json"), AGENT).expect("there is room");
    let first = "{\"ask\": true}\n{\"tool\": \"think\", \"key\": \"k1\"}\n{\"tool\": \"think\", \"key\": \"k1\"}\n";
    let second = "{\"tool\": \"search\"}\n{\"ask\": true}\n";
    let in_memory = lines(&bench, &[], &format!("{first}{second}"));
    let mut stored = lines(&bench, &["--id", "main"], first);
    stored.extend(lines(&bench, &["--id", "main"], second));
    assert_eq!(stored, in_memory);
    has(&bench.expect(0, &["sessions", "list"]).0, &["main", "agent", "alive"]);
    let shown = bench.json(&["sessions", "show", "main"]);
    assert_eq!(shown["recentlyUsedTools"], in_memory[4]["recentlyUsedTools"]);
    has(&bench.expect(0, &["sessions", "reset", "main"]).0, &["sessionId"]);
    assert_eq!(bench.json(&["sessions", "show", "main"])["recentlyUsedTools"], serde_json::json!([]));
    let again = lines(&bench, &["--id", "main"], "{\"tool\": \"think\", \"key\": \"k1\"}\n");
    assert_eq!(again[0]["recentlyUsedTools"].as_array().map(Vec::len), Some(1), "a reset forgets keys too");
    has(&bench.expect(1, &["sessions", "show", "other"]).1, &["no session `other`", "sessions list"]);
    assert_eq!(lines(&bench, &["--id", "main", "--explain"], "{\"ask\": true}\n")[0]["sessionId"], "main");
}

#[test]
fn a_changed_document_keeps_the_memory_of_a_session() {
    let bench = Bench::new();
    std::fs::write(bench.folder.path().join("agent.json"), AGENT).expect("there is room");
    let before = lines(&bench, &["--id", "s"], "{\"tool\": \"think\"}\n");
    let changed = AGENT.replacen('{', "{\"description\": \"changed\", ", 1);
    let changed = if AGENT.contains("\"description\"") {
        AGENT.replacen("\"description\": \"", "\"description\": \"now ", 1)
    } else {
        changed
    };
    std::fs::write(bench.folder.path().join("agent.json"), changed).expect("there is room");
    let after = lines(&bench, &["--id", "s"], "{\"ask\": true}\n");
    assert_eq!(after[0]["recentlyUsedTools"], before[0]["recentlyUsedTools"]);
    assert_eq!(bench.json(&["workflows", "list", "--json"]).as_array().map(Vec::len), Some(2));
}
