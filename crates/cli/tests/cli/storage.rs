//! Memories, chats, knowledge bases and objects, with the settings that everybody has: none.

use std::fs;
use std::process::Output;
use std::sync::Arc;

use branchpoint_expr::{Object, Value};
use branchpoint_host::SqliteStorage;
use branchpoint_host::store::Durability;
use branchpoint_runners::storage::{KnowledgeDocument, Retrieval};

use super::running::{Place, err, exits, out};

/// Runs steps with an input.
fn run(place: &Place, steps: &str, arguments: &[&str]) -> Output {
    let document = format!("name: t\nsteps:\n{steps}\n");
    fs::write(place.path().join("t.yaml"), document).expect("files can be written");
    place.run(&[&["run", "t.yaml", "--quiet"], arguments].concat())
}

/// The output of a run that completes, as JSON.
#[track_caller]
fn result(place: &Place, steps: &str, arguments: &[&str]) -> serde_json::Value {
    let output = run(place, steps, arguments);
    exits(&output, 0);
    serde_json::from_str(&out(&output)).unwrap_or_else(|_| out(&output).trim_end().into())
}

/// Everything that is in the files of the store.
fn stored_text(place: &Place) -> String {
    let files = fs::read_dir(place.path().join("store")).expect("there is a store");
    let bytes = files.map(|file| file.expect("it can be read").path()).filter(|path| path.is_file()).map(fs::read);
    bytes.map(|bytes| String::from_utf8_lossy(&bytes.expect("it can be read")).into_owned()).collect()
}

#[test]
fn a_memory_is_added_searched_and_loaded_by_other_runs() {
    let place = Place::new(&[]);
    let add = "  - {id: a, step_type: add_memory, collection: notes, key: k1, metadata: {by: \"{{input}}\"}, content: Refunds take a week}";
    assert_eq!(result(&place, add, &["-i", "input=ada"]), "ada", "the output is the input");
    result(&place, "  - {id: a, step_type: add_memory, collection: notes}", &["-i", "input=Shoes are red"]);
    let results = result(&place, "  - {id: s, step_type: search_memory, collection: notes, query: \"refund?\"}", &[]);
    let first = &results[0];
    assert_eq!((&first["key"], &first["content"]), (&"k1".into(), &"Refunds take a week".into()), "{results}");
    assert_eq!((&first["metadata"]["by"], results.as_array().map(Vec::len)), (&"ada".into(), Some(1)), "{results}");
    assert!(first["score"].as_f64() > Some(0.0), "{results}");
    // The query is the input unless the step has one.
    let results =
        result(&place, "  - {id: s, step_type: search_memory, collection: notes}", &["-i", "input=red shoes"]);
    assert_eq!(results[0]["content"], "Shoes are red", "{results}");
    let replace = "  - {id: a, step_type: add_memory, collection: notes, key: k1, content: Refunds take a day}";
    result(&place, replace, &["-i", "input=x"]);
    let load = "  - {id: l, step_type: load_memory, collection: notes, key: \"{{input}}\"}";
    assert_eq!(result(&place, load, &["-i", "input=k1"])["content"], "Refunds take a day");
    assert_eq!(result(&place, load, &["-i", "input=other"]), "", "null is printed as nothing");
    assert_eq!(result(&place, "  - {id: s, step_type: search_memory}", &["-i", "input=refund"]), serde_json::json!([]));
}

