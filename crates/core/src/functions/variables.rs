//! Variables of a run as one object: assignment by path, selection, and conversion to types.

use std::cmp::Ordering;

use branchpoint_expr::function::{Fault, Outcome, Work, describe, fault, preview};
use branchpoint_expr::{Kind, ObjectView, Value, View};

use crate::RunKinds as _;

/// `putPath(object, ["a", "b"], value)`: the object with a value at a path. Missing objects are created.
pub(super) fn put_path<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let path = path(work, arguments[1])?;
    set_at_path(work, arguments[0], &path, arguments[2], false, 0)
}

/// The object with a value at a path. Missing objects are created; with `over_null`, null counts as missing.
pub(super) fn set_at_path<'a>(
    work: &Work<'a>,
    at: View<'a>,
    path: &[&'a str],
    value: View<'a>,
    over_null: bool,
    depth: u16,
) -> Outcome<View<'a>> {
    let Some((key, rest)) = path.split_first() else { return Ok(value) };
    work.check_depth(depth)?;
    let mut entries = match at {
        View::Object(object) => entries(work, object)?,
        View::Null if over_null => Vec::new(),
        other => {
            let message = format!("`{key}` cannot be set inside {}, which is not an object", describe(other));
            return fault(Kind::PathConflict, message);
        }
    };
    let position = entries.iter().position(|(other, _)| other == key);
    let inner = match position {
        Some(position) => entries[position].1,
        None if rest.is_empty() => View::Null,
        None => work.object(&[])?,
    };
    let below = set_at_path(work, inner, rest, value, over_null, depth + 1)?;
    match position {
        Some(position) => entries[position].1 = below,
        None => entries.push((key, below)),
    }
    work.object(&entries)
}

/// `nested(object)`: names with dots become nested objects. Names without dots are set first, so that the order of names is irrelevant.
pub(super) fn nested<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let given = match arguments[0] {
        View::Null => return work.object(&[]),
        View::Object(object) => entries(work, object)?,
        other => return mismatch("an object", other),
    };
    let (dotted, plain): (Vec<_>, Vec<_>) = given.into_iter().partition(|(name, _)| name.contains('.'));
    let plain = work.object(&plain)?;
    dotted.into_iter().try_fold(plain, |nested, (name, value)| {
        let path: Vec<_> = name.split('.').collect();
        set_at_path(work, nested, &path, value, false, 0)
    })
}

/// `pick(object, keys)`: the existing entries with these keys.
pub(super) fn pick<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let (View::Object(object), View::List(keys)) = (arguments[0], arguments[1]) else {
        return mismatch("an object and a list of keys", arguments[0]);
    };
    work.spend(keys.len())?;
    let mut picked = Vec::new();
    for key in keys.iter() {
        let key = key.expect_text("pick()")?;
        picked.extend(work.field(object, key)?.map(|value| (key, value)));
    }
    work.object_of(picked)
}

/// `declared(variables, path, type, default)`: the variables, with the variable at a path converted to its declared type. A missing
/// variable gets the default; without a default, it stays missing.
pub(super) fn declared<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let path = path(work, arguments[1])?;
    let mut value = Some(arguments[0]);
    for key in &path {
        value = match value {
            Some(View::Object(object)) => work.field(object, key)?,
            _ => None,
        };
    }
    let Some(value) = value.or(arguments.get(3).copied()) else { return Ok(arguments[0]) };
    let value = declare(work, value, arguments[2].expect_text("declared()")?)?;
    set_at_path(work, arguments[0], &path, value, false, 0)
}

/// Converts a value to its declared type.
pub(super) fn declare<'a>(work: &Work<'a>, value: View<'a>, ty: &str) -> Outcome<View<'a>> {
    let blank = value.as_str().is_some_and(|text| text.trim().is_empty());
    match (ty, value) {
        (_, View::Null) => Ok(value),
        ("string", View::Bool(_) | View::Int(_) | View::Float(_)) => work.text_form(value).map(View::Str),
        ("string", _) => assign(work, value, ty),
        _ if blank => Ok(View::Null),
        ("null", _) => mismatch("null", value),
        ("boolean", _) => match word(work, value)?.as_deref() {
            Some("true" | "yes" | "on" | "1") => Ok(View::Bool(true)),
            Some("false" | "no" | "off" | "0") => Ok(View::Bool(false)),
            _ => mismatch("a boolean", value),
        },
        _ => assign(work, value, ty),
    }
}

/// The text of a single value in lower case, which may be a word for true or false.
fn word<'a>(work: &Work<'a>, value: View<'a>) -> Outcome<Option<String>> {
    Ok(match value {
        View::List(_) | View::Object(_) => None,
        _ => Some(work.text_form(value)?.trim().to_lowercase()),
    })
}

