//! Declared inputs of a run: defaults and validation.
//!
//! A declaration is an object `{name, path, type, required, default, enum}`; `path` is the path of the input in the object of given
//! values.

use std::fmt::Write as _;

use branchpoint_expr::function::{Outcome, Work, preview};
use branchpoint_expr::{Kind, ObjectView, Value, View, nearest};

use super::variables::set_at_path;
use crate::RunKinds as _;

/// The maximum number of listed problems; the rest is counted.
const LISTED: usize = 20;

/// The maximum number of unknown names that get a suggestion, because each suggestion compares all declared names.
const SUGGESTED: usize = 5;

/// The types that a declaration can name.
pub const INPUT_TYPES: [&str; 6] = ["text", "number", "integer", "boolean", "list", "object"];

/// `withDefaults(given, declarations)`: the given values with the defaults of missing ones.
pub(super) fn with_defaults<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let mut values = match arguments[0] {
        View::Object(_) => arguments[0],
        _ => work.object(&[])?,
    };
    for declaration in declarations(work, arguments[1])? {
        let Some(default) = declaration.default else { continue };
        if let PathValue::Missing = find(work, values, &declaration.path)? {
            values = set_at_path(work, values, &declaration.path, default, true, 0)?;
        }
    }
    Ok(values)
}

/// `inputProblems(values, declarations)`: all problems of the values, as `[{kind, message}]`.
pub(super) fn problems<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let declared = declarations(work, arguments[1])?;
    let mut problems = Problems { work, listed: Vec::new(), count: 0, suggested: 0 };
    if let View::Object(given) = arguments[0] {
        problems.unknown(given, &mut Vec::new(), &declared)?;
    }
    for declaration in &declared {
        problems.declared(arguments[0], declaration)?;
    }
    problems.finish()
}

/// Why a value does not have a declared type, as the end of a sentence that begins with the name of the input.
///
/// ```
/// use branchpoint_core::functions::type_mismatch;
///
/// assert_eq!(type_mismatch("number", &"many".into()).as_deref(), Some("must be a number, but is text"));
/// assert_eq!(type_mismatch("number", &7.into()), None);
/// ```
pub fn type_mismatch(ty: &str, value: &Value) -> Option<String> {
    mismatch_of(ty, value.view())
}

fn mismatch_of(ty: &str, value: View<'_>) -> Option<String> {
    let fits = match (ty, value) {
        ("text", View::Str(_) | View::Text(_))
        | ("number", View::Int(_) | View::Float(_))
        | ("integer", View::Int(_))
        | ("boolean", View::Bool(_))
        | ("list", View::List(_))
        | ("object", View::Object(_)) => true,
        (ty, _) => !INPUT_TYPES.contains(&ty),
    };
    let is = match value {
        View::Null => "null",
        View::Bool(_) => "a boolean",
        View::Int(_) => "an integer",
        View::Float(_) => "a number",
        View::Str(_) | View::Text(_) => "text",
        View::List(_) => "a list",
        View::Object(_) => "an object",
    };
    let must = match ty {
        "text" => "text",
        "number" => "a number",
        "integer" => "an integer",
        "boolean" => "true or false",
        "list" => "a list",
        _ => "an object",
    };
    (!fits).then(|| format!("must be {must}, but is {is}"))
}

/// One declared input.
struct Declaration<'a> {
    name: &'a str,
    path: Vec<&'a str>,
    ty: Option<&'a str>,
    required: bool,
    default: Option<View<'a>>,
    one_of: Option<Vec<View<'a>>>,
}

fn declarations<'a>(work: &Work<'a>, list: View<'a>) -> Outcome<Vec<Declaration<'a>>> {
    let View::List(list) = list else { return Ok(Vec::new()) };
    work.spend(list.len())?;
    list.iter().map(|declaration| read(work, declaration)).collect()
}

fn read<'a>(work: &Work<'a>, declaration: View<'a>) -> Outcome<Declaration<'a>> {
    let field = |key: &str| declaration.get(key).filter(|value| !value.is_null());
    let items = |key: &str| match field(key) {
        Some(View::List(items)) => work.spend(items.len()).map(|()| Some(items.iter().collect::<Vec<_>>())),
        _ => Ok(None),
    };
    let path = items("path")?.unwrap_or_default().into_iter().filter_map(View::as_str).collect();
    Ok(Declaration {
        name: field("name").and_then(View::as_str).unwrap_or_default(),
        path,
        ty: field("type").and_then(View::as_str),
        required: matches!(field("required"), Some(View::Bool(true))),
        default: field("default"),
        one_of: items("enum")?,
    })
}

