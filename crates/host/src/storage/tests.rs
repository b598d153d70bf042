use std::sync::Arc;

use branchpoint_core::EffectNo;
use branchpoint_core::effect::{MemoryEntry, Role};
use branchpoint_expr::{Object, Value};
use branchpoint_runners::storage::{
    Blobs, ChatHistory, EntrySearch, FileKey, KnowledgeDocument, MAX_CONTENT_BYTES, MAX_ENTRIES, MAX_FILE_BYTES,
    MAX_QUERY_WORDS, MAX_TURNS, Memory, ModelVector, PassageSearch, Retrieval, StorageError, Upload, Vector, WriteId,
};

use super::*;
use crate::host::testing;
use crate::store::Prune;

/// A store with a run of the id `run`, and its stored data.
fn storage() -> (testing::Place, SqliteStorage) {
    let (place, host, _) = testing::started(&testing::calling());
    host.close().expect("it closes");
    let storage = SqliteStorage::new(place.file(), Durability::Normal);
    (place, storage)
}

fn effect(number: u64) -> WriteId {
    WriteId { run: "run".into(), effect: EffectNo(number) }
}

fn entry(key: &str, content: &str) -> MemoryEntry {
    MemoryEntry { key: key.into(), content: content.into(), metadata: Object::default() }
}

fn document(name: &str, passages: &[&str]) -> KnowledgeDocument {
    let passages = passages.iter().map(ToString::to_string).collect();
    KnowledgeDocument { name: name.into(), passages, ..KnowledgeDocument::default() }
}

fn search(query: &str) -> PassageSearch {
    PassageSearch { query: query.into(), limit: 10, candidates: 100, ..PassageSearch::default() }
}

fn entries(query: &str) -> EntrySearch {
    EntrySearch { query: query.into(), limit: 10, vector: None }
}

#[track_caller]
fn keys(storage: &SqliteStorage, query: &str) -> Vec<String> {
    let results =
        storage.search_entries("notes", &entries(query), &CancellationToken::new()).expect("any text is a query");
    results.into_iter().map(|results| results.key).collect()
}

#[test]
fn a_repeated_write_changes_nothing() {
    let (place, storage) = storage();
    let add = |effect: &WriteId, content| {
        storage.add_entry(effect, "notes", &entry("a", content), None).expect("it is added");
    };
    add(&effect(1), "old");
    add(&effect(2), "new");
    // The first write is repeated after the second: what replaced it stays.
    add(&effect(1), "old");
    assert_eq!(storage.load_entry("notes", "a").expect("it reads").map(|entry| entry.content), Some("new".into()));
    assert_eq!((keys(&storage, "old"), keys(&storage, "new")), (vec![], vec!["a".to_owned()]));
    for _ in 0..2 {
        storage.add_turn(&effect(3), "chat", Role::User, "hello").expect("it is added");
    }
    // Another process that repeats the effect finds its write.
    SqliteStorage::new(place.file(), Durability::Full)
        .add_turn(&effect(3), "chat", Role::User, "hello")
        .expect("it is known");
    assert_eq!(storage.load_turns("chat", 10).expect("it reads").len(), 1);
}

#[test]
fn a_failed_write_can_be_repeated() {
    let (place, storage) = storage();
    let full = format!("INSERT INTO chat_turns VALUES ('chat', {MAX_TURNS}, 'user', '', 0)");
    testing::open(&place.file()).db.execute_batch(&full).expect("it is written");
    let add = || storage.add_turn(&effect(1), "chat", Role::User, "hello");
    assert!(matches!(add(), Err(StorageError::Limit(_))));
    testing::open(&place.file()).db.execute_batch("DELETE FROM chat_turns").expect("it is written");
    add().expect("there is room now");
    assert_eq!(storage.load_turns("chat", 10).expect("it reads").len(), 1);
}