#[test]
fn a_chat_is_added_to_and_loaded_without_a_model() {
    let place = Place::new(&[]);
    let turns = "  - {id: a, step_type: add_chat_turn, chat_id: c1}\n  \
                 - {id: b, step_type: add_chat_turn, chat_id: c1, role: assistant, content: \"You said {{input}}\"}";
    assert_eq!(result(&place, turns, &["-i", "input=hello"]), "hello");
    let load = |more: &str| format!("  - {{id: l, step_type: load_chat_history, chat_id: \"{{{{input}}}}\"{more}}}");
    let loaded = result(&place, &load(""), &["-i", "input=c1"]);
    let turn = |at: usize| (loaded[at]["role"].as_str(), loaded[at]["content"].as_str());
    assert_eq!((turn(0), turn(1)), ((Some("user"), Some("hello")), (Some("assistant"), Some("You said hello"))));
    assert!(loaded[0]["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{loaded}");
    assert_eq!(result(&place, &load(", limit: 1"), &["-i", "input=c1"])[0]["role"], "assistant");
    assert_eq!(result(&place, &load(""), &["-i", "input=unknown"]), serde_json::json!([]));
}

#[test]
fn a_knowledge_base_is_searched() {
    let place = Place::new(&[]);
    let search = "  - {id: r, step_type: retrieval, knowledge_base_id: help, filter: {kind: faq}}";
    assert_eq!(result(&place, search, &["-i", "input=refund"]), serde_json::json!([]));
    let metadata = Object::from_iter([(Arc::from("kind"), Value::from("faq"))]);
    let passages = vec!["Refunds take a week.".to_owned(), "Shoes.".to_owned()];
    let document = KnowledgeDocument { name: "faq.md".into(), metadata, passages, ..KnowledgeDocument::default() };
    let storage = SqliteStorage::new(place.store(), Durability::Full);
    storage.put_document("help", &document).expect("it is added");
    let results = result(&place, search, &["-i", "input=How long does a refund take?"]);
    assert_eq!(
        (&results[0]["document"], &results[0]["content"]),
        (&"faq.md".into(), &"Refunds take a week.".into()),
        "{results}"
    );
    assert_eq!(results.as_array().map(Vec::len), Some(1), "{results}");
}

#[test]
fn an_object_is_written_below_the_folder_for_files() {
    let place = Place::new(&[("branchpoint.toml", "[files]\ndir = \"out\"\n")]);
    fs::create_dir(place.path().join("out")).expect("folders can be made");
    let write = "  - {id: w, step_type: write_aws_s3_object, bucket: b, key: \"{{metadata.key}}\"}";
    let written = result(&place, write, &["-i", "input=hello", "-i", "metadata.key=a/b.txt"]);
    assert_eq!(written, serde_json::json!({"bucket": "b", "key": "a/b.txt", "bytes": 5}));
    assert_eq!(place.read("out/b/a/b.txt"), "hello");
    for key in ["../../x", "", "/etc/x"] {
        exits(&run(&place, write, &["-i", "input=hello", "-i", &format!("metadata.key={key}")]), 3);
    }
    exits(&run(&Place::new(&[]), write, &["-i", "input=hello"]), 2);
}

#[test]
fn every_run_of_a_step_publishes_its_own_content() {
    let place = Place::new(&[("branchpoint.toml", "[files]\ndir = \"out\"\n")]);
    fs::create_dir(place.path().join("out")).expect("folders can be made");
    let each = "  - id: l\n    step_type: for_each\n    input_template: '[\"a\", \"b\"]'\n    body: \
                [{id: p, step_type: publish_content, content_type: text/markdown}, {id: c, step_type: load_content, \
                content_version_id: \"{{step.p.output.storage_key}}\"}]";
    assert_eq!(result(&place, each, &["-i", "input=x"]), serde_json::json!(["a", "b"]));
    let named = "  - {id: p, step_type: publish_content, key: \"news/{{input}}\", content: {title: \"{{input}}\"}}";
    let published = result(&place, named, &["-i", "input=x"]);
    assert_eq!(
        published,
        serde_json::json!({"storage_key": "published/news/x", "mime": "application/json", "name": "x", "bytes": 13})
    );
    assert_eq!(place.read("out/published/news/x"), r#"{"title":"x"}"#);
}

#[test]
fn memories_and_chats_are_listed_and_removed() {
    let place = Place::new(&[]);
    let json = |arguments: &[&str]| -> serde_json::Value {
        let output = place.run(&[arguments, &["--json"]].concat());
        exits(&output, 0);
        serde_json::from_str(&out(&output)).expect("it is JSON")
    };
    for key in ["a", "b", "c"] {
        let steps = "  - {id: m, step_type: add_memory, collection: notes, key: \"{{input}}\", metadata: {n: 1}}\n  \
                     - {id: t, step_type: add_chat_turn, chat_id: \"chat-{{input}}\"}";
        result(&place, steps, &["-i", &format!("input={key}")]);
    }
    assert_eq!(json(&["memory", "list"]), serde_json::json!([{"collection": "notes", "entries": 3}]));
    let first = place.run(&["memory", "list", "-c", "notes", "--limit", "2", "--json"]);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&out(&first)).expect("it is JSON"),
        serde_json::json!([
            {"key": "a", "content": "a", "metadata": {"n": 1}}, {"key": "b", "content": "b", "metadata": {"n": 1}}
        ])
    );
    assert!(err(&first).contains("--after \"b\""), "{}", err(&first));
    assert_eq!(json(&["memory", "list", "-c", "notes", "--after", "b"])[0]["key"], "c");
    let unknown = place.run(&["memory", "remove", "a", "x", "-c", "notes"]);
    exits(&unknown, 1);
    assert!(err(&unknown).contains("no entry `x`; nothing was removed"), "{}", err(&unknown));
    assert_eq!(json(&["memory", "remove", "a", "-c", "notes"])["removed"], 1);
    let unknown = place.run(&["memory", "remove", "--all", "-c", "note"]);
    exits(&unknown, 1);
    assert!(err(&unknown).contains("did you mean `notes`?"), "{}", err(&unknown));
    assert_eq!(json(&["memory", "remove", "--all", "-c", "notes"])["removed"], 2);
    assert_eq!(json(&["memory", "list"]), serde_json::json!([]));
    assert!(out(&place.run(&["chats", "list"])).contains("chat-b"));
    exits(&place.run(&["chats", "remove", "chat-a", "chat-x"]), 1);
    assert_eq!(json(&["chats", "remove", "chat-a", "chat-b"]), serde_json::json!({"chats": 2, "turns": 2}));
    let left = json(&["chats", "list"]);
    assert_eq!((left[0]["chat"].as_str(), left.as_array().map(Vec::len)), (Some("chat-c"), Some(1)), "{left}");
}

