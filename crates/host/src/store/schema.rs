//! The tables of a store and their version.
//!
//! A store is created with all tables at once. A store of version [`UPGRADABLE`] or later gets the tables of this version when it is opened;
//! a store of any other version is rejected. A change of the tables needs a new [`VERSION`], and an
//! upgrade from this one.

use rusqlite::{Connection, TransactionBehavior};

use super::StoreError;

/// Marks a file as a store of ours: `BrPt`.
const APPLICATION: i32 = 0x4272_5074;

/// The version of the tables. Versions 1 to 3 were written by builds whose tables differed under the same number.
const VERSION: usize = 19;

/// The earliest version of stores that are upgraded when they are opened.
const UPGRADABLE: usize = 16;

const SCHEMA: [&str; 3] = [include_str!("schema.sql"), include_str!("operations.sql"), include_str!("lists.sql")];

/// The statements that upgrade a store to the next version, from [`UPGRADABLE`] on.
const UPGRADES: [&[&str]; VERSION - UPGRADABLE] = [
    &[include_str!("upgrade_16.sql"), include_str!("operations.sql"), include_str!("fill_16.sql")],
    &[include_str!("upgrade_17.sql")],
    &[include_str!("upgrade_18.sql"), include_str!("lists.sql"), include_str!("fill_18.sql")],
];

/// Creates the tables in an empty file, and brings an existing store to this version.
pub(super) fn create_or_verify(db: &mut Connection) -> Result<(), StoreError> {
    if !is_empty(db)? {
        return upgrade_or_verify(db);
    }
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have created the tables meanwhile.
    if is_empty(&change)? {
        SCHEMA.iter().try_for_each(|statements| change.execute_batch(statements))?;
        change.pragma_update(None, "application_id", APPLICATION)?;
        set_version(&change)?;
        change.commit()?;
        return Ok(());
    }
    drop(change);
    upgrade_or_verify(db)
}

/// Upgrades a store of an earlier version, whole or not at all, and rejects a file of an unknown version.
pub(super) fn upgrade_or_verify(db: &mut Connection) -> Result<(), StoreError> {
    let is_upgradable = |version: usize| (UPGRADABLE..VERSION).contains(&version);
    if !is_upgradable(version(db)?) {
        return verify(db);
    }
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have upgraded the store meanwhile.
    let stored = version(&change)?;
    if is_upgradable(stored) {
        let statements = UPGRADES.iter().skip(stored - UPGRADABLE).copied().flatten();
        statements.into_iter().try_for_each(|statements| change.execute_batch(statements))?;
        set_version(&change)?;
    }
    change.commit()?;
    verify(db)
}

fn set_version(db: &Connection) -> Result<(), StoreError> {
    Ok(db.pragma_update(None, "user_version", i64::try_from(VERSION).unwrap_or(i64::MAX))?)
}

/// Rejects a file that is not a store, and a store whose tables this build does not know.
fn verify(db: &Connection) -> Result<(), StoreError> {
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
        for other in (0..UPGRADABLE).chain([VERSION + 1]) {
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
        let digest = hexadecimal(&hash(SCHEMA.map(str::as_bytes)));
        assert_eq!(
            (VERSION, &digest[..16]),
            (19, "fefd002734015d56"),
            "the tables have changed: increase VERSION, add the way from the last one, then pin both here"
        );
    }

    /// Everything in a schema: each column of each table, and the statement of each index and trigger.
    fn tables(db: &Connection) -> Vec<String> {
        let sql = "SELECT m.type || ' ' || m.name || ' ' || coalesce(c.name || ' ' || c.type || ' ' || c.\"notnull\" || ' ' || c.pk || ' ' ||
                coalesce(c.dflt_value, '-'), m.sql, '')
            FROM sqlite_schema m LEFT JOIN pragma_table_info(m.name) c ON m.type = 'table' ORDER BY 1, c.cid";
        let mut statement = db.prepare(sql).expect("it is a statement");
        let rows = statement.query_map([], |row| row.get(0)).expect("it reads");
        rows.collect::<Result<_, _>>().expect("it reads")
    }

    #[test]
    fn an_upgraded_store_has_the_tables_of_a_new_one() {
        let folder = tempfile::tempdir().expect("there is room for a store");
        let new = Store::open(&folder.path().join("new.db"), Durability::Normal).expect("it is created");
        let upgraded = |version: usize| {
            let old = folder.path().join(format!("{version}.db"));
            let golden = format!("{}/../sim/golden/store-{version}.db", env!("CARGO_MANIFEST_DIR"));
            std::fs::copy(golden, &old).expect("stores of earlier versions are in the repository");
            let old = Store::open(&old, Durability::Normal).expect("it is upgraded");
            assert_eq!(tables(&old.db), tables(&new.db), "{version}");
            old
        };
        (UPGRADABLE + 1..VERSION).for_each(|version| drop(upgraded(version)));
        let old = upgraded(UPGRADABLE);
        let total: u64 = old.totals(None).expect("they are counted").iter().map(|(_, runs)| runs).sum();
        let runs = old.runs(&crate::store::Filter::default()).expect("they are listed");
        assert!(total == 4 && runs.len() == 4, "{runs:?}");
        let named = crate::store::Filter {
            workflow: Some(old.document(runs[0].workflow).expect("it reads").name),
            ..Default::default()
        };
        assert!(!old.runs(&named).expect("they are listed").is_empty(), "{named:?}");
        let started: u64 =
            old.hourly(i64::MIN / 2, None).expect("they are counted").iter().map(|hour| hour.started).sum();
        assert_eq!(started, 4);
    }
}
