//! The JSON Schema of graphs.

use branchpoint_expr::Dialect;
use serde_json::{Value, json};

use super::raw::tables::{CONDITION, CONDITION_STYLE, CONNECTION, DATA, DOCUMENT, GRAPH, NODE, TYPES};
use crate::fields::Generator;
use crate::fields::schema::{add_variants, document, has_word};
use crate::schema::shared;

pub(crate) fn schema() -> Value {
    let (generator, data) = (Generator(GRAPH), Generator(DATA));
    let mut node = generator.object(&[NODE]);
    let variants = TYPES.iter().map(|(name, about, table)| {
        let mut settings = data.object(&[table]);
        settings["type"] = json!(["object", "null"]);
        (has_word("type", &[name]), json!({"description": about, "properties": {"data": settings}}))
    });
    add_variants(&mut node, variants);
    let mut condition = Generator(CONDITION_STYLE).object(&[CONDITION]);
    condition["not"] = json!({"required": ["if"], "anyOf": [{"required": ["operator"]}, {"required": ["value"]}]});
    let mut connection = generator.object(&[CONNECTION]);
    for end in ["source", "target"] {
        connection["properties"][end]["type"] = "string".into();
        connection["properties"][end]["minLength"] = 1.into();
    }
    let mut definitions = shared();
    definitions["approval_form"] = crate::approvals::form_schema();
    definitions["node"] = node;
    definitions["connection"] = connection;
    definitions["condition"] = condition;
    definitions["scalar"] = json!({"type": ["string", "number", "boolean", "null"]});
    let about = "Nodes and the connections between them, as an editor draws them. Unknown fields are kept.";
    document(Dialect::Graph, about, generator.object(&[DOCUMENT]), definitions)
}
