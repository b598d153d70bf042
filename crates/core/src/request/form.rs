//! The form of an approval: typed fields that a vote carries. A form is written as a JSON Schema with few keywords, so that the core
//! can check a vote without any library.

use std::sync::Arc;

use branchpoint_expr::{Object, Value, nearest};

/// The maximum number of fields of a form.
const MAX_FIELDS: usize = 50;

/// The maximum number of values of an `enum`.
const MAX_OPTIONS: usize = 200;

/// The keywords of the form itself.
const FORM_KEYWORDS: &[&str] = &["type", "properties", "required", "title", "description"];

/// The keywords of every field.
const FIELD_KEYWORDS: &[&str] = &["type", "title", "description", "default"];

/// The typed fields of an approval.
///
/// ```
/// use branchpoint_core::ApprovalForm;
/// use branchpoint_expr::Value;
///
/// let schema = r#"{"type": "object", "properties": {"amount": {"type": "number", "maximum": 100}}, "required": ["amount"]}"#;
/// let form = ApprovalForm::parse(&serde_json::from_str(schema)?)?;
/// let vote = |json: &str| form.complete(&serde_json::from_str(json).unwrap(), &Value::Null);
/// assert!(vote(r#"{"amount": 12.5}"#).is_ok());
/// assert_eq!(vote(r#"{"amount": 200}"#).unwrap_err().field, "amount");
/// assert_eq!(vote("{}").unwrap_err().problem, "is missing");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalForm {
    /// The fields, in the order of the document.
    pub fields: Vec<FormField>,
}

/// One field of a form.
#[derive(Clone, Debug, PartialEq)]
pub struct FormField {
    /// The name.
    pub name: Arc<str>,
    /// The name for people.
    pub title: Option<Arc<str>>,
    /// An explanation for people.
    pub description: Option<Arc<str>>,
    /// The type of the values.
    pub ty: FieldType,
    /// Whether a vote must have a value, unless there is a default.
    pub is_required: bool,
    /// The only accepted values, or items of a list; empty if there is no such limit.
    pub options: Vec<Value>,
    /// The least and the greatest number, length of a text, or count of items.
    bounds: (Option<f64>, Option<f64>),
}

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// Text.
    Text,
    /// A number.
    Number,
    /// An integer.
    Integer,
    /// True or false.
    Boolean,
    /// A list of texts.
    Texts,
}

/// Why a form cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FormError {
    /// The keys that lead to the problem, from the form on.
    pub path: Vec<Arc<str>>,
    /// The problem.
    pub message: String,
}

/// Why the form of a vote is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the field `{field}` of the form {problem}")]
pub struct BadForm {
    /// The field; empty if the problem is the form as a whole.
    pub field: String,
    /// The problem, as the end of a sentence about the field.
    pub problem: String,
}

impl ApprovalForm {
    /// Reads a form from its JSON Schema.
    pub fn parse(schema: &Value) -> Result<Self, FormError> {
        let Some(form) = schema.as_object() else {
            return Err(error(&[], "a form must be an object with `type: object` and `properties`"));
        };
        known_keys(form, &[FORM_KEYWORDS], &[])?;
        if form.get("type").and_then(Value::as_str) != Some("object") {
            return Err(error(&["type"], "the type of a form must be `object`"));
        }
        texts(form, &[])?;
        let properties = match form.get("properties").and_then(Value::as_object) {
            Some(properties) if !properties.is_empty() => properties,
            _ => return Err(error(&["properties"], "`properties` must be an object with at least one field")),
        };
        if properties.len() > MAX_FIELDS {
            let message = format!("a form has at most {MAX_FIELDS} fields, but this one has {}", properties.len());
            return Err(error(&["properties"], &message));
        }
        let required = match form.get("required") {
            None => Vec::new(),
            Some(required) => {
                names(required).ok_or_else(|| error(&["required"], "`required` must be a list of field names"))?
            }
        };
        if let Some(unknown) = required.iter().find(|name| !properties.contains_key(**name)) {
            return Err(error(
                &["required"],
                &format!("`required` names `{unknown}`, which is not a field of the form"),
            ));
        }
        let fields = properties.iter().map(|(name, field)| FormField::parse(name, field, required.contains(&&**name)));
        Ok(Self { fields: fields.collect::<Result<_, _>>()? })
    }

