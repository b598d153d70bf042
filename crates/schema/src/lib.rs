//! JSON Schemas that are bounded before they are compiled and before a value is checked.
//!
//! # Check a value
//!
//! Compile a [`JsonSchema`] once, and check many values.
//!
//! ```
//! use branchpoint_schema::JsonSchema;
//! use serde_json::json;
//!
//! let schema = JsonSchema::compile(&(&json!({"type": "object", "required": ["name"]})).into())?;
//! assert!(schema.check(&(&json!({"name": "Ada"})).into()).is_ok());
//!
//! let mismatch = schema.check(&(&json!({"nmae": "Ada"})).into()).unwrap_err();
//! println!("{mismatch}"); // "name" is a required property
//! # Ok::<(), branchpoint_schema::SchemaError>(())
//! ```
//!
//! # Limits
//!
//! The library that validates has no limits of its own: a schema of two kilobytes whose parts refer to each other can keep it busy for
//! hours, and it collects an error for every alternative that fails. So a schema is first read as a graph of subschemas, whose size,
//! depth and references are bounded. Before a check, the work for the value is computed. Both errors have a variant for limits.
//!
//! ```
//! use branchpoint_schema::{JsonSchema, SchemaError};
//! use serde_json::json;
//!
//! let nested = (0..100).fold(json!({}), |inner, _| json!({"not": inner}));
//! assert!(matches!(JsonSchema::compile(&(&nested).into()), Err(SchemaError::Limit(_))));
//! ```

mod graph;
mod meter;
mod pattern;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value as Json;

use branchpoint_expr::Value;
use graph::Graph;
use meter::Meter;

/// Maximum number of values in a schema.
const VALUES: usize = 10_000;
/// Maximum length of all keys and texts of a schema, in bytes.
const TEXT_BYTES: usize = 256 * 1024;
/// Maximum nesting of a schema.
const DEPTH: usize = 64;
/// Maximum number of subschemas that apply to one value, with references followed.
const APPLIED: u64 = 10_000;
/// Maximum length of a chain of references on one value.
const CHAIN: usize = 128;
/// Maximum number of regular expressions in a schema.
const PATTERNS: usize = 100;
/// Maximum length of a regular expression, in bytes.
const PATTERN_BYTES: usize = 1024;
/// Maximum memory of a compiled pattern, and of its cache.
const COMPILED_PATTERN_BYTES: usize = 256 * 1024;
/// Maximum number of backtracks of a pattern with look-around or back-references.
const BACKTRACKS: usize = 10_000;
/// Maximum number of steps of a check: subschemas applied to values, with texts and patterns by their length.
const STEPS: u64 = 2_000_000;
/// Maximum number of steps of a check whose errors are described, because each failed step costs memory.
const DESCRIBED_STEPS: u64 = 50_000;
/// Maximum nesting of applied subschemas during a check.
const APPLIED_DEPTH: usize = 256;
/// The number of bytes of text that cost one step.
const BYTES_PER_STEP: u64 = 64;
/// Maximum length of the description of a mismatch, in bytes. It repeats parts of the value.
const MESSAGE_BYTES: usize = 2_000;

/// A compiled JSON Schema (draft 2020-12) within the limits. It has no external references.
///
/// ```
/// use branchpoint_expr::Value;
/// use branchpoint_schema::{JsonSchema, SchemaMismatch};
/// use serde_json::json;
///
/// let schema = JsonSchema::compile(&Value::from(&json!({"type": "object", "required": ["n"]})))?;
/// assert!(schema.check(&Value::from(&json!({"n": 1}))).is_ok());
/// assert!(matches!(schema.check(&Value::from(&json!({}))), Err(SchemaMismatch::Value(_))));
/// # Ok::<(), branchpoint_schema::SchemaError>(())
/// ```
#[derive(Debug)]
pub struct JsonSchema {
    graph: Graph,
    validator: Validator,
}

/// Why a schema cannot be used.
///
/// ```
/// use branchpoint_schema::{JsonSchema, SchemaError};
/// use serde_json::json;
///
/// let names: Vec<String> = (0..20_000).map(|number| number.to_string()).collect();
/// let error = JsonSchema::compile(&(&json!({"required": names})).into()).unwrap_err();
/// assert!(matches!(error, SchemaError::Limit(_)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// It is not a JSON Schema.
    #[error("{0}")]
    Invalid(String),
    /// It exceeds a limit.
    #[error("{0}")]
    Limit(String),
}

