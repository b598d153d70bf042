//! The tables, as a list of migrations. They only go forward, and a migration that was released is never changed.

use rusqlite::Connection;

use super::Trouble;

/// Marks a file as a store of ours: `BrPt`.
const APPLICATION: i32 = 0x4272_5074;

/// Every change of the tables, in order. The version of a store is how many it has seen.
const MIGRATIONS: [&str; 3] =
    [include_str!("schema-1.sql"), include_str!("schema-2.sql"), include_str!("schema-3.sql")];

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
    // One look, because another process may be making the store.
    let sql = "SELECT application_id, user_version, (SELECT count(*) = 0 FROM sqlite_schema)
        FROM pragma_application_id, pragma_user_version";
    let (application, version, empty): (i64, i64, bool) =
        db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    if application != i64::from(APPLICATION) && !empty {
        return Err(Trouble::NotAStore);
    }
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}