    /// The field of a name.
    pub fn field(&self, name: &str) -> Option<&FormField> {
        self.fields.iter().find(|field| &*field.name == name)
    }

    /// Checks the form of a vote, and adds the defaults of the fields that it leaves out. The result has the order of the form.
    pub fn complete(&self, given: &Value, defaults: &Value) -> Result<Value, BadForm> {
        let Some(given) = given.as_object() else { return Err(BadForm::whole("must be an object")) };
        if let Some(unknown) = given.keys().find(|name| self.field(name).is_none()) {
            let known = self.fields.iter().map(|field| &*field.name);
            let near = nearest(unknown, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(BadForm { field: unknown.to_string(), problem: format!("is unknown{near}") });
        }
        let mut complete = Object::default();
        for field in &self.fields {
            let value = given.get(&field.name).filter(|value| **value != Value::Null);
            match value.or_else(|| defaults.get(&field.name)).filter(|value| **value != Value::Null) {
                Some(value) => {
                    field.check(value)?;
                    complete.insert(field.name.clone(), value.clone());
                }
                None if field.is_required => return Err(field.problem("is missing")),
                None => {}
            }
        }
        Ok(Value::from(complete))
    }
}

impl FormField {
    fn parse(name: &Arc<str>, schema: &Value, is_required: bool) -> Result<Self, FormError> {
        let at = |key: &str| -> Vec<Arc<str>> {
            let path = ["properties".into(), name.clone()].into_iter();
            path.chain((!key.is_empty()).then(|| key.into())).collect()
        };
        let fail = |key: &str, message: String| FormError { path: at(key), message };
        let Some(field) = schema.as_object() else {
            return Err(fail("", format!("the field `{name}` must be an object")));
        };
        if name.trim().is_empty() {
            return Err(fail("", "the name of a field must not be blank".into()));
        }
        let (ty, own): (_, &[&str]) = match field.get("type").and_then(Value::as_str) {
            Some("string") => (FieldType::Text, &["enum", "minLength", "maxLength"]),
            Some("number") => (FieldType::Number, &["enum", "minimum", "maximum"]),
            Some("integer") => (FieldType::Integer, &["enum", "minimum", "maximum"]),
            Some("boolean") => (FieldType::Boolean, &[]),
            Some("array") => (FieldType::Texts, &["items", "minItems", "maxItems"]),
            _ => {
                let message = format!("the type of `{name}` must be string, number, integer, boolean or array");
                return Err(fail("type", message));
            }
        };
        known_keys(field, &[FIELD_KEYWORDS, own], &at(""))?;
        let [title, description] = texts(field, &at(""))?;
        let bound = |key: &str| match field.get(key) {
            None => Ok(None),
            Some(Value::Int(int)) if ty != FieldType::Text && ty != FieldType::Texts || *int >= 0 => {
                Ok(Some(*int as f64))
            }
            Some(Value::Float(float)) if ty == FieldType::Number || ty == FieldType::Integer => Ok(Some(*float)),
            Some(_) => Err(fail(key, format!("`{key}` of `{name}` must be a number"))),
        };
        let (least, most) = match ty {
            FieldType::Text => ("minLength", "maxLength"),
            FieldType::Texts => ("minItems", "maxItems"),
            _ => ("minimum", "maximum"),
        };
        let bounds = (bound(least)?, bound(most)?);
        if let (Some(low), Some(high)) = bounds
            && low > high
        {
            return Err(fail(least, format!("`{least}` of `{name}` exceeds `{most}`")));
        }
        let mut parsed = Self { name: name.clone(), title, description, ty, is_required, options: Vec::new(), bounds };
        if ty == FieldType::Texts {
            let items = field.get("items");
            let of_texts = items.and_then(|items| items.get("type")).and_then(Value::as_str) == Some("string");
            let Some(items) = items.and_then(Value::as_object).filter(|_| of_texts) else {
                return Err(fail(
                    "items",
                    format!("`items` of `{name}` must be `{{type: string}}`: only lists of texts are supported"),
                ));
            };
            known_keys(items, &[&["type", "enum"]], &at("items"))?;
            parsed.options = options(items.get("enum"), FieldType::Text)
                .map_err(|message| fail("items", format!("`enum` of `{name}` {message}")))?;
        } else {
            parsed.options = options(field.get("enum"), ty)
                .map_err(|message| fail("enum", format!("`enum` of `{name}` {message}")))?;
        }
        Ok(parsed)
    }

