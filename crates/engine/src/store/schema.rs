//! The tables, as a list of migrations. They only go forward, and a migration that was released is never changed.

use rusqlite::Connection;

use super::Trouble;

/// Marks a file as a store of ours: `BrPt`.
const APPLICATION: i32 = 0x4272_5074;

/// Every change of the tables, in order. The version of a store is how many it has seen.
const MIGRATIONS: [&str; 1] = [include_str!("schema-1.sql")];

/// Brings a store up to date; a new file becomes a store.
pub(super) fn migrate(db: &mut Connection) -> Result<(), Trouble> {
    let version = version(db)?;
    let Some(missing) = MIGRATIONS.get(version..) else {
        return Err(Trouble::TooNew { found: version, known: MIGRATIONS.len() });
    };
    if missing.is_empty() {
        return Ok(());
    }
    let change = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let version = self::version(&change)?;
    for sql in MIGRATIONS.iter().skip(version) {
        change.execute_batch(sql)?;
    }
    change.pragma_update(None, "application_id", APPLICATION)?;
    change.pragma_update(None, "user_version", i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX))?;
    change.commit()?;
    Ok(())
}

/// How many migrations a store has seen. A file of somebody else is refused.
pub(super) fn version(db: &Connection) -> Result<usize, Trouble> {
    let read = |name: &str| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, version) = (read("application_id")?, read("user_version")?);
    let empty: bool = db.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))?;
    if application != i64::from(APPLICATION) && !empty {
        return Err(Trouble::NotAStore);
    }
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}