/// The result of a search for a path.
enum PathValue<'a> {
    Value(View<'a>),
    /// No value, or null.
    Missing,
    /// A value on the path is not an object.
    Blocked,
}

fn find<'a>(work: &Work<'a>, values: View<'a>, path: &[&str]) -> Outcome<PathValue<'a>> {
    let mut at = values;
    for key in path {
        at = match at {
            View::Object(object) => match work.field(object, key)? {
                Some(value) => value,
                None => return Ok(PathValue::Missing),
            },
            View::Null => return Ok(PathValue::Missing),
            _ => return Ok(PathValue::Blocked),
        };
    }
    Ok(if at.is_null() { PathValue::Missing } else { PathValue::Value(at) })
}

struct Problems<'w, 'a> {
    work: &'w Work<'a>,
    listed: Vec<View<'a>>,
    count: usize,
    suggested: usize,
}

impl<'a> Problems<'_, 'a> {
    /// Finds names that no declaration covers. A declared object covers everything below it.
    fn unknown(&mut self, given: ObjectView<'a>, at: &mut Vec<&'a str>, declared: &[Declaration<'a>]) -> Outcome<()> {
        self.work.check_depth(u16::try_from(at.len()).unwrap_or(u16::MAX))?;
        for (key, value) in given.iter() {
            self.work.spend(declared.len() + 1)?;
            at.push(key);
            let is_covered = declared.iter().any(|declaration| at.starts_with(&declaration.path));
            let leads_on = declared.iter().any(|declaration| declaration.path.starts_with(at));
            match value {
                _ if is_covered || value.is_null() => {}
                View::Object(inner) if leads_on => self.unknown(inner, at, declared)?,
                // The validation of the declared input reports a value that blocks its path.
                _ if leads_on => {}
                _ => self.unknown_name(&at.join("."), declared)?,
            }
            at.pop();
        }
        Ok(())
    }

    fn unknown_name(&mut self, name: &str, declared: &[Declaration<'a>]) -> Outcome<()> {
        let mut message = format!("there is no input `{name}`");
        if self.suggested < SUGGESTED {
            self.suggested += 1;
            // Writing to a string cannot fail.
            if let Some(meant) = nearest(name, declared.iter().map(|declaration| declaration.name)) {
                let _ = write!(message, "; did you mean `{meant}`?");
            } else if self.suggested == 1 {
                let names: Vec<_> = declared.iter().map(|declaration| format!("`{}`", declaration.name)).collect();
                let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                let _ = write!(message, "; declared inputs: {names}");
            }
        }
        self.add(Kind::UnknownInput, &message)
    }

    fn declared(&mut self, values: View<'a>, declaration: &Declaration<'a>) -> Outcome<()> {
        let name = declaration.name;
        let value = match find(self.work, values, &declaration.path)? {
            PathValue::Blocked => {
                return self.add(Kind::InvalidInput, &format!("input `{name}` is below a value that is not an object"));
            }
            PathValue::Missing if declaration.required => {
                return self.add(Kind::InvalidInput, &format!("input `{name}` is required"));
            }
            PathValue::Missing => return Ok(()),
            PathValue::Value(value) => value,
        };
        if declaration.required && value.as_str() == Some("") {
            return self.add(Kind::InvalidInput, &format!("input `{name}` is required, but is empty"));
        }
        if let Some(wrong) = declaration.ty.and_then(|ty| mismatch_of(ty, value)) {
            return self.add(Kind::InvalidInput, &format!("input `{name}` {wrong}"));
        }
        let Some(one_of) = &declaration.one_of else { return Ok(()) };
        for allowed in one_of {
            if self.work.equal(allowed, &value)? {
                return Ok(());
            }
        }
        let allowed: Vec<_> = one_of.iter().map(|allowed| preview(*allowed)).collect();
        self.add(Kind::InvalidInput, &format!("input `{name}` must be one of {}", allowed.join(", ")))
    }

    fn add(&mut self, kind: Kind, message: &str) -> Outcome<()> {
        self.count += 1;
        if self.count <= LISTED {
            let (kind, message) = (View::Str(kind.as_str()), self.work.text(message)?);
            self.listed.push(self.work.object(&[("kind", kind), ("message", message)])?);
        }
        Ok(())
    }

    fn finish(mut self) -> Outcome<View<'a>> {
        if let Some(more) = self.count.checked_sub(LISTED).filter(|more| *more > 0) {
            let message = self.work.text(&format!("and {more} more"))?;
            let kind = View::Str(Kind::InvalidInput.as_str());
            self.listed.push(self.work.object(&[("kind", kind), ("message", message)])?);
        }
        self.work.list(&self.listed)
    }
}