    /// Reads a value of the field from text, for the command line: numbers and booleans as JSON writes them, lists with commas between
    /// the items, or as JSON.
    ///
    /// ```
    /// use branchpoint_core::ApprovalForm;
    /// use branchpoint_expr::Value;
    ///
    /// let schema = r#"{"type": "object", "properties": {"amount": {"type": "integer"}}}"#;
    /// let form = ApprovalForm::parse(&serde_json::from_str(schema)?)?;
    /// assert_eq!(form.fields[0].read("7"), Ok(Value::Int(7)));
    /// assert!(form.fields[0].read("many").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(&self, text: &str) -> Result<Value, BadForm> {
        let value = match self.ty {
            FieldType::Text => Value::from(text),
            FieldType::Number | FieldType::Integer => match (text.trim().parse::<i64>(), text.trim().parse::<f64>()) {
                (Ok(int), _) => Value::Int(int),
                (_, Ok(float)) if float.is_finite() => Value::number(float),
                _ => return Err(self.mismatch("text")),
            },
            FieldType::Boolean => match text.trim() {
                "true" | "yes" => Value::Bool(true),
                "false" | "no" => Value::Bool(false),
                _ => return Err(self.mismatch("text")),
            },
            FieldType::Texts => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                Value::from(items.map(Value::from).collect::<Vec<_>>())
            }
        };
        self.check(&value)?;
        Ok(value)
    }

    /// The default that a template gave. Text is read as the type of the field; null, and empty text of another type, are no default.
    pub(super) fn default(&self, given: &Value) -> Option<Value> {
        match given {
            Value::Null => None,
            Value::Str(text) if self.ty != FieldType::Text && text.trim().is_empty() => None,
            // Text that cannot be read is proposed as it is, and a vote must correct it.
            Value::Str(text) if self.ty != FieldType::Text => Some(self.read(text).unwrap_or_else(|_| given.clone())),
            Value::Int(_) | Value::Float(_) | Value::Bool(_) if self.ty == FieldType::Text => {
                Some(Value::from(given.to_string()))
            }
            given => Some(given.clone()),
        }
    }

    fn check(&self, value: &Value) -> Result<(), BadForm> {
        let size = match (self.ty, value) {
            (FieldType::Text, Value::Str(text)) => text.chars().count() as f64,
            (FieldType::Number | FieldType::Integer, Value::Int(int)) => *int as f64,
            (FieldType::Number, Value::Float(float)) => *float,
            (FieldType::Boolean, Value::Bool(_)) => return Ok(()),
            (FieldType::Texts, Value::List(items)) => {
                if let Some(other) = items.iter().find(|item| item.as_str().is_none()) {
                    return Err(self.problem(&format!("must be a list of texts, but one item is {}", type_name(other))));
                }
                if let Some(other) = items.iter().find(|item| !self.options.is_empty() && !self.options.contains(item))
                {
                    return Err(self.problem(&format!("must have items of {}, but has {other:?}", self.options_text())));
                }
                items.len() as f64
            }
            (_, value) => return Err(self.mismatch(type_name(value))),
        };
        if self.ty != FieldType::Texts && !self.options.is_empty() && !self.options.contains(value) {
            return Err(self.problem(&format!("must be one of {}", self.options_text())));
        }
        let unit = match self.ty {
            FieldType::Text => " characters",
            FieldType::Texts => " items",
            _ => "",
        };
        let verb = if unit.is_empty() { "be" } else { "have" };
        match self.bounds {
            (Some(low), _) if size < low => Err(self.problem(&format!("must {verb} at least {low}{unit}"))),
            (_, Some(high)) if size > high => Err(self.problem(&format!("must {verb} at most {high}{unit}"))),
            _ => Ok(()),
        }
    }

    fn options_text(&self) -> String {
        self.options.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    fn mismatch(&self, found: &str) -> BadForm {
        self.problem(&format!("must be {}, but is {found}", self.ty.as_str()))
    }

    fn problem(&self, problem: &str) -> BadForm {
        BadForm { field: self.name.to_string(), problem: problem.to_owned() }
    }
}

