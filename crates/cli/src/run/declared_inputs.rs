//! The declared inputs of a workflow, as help for a run that was given wrong ones.

use branchpoint_core::ir::{Index, Program};
use branchpoint_expr::Value;
use branchpoint_runners::Secrets;

/// The declared inputs as a table, with how to give them; none if the workflow declares none.
pub(crate) fn help(program: &Program) -> Option<String> {
    let view = program.views.iter().find(|view| &*view.name == "inputs")?;
    let declared = program.exprs[view.value.index()].literal()?.as_list()?;
    let name = |input: &Value| input.get("name").map(Value::to_string).unwrap_or_default();
    let width = declared.iter().map(|input| name(input).chars().count()).max()?;
    let lines = declared
        .iter()
        .map(|input| format!("  {:width$}  {}", name(input), described(input)).trim_end().to_owned() + "\n");
    let lines: String = lines.collect();
    let text =
        format!("\nInputs of this workflow:\n{lines}\nGive text as -i NAME=TEXT and other values as -i NAME:=JSON.\n");
    // The default of an input may be secret by its name.
    Some(Secrets::in_program(program).mask(&text).into_owned())
}

/// The type, the values, the default and the description of an input.
fn described(input: &Value) -> String {
    let part = |key: &str| input.get(key).filter(|part| **part != Value::Null);
    let one_of = part("enum").and_then(Value::as_list).map(|one_of| {
        let values: Vec<String> = one_of.iter().map(|value| format!("{value:?}")).collect();
        format!("one of {}", values.join(", "))
    });
    let facts = [
        part("type").map(Value::to_string),
        one_of,
        part("default").map(|default| format!("default {default:?}")),
        (part("required") == Some(&Value::Bool(true)) && part("default").is_none()).then(|| "required".to_owned()),
    ];
    let facts = facts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    match part("description") {
        Some(description) if facts.is_empty() => description.to_string(),
        Some(description) => format!("{facts}: {description}"),
        None => facts,
    }
}
