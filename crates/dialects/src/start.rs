//! What the start of a run carries, by dialect: its input, its facts, and the script of its answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_expr::{Dialect, Object, Value, nearest};

/// The values that a run starts with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StartValues {
    /// The input of the run.
    pub input: Value,
    /// Facts that override those of the host.
    pub facts: Object,
}

/// The values that start a run of a dialect with named inputs. `account` contains the possible approvers.
///
/// ```
/// use branchpoint_dialects::start_values;
/// use branchpoint_expr::{Dialect, Object, Value};
///
/// let inputs: Object = [("input".into(), "Hello".into())].into_iter().collect();
/// let start = start_values(Some(Dialect::Steps), inputs, Value::Null)?;
/// assert_eq!(start.input, "Hello".into());
/// # Ok::<(), String>(())
/// ```
pub fn start_values(dialect: Option<Dialect>, inputs: Object, account: Value) -> Result<StartValues, String> {
    match dialect {
        Some(Dialect::Steps) => steps(inputs, account),
        Some(Dialect::Graph) => match inputs.keys().find(|key| !GRAPH.contains(&&***key)) {
            None => {
                let facts = [(Arc::from("account"), account)].into_iter().collect();
                Ok(StartValues { input: Value::from(inputs), facts })
            }
            Some(unknown) => {
                let near = nearest(unknown, GRAPH).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
                Err(format!(
                    "a graph has no input `{unknown}`\nhelp: {near}`input` replaces the text of its start node"
                ))
            }
        },
        _ => Ok(StartValues { input: Value::from(inputs), facts: Object::default() }),
    }
}

/// The account with the user who starts the run, whom approvals with `self_approval: false` exclude.
///
/// ```
/// use branchpoint_dialects::requested_by;
/// use branchpoint_expr::{Object, Value};
///
/// let account = requested_by(&Value::from(Object::default()), "ada");
/// assert_eq!(account.get("requester"), Some(&"ada".into()));
/// ```
pub fn requested_by(account: &Value, user: &str) -> Value {
    let mut fields = account.as_object().cloned().unwrap_or_default();
    fields.insert("requester".into(), Value::from(user));
    Value::from(fields)
}

/// The inputs of a graph.
const GRAPH: [&str; 5] = ["input", "runId", "model", "reasoningEffort", "stepLimit"];

/// The inputs of a step tree. `metadata` may also be given by path, such as `metadata.customer`.
pub const STEPS_INPUTS: [&str; 3] = ["input", "metadata", "account"];

fn steps(inputs: Object, mut account: Value) -> Result<StartValues, String> {
    let mut input = Value::from("");
    let mut metadata = Object::default();
    let requester = account.get("requester").and_then(Value::as_str).map(Arc::<str>::from);
    for (key, value) in inputs {
        match (&*key, key.strip_prefix("metadata."), value.as_object()) {
            ("input", ..) => input = value,
            ("account", ..) => account = value,
            ("metadata", _, Some(fields)) => metadata.extend(fields.clone()),
            (_, Some(path), _) => insert_at(&mut metadata, path, value),
            _ => return Err(unknown_of_steps(&key)),
        }
    }
    // An input cannot change who starts the run.
    if let Some(requester) = requester {
        account = requested_by(&account, &requester);
    }
    let content_type = if input.as_str().is_some() { "text/plain" } else { "application/json" };
    let facts =
        [("metadata", Value::from(metadata)), ("content_type", Value::from(content_type)), ("account", account)];
    let facts = facts.into_iter().map(|(name, fact)| (Arc::from(name), fact)).collect();
    Ok(StartValues { input, facts })
}

fn unknown_of_steps(key: &str) -> String {
    let (root, path) = key.split_once('.').map_or((key, None), |(root, path)| (root, Some(path)));
    let help = match (nearest(root, STEPS_INPUTS), path) {
        (Some(near), None) => format!("did you mean `{near}`? "),
        (Some("metadata"), Some(path)) => format!("did you mean `metadata.{path}`? "),
        _ => String::new(),
    };
    format!(
        "a workflow of steps has no input `{key}`\nhelp: {help}Give its input as `input=TEXT`, and values that it reads as \
         `metadata.NAME` as `metadata.NAME=TEXT`"
    )
}

