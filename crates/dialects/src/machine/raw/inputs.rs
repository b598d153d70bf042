//! Declared inputs.

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Kind, Located, Object, Shape, Value};

use super::{Findings, Text};
use crate::fields::Access;

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

/// The words of the types: in documents of this dialect, and in declarations of every dialect.
const TYPES: [(&str, InputType, &str); 6] = [
    ("string", InputType::String, "text"),
    ("integer", InputType::Integer, "integer"),
    ("number", InputType::Number, "number"),
    ("boolean", InputType::Boolean, "boolean"),
    ("array", InputType::Array, "list"),
    ("object", InputType::Object, "object"),
];

impl Input {
    /// Whether its value is always a number, a boolean or a word of the document.
    pub(in crate::machine) fn is_never_data(&self) -> bool {
        let is_scalar = matches!(self.of, Some(InputType::Integer | InputType::Number | InputType::Boolean));
        is_scalar || self.one_of.is_some()
    }

    /// The declaration in the form that hosts of every dialect know: `{name, path, type, required, default, description, enum}`.
    pub(in crate::machine) fn declaration(&self) -> Value {
        let name = Value::Str(self.name.text().clone());
        let mut fields: Object =
            [("name".into(), name.clone()), ("path".into(), Value::from(vec![name]))].into_iter().collect();
        let word = TYPES.iter().find(|(_, of, _)| self.of == Some(*of)).map(|(.., word)| *word);
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
    pub(super) fn all(document: &Located, findings: &mut Findings) -> Vec<Self> {
        let Some(inputs) = document.get("inputs") else { return Vec::new() };
        let listed = document.list("inputs").iter().filter_map(|input| Some((input.text_at("name")?, input)));
        let named = inputs.fields().iter().map(|field| (Text::new(field.key.clone(), field.key_span), &field.value));
        listed.chain(named).map(|(name, input)| Self::read(name, input, findings)).collect()
    }

    fn read(name: Text, input: &Located, findings: &mut Findings) -> Self {
        let nothing = Located { shape: Shape::Null, span: input.span };
        let rules = input.get("validation").unwrap_or(&nothing);
        let pattern = rules.text_at("pattern");
        if let Some(pattern) = &pattern {
            check_pattern(pattern, findings);
        }
        let of = input.word("type");
        Self {
            name,
            of: TYPES.iter().find(|(word, ..)| *word == of).map(|(_, of, _)| *of),
            required: input.flag("required").unwrap_or(false),
            default: input.given("default").map(Located::to_value),
            description: input.text_at("description"),
            pattern,
            one_of: rules.given("enum").map(|_| rules.list("enum").iter().map(Text::shown).collect()),
            min: rules.number("min"),
            max: rules.number("max"),
            file_exists: rules.flag("file_exists").unwrap_or(false),
            file_extension: rules.texts("file_extension"),
        }
    }
}

fn check_pattern(pattern: &Text, findings: &mut Findings) {
    let quoted = Value::Str(pattern.text().clone());
    let condition = branchpoint_expr::Condition::compile(&format!("env.x matches {quoted:?}"));
    if let Err(problems) = condition {
        let message = format!("`validation.pattern` must be a regular expression: {}", problems.first().message);
        findings.error(Kind::BadValue, pattern.span(), message);
    }
}