#[test]
fn wrong_fields_are_named_and_limits_have_their_own_kind() {
    let long = "x".repeat(600);
    let words = (0..513).map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ");
    for (step, said) in [
        ("search_memory, top_n: \"{{input}}\"", "`top_n`"),
        ("load_memory", "`key` of a `memory` request is missing"),
        ("load_memory, key: \"{{metadata.none}}\"", "`key` of a `memory` request is empty"),
        ("add_memory, metadata: \"{{input}}\"", "`metadata`"),
        ("add_memory, collection: \"{{metadata.none}}\"", "`collection` of a `memory` request is empty"),
        ("add_chat_turn", "`chat_id` of a `chat_history` request is missing"),
        (
            "add_chat_turn, chat_id: c, role: \"{{input}}\"",
            "`role` of a `chat_history` request must be user, assistant",
        ),
        ("load_chat_history, chat_id: c, limit: \"{{input}}\"", "`limit`"),
        ("retrieval, added_after: \"{{input}}\"", "`added_after` of a `retrieval` request must be a date"),
        ("retrieval, filter: \"{{input}}\"", "`filter`"),
        (&format!("add_chat_turn, chat_id: {long}"), "storage_limit"),
        (&format!("search_memory, query: \"{}\"", "x ".repeat(9_000)), "storage_limit"),
        (&format!("search_memory, query: \"{words}\""), "has 513 different words"),
        (
            &format!("add_memory, content: x, metadata: {{a: {}{}}}", "[".repeat(64), "]".repeat(64)),
            "more than 64 levels",
        ),
    ] {
        let place = Place::new(&[]);
        let output = run(&place, &format!("  - {{id: a, step_type: {step}}}"), &["-i", "input=five", "--json"]);
        exits(&output, 3);
        let report = out(&output) + &err(&output);
        assert!(report.contains(said), "{step}: {report}");
    }
    let reranked = "  - {id: r, step_type: retrieval, reranker_model: best}";
    let output = run(&Place::new(&[]), reranked, &["-i", "input=x"]);
    exits(&output, 2);
    assert!(err(&output).contains("`reranker_model`"), "{}", err(&output));
}