/// Sets a value at a path of keys. Missing objects on the path are created.
fn insert_at(object: &mut Object, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            object.insert(path.into(), value);
        }
        Some((key, rest)) => {
            let inner = object.entry(key.into()).or_insert_with(|| Value::from(Object::default()));
            if let Value::Object(inner) = inner {
                inner.edit(|fields| insert_at(fields, rest, value));
            }
        }
    }
}

/// Whether a workflow of a dialect starts runs. A session starts with its first request instead.
///
/// ```
/// use branchpoint_dialects::starts_runs;
/// use branchpoint_expr::Dialect;
///
/// assert!(starts_runs(Some(Dialect::Steps)) && !starts_runs(Some(Dialect::Session)));
/// ```
pub fn starts_runs(dialect: Option<Dialect>) -> bool {
    dialect != Some(Dialect::Session)
}

/// Whether a run of a dialect can start with files.
///
/// ```
/// use branchpoint_dialects::accepts_attachments;
/// use branchpoint_expr::Dialect;
///
/// assert!(accepts_attachments(Some(Dialect::Steps)) && !accepts_attachments(Some(Dialect::Flow)));
/// ```
pub fn accepts_attachments(dialect: Option<Dialect>) -> bool {
    dialect == Some(Dialect::Steps)
}

/// Adds the id of the run to the input of a graph, whose result contains it.
///
/// ```
/// use branchpoint_dialects::input_with_id;
/// use branchpoint_expr::{Dialect, Object, Value};
///
/// let input = input_with_id(Some(Dialect::Graph), Value::from(Object::default()), "r1");
/// assert_eq!(input.get("runId"), Some(&"r1".into()));
/// ```
pub fn input_with_id(dialect: Option<Dialect>, input: Value, id: &str) -> Value {
    match (dialect, input.as_object()) {
        (Some(Dialect::Graph), Some(fields)) if !fields.contains_key("runId") => {
            let mut fields = fields.clone();
            fields.insert("runId".into(), Value::from(id));
            Value::from(fields)
        }
        _ => input,
    }
}

/// The name that a document gives itself; `None` if it has none.
///
/// ```
/// assert_eq!(branchpoint_dialects::document_name("name: hello\n").as_deref(), Some("hello"));
/// assert_eq!(branchpoint_dialects::document_name("steps: []\n"), None);
/// ```
pub fn document_name(text: &str) -> Option<String> {
    let name = crate::read(text).ok()?.get("name")?.to_value();
    name.as_str().map(str::trim).filter(|name| !name.is_empty()).map(ToOwned::to_owned)
}

/// A script with the answers of its steps at the top level. Scripts of graphs have the answers of their agents under `agents` and
/// those of people under `resume`, where `{$for: node, input}` is for one node.
///
/// ```
/// use branchpoint_expr::Value;
///
/// let script: Value = serde_json::from_str(r#"{"agents": {"draft": ["Hello"]}}"#)?;
/// assert!(branchpoint_dialects::script_by_step(script).get("draft").is_some());
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn script_by_step(script: Value) -> Value {
    let Some(fields) = script.as_object() else { return script };
    let of_graph = fields.keys().all(|key| matches!(&**key, "agents" | "resume"));
    let Some(agents) = fields.get("agents").and_then(Value::as_object).filter(|_| of_graph) else { return script };
    let mut people: BTreeMap<Arc<str>, Vec<Value>> = BTreeMap::new();
    for answer in fields.get("resume").and_then(Value::as_list).unwrap_or_default() {
        let node = answer.get("$for").and_then(Value::as_str);
        let given = node.and_then(|_| answer.get("input")).unwrap_or(answer);
        people.entry(node.unwrap_or("resume").into()).or_default().push(given.clone());
    }
    let people = people.into_iter().map(|(node, given)| (node, Value::from(given)));
    Value::from(agents.clone().into_iter().chain(people).collect::<Object>())
}
