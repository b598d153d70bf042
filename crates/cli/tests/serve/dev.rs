//! `branchpoint dev`: a folder of workflows that is loaded again when it changes.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::client::Server;

fn document(template: &str) -> String {
    format!("name: hello\nsteps:\n  - {{id: greet, step_type: text, template: {template}}}\n")
}

fn start(folder: &Path) -> Server {
    let arguments = ["dev", ".", "--listen", "127.0.0.1:0", "--store", "../runs.db"];
    Server::start_in(folder, &arguments)
}

#[test]
fn a_changed_file_is_served_and_one_with_errors_keeps_its_last_version() {
    let outer = tempfile::tempdir().expect("there is room for files");
    let folder = outer.path().join("flows");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("hello.yaml"), document("one")).expect("a file");
    let server = start(&folder);
    assert_eq!(server.run("hello", &json!({}))["result"]["output"], "one");
    fs::write(folder.join("hello.yaml"), document("two")).expect("a file");
    server.until("/workflows/hello", |workflow| workflow["version"] == 2);
    assert_eq!(server.run("hello", &json!({}))["result"]["output"], "two");
    fs::write(folder.join("hello.yaml"), document("one").replace("text,", "nope,")).expect("a file");
    fs::write(folder.join("other.yaml"), document("three")).expect("a file");
    server.until("/workflows/other", |workflow| workflow["version"] == 1);
    assert_eq!(server.run("hello", &json!({}))["result"]["output"], "two");
}

#[test]
fn a_script_beside_a_workflow_answers_its_calls() {
    let outer = tempfile::tempdir().expect("there is room for files");
    let folder = outer.path().join("flows");
    fs::create_dir(&folder).expect("a folder");
    let text = "name: draft\nsteps:\n  - {id: draft, step_type: prompt_call, prompt_template: Hello}\n";
    fs::write(folder.join("draft.yaml"), text).expect("a file");
    fs::write(folder.join("draft.script.yaml"), "draft: Dear Ada\n").expect("a file");
    let server = start(&folder);
    assert_eq!(server.run("draft", &json!({}))["result"]["output"], "Dear Ada");
    fs::write(folder.join("draft.script.yaml"), "draft: Dear Bob\n").expect("a file");
    let begin = std::time::Instant::now();
    while server.run("draft", &json!({}))["result"]["output"] != "Dear Bob" {
        assert!(begin.elapsed() < crate::client::PATIENCE, "the script is not loaded again");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}
