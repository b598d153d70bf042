//! Lists of runs, with their filters, pages and searches. However many runs there are, a page reads little more than its rows.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::fmt::Write;
use std::ops::RangeInclusive;

use branchpoint_backend::Cursor;
use rusqlite::types::ToSql;
use rusqlite::{Row, params, params_from_iter};

use super::runs::{COLUMNS, read};
use super::{Filter, Run, RunNo, Store, StoreError};
use crate::storage::full_text_query;

/// The most runs with the words of a search that are read and sorted. If more runs have them, the list is walked until its page is full.
const FEW_MATCHES: usize = 2_000;

/// The runs of a list that are first compared with the matches of a search. Each further step compares twice as many.
const FIRST_STEP: u32 = 500;

/// The most runs of a list that are compared at a time.
const LARGEST_STEP: u32 = 32_000;

/// The most numbers between two runs of a range that is read from the index as a whole.
const LARGEST_GAP: i64 = 200;

/// Which of the two lists: runs that nothing called, or child runs. Each has its own indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Top,
    Child,
}

impl Store {
    /// The runs that a filter selects, the newest start first.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// let failed = Filter { status: Some(Status::Failed), ..Filter::default() };
    /// assert!(store.runs(&failed).unwrap().is_empty());
    /// assert_eq!(store.runs(&Filter::default()).unwrap().len(), 1);
    /// ```
    pub fn runs(&self, filter: &Filter) -> Result<Vec<Run>, StoreError> {
        let has_sessions: bool = self.value("SELECT EXISTS (SELECT 1 FROM sessions)", [])?;
        // Leaving sessions out reads each row, so it is done only if there are some.
        let filter = &Filter { sessions: filter.sessions || !has_sessions, ..filter.clone() };
        let words = match &filter.search {
            Some(words) => match full_text_query(words, " ")? {
                None => return Ok(Vec::new()),
                query => query,
            },
            None => None,
        };
        let mut runs = self.runs_of_level(filter, words.as_deref(), Level::Top)?;
        if filter.children {
            runs.extend(self.runs_of_level(filter, words.as_deref(), Level::Child)?);
            runs.sort_by_key(|run| Reverse(run.cursor()));
            runs.truncate(filter.limit.map_or(usize::MAX, |limit| limit as usize));
        }
        Ok(runs)
    }

    fn runs_of_level(&self, filter: &Filter, words: Option<&str>, level: Level) -> Result<Vec<Run>, StoreError> {
        let Some(words) = words else { return self.listed(filter, level, None) };
        let most = filter.limit.map_or(-1, |_| i64::try_from(FEW_MATCHES + 1).unwrap_or(i64::MAX));
        let sql = "SELECT rowid FROM run_index WHERE run_index MATCH ?1 LIMIT ?2";
        let matches: Vec<i64> = self.rows(sql, params![words, most], |row| row.get(0))?;
        match filter.limit {
            Some(limit) if matches.len() > FEW_MATCHES => self.walk(filter, words, level, limit as usize),
            _ => self.listed(filter, level, Some(&matches)),
        }
    }

    /// The runs of a filter, or those of them with one of these numbers.
    fn listed(&self, filter: &Filter, level: Level, among: Option<&[i64]>) -> Result<Vec<Run>, StoreError> {
        let Query { sql, values } = Query::new(filter, level, among, Columns::All);
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(values), read)?.collect::<Result<_, _>>()?;
        Ok(rows)
    }

    /// The first runs of a list that have all words, compared step by step with the index.
    fn walk(&self, filter: &Filter, words: &str, level: Level, limit: usize) -> Result<Vec<Run>, StoreError> {
        let (mut matching, mut before, mut step) = (Vec::new(), filter.before, FIRST_STEP);
        loop {
            let part = Filter { before, limit: Some(step), ..filter.clone() };
            let Query { sql, values } = Query::new(&part, level, None, Columns::Position);
            let mut statement = self.db.prepare_cached(&sql)?;
            let positions: Vec<Cursor> =
                statement.query_map(params_from_iter(values), read_position)?.collect::<Result<_, _>>()?;
            let mut matches: HashSet<i64> = HashSet::new();
            for numbers in ranges(&positions) {
                let sql = "SELECT rowid FROM run_index WHERE run_index MATCH ?1 AND rowid BETWEEN ?2 AND ?3";
                matches.extend(
                    self.rows(sql, params![words, numbers.start(), numbers.end()], |row| row.get::<_, i64>(0))?,
                );
            }
            for position in positions.iter().filter(|position| matches.contains(&position.run.0)) {
                if matching.len() == limit {
                    return Ok(matching);
                }
                match self.row(position.run) {
                    // Another process has removed it meanwhile.
                    Err(StoreError::Missing(_)) => {}
                    run => matching.push(run?),
                }
            }
            if matching.len() == limit || positions.len() < step as usize {
                return Ok(matching);
            }
            before = positions.last().copied();
            step = step.saturating_mul(2).min(LARGEST_STEP);
        }
    }
}

