//! The JSON Schema of state machines.

use branchpoint_expr::Dialect;
use serde_json::{Value, json};

use super::raw::tables::{
    AGENT, AGENT_BLOCK, CALL, COMMAND, COMPLETE, DOCUMENT, EACH, LOOP_BLOCK, LOOP_TYPE, OPERATION, PARALLEL, ROUNDS,
    STATE, STATES, STYLE, TERMINAL, TYPE, WHILE,
};
use crate::fields::schema::{add_variants, document, has_word, is_one_of, reference};
use crate::fields::{Generator, Table};
use crate::output_limit;

pub(crate) fn schema() -> Value {
    let generator = Generator(STYLE);
    let object = |tables: &[Table]| generator.object(tables);
    let has = |field: &str| json!({"required": [field], "properties": {field: {"not": {"enum": [null, ""]}}}});
    let lacks = |fields: &[&str]| json!({"not": {"anyOf": fields.iter().map(|field| has(field)).collect::<Vec<_>>()}});
    let all = |conditions: &[Value]| json!({"allOf": conditions});
    let is = |words: &[&str]| has_word("type", words);
    let mut state = object(&[TYPE, STATE]);
    let shown = |earlier: &[&str], field: &str| all(&[lacks(earlier), has(field)]);
    let variants = [
        (all(&[is(&["step", "command"]), lacks(&["loop"])]), "command"),
        (shown(&["type"], "command"), "command"),
        (is(&["agent"]), "agent_block"),
        (all(&[is(&["agent"]), lacks(&["agent"])]), "agent"),
        (shown(&["type", "command", "script_file", "loop"], "agent"), "agent_block"),
        (is(&["parallel"]), "parallel"),
        (is(&["for_each", "while"]), "loop_block"),
        (all(&[is(&["for_each"]), lacks(&["loop"])]), "each"),
        (all(&[is(&["while"]), lacks(&["loop"])]), "while"),
        (shown(&["type", "command", "script_file"], "loop"), "loop_block"),
        (is(&["call_workflow"]), "call_workflow"),
        (is(&["operation"]), "operation"),
        (all(&[shown(&["type", "command", "script_file"], "operation")]), "operation"),
        (is(&["terminal"]), "terminal"),
    ];
    let shows_type = ["type", "command", "script_file", "operation", "loop", "agent"].map(has);
    add_variants(&mut state, [(json!(true), is_one_of(shows_type.to_vec()))]);
    add_variants(&mut state, variants.map(|(condition, name)| (condition, reference(name))));
    let mut block = object(&[LOOP_TYPE, COMPLETE]);
    add_variants(&mut block, [(is(&["while"]), reference("while")), (is(&["for_each"]), reference("each"))]);
    let mut states = object(&[STATES]);
    states["additionalProperties"] = reference("state");
    let definitions = json!({
        "states": states,
        "limits": crate::schema::limits(),
        "state": state,
        "command": object(&[COMMAND, output_limit::FIELDS]),
        "agent": object(&[AGENT]),
        "agent_block": object(&[AGENT_BLOCK]),
        "parallel": object(&[PARALLEL]),
        "loop_block": object(&[LOOP_BLOCK, COMPLETE]),
        "loop": block,
        "each": object(&[EACH, ROUNDS]),
        "while": object(&[WHILE, ROUNDS]),
        "call_workflow": object(&[CALL]),
        "operation": object(&[OPERATION]),
        "terminal": object(&[TERMINAL]),
    });
    let about = "States, and the ways between them. Unknown fields are allowed; `branchpoint check` warns of them.";
    document(Dialect::Machine, about, object(&[DOCUMENT]), definitions)
}