#[test]
fn a_run_that_is_not_in_the_store_writes_nothing() {
    let (_place, storage) = storage();
    let write = WriteId { run: "gone".into(), effect: EffectNo(1) };
    let failed = storage.add_turn(&write, "chat", Role::User, "hello").expect_err("there is no such run");
    assert!(matches!(failed, StorageError::Unavailable(_)), "{failed}");
    assert_eq!(storage.load_turns("chat", 10), Ok(Vec::new()));
}

#[test]
fn writes_of_a_run_stay_when_it_is_pruned_and_a_new_run_of_its_id_can_write() {
    let (place, storage) = storage();
    storage.add_turn(&effect(1), "chat", Role::User, "first").expect("it is added");
    let store = testing::open(&place.file());
    store.db.execute_batch("UPDATE runs SET status = 'completed'").expect("it is written");
    let all = Prune { before_ms: i64::MAX, statuses: Vec::new(), dry_run: false };
    assert_eq!(store.prune(&all).expect("it is pruned").runs, 1);
    let marks: u32 = store.db.query_row("SELECT count(*) FROM storage_writes", [], |row| row.get(0)).expect("it reads");
    assert_eq!(marks, 0);
    let mut host = place.quiet_host();
    let workflow = testing::save(host.store(), "calling", &testing::calling());
    testing::start(&mut host, workflow, "run");
    storage.add_turn(&effect(1), "chat", Role::Assistant, "second").expect("it is added");
    let turns = storage.load_turns("chat", 10).expect("it reads");
    let turns: Vec<_> = turns.iter().map(|turn| (turn.role.as_str(), &*turn.content)).collect();
    assert_eq!(turns, [("user", "first"), ("assistant", "second")]);
}

#[test]
fn the_newest_turns_come_oldest_first() {
    let (_place, storage) = storage();
    for number in 1..=5 {
        storage.add_turn(&effect(number), "chat", Role::User, &number.to_string()).expect("it is added");
    }
    let turns = storage.load_turns("chat", 2).expect("it reads");
    assert_eq!(turns.iter().map(|turn| &*turn.content).collect::<Vec<_>>(), ["4", "5"]);
    assert!(turns[0].at.ends_with('Z'), "{}", turns[0].at);
}

#[test]
fn query_syntax_in_data_is_text() {
    let (_place, storage) = storage();
    storage.add_entry(&effect(1), "notes", &entry("a", "The refunds of Café Übersee"), None).expect("it is added");
    storage.add_entry(&effect(2), "other", &entry("b", "refund"), None).expect("it is added");
    for matching in
        ["refund", "REFUNDS!", "cafe", "\"refund", "refund NOT refund", "{\"q\": \"refund\"}", "content:refund"]
    {
        assert_eq!(keys(&storage, matching), ["a"], "{matching}");
    }
    for other in
        ["", "  ", "\"", "\0", "*", "NEAR(", "AND", "-", "^", "()", "nothing OR NOT", "col : x", "'; DROP TABLE runs"]
    {
        assert_eq!(keys(&storage, other), [""; 0], "{other}");
    }
    // Every character there is, alone and before a word.
    for sign in (0..0x3000).filter_map(char::from_u32) {
        keys(&storage, &format!("{sign} {sign}refund{sign}\"{sign}"));
    }
    let words =
        |count: usize| (1..count).map(|number| format!("{number:x}x")).collect::<Vec<_>>().join(" ") + " refund";
    assert_eq!(keys(&storage, &words(MAX_QUERY_WORDS)), ["a"]);
    let rejection = storage.search_entries("notes", &entries(&words(MAX_QUERY_WORDS + 1)), &CancellationToken::new());
    assert!(matches!(rejection, Err(StorageError::Limit(_))), "{rejection:?}");
}

