//! Limits on the runs of a workflow: how many are driven at once, and how often they start. Hosts queue runs by them; a run itself does
//! not depend on them.

use std::fmt::{self, Write};
use std::str::FromStr;
use std::sync::Arc;

use branchpoint_expr::{Object, Value, duration_ms, duration_text};

use crate::ir::{Program, ViewId};
use crate::{State, view};

/// The maximum number of runs that are driven at once, and of starts in a window.
pub const MAX_LIMITED_RUNS: u32 = 10_000;

/// The longest window of a rate: a day.
const MAX_WINDOW_MS: u64 = 86_400_000;

/// The name of the view of a program that has the limits of its document.
pub const LIMITS_VIEW: &str = "limits";

/// Limits on the runs of a workflow.
///
/// ```
/// use branchpoint_core::RunLimits;
///
/// let written = serde_json::from_str(r#"{"concurrent": 5, "per": "{{metadata.customer}}", "rate": "10/min"}"#)?;
/// let limits = RunLimits::from_value(&written)?;
/// assert_eq!(limits.concurrent, Some(5));
/// assert_eq!(limits.to_value(), written);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunLimits {
    /// The number of runs of a group that are driven at once.
    pub concurrent: Option<u32>,
    /// The rate at which runs of a group start.
    pub rate: Option<Rate>,
    /// The key of the groups. Without it, all runs of the workflow are one group.
    pub per: Option<GroupKey>,
}

/// Why limits are invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLimits {
    /// They are not an object.
    #[error("limits must be an object with `concurrent` or `rate`")]
    NotAnObject,
    /// Neither `concurrent` nor `rate` is set.
    #[error("limits need `concurrent` or `rate`")]
    Empty,
    /// An unknown field.
    #[error("limits have no field `{0}`, only `concurrent`, `per` and `rate`")]
    Unknown(Arc<str>),
    /// `concurrent` is not an integer in its range.
    #[error("`concurrent` must be an integer from 1 to {MAX_LIMITED_RUNS}")]
    Concurrent,
    /// `rate` is not a rate.
    #[error(
        "`rate` must be a number from 1 to {MAX_LIMITED_RUNS}, `/`, and a unit (`s`, `min`, `h`, `d`) or a duration of at most a day"
    )]
    Rate,
    /// `per` is not a key of groups.
    #[error(
        "`per` must be text with at least one placeholder, such as `{{{{metadata.customer}}}}`, and at most {MAX_KEY_BYTES} bytes"
    )]
    Per,
}

impl RunLimits {
    /// Reads limits.
    pub fn from_value(value: &Value) -> Result<Self, InvalidLimits> {
        let fields = value.as_object().ok_or(InvalidLimits::NotAnObject)?;
        let mut limits = Self::default();
        for (name, value) in fields.iter().filter(|(_, value)| **value != Value::Null) {
            match &**name {
                "concurrent" => limits.concurrent = Some(concurrent(value).ok_or(InvalidLimits::Concurrent)?),
                "rate" => limits.rate = Some(parsed(value).ok_or(InvalidLimits::Rate)?),
                "per" => limits.per = Some(parsed(value).ok_or(InvalidLimits::Per)?),
                _ => return Err(InvalidLimits::Unknown(name.clone())),
            }
        }
        let is_empty = limits.concurrent.is_none() && limits.rate.is_none();
        if is_empty { Err(InvalidLimits::Empty) } else { Ok(limits) }
    }

    /// The limits as a value.
    pub fn to_value(&self) -> Value {
        let fields = [
            ("concurrent", self.concurrent.map(|runs| Value::Int(runs.into()))),
            ("per", self.per.as_ref().map(|per| Value::from(per.to_string()))),
            ("rate", self.rate.map(|rate| Value::from(rate.to_string()))),
        ];
        Value::from(fields.into_iter().filter_map(|(name, value)| Some((name.into(), value?))).collect::<Object>())
    }

    /// The limits that the document of a program has.
    ///
    /// ```
    /// use branchpoint_core::RunLimits;
    /// use branchpoint_core::ir::builder::Builder;
    ///
    /// assert_eq!(RunLimits::of_program(&Builder::sample()), None);
    /// ```
    pub fn of_program(program: &Program) -> Option<Self> {
        let id = program.views.iter().position(|view| &*view.name == LIMITS_VIEW)?;
        let value = view(program, &State::new(), ViewId(u32::try_from(id).ok()?)).ok()?;
        Self::from_value(&value).ok()
    }
}

fn concurrent(value: &Value) -> Option<u32> {
    let Value::Int(runs) = value else { return None };
    u32::try_from(*runs).ok().filter(|runs| (1..=MAX_LIMITED_RUNS).contains(runs))
}