/// `assigned(value, type)`: the value, checked for its type. Numeric text and JSON text are parsed for the types that need it.
pub(super) fn assigned<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    assign(work, arguments[0], arguments[1].expect_text("assigned()")?)
}

pub(super) fn assign<'a>(work: &Work<'a>, value: View<'a>, ty: &str) -> Outcome<View<'a>> {
    let json = |work: &Work<'a>| -> Outcome<View<'a>> {
        match value.as_str() {
            Some(text) => Ok(work.json(text)?.unwrap_or(View::Null)),
            None => Ok(value),
        }
    };
    match (ty, value) {
        ("auto", _)
        | (_, View::Null)
        | ("string", View::Str(_) | View::Text(_))
        | ("boolean", View::Bool(_))
        | ("number", View::Int(_) | View::Float(_)) => Ok(value),
        ("string", _) => mismatch("text", value),
        ("boolean", _) => mismatch("a boolean", value),
        ("number", _) => match value.as_str().and_then(|text| View::parse_number(text.trim())) {
            Some(number) => Ok(number),
            None => mismatch("a number", value),
        },
        ("array", _) => match json(work)? {
            list @ View::List(_) => Ok(list),
            _ => mismatch("a list", value),
        },
        ("object", _) => match json(work)? {
            object @ View::Object(_) => Ok(object),
            _ => mismatch("an object", value),
        },
        ("datetime", _) if value.is_instant() => Ok(value),
        ("datetime", _) => mismatch("a date or a time", value),
        _ => fault(Kind::BadArgument, format!("`{ty}` is not a type")),
    }
}

/// `listed(value)`: the value if it is a list. JSON text is not accepted.
pub(super) fn listed<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    match arguments[0] {
        list @ View::List(_) => Ok(list),
        other => mismatch("a list", other),
    }
}

/// `wholeNumber(value)`: an integer, or text with an integer.
pub(super) fn whole_number<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let read = match arguments[0].as_str() {
        Some(text) => text.trim().parse().ok(),
        None => arguments[0].as_integer(),
    };
    read.map_or_else(|| mismatch("an integer", arguments[0]), |int| Ok(View::Int(int)))
}

/// `rounds(from, to, step)`: the number of rounds of a loop from one integer to another, both included.
pub(super) fn rounds<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let number = |index: usize| arguments[index].expect_integer("rounds()").map(i128::from);
    let (from, to, step) = (number(0)?, number(1)?, number(2)?);
    if step == 0 {
        return fault(Kind::InvalidConfig, "the step of the loop is 0, so the loop would never end");
    }
    let ahead = if step > 0 { to - from } else { from - to };
    let count = if ahead < 0 { 0 } else { ahead / step.abs() + 1 };
    Ok(View::Int(i64::try_from(count).unwrap_or(i64::MAX)))
}

/// `field(value, type, name, low, high)`: the value of a field of a request, which must be nil or have the type. Text with a number or
/// a boolean is parsed. The bounds apply to numbers.
pub(super) fn field<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let (value, ty) = (arguments[0], arguments[1].expect_text("field()")?);
    let typed = match ty {
        "array" | "object" => Ok(value),
        "integer" | "number" => assign(work, value, "number"),
        _ => declare(work, value, ty),
    };
    let is_within = |value: View<'a>| {
        let [low, high] = [arguments.get(3), arguments.get(4)];
        low.is_none_or(|low| low.compare(&value).is_some_and(Ordering::is_le))
            && high.is_none_or(|high| value.compare(high).is_some_and(Ordering::is_le))
    };
    let fits = |value: View<'a>| match (ty, value) {
        (_, View::Null) | ("array", View::List(_)) | ("object", View::Object(_)) | ("boolean", View::Bool(_)) => true,
        ("integer", View::Int(_)) | ("number", View::Int(_) | View::Float(_)) => is_within(value),
        _ => false,
    };
    if let Ok(typed) = typed
        && fits(typed)
    {
        return Ok(typed);
    }
    let wanted = match ty {
        "array" => "a list",
        "object" => "an object",
        "boolean" => "true or false",
        "integer" => "a whole number",
        _ => "a number",
    };
    let bounds = match (arguments.get(3), arguments.get(4)) {
        (Some(low), None | Some(View::Int(i64::MAX))) => format!(" of at least {}", preview(*low)),
        (Some(low), Some(high)) => format!(" from {} to {}", preview(*low), preview(*high)),
        _ => String::new(),
    };
    wrong_field(arguments[2], &format!("must be {wanted}{bounds}, but is {}", describe(value)))
}

