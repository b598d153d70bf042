//! The JSON Schema of flows.

use branchpoint_expr::Dialect;
use serde_json::{Value, json};

use super::raw::tables::{COMMON, CONFIG, DOCUMENT, FLOW, LOOPS, STEP, STEP_CONFIG, TYPES};
use crate::fields::Generator;
use crate::fields::schema::{add_variants, document, has_word, reference};
use crate::schema::shared;

pub(crate) fn schema() -> Value {
    let (generator, config) = (Generator(FLOW), Generator(CONFIG));
    let mut definitions = shared();
    let mut step = generator.object(&[STEP, STEP_CONFIG]);
    let names: Vec<&str> = TYPES.iter().map(|(name, ..)| *name).collect();
    step["properties"]["type"] = json!({"enum": names, "description": "What the step does."});
    add_variants(&mut step, names.iter().map(|name| (has_word("type", &[name]), reference(name))));
    definitions["step"] = step;
    for (name, about, tables) in TYPES {
        let mut settings = config.object(&[&[COMMON], *tables].concat());
        if *name == "loop" {
            add_variants(
                &mut settings,
                LOOPS.iter().map(|(ty, table)| (has_word("loopType", &[ty]), config.object(&[table]))),
            );
        }
        definitions[name] = json!({"description": about, "properties": {"config": settings}});
    }
    let about = "A list of steps that share one set of variables. Unknown fields are allowed.";
    document(Dialect::Flow, about, generator.object(&[DOCUMENT]), definitions)
}