fn parsed<T: FromStr>(value: &Value) -> Option<T> {
    value.as_str()?.parse().ok()
}

/// A rate: a number of starts in a sliding window.
///
/// ```
/// use branchpoint_core::Rate;
///
/// let rate: Rate = "10/min".parse()?;
/// assert_eq!((rate.starts, rate.window_ms), (10, 60_000));
/// assert_eq!("3/90s".parse::<Rate>()?.to_string(), "3/1m30s");
/// # Ok::<(), branchpoint_core::InvalidLimits>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The number of starts.
    pub starts: u32,
    /// The length of the window.
    pub window_ms: u64,
}

const UNITS: [(&str, u64); 4] = [("s", 1_000), ("min", 60_000), ("h", 3_600_000), ("d", MAX_WINDOW_MS)];

impl FromStr for Rate {
    type Err = InvalidLimits;

    fn from_str(text: &str) -> Result<Self, InvalidLimits> {
        let (starts, window) = text.split_once('/').ok_or(InvalidLimits::Rate)?;
        let (starts, window) = (starts.trim(), window.trim());
        let starts = starts.parse().ok().filter(|starts| (1..=MAX_LIMITED_RUNS).contains(starts));
        let unit = UNITS.iter().find(|(unit, _)| *unit == window).map(|(_, window_ms)| *window_ms);
        let window_ms =
            unit.or_else(|| duration_ms(window)).filter(|window_ms| (1..=MAX_WINDOW_MS).contains(window_ms));
        let (Some(starts), Some(window_ms)) = (starts, window_ms) else { return Err(InvalidLimits::Rate) };
        Ok(Self { starts, window_ms })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.iter().find(|(_, window_ms)| *window_ms == self.window_ms) {
            Some((unit, _)) => write!(f, "{}/{unit}", self.starts),
            None => write!(f, "{}/{}", self.starts, duration_text(self.window_ms)),
        }
    }
}

/// The maximum length of the key of groups as written.
const MAX_KEY_BYTES: usize = 1_000;

/// The maximum length of the name of a group. The names of longer groups end with a hash of the whole text.
const MAX_GROUP_CHARS: usize = 200;

/// The key by which runs are grouped: text with placeholders of names and paths in the input of a run.
///
/// ```
/// use branchpoint_core::GroupKey;
/// use branchpoint_expr::Value;
///
/// let key: GroupKey = "{{customer.id}}/{{region}}".parse()?;
/// let input = serde_json::from_str(r#"{"customer": {"id": 7}, "region": "eu"}"#).unwrap();
/// assert_eq!(key.group(&input, &Value::Null), "7/eu");
/// assert_eq!(key.group(&Value::Null, &Value::Null), "/");
/// assert!("customer".parse::<GroupKey>().is_err());
/// # Ok::<(), branchpoint_core::InvalidLimits>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupKey {
    text: Arc<str>,
    parts: Vec<KeyPart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum KeyPart {
    Text(Arc<str>),
    /// A name and the keys and positions after it.
    Path(Vec<Arc<str>>),
}

impl FromStr for GroupKey {
    type Err = InvalidLimits;

    fn from_str(text: &str) -> Result<Self, InvalidLimits> {
        if text.len() > MAX_KEY_BYTES {
            return Err(InvalidLimits::Per);
        }
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some((before, after)) = rest.split_once("{{") {
            let (path, after) = after.split_once("}}").ok_or(InvalidLimits::Per)?;
            let path: Vec<Arc<str>> = path.trim().split('.').map(|key| Arc::from(key.trim())).collect();
            if path.iter().any(|key| key.is_empty() || key.contains(['{', '}', ' ', '(', '$'])) {
                return Err(InvalidLimits::Per);
            }
            parts.extend((!before.is_empty()).then(|| KeyPart::Text(before.into())));
            parts.push(KeyPart::Path(path));
            rest = after;
        }
        if parts.is_empty() || rest.contains("}}") {
            return Err(InvalidLimits::Per);
        }
        parts.extend((!rest.is_empty()).then(|| KeyPart::Text(rest.into())));
        Ok(Self { text: text.into(), parts })
    }
}

impl fmt::Display for GroupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl GroupKey {
    /// The group of a run with this input. `input` and `inputs` are the whole input, unless it has a field of that name; `metadata` is
    /// the metadata of the run. A missing value is empty text.
    pub fn group(&self, input: &Value, metadata: &Value) -> String {
        let mut group = String::new();
        for part in &self.parts {
            match part {
                KeyPart::Text(text) => group.push_str(text),
                KeyPart::Path(path) => {
                    let value = lookup(path, input, metadata).filter(|value| **value != Value::Null);
                    // Writing into a text cannot fail.
                    let _ = value.map(|value| write!(Bounded(&mut group), "{value}"));
                }
            }
        }
        shortened(group)
    }
}

