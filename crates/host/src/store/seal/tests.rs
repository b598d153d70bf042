//! The key: created once, verified against the store, never guessed.

use std::thread;

use super::super::Durability;
use super::*;

fn store(folder: &Path) -> Store {
    Store::open(&folder.join("store.db"), Durability::Normal).expect("it can be made")
}

fn sealed(store: &Store) -> Key {
    let key = Key::for_sealing(store).expect("it can be made");
    store.begin().expect("no other process writes");
    store.seal(&key, RunNo(1), &["hunter2".to_owned()]).expect("there is room");
    store.commit().expect("there is room");
    key
}

#[track_caller]
fn check_rejected(store: &Store, words: &str) {
    for key in [Key::of(store), Key::for_sealing(store)] {
        let why = key.map(drop).expect_err("the key cannot be used").to_string();
        assert!(why.contains(words), "{why}");
    }
    assert!(matches!(store.key_state(), Ok(KeyState::Unusable(_))));
}

#[test]
fn processes_that_create_the_key_at_once_agree_on_one() {
    let folder = tempfile::tempdir().expect("there is room");
    drop(store(folder.path()));
    let sealing = || {
        let store = store(folder.path());
        Key::for_sealing(&store).expect("it can be made").seal("same").expect("it is small")
    };
    let sealed: Vec<Vec<u8>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(sealing)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let key = Key::of(&store(folder.path())).expect("there is one");
    assert_eq!(key.opened(&sealed).expect("all were sealed with it"), vec!["same"; 8]);
    let names: Vec<String> = fs::read_dir(folder.path())
        .expect("it is there")
        .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains("-key"))
        .collect();
    assert_eq!(names, ["store.db-key"], "nothing unfinished is left");
}

#[test]
fn a_missing_a_damaged_and_a_wrong_key_have_different_errors() {
    let folder = tempfile::tempdir().expect("there is room");
    let store = store(folder.path());
    assert_eq!(store.key_state().expect("it can be read"), KeyState::None);
    sealed(&store);
    assert_eq!(store.key_state().expect("it can be read"), KeyState::Fits);
    let path = store.key_path().expect("it is a file");
    let right = fs::read(&path).expect("there is a key");
    fs::write(&path, [7; 32]).expect("there is room");
    check_rejected(&store, "is not the key of this store");
    fs::write(&path, "").expect("there is room");
    check_rejected(&store, "is damaged: it has 0 bytes");
    fs::remove_file(&path).expect("it is there");
    check_rejected(&store, "is missing");
    fs::write(&path, right).expect("there is room");
    let opened = Key::of(&store).and_then(|key| key.opened(&store.sealed(RunNo(1))?));
    assert_eq!(opened.expect("it is the right one"), ["hunter2"]);
}

#[test]
fn a_lost_key_is_replaced_when_nothing_is_sealed_with_it_any_more() {
    let folder = tempfile::tempdir().expect("there is room");
    let store = store(folder.path());
    sealed(&store);
    fs::remove_file(store.key_path().expect("it is a file")).expect("it is there");
    check_rejected(&store, "is missing");
    store.db.execute("DELETE FROM sealed", []).expect("it can be written");
    sealed(&store);
    assert_eq!(store.key_state().expect("it can be read"), KeyState::Fits);
}