/// Few ranges of numbers that contain the runs of a part of a list and little else. Runs that started one after the other usually have
/// numbers in the same order, but imported ones do not.
fn ranges(positions: &[Cursor]) -> Vec<RangeInclusive<i64>> {
    let mut numbers: Vec<i64> = positions.iter().map(|position| position.run.0).collect();
    numbers.sort_unstable();
    let mut ranges: Vec<RangeInclusive<i64>> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some(last) if number - last.end() <= LARGEST_GAP => *last = *last.start()..=number,
            _ => ranges.push(number..=number),
        }
    }
    ranges
}

fn read_position(row: &Row<'_>) -> rusqlite::Result<Cursor> {
    Ok(Cursor { started_ms: row.get(0)?, run: RunNo(row.get(1)?) })
}

type Values = Vec<Box<dyn ToSql>>;

/// What a list reads of each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Columns {
    All,
    /// Its place in the list.
    Position,
}

/// The statement for a list of runs.
struct Query {
    sql: String,
    values: Values,
}

impl Query {
    fn new(filter: &Filter, level: Level, among: Option<&[i64]>, columns: Columns) -> Self {
        let mut values: Values = Vec::new();
        let mut tags = filter.tags.iter();
        // What gives the order: the runs of a search, the tag that comes first, or an index of runs.
        let (from, started_ms, run) = if let Some(among) = among {
            let numbers: Vec<String> = among.iter().map(i64::to_string).collect();
            values.push(Box::new(format!("[{}]", numbers.join(","))));
            ("(SELECT value FROM json_each(?)) CROSS JOIN runs ON run = value", "started_ms", "run")
        } else if let Some(tag) = tags.next() {
            values.push(Box::new(tag.clone()));
            let tagged = "(SELECT started_ms AS tagged_ms, run AS tagged FROM run_tags WHERE tag = ?) CROSS JOIN runs ON run = tagged";
            (tagged, "tagged_ms", "tagged")
        } else {
            ("runs", "started_ms", "run")
        };
        let columns = match columns {
            Columns::All => COLUMNS.to_owned(),
            Columns::Position => format!("{started_ms}, {run}"),
        };
        let mut sql = format!("SELECT {columns} FROM {from} WHERE 1");
        let mut only = |condition: &str, value: Box<dyn ToSql>| {
            sql.push_str(condition);
            values.push(value);
        };
        if let Some(name) = &filter.workflow {
            only(" AND workflow_name = ?", Box::new(name.clone()));
        }
        if let Some(status) = filter.status {
            only(" AND status = ?", Box::new(status.as_str()));
        }
        for tag in tags {
            let has_tag = " AND EXISTS (SELECT 1 FROM run_tags t WHERE t.tag = ? AND t.started_ms = runs.started_ms AND t.run = runs.run)";
            only(has_tag, Box::new(tag.clone()));
        }
        if let Some(since_ms) = filter.since_ms {
            only(&format!(" AND {started_ms} >= ?"), Box::new(since_ms));
        }
        if let Some(until_ms) = filter.until_ms {
            only(&format!(" AND {started_ms} < ?"), Box::new(until_ms));
        }
        if let Some(before) = filter.before {
            only(&format!(" AND ({started_ms}, {run}) < (?,"), Box::new(before.started_ms));
            only(" ?)", Box::new(before.run.0));
        }
        sql.push_str(match level {
            Level::Top => " AND parent IS NULL",
            Level::Child => " AND parent IS NOT NULL",
        });
        if !filter.sessions && level == Level::Top {
            sql.push_str(" AND NOT (id GLOB 'session-*' AND workflow_name IN (SELECT document FROM sessions))");
        }
        // Writing into a text cannot fail.
        let _ = write!(sql, " ORDER BY {started_ms} DESC, {run} DESC LIMIT ?");
        values.push(Box::new(filter.limit.map_or(-1, i64::from)));
        Self { sql, values }
    }
}

#[cfg(test)]
mod tests;