fn lookup<'v>(path: &[Arc<str>], input: &'v Value, metadata: &'v Value) -> Option<&'v Value> {
    let (name, keys) = path.split_first()?;
    let root = match (input.get(name), &**name) {
        (Some(field), _) => field,
        (None, "input" | "inputs") => input,
        (None, "metadata") => metadata,
        (None, _) => return None,
    };
    keys.iter().try_fold(root, |value, key| match value.as_list() {
        Some(items) => items.get(key.parse::<usize>().ok()?),
        None => value.get(key),
    })
}

/// Writes text up to a limit, because values can be large.
struct Bounded<'t>(&'t mut String);

/// How much of a value is used in a group.
const MAX_VALUE_BYTES: usize = 16 * 1024;

impl Write for Bounded<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MAX_VALUE_BYTES.saturating_sub(self.0.len());
        let end = (0..=room.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        self.0.push_str(&text[..end]);
        if end < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// A name of limited length that differs for different groups.
fn shortened(group: String) -> String {
    let Some((end, _)) = group.char_indices().nth(MAX_GROUP_CHARS) else { return group };
    // FNV-1a: the same on every machine and in every build.
    let hash = group
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{}…{hash:016x}", &group[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        serde_json::from_str(text).expect("this is JSON")
    }

    #[test]
    fn invalid_limits_are_rejected_with_the_field() {
        for (written, expected) in [
            ("5", InvalidLimits::NotAnObject),
            ("{}", InvalidLimits::Empty),
            (r#"{"per": "{{input}}"}"#, InvalidLimits::Empty),
            (r#"{"concurrent": 1, "burst": 2}"#, InvalidLimits::Unknown("burst".into())),
            (r#"{"concurrent": 0}"#, InvalidLimits::Concurrent),
            (r#"{"concurrent": 10001}"#, InvalidLimits::Concurrent),
            (r#"{"concurrent": 1.5}"#, InvalidLimits::Concurrent),
            (r#"{"concurrent": "1"}"#, InvalidLimits::Concurrent),
            (r#"{"rate": 10}"#, InvalidLimits::Rate),
            (r#"{"rate": "10"}"#, InvalidLimits::Rate),
            (r#"{"rate": "0/s"}"#, InvalidLimits::Rate),
            (r#"{"rate": "1/0s"}"#, InvalidLimits::Rate),
            (r#"{"rate": "1/2d"}"#, InvalidLimits::Rate),
            (r#"{"rate": "-1/s"}"#, InvalidLimits::Rate),
            (r#"{"concurrent": 1, "per": "customer"}"#, InvalidLimits::Per),
            (r#"{"concurrent": 1, "per": "{{customer"}"#, InvalidLimits::Per),
            (r#"{"concurrent": 1, "per": "{{}}"}"#, InvalidLimits::Per),
            (r#"{"concurrent": 1, "per": "{{a..b}}"}"#, InvalidLimits::Per),
            (r#"{"concurrent": 1, "per": "{{upper(a)}}"}"#, InvalidLimits::Per),
            (r#"{"concurrent": 1, "per": "{{a}} }}"}"#, InvalidLimits::Per),
        ] {
            assert_eq!(RunLimits::from_value(&json(written)), Err(expected), "{written}");
        }
    }

    #[test]
    fn groups_are_read_from_the_input_and_the_metadata() {
        #[track_caller]
        fn check(key: &str, input: &str, expected: &str) {
            let key: GroupKey = key.parse().expect("it is a key");
            assert_eq!(key.group(&json(input), &json(r#"{"customer": "acme"}"#)), expected);
        }
        check("{{metadata.customer}}", r#""text""#, "acme");
        check("{{ input }}", r#""text""#, "text");
        check("{{input}}", r#"{"input": "inner", "runId": "r1"}"#, "inner");
        check("{{inputs.customer}}", r#"{"customer": "acme"}"#, "acme");
        check("{{list.1.name}}", r#"{"list": [1, {"name": true}]}"#, "true");
        check("{{list.2}}-{{nothing}}", r#"{"list": [1], "nothing": null}"#, "-");
        check("{{metadata.customer}}", r#"{"metadata": {"customer": "own"}}"#, "own");
    }

    #[test]
    fn long_groups_differ_and_are_short() {
        let key: GroupKey = "{{input}}".parse().expect("it is a key");
        let group = |text: String| key.group(&Value::from(text), &Value::Null);
        let (one, two) = (group("x".repeat(10_000)), group(format!("{}y", "x".repeat(9_999))));
        assert!(one != two && one.chars().count() < 250, "{one}");
        assert_eq!(group("é".repeat(1_000_000)).chars().count(), 217);
    }
}