#[test]
fn passages_are_filtered_and_the_best_come_first() {
    let (_place, storage) = storage();
    let put = |document: &KnowledgeDocument| storage.put_document("kb", document).expect("it is added");
    put(&document("old", &["gone"]));
    put(&document("old", &["A refund takes a week.", "Shoes."]));
    let kind = |kind: &str| Object::from_iter([(Arc::from("kind"), Value::from(kind))]);
    put(&KnowledgeDocument { metadata: kind("faq"), is_attachment: true, ..document("new", &["refund refund"]) });
    put(&document("unlike", &["Hats."]));
    let names = |search: PassageSearch| {
        let results = storage.search_passages("kb", &search, &CancellationToken::new()).expect("it is searched");
        assert!(results.windows(2).all(|pair| pair[0].score >= pair[1].score), "{results:?}");
        results.into_iter().map(|passage| passage.document).collect::<Vec<_>>()
    };
    assert_eq!(names(search("refunds")), ["new", "old"]);
    assert_eq!(names(search("gone")), [""; 0], "the document was replaced");
    assert_eq!(names(PassageSearch { limit: 1, ..search("refund") }), ["new"]);
    assert_eq!(names(PassageSearch { without_attachments: true, ..search("refund") }), ["old"]);
    assert_eq!(names(PassageSearch { filter: kind("faq"), ..search("refund") }), ["new"]);
    let any = Object::from_iter([(Arc::from("kind"), Value::from(vec![Value::from("faq"), Value::from("law")]))]);
    assert_eq!(names(PassageSearch { filter: any, ..search("refund") }), ["new"]);
    let (now, none) = (crate::driver::now_ms(), [""; 0]);
    assert_eq!(names(PassageSearch { added_after_ms: Some(now + 60_000), ..search("refund") }), none);
    assert_eq!(names(PassageSearch { added_before_ms: Some(now - 60_000), ..search("refund") }), none);
    assert_eq!(storage.search_passages("other", &search("refund"), &CancellationToken::new()), Ok(Vec::new()));
    assert_eq!(storage.remove_document("kb", "new"), Ok(true));
    assert_eq!(storage.remove_document("kb", "new"), Ok(false));
    assert_eq!(names(search("refund")), ["old"]);
}

#[test]
fn better_matches_elsewhere_do_not_push_out_those_that_are_searched() {
    let (_place, storage) = storage();
    let put =
        |base: &str, name: &str, text: &str| storage.put_document(base, &document(name, &[text])).expect("it is added");
    for number in 0..30 {
        put("other", &format!("better-{number}"), "refund");
        storage
            .add_entry(&effect(number), "other", &entry(&format!("better-{number}"), "refund"), None)
            .expect("it is added");
    }
    for number in 0..20 {
        put("kb", &format!("equal-{number}"), "a refund takes a week");
        let number = 100 + number;
        storage
            .add_entry(&effect(number), "notes", &entry(&format!("equal-{number}"), "a refund takes a week"), None)
            .expect("it is added");
    }
    let passages = storage.search_passages("kb", &search("refund"), &CancellationToken::new()).expect("it is searched");
    let names: Vec<_> = passages.iter().map(|passage| passage.document.clone()).collect();
    let first: Vec<_> = (0..10).map(|number| format!("equal-{number}")).collect();
    assert_eq!(names, first, "equal scores are in the order in which the texts were added");
    let first: Vec<_> = (100..110).map(|number| format!("equal-{number}")).collect();
    assert_eq!(keys(&storage, "refund")[..10], first);
}