/// Why a value does not satisfy a schema.
///
/// ```
/// use branchpoint_schema::{JsonSchema, SchemaMismatch};
/// use serde_json::json;
///
/// let schema = JsonSchema::compile(&(&json!({"type": "integer"})).into())?;
/// assert!(matches!(schema.check(&"many".into()), Err(SchemaMismatch::Value(_))));
/// # Ok::<(), branchpoint_schema::SchemaError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaMismatch {
    /// The value does not match the schema.
    #[error("{0}")]
    Value(String),
    /// Checking the value exceeds a limit.
    #[error("{0}")]
    Limit(String),
}

impl JsonSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    ///
    /// It is not a schema, or exceeds a limit.
    ///
    /// ```
    /// use branchpoint_schema::{JsonSchema, SchemaError};
    /// use serde_json::json;
    ///
    /// assert!(JsonSchema::compile(&(&json!({"type": "integer"})).into()).is_ok());
    /// assert!(matches!(JsonSchema::compile(&(&json!({"type": 7})).into()), Err(SchemaError::Invalid(_))));
    /// ```
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        Size::default().count(schema, 0)?;
        let document = serde_json::to_value(schema).map_err(|error| SchemaError::Invalid(error.to_string()))?;
        let graph = Graph::new(&document)?;
        graph.check()?;
        let patterns = PatternOptions::fancy_regex()
            .backtrack_limit(BACKTRACKS)
            .size_limit(COMPILED_PATTERN_BYTES)
            .dfa_size_limit(COMPILED_PATTERN_BYTES);
        let built = jsonschema::draft202012::options().offline().with_pattern_options(patterns).build(&document);
        let validator = built.map_err(|error| SchemaError::Invalid(truncate(error.to_string())))?;
        Ok(Self { graph, validator })
    }

    /// Checks a value. The work is measured first, and a value that takes too many steps is not checked.
    ///
    /// # Errors
    ///
    /// The value does not satisfy the schema, or checking it exceeds a limit.
    ///
    /// ```
    /// use branchpoint_schema::JsonSchema;
    /// use serde_json::json;
    ///
    /// let schema = JsonSchema::compile(&(&json!({"maximum": 5})).into())?;
    /// assert!(schema.check(&3.into()).is_ok() && schema.check(&7.into()).is_err());
    /// # Ok::<(), branchpoint_schema::SchemaError>(())
    /// ```
    pub fn check(&self, value: &Value) -> Result<(), SchemaMismatch> {
        let value = serde_json::to_value(value).map_err(|error| SchemaMismatch::Value(error.to_string()))?;
        let steps = self.measure(&value)?;
        if self.validator.is_valid(&value) {
            return Ok(());
        }
        let error = if steps <= DESCRIBED_STEPS { self.validator.validate(&value).err() } else { None };
        Err(SchemaMismatch::Value(match error {
            Some(error) => truncate(error.to_string()),
            None => "the value does not satisfy the schema; both are too large to show where".to_owned(),
        }))
    }

    /// The maximum number of steps of checking a value.
    fn measure(&self, value: &Json) -> Result<u64, SchemaMismatch> {
        Meter::new(&self.graph, STEPS).measure(value).map_err(SchemaMismatch::Limit)
    }
}

fn limit<T>(message: impl Into<String>) -> Result<T, SchemaError> {
    Err(SchemaError::Limit(message.into()))
}

/// Counts the values and the text of a schema.
#[derive(Default)]
struct Size {
    values: usize,
    text_bytes: usize,
}

impl Size {
    fn count(&mut self, value: &Value, depth: usize) -> Result<(), SchemaError> {
        self.values += 1;
        if self.values > VALUES {
            return limit(format!("the schema has more than {VALUES} values"));
        }
        if depth > DEPTH {
            return limit(format!("the schema is nested more than {DEPTH} levels deep"));
        }
        let keys = value.as_object().into_iter().flat_map(|object| object.keys());
        self.text_bytes += value.as_str().map_or(0, str::len) + keys.map(|key| key.len()).sum::<usize>();
        if self.text_bytes > TEXT_BYTES {
            return limit(format!("the schema has more than {TEXT_BYTES} bytes of text"));
        }
        let fields = value.as_object().into_iter().flat_map(|object| object.values());
        let items = value.as_list().unwrap_or_default().iter();
        items.chain(fields).try_for_each(|part| self.count(part, depth + 1))
    }
}

fn truncate(mut message: String) -> String {
    if message.len() > MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MESSAGE_BYTES));
        message.push('…');
    }
    message
}

#[cfg(test)]
mod tests;