impl FieldType {
    /// The type in messages.
    ///
    /// ```
    /// assert_eq!(branchpoint_core::FieldType::Boolean.as_str(), "true or false");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "a number",
            Self::Integer => "an integer",
            Self::Boolean => "true or false",
            Self::Texts => "a list of texts",
        }
    }
}

impl BadForm {
    pub(super) fn whole(problem: &str) -> Self {
        Self { field: String::new(), problem: problem.to_owned() }
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Int(_) => "an integer",
        Value::Float(_) => "a number",
        Value::Str(_) => "text",
        Value::List(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn error(path: &[&str], message: &str) -> FormError {
    FormError { path: path.iter().map(|key| Arc::from(*key)).collect(), message: message.to_owned() }
}

fn known_keys(object: &Object, known: &[&[&str]], path: &[Arc<str>]) -> Result<(), FormError> {
    let Some(unknown) = object.keys().find(|key| !known.iter().any(|keys| keys.contains(&&***key))) else {
        return Ok(());
    };
    let known: Vec<&str> = known.concat();
    let message = format!("`{unknown}` is not supported here; supported are {}", known.join(", "));
    Err(FormError { path: path.iter().cloned().chain([unknown.clone()]).collect(), message })
}

/// The title and the description.
fn texts(object: &Object, path: &[Arc<str>]) -> Result<[Option<Arc<str>>; 2], FormError> {
    let text = |key: &str| match object.get(key) {
        None => Ok(None),
        Some(Value::Str(text)) => Ok(Some(text.clone())),
        Some(_) => {
            let path = path.iter().cloned().chain([key.into()]).collect();
            Err(FormError { path, message: format!("`{key}` must be text") })
        }
    };
    Ok([text("title")?, text("description")?])
}

fn names(list: &Value) -> Option<Vec<&str>> {
    list.as_list()?.iter().map(Value::as_str).collect()
}

/// The values of an `enum`.
fn options(listed: Option<&Value>, ty: FieldType) -> Result<Vec<Value>, String> {
    let Some(listed) = listed else { return Ok(Vec::new()) };
    let values =
        listed.as_list().filter(|values| !values.is_empty()).ok_or("must be a list with at least one value")?;
    if values.len() > MAX_OPTIONS {
        return Err(format!("has {} values, but at most {MAX_OPTIONS} are supported", values.len()));
    }
    let fits = |value: &Value| match ty {
        FieldType::Text => matches!(value, Value::Str(_)),
        FieldType::Integer => matches!(value, Value::Int(_)),
        _ => matches!(value, Value::Int(_) | Value::Float(_)),
    };
    match values.iter().find(|value| !fits(value)) {
        Some(other) => Err(format!("must have values of the type of the field, but {other:?} is {}", type_name(other))),
        None => Ok(values.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        serde_json::from_str(text).expect("the test has JSON")
    }

    fn form(fields: &str) -> Result<ApprovalForm, FormError> {
        ApprovalForm::parse(&json(&format!(r#"{{"type": "object", "properties": {fields}, "required": ["a"]}}"#)))
    }

    #[track_caller]
    fn rejected(schema: &str, at: &str, message: &str) {
        let error = ApprovalForm::parse(&json(schema)).expect_err(schema);
        assert_eq!(error.path.join("."), at, "{schema}");
        assert!(error.message.contains(message), "{schema}: {}", error.message);
    }

    #[track_caller]
    fn check(field: &str, vote: &str, expect: Result<&str, &str>) {
        let form = form(&format!(r#"{{"a": {field}}}"#)).expect("the form is valid");
        let got = form.complete(&json(&format!(r#"{{"a": {vote}}}"#)), &json(r#"{"a": null}"#));
        match (got, expect) {
            (Ok(value), Ok(expect)) => assert_eq!(value.get("a"), Some(&json(expect))),
            (Err(error), Err(expect)) => assert!(error.to_string().contains(expect), "{error}"),
            (got, expect) => panic!("{field} with {vote}: {got:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn unsupported_keywords_and_wrong_values_are_rejected_with_their_place() {
        rejected("[]", "", "must be an object");
        rejected(r#"{"type": "array"}"#, "type", "must be `object`");
        rejected(r#"{"type": "object", "properties": {}}"#, "properties", "at least one field");
        rejected(
            r#"{"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}}"#,
            "properties.a.pattern",
            "not supported",
        );
        rejected(
            r#"{"type": "object", "properties": {"a": {"type": "object"}}}"#,
            "properties.a.type",
            "must be string",
        );
        rejected(
            r#"{"type": "object", "properties": {"a": {"type": "boolean", "enum": [true]}}}"#,
            "properties.a.enum",
            "not supported",
        );
        rejected(
            r#"{"type": "object", "properties": {"a": {"type": "array", "items": {"type": "number"}}}}"#,
            "properties.a.items",
            "lists of texts",
        );
        rejected(
            r#"{"type": "object", "properties": {"a": {"type": "integer", "minimum": 3, "maximum": 2}}}"#,
            "properties.a.minimum",
            "exceeds",
        );
        rejected(
            r#"{"type": "object", "properties": {"a": {"type": "string", "enum": ["x", 1]}}}"#,
            "properties.a.enum",
            "type of the field",
        );
        rejected(
            r#"{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]}"#,
            "required",
            "not a field",
        );
        rejected(
            r#"{"type": "object", "additionalProperties": true, "properties": {"a": {"type": "string"}}}"#,
            "additionalProperties",
            "not supported",
        );
        let many: Vec<String> = (0..51).map(|n| format!(r#""f{n}": {{"type": "string"}}"#)).collect();
        rejected(
            &format!(r#"{{"type": "object", "properties": {{{}}}}}"#, many.join(",")),
            "properties",
            "at most 50 fields",
        );
    }

    #[test]
    fn values_are_checked_by_type_options_and_bounds() {
        check(r#"{"type": "string"}"#, r#""x""#, Ok(r#""x""#));
        check(r#"{"type": "string"}"#, "1", Err("must be text, but is an integer"));
        check(r#"{"type": "string", "minLength": 2}"#, r#""ü""#, Err("at least 2 characters"));
        check(r#"{"type": "string", "maxLength": 2}"#, r#""üöä""#, Err("at most 2 characters"));
        check(r#"{"type": "string", "enum": ["low", "high"]}"#, r#""mid""#, Err("one of low, high"));
        check(r#"{"type": "integer"}"#, "1.5", Err("must be an integer, but is a number"));
        check(r#"{"type": "integer", "maximum": 9}"#, "9", Ok("9"));
        check(r#"{"type": "number", "minimum": 0.5}"#, "0.25", Err("at least 0.5"));
        check(r#"{"type": "boolean"}"#, r#""yes""#, Err("must be true or false, but is text"));
        check(
            r#"{"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}"#,
            r#"["a", "c"]"#,
            Err("items of a, b"),
        );
        check(r#"{"type": "array", "items": {"type": "string"}, "minItems": 1}"#, "[]", Err("at least 1 items"));
        check(r#"{"type": "string"}"#, "null", Err("is missing"));
    }

    #[test]
    fn fields_that_a_vote_leaves_out_have_their_defaults() {
        let form = form(r#"{"a": {"type": "integer"}, "b": {"type": "string"}}"#).expect("the form is valid");
        let defaults = json(r#"{"a": 5}"#);
        assert_eq!(form.complete(&json("{}"), &defaults), Ok(json(r#"{"a": 5}"#)));
        assert_eq!(form.complete(&json(r#"{"b": "x"}"#), &defaults), Ok(json(r#"{"a": 5, "b": "x"}"#)));
        let unknown = form.complete(&json(r#"{"aa": 1}"#), &defaults).expect_err("the field is unknown");
        assert_eq!(unknown.to_string(), "the field `aa` of the form is unknown; did you mean `a`?");
    }
}