#[test]
fn counts_and_sizes_are_limited() {
    let (place, storage) = storage();
    let limit = |failed: Result<(), StorageError>| assert!(matches!(failed, Err(StorageError::Limit(_))), "{failed:?}");
    let large = "x".repeat(MAX_CONTENT_BYTES + 1);
    limit(storage.put_document("kb", &document("a", &[&large])));
    limit(storage.put_document("kb", &document(&large, &[])));
    let many = format!(
        "WITH RECURSIVE n (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM n WHERE n < {MAX_ENTRIES})
        INSERT INTO memories (collection, key, content, metadata) SELECT 'notes', 'k' || n, '', '{{}}' FROM n"
    );
    testing::open(&place.file()).db.execute_batch(&many).expect("it is written");
    limit(storage.add_entry(&effect(1), "notes", &entry("new", "x"), None));
    storage.add_entry(&effect(1), "notes", &entry("k1", "x"), None).expect("it replaces an entry");
    storage.add_entry(&effect(2), "other", &entry("new", "x"), None).expect("it is another collection");
    let text = "x".repeat(MAX_CONTENT_BYTES);
    for number in 10..75 {
        storage.add_turn(&effect(number), "chat", Role::User, &text).expect("it is added");
    }
    assert_eq!(storage.load_turns("chat", 64).map(|turns| turns.len()), Ok(64));
    limit(storage.load_turns("chat", 65).map(drop));
}

#[test]
fn a_cancelled_search_ends_and_does_not_delay_others() {
    let (_place, storage) = storage();
    storage.put_document("kb", &document("many", &vec!["a refund"; 2_000])).expect("it is added");
    let cancel = CancellationToken::new();
    let results = |cancel: &CancellationToken| storage.search_passages("kb", &search("refund"), cancel);
    assert_eq!(results(&cancel).map(|passages| passages.len()), Ok(10));
    cancel.cancel();
    assert!(matches!(results(&cancel), Err(StorageError::Unavailable(why)) if why.contains("interrupted")));
    assert_eq!(results(&CancellationToken::new()).map(|passages| passages.len()), Ok(10), "the next search is not");
    // Another search, a read and a write do not wait for a search.
    let nested = storage.search(&CancellationToken::new(), |_| {
        storage.add_entry(&effect(1), "notes", &entry("a", "refund"), None).expect("it is added");
        assert!(storage.load_entry("notes", "a").expect("it reads").is_some());
        Ok(results(&CancellationToken::new()).map(|passages| passages.len()))
    });
    assert_eq!(nested, Ok(Ok(10)));
}

#[test]
fn damaged_stored_data_is_an_error_and_not_an_empty_result() {
    let (place, storage) = storage();
    storage.add_entry(&effect(1), "notes", &entry("a", "refund"), None).expect("it is added");
    let store = testing::open(&place.file());
    assert_eq!(store.check(0, 0).expect("it reads").damage, [""; 0]);
    store.db.execute_batch("UPDATE memories SET metadata = '['").expect("it is written");
    assert!(matches!(storage.load_entry("notes", "a"), Err(StorageError::Unavailable(_))));
    assert!(matches!(
        storage.search_entries("notes", &entries("refund"), &CancellationToken::new()),
        Err(StorageError::Unavailable(_))
    ));
    store.db.execute_batch("UPDATE memory_index_data SET block = x'00'").expect("it is written");
    let damage = store.check(0, 0).expect("it reads").damage;
    assert!(damage.iter().any(|line| line.contains("memory_index")), "{damage:?}");
}

/// The vector of a model of two numbers.
fn vector(numbers: [f32; 2]) -> Vector {
    Vector::new(numbers.to_vec()).expect("it has a direction")
}

fn query_vector(numbers: [f32; 2]) -> ModelVector {
    ModelVector { model: "m".into(), vector: vector(numbers) }
}

