//! Documents that the rules accept and that are too large to be lowered: refused, with what to do about it.

use branchpoint_dialects::load;
use branchpoint_expr::{Dialect, Kind};

#[track_caller]
fn refused(source: &str, dialect: Dialect) {
    let loaded = load(source, Some(dialect));
    let errors: Vec<_> = loaded.diagnostics.iter().map(|finding| (finding.kind, &*finding.message)).collect();
    let [(Kind::NodeLimit, message)] = errors[..] else { panic!("{errors:?}") };
    assert!(message.starts_with("the document is too large to be run"), "{message}");
    assert!(loaded.diagnostics[0].help.is_some() && loaded.program.is_none());
}

fn machine(inputs: &str) -> String {
    format!("name: n\ninputs:\n{inputs}states:\n  initial: done\n  done: {{type: terminal}}\n")
}

#[test]
fn a_machine_with_an_input_of_too_many_choices() {
    let source = |count: usize| {
        let choices: Vec<String> = (0..count).map(|n| format!("c{n}")).collect();
        machine(&format!("  - {{name: a, type: string, validation: {{enum: [{}]}}}}\n", choices.join(", ")))
    };
    assert!(load(&source(1_000), Some(Dialect::Machine)).program.is_some());
    refused(&source(25_000), Dialect::Machine);
}

#[test]
fn a_machine_with_too_many_inputs() {
    let source = |count: usize| {
        let inputs: Vec<String> =
            (0..count).map(|n| format!("  - {{name: i{n}, type: number, required: true}}\n")).collect();
        machine(&inputs.concat())
    };
    assert!(load(&source(100), Some(Dialect::Machine)).program.is_some());
    refused(&source(3_000), Dialect::Machine);
}
