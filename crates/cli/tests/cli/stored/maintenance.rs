//! `branchpoint workflows`, `prune`, `store`, `doctor`, `man`, and the export and import of runs.

use branchpoint_expr::Dialect;

use super::{Bench, REVIEW, has, json};

#[test]
fn workflows_are_added_and_shown() {
    let bench = Bench::new();
    std::fs::write(bench.folder.path().join("review.yaml"), REVIEW).expect("there is room");
    let (hash, _) = bench.expect(0, &["workflows", "add", "review.yaml"]);
    assert_eq!(bench.expect(0, &["workflows", "add", "review.yaml"]).0, hash, "the same content is kept once");
    std::fs::write(bench.folder.path().join("review.yaml"), REVIEW.replace("100", "200")).expect("there is room");
    bench.expect(0, &["workflows", "add", "review.yaml"]);
    let listed = bench.json(&["workflows", "list", "--json"]);
    assert_eq!((listed.as_array().map(Vec::len), &listed[0]["workflow"]), (Some(2), &"review".into()));
    has(&bench.expect(0, &["workflows", "show", "review"]).0, &["metadata.amount > 200", "versions", "steps"]);
    has(&bench.expect(0, &["workflows", "show", &hash[..8]]).0, &["metadata.amount > 100"]);
    has(&bench.expect(1, &["workflows", "show", "other"]).1, &["no workflow `other`", "review"]);
    std::fs::write(bench.folder.path().join("bad.yaml"), "steps: [{id: a}]").expect("there is room");
    bench.expect(2, &["workflows", "add", "bad.yaml"]);
}

#[test]
fn only_ended_runs_are_pruned() {
    let bench = Bench::new();
    bench.asks("waits");
    bench.start("ended", ("review", REVIEW), Dialect::Steps, &json(r#"{"input": "x", "amount": 5}"#), "{}");
    has(&bench.expect(0, &["prune", "--older-than", "1d"]).0, &["0 runs"]);
    // `0s` selects only runs that ended before this moment.
    std::thread::sleep(std::time::Duration::from_millis(5));
    has(&bench.expect(0, &["prune", "--older-than", "0s", "--dry-run"]).0, &["1 runs", "would be"]);
    let pruned = bench.json(&["prune", "--older-than", "0s", "--vacuum", "--json"]);
    assert_eq!(pruned["runs"], 1);
    assert_eq!(bench.json(&["runs", "list", "--json"])[0]["run"], "waits");
    has(
        &bench.expect(1, &["prune", "--older-than", "0s", "--status", "running"]).1,
        &["have not ended", "runs cancel"],
    );
    assert_ne!(bench.run(&["prune", "--older-than", "soon"]).status.code(), Some(0));
}

#[test]
fn a_store_is_copied_and_checked() {
    let bench = Bench::new();
    bench.asks("letter");
    has(&bench.expect(0, &["store", "backup", "copy.db"]).1, &["Copied the store to copy.db"]);
    has(&bench.expect(4, &["store", "backup", "copy.db"]).1, &["copy.db"]);
    has(&bench.expect(0, &["runs", "list", "--store", "copy.db"]).0, &["letter"]);
    has(&bench.expect(0, &["store", "check"]).0, &["intact"]);
    has(&bench.expect(0, &["store", "path"]).0, &["store.db"]);
    std::fs::write(bench.folder.path().join("other.db"), "this is no database, and long enough to be one")
        .expect("there is room");
    bench.expect(4, &["runs", "list", "--store", "other.db"]);
}

#[test]
fn a_doctor_shows_what_is_configured_and_what_is_broken() {
    let bench = Bench::new();
    has(&bench.expect(0, &["doctor"]).0, &["does not exist yet", "owner ada, 1 admins"]);
    bench.asks("letter");
    let (stdout, _) = bench.expect(0, &["doctor"]);
    has(&stdout, &["intact", "clock", "no process executes runs", "1 waiting_people", "semantics"]);
    let toml = "store = \"store.db\"\n[secrets]\nfile = \"absent\"\n";
    std::fs::write(bench.folder.path().join("branchpoint.toml"), toml).expect("there is room");
    has(&bench.expect(4, &["doctor"]).0, &["broken", "absent"]);
    std::fs::write(bench.folder.path().join("branchpoint.toml"), "stor = 1").expect("there is room");
    has(&bench.expect(4, &["doctor", "--json"]).0, &["\"broken\"", "branchpoint.toml:1 is invalid"]);
}

#[test]
fn exported_runs_continue_in_another_store() {
    let bench = Bench::new();
    bench.asks("letter");
    let (lines, stderr) = bench.expect(0, &["runs", "export"]);
    has(&stderr, &["Exported 1 runs"]);
    std::fs::write(bench.folder.path().join("runs.jsonl"), &lines).expect("there is room");
    has(&bench.expect(0, &["runs", "import", "runs.jsonl"]).1, &["`letter` already exists", "Imported 0 runs"]);
    has(&bench.expect(0, &["runs", "import", "runs.jsonl", "--store", "new.db"]).1, &["Imported 1 runs"]);
    bench.expect(0, &["approvals", "approve", "letter", "--as", "ada", "--store", "new.db"]);
    bench.expect(0, &["approvals", "approve", "letter", "--as", "bob", "--store", "new.db"]);
    has(&bench.expect(0, &["runs", "show", "letter", "--store", "new.db"]).0, &["completed"]);
    has(&bench.expect(0, &["runs", "show", "letter"]).0, &["waiting_people"]);
    std::fs::write(bench.folder.path().join("bad.jsonl"), "{}\n").expect("there is room");
    has(
        &bench.expect(1, &["runs", "import", "bad.jsonl"]).1,
        &["line 1", "not an export of `branchpoint runs export`", "nothing was imported"],
    );
}

#[test]
fn manual_pages_are_written() {
    let bench = Bench::new();
    let (page, _) = bench.expect(0, &["man"]);
    has(&page, &[".TH", "branchpoint", "approvals"]);
    assert!(!page.contains('\u{1b}'), "a page has no colours");
    bench.expect(0, &["man", "pages"]);
    let page = std::fs::read_to_string(bench.folder.path().join("pages/branchpoint-runs-fork.1"));
    let page = page.expect("each command has a page");
    has(&page, &[".TH", "fork"]);
    assert!(!page.contains('\u{1b}'), "a page has no colours");
}
