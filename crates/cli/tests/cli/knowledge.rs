//! Knowledge bases that are filled from files.

use std::fs;
use std::process::Output;

use serde_json::{Value, json};

use super::running::{Place, err, exits, out};
use crate::peer::{Peer, ReceivedRequest, response};

const OFFER: &[u8] = include_bytes!("../../../runners/tests/documents/offer.docx");
const INVOICE: &[u8] = include_bytes!("../../../runners/tests/documents/invoice.pdf");

#[track_caller]
fn printed(output: &Output, code: i32) -> Value {
    exits(output, code);
    serde_json::from_str(&out(output)).unwrap_or_else(|error| panic!("{error}: {}", out(output)))
}

fn add(place: &Place, arguments: &[&str]) -> Output {
    place.run(&[&["knowledge", "add", "--json"], arguments].concat())
}

/// The documents that a search finds, the best first.
#[track_caller]
fn results(place: &Place, words: &str) -> Vec<String> {
    let passages = printed(&place.run(&["knowledge", "search", words, "--json"]), 0);
    let passages = passages.as_array().expect("a list").iter();
    passages.map(|passage| passage["document"].as_str().unwrap_or_default().to_owned()).collect()
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().filter_map(|of| of["document"].as_str()).collect()
}

#[test]
fn files_of_every_format_are_found_by_search_and_by_a_step() {
    let place = Place::new(&[]);
    fs::create_dir_all(place.path().join("papers/out")).expect("folders can be made");
    let write = |name: &str, bytes: &[u8]| fs::write(place.path().join(name), bytes).expect("files can be written");
    write("papers/offer.docx", OFFER);
    write("papers/invoice.pdf", INVOICE);
    write("papers/page.html", b"<h1>Holidays</h1><script>hidden()</script><p>Closed in August.</p>");
    write("papers/faq.md", b"# Refunds\n\nA refund takes a week.");
    write("papers/out/secret.md", b"A refund is ignored.");
    write("papers/.gitignore", b"out/\n");
    write("papers/logo.png", b"\x89PNG");
    let report = printed(&add(&place, &["papers"]), 0);
    assert_eq!(
        names(&report["added"]),
        ["papers/faq.md", "papers/invoice.pdf", "papers/offer.docx", "papers/page.html"]
    );
    assert_eq!((&report["unsupported"], &report["failed"]), (&json!(1), &json!([])));
    for (words, document) in [
        ("toner", "papers/invoice.pdf"),
        ("Okafor", "papers/offer.docx"),
        ("august", "papers/page.html"),
        ("refunds", "papers/faq.md"),
    ] {
        assert_eq!(results(&place, words), [document], "{words}");
    }
    assert_eq!(results(&place, "hidden"), [""; 0]);
    let step = "name: t\nsteps:\n  - {id: r, step_type: retrieval, filter: {format: pdf}}\n";
    write("t.yaml", step.as_bytes());
    let result = printed(&place.run(&["run", "t.yaml", "--quiet", "-i", "input=toner refund"]), 0);
    assert_eq!(names(&result), ["papers/invoice.pdf"], "a step finds them too, and filters by what is known of them");
    let listed = printed(&place.run(&["knowledge", "list", "--json"]), 0);
    assert_eq!((&listed[0]["knowledge_base"], &listed[0]["documents"]), (&json!("default"), &json!(4)));
}

