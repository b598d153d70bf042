//! Declared inputs.

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Field, Kind, Located, Object, Shape, Value};

use super::{Fields, Findings, Text};

/// One declared input.
#[derive(Debug)]
pub(in crate::machine) struct Input {
    pub(in crate::machine) name: Text,
    pub(in crate::machine) of: Option<InputType>,
    pub(in crate::machine) required: bool,
    pub(in crate::machine) default: Option<Value>,
    pub(in crate::machine) description: Option<Text>,
    pub(in crate::machine) pattern: Option<Text>,
    /// The allowed values, by their text.
    pub(in crate::machine) one_of: Option<Vec<Text>>,
    pub(in crate::machine) min: Option<f64>,
    pub(in crate::machine) max: Option<f64>,
    pub(in crate::machine) file_exists: bool,
    pub(in crate::machine) file_extension: Option<Vec<Text>>,
}

/// The type of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) enum InputType {
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
}

const TYPES: [(&str, InputType); 6] = [
    ("string", InputType::String),
    ("integer", InputType::Integer),
    ("number", InputType::Number),
    ("boolean", InputType::Boolean),
    ("array", InputType::Array),
    ("object", InputType::Object),
];

impl Input {
    /// Whether its value is a number, a boolean or a word of the document, whatever a run is given.
    pub(in crate::machine) fn is_never_data(&self) -> bool {
        let is_scalar = matches!(self.of, Some(InputType::Integer | InputType::Number | InputType::Boolean));
        is_scalar || self.one_of.is_some()
    }

    /// The declaration in the form that hosts of every dialect know: `{name, path, type, required, default, description, enum}`.
    pub(in crate::machine) fn declaration(&self) -> Value {
        let name = Value::Str(self.name.text().clone());
        let mut fields: Object =
            [("name".into(), name.clone()), ("path".into(), Value::from(vec![name]))].into_iter().collect();
        let word = self.of.map(|of| match of {
            InputType::String => "text",
            InputType::Integer => "integer",
            InputType::Number => "number",
            InputType::Boolean => "boolean",
            InputType::Array => "list",
            InputType::Object => "object",
        });
        let one_of = self.one_of.as_ref().map(|one_of| {
            Value::from(one_of.iter().map(|allowed| Value::Str(allowed.text().clone())).collect::<Vec<_>>())
        });
        let more = [
            ("type", word.map(Value::from)),
            ("required", self.required.then_some(Value::Bool(true))),
            ("default", self.default.clone()),
            ("description", self.description.as_ref().map(|text| Value::Str(text.text().clone()))),
            ("enum", one_of),
        ];
        fields.extend(more.into_iter().filter_map(|(key, value)| Some((key.into(), value?))));
        Value::from(fields)
    }

    /// All inputs: a list, or an object of them by name.
    pub(super) fn all(fields: &mut Fields<'_>, found: &mut Findings) -> Vec<Self> {
        let Some(inputs) = fields.take("inputs") else { return Vec::new() };
        if let Some(items) = inputs.items() {
            let read = |(n, input): (usize, &Located)| Self::read(input, format!("inputs[{n}]"), None, found);
            return items.iter().enumerate().filter_map(read).collect();
        }
        if !inputs.is_object() {
            fields.bad("inputs", inputs, "a list", found);
        }
        let named = |field: &Field| {
            let name = Shape::Str { text: field.key.clone(), verbatim: None };
            Text(Located { shape: name, span: field.key_span })
        };
        let read = |field: &Field| Self::read(&field.value, format!("inputs.{}", field.key), Some(named(field)), found);
        inputs.fields().iter().filter_map(read).collect()
    }

    fn read(located: &Located, path: String, name: Option<Text>, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::of(located, path, found)?;
        let name = name.or_else(|| fields.needed("name", found));
        let of = fields.word("type", &TYPES, found);
        let description = fields.take("description").and_then(Text::of);
        let required = fields.flag("required", found).unwrap_or(false);
        let default = fields.take("default").map(Located::to_value);
        let rules = fields.object("validation", found);
        fields.finish(found);
        let mut input = Self {
            name: name?,
            of,
            required,
            default,
            description,
            pattern: None,
            one_of: None,
            min: None,
            max: None,
            file_exists: false,
            file_extension: None,
        };
        if let Some(rules) = rules {
            input.validation(rules, found);
        }
        Some(input)
    }

    fn validation(&mut self, mut rules: Fields<'_>, found: &mut Findings) {
        self.pattern = rules.text("pattern", found);
        self.one_of = rules.take("enum").map(|listed| {
            if !matches!(listed.shape, Shape::List(_)) {
                rules.bad("enum", listed, "a list", found);
            }
            let items = listed.items().unwrap_or_default();
            let as_text = |item: &Located| {
                let text = item.to_value().to_string().into();
                Text(Located { shape: Shape::Str { text, verbatim: None }, span: item.span })
            };
            items.iter().map(as_text).collect()
        });
        self.min = rules.number("min", found);
        self.max = rules.number("max", found);
        self.file_exists = rules.flag("file_exists", found).unwrap_or(false);
        self.file_extension = rules.texts("file_extension", found);
        if let Some(pattern) = &self.pattern {
            check_pattern(pattern, found);
        }
        rules.finish(found);
    }
}

fn check_pattern(pattern: &Text, found: &mut Findings) {
    let quoted = Value::Str(pattern.text().clone());
    let condition = branchpoint_expr::Condition::compile(&format!("env.x matches {quoted:?}"));
    if let Err(problems) = condition {
        let message = format!("this is no regular expression: {}", problems.first().message);
        found.error(Kind::BadValue, pattern.span(), message);
    }
}
