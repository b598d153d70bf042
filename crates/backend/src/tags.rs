//! Tags and priorities of runs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The maximum number of tags of a run.
pub const MAX_TAGS: usize = 20;

/// The maximum number of characters of a tag.
pub const MAX_TAG_CHARS: usize = 64;

/// The tags of a run: a set of texts, in order.
///
/// ```
/// use branchpoint_backend::Tags;
///
/// let tags = Tags::new(["nightly", "acme", "nightly"])?;
/// assert_eq!(tags.as_slice(), ["acme", "nightly"]);
/// assert!(Tags::new(["x".repeat(65)]).is_err());
/// # Ok::<(), branchpoint_backend::InvalidTags>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tags(Vec<String>);

/// Why tags are invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTags {
    /// A tag has too many characters.
    #[error("tag `{0}` has more than {MAX_TAG_CHARS} characters")]
    TooLong(String),
    /// A tag is empty, begins or ends with a blank, or contains a control character.
    #[error("tag {0:?} is invalid: a tag must not be empty, begin or end with a blank, or contain control characters")]
    Invalid(String),
    /// A run has too many tags.
    #[error("a run has at most {MAX_TAGS} tags, not {0}")]
    TooMany(usize),
}

impl Tags {
    /// Checks tags.
    pub fn new<T: Into<String>>(tags: impl IntoIterator<Item = T>) -> Result<Self, InvalidTags> {
        let mut checked: Vec<String> = tags.into_iter().map(|tag| check(tag.into())).collect::<Result<_, _>>()?;
        checked.sort_unstable();
        checked.dedup();
        if checked.len() > MAX_TAGS { Err(InvalidTags::TooMany(checked.len())) } else { Ok(Self(checked)) }
    }

    /// These tags without those of `remove`, and with those of `add`.
    ///
    /// ```
    /// use branchpoint_backend::Tags;
    ///
    /// let tags = Tags::new(["acme", "nightly"])?.changed(&Tags::new(["weekly"])?, &Tags::new(["nightly"])?)?;
    /// assert_eq!(tags.as_slice(), ["acme", "weekly"]);
    /// # Ok::<(), branchpoint_backend::InvalidTags>(())
    /// ```
    pub fn changed(&self, add: &Self, remove: &Self) -> Result<Self, InvalidTags> {
        let remaining = self.0.iter().filter(|tag| !remove.0.contains(tag));
        Self::new(remaining.chain(&add.0).cloned())
    }

    /// The tags.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn check(tag: String) -> Result<String, InvalidTags> {
    if tag.chars().nth(MAX_TAG_CHARS).is_some() {
        return Err(InvalidTags::TooLong(tag.chars().take(MAX_TAG_CHARS).chain(['…']).collect()));
    }
    let is_valid = !tag.is_empty() && tag.trim() == tag && !tag.contains(char::is_control);
    if is_valid { Ok(tag) } else { Err(InvalidTags::Invalid(tag)) }
}

/// The priority of a run in queues, from -100 to 100. Higher goes first.
///
/// ```
/// use branchpoint_backend::Priority;
///
/// assert!(Priority::new(10).unwrap() > Priority::default());
/// assert!("101".parse::<Priority>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Priority(i8);

/// A number is not a priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a priority is an integer from -100 to 100")]
pub struct InvalidPriority;

impl Priority {
    /// Checks a number.
    pub fn new(number: i64) -> Result<Self, InvalidPriority> {
        match i8::try_from(number) {
            Ok(number @ -100..=100) => Ok(Self(number)),
            _ => Err(InvalidPriority),
        }
    }

    /// The number.
    pub fn get(self) -> i64 {
        self.0.into()
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Priority {
    type Err = InvalidPriority;

    fn from_str(text: &str) -> Result<Self, InvalidPriority> {
        text.parse().map_err(|_| InvalidPriority).and_then(Self::new)
    }
}
