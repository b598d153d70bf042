//! Files in the operator's folder, and attempts to leave it.

use std::fs;
use std::os::unix::fs::symlink;

use branchpoint_expr::Value;
use branchpoint_runners::runtime;
use branchpoint_runners::tools::Tools;
use tempfile::TempDir;

use super::{call, failure, judged, perform, tools, value};

fn folder() -> (TempDir, Tools) {
    let dir = tempfile::tempdir().expect("there is room for a folder");
    fs::create_dir(dir.path().join("in")).expect("it is new");
    fs::write(dir.path().join("outside.txt"), "secret").expect("it can be written");
    let tools = tools(&format!("[files]\ndir = '{}'\nmax_bytes = 1000", dir.path().join("in").display()));
    (dir, tools)
}

fn write(key: &str, content: &str) -> branchpoint_runners::Call {
    let input = format!(r#"{{"path": "{key}", "content": "{content}", "content_type": "text/markdown"}}"#);
    call("files", r#"{"fixed": {"operation": "write"}}"#, &input)
}

fn load(key: &str) -> branchpoint_runners::Call {
    let input = format!(r#"{{"path": "{key}"}}"#);
    call("files", r#"{"fixed": {"operation": "load"}}"#, &input)
}

#[test]
fn a_written_file_can_be_read_and_no_temporary_file_remains() {
    let (dir, tools) = folder();
    let written = judged(&tools, &write("a/b/note.md", "one"));
    let expected = r#"{"storage_key": "a/b/note.md", "mime": "text/markdown", "name": "note.md", "bytes": 3}"#;
    assert_eq!(written, value(expected));
    judged(&tools, &write("a/b/note.md", "two"));
    assert_eq!(judged(&tools, &load("a/b/note.md")), Value::from("two"));
    assert_eq!(fs::read_dir(dir.path().join("in/a/b")).expect("it is there").count(), 1);
    let metadata =
        call("files", r#"{"fixed": {"operation": "write_metadata"}}"#, r#"{"path": "k", "content": {"a": 1}}"#);
    judged(&tools, &metadata);
    assert_eq!(fs::read_to_string(dir.path().join("in/metadata/k.json")).expect("it is there"), r#"{"a":1}"#);
}

#[test]
fn temporary_files_of_killed_processes_do_not_get_in_the_way() {
    let (dir, tools) = folder();
    // The next process may have the same id, which is usual in a container.
    for number in 0..100 {
        let left = dir.path().join(format!("in/.branchpoint-{}-{number}", std::process::id()));
        fs::write(left, "half").expect("it can be written");
    }
    judged(&tools, &write("note.md", "one"));
    assert_eq!(judged(&tools, &load("note.md")), Value::from("one"));
}

#[test]
fn no_path_and_no_symbolic_link_leads_out_of_the_folder() {
    let (dir, tools) = folder();
    let inside = dir.path().join("in");
    symlink(dir.path(), inside.join("up")).expect("links can be made");
    symlink(dir.path().join("outside.txt"), inside.join("link.txt")).expect("links can be made");
    let absolute = dir.path().join("outside.txt").display().to_string();
    for key in
        ["../outside.txt", "a/../../outside.txt", "up/outside.txt", "link.txt", &absolute, "", ".", "a/", "a\\u0000b"]
    {
        let failed = failure(perform(&tools, &load(key)));
        assert!(!failed.retry.allows_retry(), "{key}: {failed:?}");
    }
    for key in ["../outside.txt", "up/outside.txt", &absolute, "", "up"] {
        let _ = perform(&tools, &write(key, "gone"));
        assert_eq!(fs::read_to_string(dir.path().join("outside.txt")).expect("it is there"), "secret", "{key}");
    }
    judged(&tools, &write("link.txt", "mine"));
    assert_eq!(
        fs::read_to_string(dir.path().join("outside.txt")).expect("it is there"),
        "secret",
        "the link was replaced"
    );
}

#[test]
fn only_regular_files_up_to_the_largest_size_are_read_and_written() {
    let (dir, tools) = folder();
    let failed = failure(perform(&tools, &write("big", &"x".repeat(1001))));
    assert!(failed.message.contains("max_bytes"), "{failed:?}");
    fs::write(dir.path().join("in/big"), "x".repeat(1001)).expect("it can be written");
    failure(perform(&tools, &load("big")));
    fs::create_dir(dir.path().join("in/folder")).expect("it is new");
    failure(perform(&tools, &load("folder")));
    failure(perform(&tools, &load("none")));
}

#[test]
fn a_name_that_is_too_long_is_rejected_at_once() {
    let (_dir, tools) = folder();
    for (bucket, key) in [("b", "x".repeat(300)), ("b", "x/".repeat(2_000) + "x"), (&*"x".repeat(300), "k".into())] {
        let input = format!(r#"{{"bucket": "{bucket}", "key": "{key}", "content": "c"}}"#);
        let failed = failure(perform(&tools, &call("object_store", "{}", &input)));
        assert!(!failed.retry.allows_retry() && failed.message.len() < 1_000, "{failed:?}");
        assert!(failed.message.contains("1024 bytes") || failed.message.contains("255 bytes"), "{failed:?}");
    }
}

#[test]
fn a_missing_folder_is_reported_before_a_run() {
    let tools = tools("[files]\ndir = \"does-not-exist\"");
    assert!(
        runtime()
            .block_on(tools.unavailable_reason(&super::effect("files", r#"{"fixed": {"operation": "load"}}"#)))
            .is_some_and(|lacks| lacks.contains("[files]"))
    );
}
