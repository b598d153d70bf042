//! Lists in pages.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::problem::Problem;

/// The default number of items of a page.
const DEFAULT: u32 = 50;

/// The largest number of items of a page.
const MAX: u32 = 200;

/// Which page of a list.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageRequest {
    /// The most items, from 1 to 200.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The cursor of the page before, from its `next`.
    #[param(pattern = "^[0-9]{1,15}$")]
    cursor: Option<String>,
}

/// One page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Page<T> {
    /// The items.
    pub(crate) items: Vec<T>,
    /// The cursor of the next page; null at the end.
    pub(crate) next: Option<String>,
}

impl PageRequest {
    pub(crate) fn new(limit: Option<u32>, cursor: Option<String>) -> Self {
        Self { limit, cursor }
    }

    /// A page of a list that is in memory as a whole.
    pub(crate) fn page<T>(&self, all: Vec<T>) -> Result<Page<T>, Problem> {
        Page::of(all, self)
    }

    pub(crate) fn limit(&self) -> Result<u32, Problem> {
        match self.limit.unwrap_or(DEFAULT) {
            limit @ 1..=MAX => Ok(limit),
            limit => Err(Problem::bad_request(format!("`limit` is {limit}, but must be a number from 1 to {MAX}."))),
        }
    }

    /// The position after which the page begins.
    pub(crate) fn cursor<C: std::str::FromStr>(&self) -> Result<Option<C>, Problem> {
        let read = |cursor: &String| cursor.parse().map_err(|_| unknown_cursor());
        self.cursor.as_ref().map(read).transpose()
    }

    /// The number after which the page begins.
    pub(crate) fn after(&self) -> Result<Option<i64>, Problem> {
        let read = |cursor: &String| cursor.parse().map_err(|_| unknown_cursor());
        self.cursor.as_ref().map(read).transpose()
    }
}

fn unknown_cursor() -> Problem {
    Problem::bad_request("`cursor` is invalid. Send the `next` of the previous page.")
}

impl<T> Page<T> {
    /// A page of a list that is in memory as a whole, whose cursors count items.
    pub(crate) fn of(all: Vec<T>, request: &PageRequest) -> Result<Self, Problem> {
        let (skipped, limit) = (request.after()?.unwrap_or(0), request.limit()? as usize);
        let skipped = usize::try_from(skipped).map_err(|_| unknown_cursor())?;
        let more = all.len() > skipped.saturating_add(limit);
        let items = all.into_iter().skip(skipped).take(limit).collect();
        Ok(Self { items, next: more.then(|| (skipped + limit).to_string()) })
    }
}