#[test]
fn passages_with_similar_vectors_are_found_beside_those_with_equal_words() {
    let (_place, storage) = storage();
    let put = |name: &str, text: &str, numbers: [f32; 2]| {
        let vectors = Some(("m".into(), vec![vector(numbers)]));
        storage.put_document("kb", &KnowledgeDocument { vectors, ..document(name, &[text]) }).expect("it is added");
    };
    put("money", "We pay the amount back.", [1.0, 0.1]);
    put("both", "A refund takes a week.", [1.0, 0.2]);
    put("words", "The word refund, and nothing of the kind.", [-1.0, 0.0]);
    put("other", "Shoes are red.", [0.0, 1.0]);
    storage.put_document("kb", &document("unembedded", &["refund refund"])).expect("it is added");
    let names = |search: PassageSearch| {
        let results = storage.search_passages("kb", &search, &CancellationToken::new()).expect("it is searched");
        assert!(results.windows(2).all(|pair| pair[0].score >= pair[1].score), "{results:?}");
        results.into_iter().map(|passage| passage.document).collect::<Vec<_>>()
    };
    let hybrid = || PassageSearch { vector: Some(query_vector([1.0, 0.0])), ..search("refund") };
    assert_eq!(names(search("refund")), ["unembedded", "both", "words"], "by words only");
    let results = names(hybrid());
    assert_eq!(results[0], "both", "it is high in both rankings: {results:?}");
    assert_eq!(results.len(), 5, "{results:?}");
    assert_eq!(
        names(PassageSearch { candidates: 1, ..hybrid() }),
        ["money", "unembedded"],
        "the first of each ranking"
    );
    assert_eq!(names(PassageSearch { limit: 2, ..hybrid() }).len(), 2);
    assert_eq!(names(PassageSearch { query: String::new(), limit: 2, ..hybrid() }), ["money", "both"]);
    // A document that is replaced or removed loses its vectors.
    storage.put_document("kb", &document("money", &["Nothing."])).expect("it is replaced");
    storage.remove_document("kb", "both").expect("it is removed");
    assert_eq!(names(PassageSearch { query: String::new(), ..hybrid() }), ["other", "words"]);
}

#[test]
fn a_search_with_vectors_of_another_model_is_an_error_and_not_a_search_by_words() {
    let (_place, storage) = storage();
    let hybrid = PassageSearch { vector: Some(query_vector([1.0, 0.0])), ..search("refund") };
    let results = || storage.search_passages("kb", &hybrid, &CancellationToken::new());
    assert_eq!(results(), Ok(Vec::new()), "an empty knowledge base has nothing to find");
    storage.put_document("kb", &document("a", &["refund"])).expect("it is added");
    assert!(matches!(results(), Err(StorageError::Embeddings(why)) if why.contains("knowledge add")));
    let vectors = Some(("m".into(), vec![Vector::new(vec![1.0; 3]).expect("a vector")]));
    storage.put_document("kb", &KnowledgeDocument { vectors, ..document("b", &["hat"]) }).expect("it is added");
    assert!(matches!(results(), Err(StorageError::Embeddings(why)) if why.contains("have 3")));
    let vectors = Some(("m".into(), vec![vector([1.0, 0.0])]));
    let uneven = KnowledgeDocument { vectors, ..document("c", &["one", "two"]) };
    assert!(storage.put_document("kb", &uneven).is_err(), "every passage needs a vector");
}

#[test]
fn memories_are_found_by_similar_vectors() {
    let (_place, storage) = storage();
    let add = |number, key: &str, text: &str, vector: Option<ModelVector>| {
        storage.add_entry(&effect(number), "notes", &entry(key, text), vector.as_ref()).expect("it is added");
    };
    add(1, "near", "We pay it back.", Some(query_vector([1.0, 0.1])));
    add(2, "far", "Shoes are red.", Some(query_vector([0.0, 1.0])));
    add(3, "words", "A refund.", None);
    let search = |limit| EntrySearch { query: "refund".into(), vector: Some(query_vector([1.0, 0.0])), limit };
    let keys = |limit| {
        let results =
            storage.search_entries("notes", &search(limit), &CancellationToken::new()).expect("it is searched");
        results.into_iter().map(|results| results.key).collect::<Vec<_>>()
    };
    assert_eq!(keys(2), ["near", "words"]);
    assert_eq!(keys(10), ["near", "words", "far"]);
    add(4, "near", "Hats.", None);
    assert_eq!(keys(10), ["far", "words"], "a replaced entry loses its vector");
}