#[test]
fn only_changed_files_are_added_again_and_equal_ones_once() {
    let place = Place::new(&[("a.md", "one refund"), ("b.md", "one refund"), ("c.md", "three")]);
    let first = printed(&add(&place, &["."]), 0);
    assert_eq!(names(&first["added"]), ["a.md", "c.md"]);
    assert_eq!(first["duplicates"], json!([{"document": "b.md", "same_as": "a.md"}]));
    let again = printed(&add(&place, &["."]), 0);
    assert_eq!((&again["added"], &again["updated"], &again["unchanged"]), (&json!([]), &json!([]), &json!(2)));
    assert_eq!(results(&place, "refund"), ["a.md"]);
    // The document that the copy was a copy of changes: the copy takes its place.
    fs::write(place.path().join("a.md"), "changed").expect("files can be written");
    let changed = printed(&add(&place, &["."]), 0);
    assert_eq!((names(&changed["updated"]), names(&changed["added"])), (vec!["a.md"], vec!["b.md"]));
    assert_eq!(
        (results(&place, "refund"), results(&place, "changed")),
        (vec!["b.md".to_owned()], vec!["a.md".to_owned()])
    );
    fs::remove_file(place.path().join("c.md")).expect("it is there");
    assert_eq!(printed(&add(&place, &["."]), 0)["removed"], json!([]), "files that are gone stay without --delete");
    assert_eq!(printed(&add(&place, &[".", "--delete"]), 0)["removed"], json!(["c.md"]));
    assert_eq!(results(&place, "three"), [""; 0]);
    let renewed = printed(&add(&place, &[".", "--metadata", "kind=faq"]), 0);
    assert_eq!(names(&renewed["updated"]).len(), 2, "documents with other facts are other documents");
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_the_others_are_added() {
    let place = Place::new(&[
        ("good.md", "fine"),
        ("bad.pdf", "no pdf"),
        ("bad.txt", "a\0b"),
        ("empty.md", " \n"),
        ("logo.png", ""),
    ]);
    let output = add(&place, &["good.md", "bad.pdf", "bad.txt", "gone.md", "logo.png", "empty.md"]);
    let report = printed(&output, 1);
    assert_eq!((names(&report["added"]), &report["empty"]), (vec!["good.md"], &json!(["empty.md"])));
    let mut failed = names(&report["failed"]);
    failed.sort_unstable();
    assert_eq!(failed, ["bad.pdf", "bad.txt", "gone.md", "logo.png"]);
    assert!(err(&output).contains("cannot add `gone.md`: no such file or folder"), "{}", err(&output));
    assert_eq!(results(&place, "fine"), ["good.md"]);
}

#[test]
fn documents_and_knowledge_bases_are_removed() {
    let place = Place::new(&[("a.md", "one"), ("b.md", "two")]);
    printed(&add(&place, &["a.md", "b.md", "--base", "help"]), 0);
    let listed = printed(&place.run(&["knowledge", "list", "--base", "help", "--json"]), 0);
    assert_eq!(names(&listed), ["a.md", "b.md"]);
    let output = place.run(&["knowledge", "remove", "a.md", "c.md", "--base", "help"]);
    exits(&output, 1);
    assert!(err(&output).contains("no document `c.md`; nothing was removed"), "{}", err(&output));
    let removed = printed(&place.run(&["knowledge", "remove", "a.md", "--base", "help", "--json"]), 0);
    assert_eq!(removed, json!({"knowledge_base": "help", "removed": 1}));
    exits(&place.run(&["knowledge", "remove", "--all", "--base", "help"]), 0);
    let output = place.run(&["knowledge", "search", "two", "--base", "help"]);
    exits(&output, 1);
    assert!(err(&output).contains("there is no knowledge base `help`"), "{}", err(&output));
    exits(&place.run(&["knowledge", "remove", "--base", "help"]), 1);
}

#[test]
fn secrets_of_this_machine_are_not_indexed() {
    let settings = "[secrets]\nfile = \"secrets.env\"\n";
    let place = Place::new(&[
        ("branchpoint.toml", settings),
        ("secrets.env", "MINE=hunterhunter22\n"),
        ("a.md", "the code hunterhunter22 and tajnetajne33 of ada"),
    ]);
    let output = place.command(&["knowledge", "add", "a.md"]).env("MY_API_KEY", "tajnetajne33").output();
    exits(&output.expect("the program starts"), 0);
    assert_eq!(results(&place, "ada"), ["a.md"]);
    for secret in ["hunterhunter22", "tajnetajne33"] {
        assert_eq!(results(&place, secret), [""; 0]);
    }
    let stored = fs::read(place.store()).expect("there is a store");
    assert!(!String::from_utf8_lossy(&stored).contains("hunterhunter22"));
}

/// Gives texts about money one direction, and all others another.
fn meanings(request: &ReceivedRequest) -> Vec<u8> {
    let body: Value = serde_json::from_str(&request.body).expect("the request is JSON");
    let vector = |text: &Value| {
        let is_money = ["refund", "money"].iter().any(|word| text.as_str().is_some_and(|text| text.contains(word)));
        json!({ "embedding": if is_money { [1.0, 0.1] } else { [0.0, 1.0] } })
    };
    let data: Vec<Value> = body["input"].as_array().expect("texts").iter().map(vector).collect();
    response("200 OK", &[("content-type", "application/json")], &json!({ "data": data }).to_string())
}

#[test]
fn with_an_embedding_model_a_search_finds_texts_with_other_words() {
    let peer = Peer::new(meanings);
    let settings = format!("[embeddings]\nurl = \"{}\"\nmodel = \"m\"\n", peer.url("/v1"));
    let place = Place::new(&[("a.md", "We give the money back."), ("b.md", "Shoes are red.")]);
    printed(&add(&place, &["a.md", "b.md"]), 0);
    assert_eq!(results(&place, "refund"), [""; 0], "by words nothing matches");
    fs::write(place.path().join("branchpoint.toml"), settings).expect("files can be written");
    let output = place.run(&["knowledge", "search", "refund"]);
    exits(&output, 1);
    assert!(err(&output).contains("no vectors of the embedding model `m`"), "{}", err(&output));
    let report = printed(&add(&place, &["a.md", "b.md"]), 0);
    assert_eq!(names(&report["updated"]), ["a.md", "b.md"], "they get their vectors");
    assert_eq!(printed(&add(&place, &["a.md", "b.md"]), 0)["unchanged"], json!(2));
    assert_eq!(results(&place, "refund"), ["a.md", "b.md"]);
    let step = "name: t\nsteps:\n  - {id: r, step_type: retrieval, top_n: 1}\n";
    fs::write(place.path().join("t.yaml"), step).expect("files can be written");
    let result = printed(&place.run(&["run", "t.yaml", "--quiet", "-i", "input=refund"]), 0);
    assert_eq!(names(&result), ["a.md"]);
}

#[test]
fn an_embedding_model_that_fails_ends_the_command_and_fails_the_step() {
    let peer = Peer::saying("401 Unauthorized", "text/plain", "no");
    let settings = format!("[embeddings]\nurl = \"{}\"\nmodel = \"m\"\n", peer.url("/v1"));
    let step = "name: t\nsteps:\n  - {id: r, step_type: retrieval}\n";
    let place = Place::new(&[("branchpoint.toml", &settings), ("a.md", "refund"), ("t.yaml", step)]);
    let output = add(&place, &["a.md"]);
    exits(&output, 4);
    assert!(
        err(&output).contains("cannot add `a.md`: the embedding model responded with status 401"),
        "{}",
        err(&output)
    );
    let output = place.run(&["run", "t.yaml", "-i", "input=refund"]);
    exits(&output, 3);
    assert!(err(&output).contains("401"), "{}", err(&output));
}