fn wrong_field<T>(name: View<'_>, problem: &str) -> Outcome<T> {
    fault(Kind::InvalidConfig, format!("`{}` {problem}", name.as_str().unwrap_or_default()))
}

/// `webAddress(value, name)`: the value, checked to begin with `http://` or `https://`.
pub(super) fn web_address<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    if arguments[0].as_str().is_some_and(is_web_address) {
        return Ok(arguments[0]);
    }
    wrong_field(arguments[1], &format!("must begin with http:// or https://, but is {}", describe(arguments[0])))
}

/// Whether a text begins with `http://` or `https://`.
///
/// ```
/// use branchpoint_core::functions::is_web_address;
///
/// assert!(is_web_address("https://example.org") && !is_web_address("ftp://example.org"));
/// ```
pub fn is_web_address(text: &str) -> bool {
    let rest = ["http://", "https://"].iter().find_map(|scheme| {
        let begins = text.get(..scheme.len())?.eq_ignore_ascii_case(scheme);
        begins.then(|| &text[scheme.len()..])
    });
    rest.is_some_and(|rest| !rest.is_empty())
}

/// `keyed(list, text, name)`: the field `[{key, value}]` as an object, with the text forms of the values if `text` is true.
pub(super) fn keyed<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let list = match arguments[0] {
        View::Null => return work.object(&[]),
        View::List(list) => list,
        other => {
            return wrong_field(
                arguments[2],
                &format!("must be a list of keys and values, but is {}", describe(other)),
            );
        }
    };
    work.spend(list.len())?;
    let mut entries = Vec::with_capacity(list.len());
    for entry in list.iter() {
        let fields = if let View::Object(fields) = entry { Some(fields) } else { None };
        let part = |key: &str| fields.map_or(Ok(None), |fields| work.field(fields, key));
        let (Some(key), Some(value)) = (part("key")?.filter(|key| !key.is_null()), part("value")?) else {
            let problem =
                format!("has {}, but each item must be an object with a `key` and a `value`", describe(entry));
            return wrong_field(arguments[2], &problem);
        };
        let value = if matches!(arguments[1], View::Bool(true)) { View::Str(work.text_form(value)?) } else { value };
        entries.push((work.text_form(key)?, value));
    }
    work.object_of(entries)
}

/// `sameAs(a, b)`: whether two values are equal, or their text forms are equal ignoring case.
pub(super) fn same_as<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    work.same(arguments[0], arguments[1]).map(View::Bool)
}

fn entries<'a>(work: &Work<'a>, object: ObjectView<'a>) -> Outcome<Vec<(&'a str, View<'a>)>> {
    work.spend(object.len())?;
    work.check_room(object.len())?;
    Ok(object.iter().collect())
}

fn path<'a>(work: &Work<'a>, path: View<'a>) -> Outcome<Vec<&'a str>> {
    let View::List(keys) = path else { return mismatch("a list of keys", path) };
    work.spend(keys.len())?;
    keys.iter().map(|key| work.text_form(key)).collect()
}

fn mismatch<T>(wanted: &str, found: View<'_>) -> Outcome<T> {
    fault(Kind::TypeMismatch, format!("{} is not {wanted}", describe(found)))
}

/// Where a document names a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typing {
    /// In a declaration: a value is converted to the type if possible.
    Declared,
    /// In an assignment: a value must have the type.
    Assigned,
}

impl Typing {
    /// Checks that a literal can have the type.
    ///
    /// ```
    /// use branchpoint_core::functions::Typing;
    ///
    /// assert!(Typing::Declared.check(&"yes".into(), "boolean").is_ok());
    /// assert!(Typing::Assigned.check(&"yes".into(), "boolean").is_err());
    /// ```
    pub fn check(self, value: &Value, ty: &str) -> Result<(), Box<Fault>> {
        Work::with(&[value], |work, arguments| {
            let typed = match self {
                Self::Declared => declare(work, arguments[0], ty),
                Self::Assigned => assign(work, arguments[0], ty),
            };
            typed.map(drop)
        })
    }
}

/// Whether two values are equal, or their text forms are equal ignoring case. Values that are too large to compare are not equal.
///
/// ```
/// use branchpoint_core::functions::is_same;
///
/// assert!(is_same(&7.into(), &"7".into()) && is_same(&"Yes".into(), &"yes".into()));
/// ```
pub fn is_same(left: &Value, right: &Value) -> bool {
    Work::with(&[left, right], |work, arguments| work.same(arguments[0], arguments[1])).unwrap_or(false)
}