#[test]
fn stored_data_is_listed_and_removed() {
    let (place, storage) = storage();
    for (number, key) in [(1, "b"), (2, "a")] {
        storage
            .add_entry(&effect(number), "notes", &entry(key, "x"), Some(&query_vector([1.0, 0.0])))
            .expect("it is added");
    }
    storage.add_turn(&effect(3), "chat", Role::User, "hello").expect("it is added");
    let known = KnowledgeDocument { fingerprint: vec![1, 2], ..document("doc", &["one", "two"]) };
    storage.put_document("kb", &known).expect("it is added");
    assert_eq!(storage.collections(), Ok(vec![("notes".to_owned(), 2)]));
    let keys = |after, limit| {
        let entries = storage.entries("notes", after, limit).expect("it reads");
        entries.into_iter().map(|entry| entry.key).collect::<Vec<_>>()
    };
    assert_eq!(
        (keys(None, 10), keys(Some("a"), 10), keys(None, 1)),
        (vec!["a".into(), "b".into()], vec!["b".into()], vec!["a".into()])
    );
    let chats = storage.chats().expect("it reads");
    assert_eq!((&*chats[0].id, chats[0].turns, chats.len()), ("chat", 1, 1));
    let bases = storage.knowledge_bases().expect("it reads");
    assert_eq!((&*bases[0].name, bases[0].documents, bases[0].passages, bases[0].embedded_documents), ("kb", 1, 2, 0));
    let documents = storage.documents("kb").expect("it reads");
    assert_eq!((&*documents[0].name, &documents[0].fingerprint[..], documents[0].passages), ("doc", &[1, 2][..], 2));
    assert_eq!(storage.remove_entries("notes", Some("b")), Ok(1));
    assert_eq!(storage.remove_entries("notes", None), Ok(1));
    assert_eq!((storage.remove_chat("chat"), storage.remove_chat("chat")), (Ok(1), Ok(0)));
    assert_eq!((storage.collections(), storage.chats()), (Ok(Vec::new()), Ok(Vec::new())));
    let vectors = "SELECT count(*) FROM memory_vectors";
    let vectors: u32 = testing::open(&place.file()).db.query_row(vectors, [], |row| row.get(0)).expect("it reads");
    assert_eq!(vectors, 0, "a removed entry leaves no vector");
}

#[test]
fn files_of_a_run_are_read_by_key_and_name_and_have_a_limit() {
    let (_place, storage) = storage();
    let file = |name: &str, bytes: Vec<u8>| Upload::new(name, None, bytes).expect("a good file");
    let small = file("a.txt", b"one".to_vec());
    for _ in 0..2 {
        storage.put_file(&effect(1), &small).expect("it is stored");
    }
    storage.put_file(&effect(2), &file("a.txt", b"two".to_vec())).expect("it is stored");
    let text = |key: &str, run: &str| {
        let loaded = storage.load_file(run, &FileKey::parse(key)).expect("it reads");
        loaded.map(|file| String::from_utf8(file.bytes).expect("it is text"))
    };
    assert_eq!(text("a.txt", "run").as_deref(), Some("two"), "the newest of a name");
    assert_eq!(text(&small.key().to_string(), "run").as_deref(), Some("one"));
    assert_eq!((text("b.txt", "run"), text("a.txt", "other")), (None, None));
    let large = |number: u8| file("large", vec![number; MAX_FILE_BYTES]);
    for number in 0..3 {
        storage.put_file(&effect(10 + u64::from(number)), &large(number)).expect("it is stored");
    }
    for attempt in 0..2 {
        let error = storage.put_file(&effect(20), &large(3)).expect_err("the run has too much");
        assert!(matches!(&error, StorageError::Limit(why) if why.contains("`large`")), "attempt {attempt}: {error}");
    }
}
