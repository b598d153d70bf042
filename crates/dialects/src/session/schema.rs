//! The JSON Schema of sessions.

use branchpoint_expr::Dialect;
use serde_json::{Value, json};

use super::raw::tables::{CONDITION, CONDITION_TYPES, ORCHESTRATION, STEP, STEP_STYLE, TEMPLATE};
use crate::fields::Generator;
use crate::fields::schema::{add_variants, document, has_word, reference};
use crate::schema::shared;

pub(crate) fn schema() -> Value {
    let generator = Generator(STEP_STYLE);
    let mut condition = generator.object(&[CONDITION]);
    let valued: Vec<&str> = CONDITION_TYPES.iter().copied().filter(|ty| *ty != "sequence_match").collect();
    let value = json!({"required": ["value"], "properties": {"value": {"type": "string", "minLength": 1}}});
    let window = json!({"properties": {"window": {"type": "integer", "minimum": 1}}});
    let variants = [(has_word("type", &valued), value), (has_word("type", &["not_recently_used"]), window)];
    add_variants(&mut condition, variants);
    let mut definitions = shared();
    definitions["conditions"] = json!({"type": "array", "items": reference("condition")});
    definitions["condition"] = condition;
    definitions["step"] = generator.object(&[STEP]);
    definitions["orchestration"] = generator.object(&[ORCHESTRATION]);
    definitions["template"] = generator.object(&[TEMPLATE]);
    let about = "Which tools an agent may use at which step: the steps alone, or a whole agent that holds them.";
    let root = json!({
        "type": "object",
        "if": {"required": ["steps"], "not": {"required": ["nodes"]}},
        "then": reference("orchestration"),
        "else": reference("template"),
    });
    document(Dialect::Session, about, root, definitions)
}
