//! The tables of a store and their version.
//!
//! A store is created with all tables at once. There are no migrations yet, because no version has been released: a store of any
//! other version is rejected. A change of `schema.sql` needs a new [`VERSION`].

use rusqlite::Connection;

use super::StoreError;

/// Marks a file as a store of ours: `BrPt`.
const APPLICATION: i32 = 0x4272_5074;

/// The version of the tables. Versions 1 to 3 were written by builds whose tables differed under the same number.
const VERSION: usize = 16;

const SCHEMA: &str = include_str!("schema.sql");

/// Creates the tables in an empty file, and verifies the version of an existing store.
pub(super) fn create_or_verify(db: &mut Connection) -> Result<(), StoreError> {
    if !is_empty(db)? {
        return verify(db);
    }
    let change = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Another process may have created the tables meanwhile.
    if !is_empty(&change)? {
        return verify(&change);
    }
    change.execute_batch(SCHEMA)?;
    change.pragma_update(None, "application_id", APPLICATION)?;
    change.pragma_update(None, "user_version", i64::try_from(VERSION).unwrap_or(i64::MAX))?;
    change.commit()?;
    Ok(())
}

/// Rejects a file that is not a store, and a store whose tables this build does not know.
pub(super) fn verify(db: &Connection) -> Result<(), StoreError> {
    match version(db)? {
        VERSION => Ok(()),
        found if found < VERSION => Err(StoreError::TooOld { found, known: VERSION }),
        found => Err(StoreError::TooNew { found, known: VERSION }),
    }
}

/// The version of the tables of a store.
pub(super) fn version(db: &Connection) -> Result<usize, StoreError> {
    // One statement, because another process may be creating the store.
    let sql = "SELECT application_id, user_version FROM pragma_application_id, pragma_user_version";
    let (application, version): (i64, i64) = db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if application != i64::from(APPLICATION) {
        return Err(StoreError::NotAStore);
    }
    Ok(usize::try_from(version).unwrap_or_default())
}

fn is_empty(db: &Connection) -> Result<bool, StoreError> {
    Ok(db.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::store::workflows::hash;
    use crate::store::{Durability, Store};
    use branchpoint_runners::hexadecimal;

    /// A store of another version, with a table that it would have had then.
    fn store_of_version(folder: &tempfile::TempDir, version: usize) -> PathBuf {
        let file = folder.path().join("store.db");
        let db = Connection::open(&file).expect("the folder is writable");
        db.execute_batch("CREATE TABLE runs (run INTEGER PRIMARY KEY)").expect("the table is valid");
        db.pragma_update(None, "application_id", APPLICATION).expect("the file is writable");
        db.pragma_update(None, "user_version", i64::try_from(version).expect("it is small")).expect("it is writable");
        file
    }

    #[test]
    fn stores_of_other_versions_are_rejected_and_stay_as_they_are() {
        for other in (0..VERSION).chain([VERSION + 1]) {
            let folder = tempfile::tempdir().expect("there is room for a store");
            let file = store_of_version(&folder, other);
            let before = std::fs::read(&file).expect("it reads");
            for opened in [Store::open(&file, Durability::Full), Store::read_only(&file)] {
                let error = opened.expect_err("its tables are unknown");
                match error {
                    StoreError::TooOld { found, .. } => assert!(found == other && other < VERSION, "{error}"),
                    StoreError::TooNew { found, .. } => assert!(found == other && other > VERSION, "{error}"),
                    error => panic!("{error}"),
                }
            }
            assert_eq!(std::fs::read(&file).expect("it reads"), before, "version {other} was changed");
        }
    }

    #[test]
    fn an_empty_file_is_not_a_store_to_read() {
        let folder = tempfile::tempdir().expect("there is room for a store");
        let file = folder.path().join("store.db");
        std::fs::write(&file, b"").expect("it is writable");
        assert!(matches!(Store::read_only(&file), Err(StoreError::NotAStore)));
        assert_eq!(std::fs::metadata(&file).expect("it is there").len(), 0, "reading created the tables");
        Store::open(&file, Durability::Full).expect("it becomes a store");
        Store::read_only(&file).expect("it is one now");
    }

    #[test]
    fn changed_tables_have_a_new_version() {
        let digest = hexadecimal(&hash([SCHEMA.as_bytes()]));
        assert_eq!(
            (VERSION, &digest[..16]),
            (16, "99ac63de031b74ba"),
            "schema.sql has changed: increase VERSION, then pin both here"
        );
    }
}