#[test]
fn secrets_are_neither_stored_nor_indexed() {
    let place = Place::new(&[]);
    let steps = "  - {id: a, step_type: add_memory, content: \"the code {{metadata.SECRET_code}} and {{secret.MINE}} of ada\", \
                 metadata: {code: \"{{metadata.SECRET_code}}\"}}\n  \
                 - {id: b, step_type: add_chat_turn, chat_id: c, content: \"it is {{metadata.SECRET_code}}\"}\n  \
                 - {id: s, step_type: search_memory, query: \"{{metadata.SECRET_code}} {{secret.MINE}} ada\"}";
    fs::write(place.path().join("t.yaml"), format!("name: t\nsteps:\n{steps}\n")).expect("files can be written");
    let arguments = ["run", "t.yaml", "--json", "-i", "input=x", "-i", "metadata.SECRET_code=hunterhunter22"];
    let output = place.command(&arguments).env("MINE", "tajnetajne33").output().expect("the program starts");
    exits(&output, 0);
    assert!(out(&output).contains("the code *** and *** of ada"), "{}", out(&output));
    let stored = stored_text(&place);
    assert!(!stored.contains("hunterhunter22") && !stored.contains("tajnetajne33"));
    for secret in ["hunterhunter22", "tajnetajne33"] {
        let search = "  - {id: s, step_type: search_memory}";
        assert_eq!(result(&place, search, &["-i", &format!("input={secret}")]), serde_json::json!([]), "{secret}");
    }
    let named = "  - {id: a, step_type: add_chat_turn, chat_id: \"{{metadata.SECRET_code}}\"}";
    let output = run(&place, named, &["-i", "input=x", "-i", "metadata.SECRET_code=hunterhunter22"]);
    exits(&output, 3);
    assert!(err(&output).contains("`chat_id` of a `chat_history` request contains a secret"), "{}", err(&output));
}

#[test]
fn an_indexed_content_is_found_in_the_default_knowledge_base() {
    let search = "  - {id: r, step_type: retrieval, query: refund}";
    for settings in ["", "[files]\ndir = \"out\"\n"] {
        let place = Place::new(&[("branchpoint.toml", settings)]);
        fs::create_dir(place.path().join("out")).expect("folders can be made");
        let write = |more: &str| {
            format!(
                "  - {{id: w, step_type: write_content_attachment, attachment_key: notes/r.html, content_type: text/html, \
                 content: \"<p>A refund takes {{{{input}}}}, {{{{metadata.API_KEY}}}}</p>\"{more}}}"
            )
        };
        let secret = "metadata.API_KEY=hunter2-hunter2";
        result(&place, &write(""), &["-i", "input=a day", "-i", secret]);
        assert_eq!(result(&place, search, &["-i", "input=x"]), serde_json::json!([]), "only on request");
        let indexed = write(", indexed: \"{{metadata.on}}\"");
        let written = result(&place, &indexed, &["-i", "input=a week", "-i", secret, "-i", "metadata.on=true"]);
        let results = result(&place, search, &["-i", "input=x"]);
        assert_eq!(results.as_array().map(Vec::len), Some(1), "{results}");
        assert_eq!(results[0]["content"], "A refund takes a week, ***", "the text of the page, {results}");
        let metadata = |name: &str| results[0]["metadata"][name].as_str().unwrap_or_default();
        assert_eq!((metadata("name"), metadata("mime")), ("r.html", "text/html"), "{results}");
        assert_eq!(metadata("storage_key"), written["storage_key"], "{results}");
        let without = "  - {id: r, step_type: retrieval, query: refund, include_attachments: false}";
        assert_eq!(result(&place, without, &["-i", "input=x"]), serde_json::json!([]));
    }
}
