//! Ways through JSON: `a.b[0]`, `$.a.b`, `/a/b/0`.
//!
//! Beside keys and positions there are `*` or `[*]` for everything in a value, and `..key` for a key at any depth. A key that holds
//! other signs is written in brackets and quotes; a position below zero counts from the end.

use branchpoint_expr::Value;

/// A way through a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Path(Vec<Step>);

#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// A key of an object, or a position in a list.
    Key(String),
    /// A position in a list; below zero, from its end.
    At(i64),
    /// Everything in an object or a list.
    All,
    /// Whatever the steps after it find, in the value or anywhere below it.
    Anywhere,
}

impl Path {
    /// Reads a way; what is not understood is named.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Some(pointer) = text.strip_prefix('/') {
            let key = |key: &str| Step::Key(key.replace("~1", "/").replace("~0", "~"));
            return Ok(Self(pointer.split('/').map(key).collect()));
        }
        let mut steps = Vec::new();
        let mut rest = text.strip_prefix('$').unwrap_or(text);
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix("..") {
                steps.push(Step::Anywhere);
                rest = after;
                if rest.is_empty() || rest.starts_with('.') {
                    return Err(unclear(text, ".."));
                }
            }
            let (step, after) = match rest.strip_prefix('[') {
                Some(inside) => in_brackets(inside).ok_or_else(|| unclear(text, rest))?,
                None => key(rest.strip_prefix('.').unwrap_or(rest)).ok_or_else(|| unclear(text, rest))?,
            };
            steps.push(step);
            rest = after;
        }
        Ok(Self(steps))
    }

    /// What the way leads to, in the order of the value.
    pub(super) fn find(&self, value: &Value) -> Vec<Value> {
        let mut found = vec![value.clone()];
        let mut deep = false;
        for step in &self.0 {
            if *step == Step::Anywhere {
                deep = true;
                continue;
            }
            let all = if deep { found.iter().flat_map(everywhere).collect() } else { found };
            found = all.iter().flat_map(|value| step.from(value)).collect();
            deep = false;
        }
        found
    }
}

impl Step {
    fn from(&self, value: &Value) -> Vec<Value> {
        let at = |at: i64, items: &[Value]| {
            let at = if at < 0 { i64::try_from(items.len()).ok()? + at } else { at };
            items.get(usize::try_from(at).ok()?).cloned()
        };
        match (self, value) {
            (Self::Key(key), Value::Object(fields)) => fields.get(key.as_str()).cloned().into_iter().collect(),
            (Self::Key(key), Value::List(items)) => key.parse().ok().and_then(|n| at(n, items)).into_iter().collect(),
            (Self::At(n), Value::List(items)) => at(*n, items).into_iter().collect(),
            (Self::At(n), Value::Object(fields)) => fields.get(n.to_string().as_str()).cloned().into_iter().collect(),
            (Self::All, value) => parts(value),
            _ => Vec::new(),
        }
    }
}

fn parts(value: &Value) -> Vec<Value> {
    match value {
        Value::Object(fields) => fields.values().cloned().collect(),
        Value::List(items) => items.to_vec(),
        _ => Vec::new(),
    }
}

/// A value and all that stands in it, the outer ones first.
fn everywhere(value: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    let mut open = vec![value.clone()];
    while let Some(value) = open.pop() {
        open.extend(parts(&value).into_iter().rev());
        all.push(value);
    }
    all
}

/// A key up to the next dot or bracket.
fn key(text: &str) -> Option<(Step, &str)> {
    let (key, rest) = text.split_at(text.find(['.', '[']).unwrap_or(text.len()));
    let is_clear = !key.is_empty() && !key.contains([']', '(', ')', '"', '\'', '?', '@']);
    is_clear.then(|| (if key == "*" { Step::All } else { Step::Key(key.to_owned()) }, rest))
}

/// What stands in brackets: a position, a key in quotes, or `*`.
fn in_brackets(text: &str) -> Option<(Step, &str)> {
    let text = text.trim_start();
    if let Some(quote) = text.chars().next().filter(|sign| ['"', '\''].contains(sign)) {
        let (key, rest) = text[1..].split_once(quote)?;
        return Some((Step::Key(key.to_owned()), rest.trim_start().strip_prefix(']')?));
    }
    let (inside, rest) = text.split_once(']')?;
    let inside = inside.trim();
    let is_name = !inside.is_empty() && inside.chars().all(|sign| sign.is_alphanumeric() || sign == '_' || sign == '-');
    match inside.parse() {
        Ok(at) => Some((Step::At(at), rest)),
        Err(_) if inside == "*" => Some((Step::All, rest)),
        // A key without quotes has always been taken.
        Err(_) => is_name.then(|| (Step::Key(inside.to_owned()), rest)),
    }
}

fn unclear(path: &str, part: &str) -> String {
    format!(
        "`{part}` in the path `{path}` is not understood; a path of JSON has keys (a.b, [\"a b\"]), positions ([0], [-1]), \
         [*] and ..key"
    )
}
