//! The functions that programs can call: those of every host, and no others.

use branchpoint_core::functions::ENVIRONMENT;
use branchpoint_core::ir::builder::{Builder, ROOT};
use branchpoint_core::ir::{DefectKind, Status};
use branchpoint_expr::function::{Function, Types};
use branchpoint_expr::{Dialect, Environment, Expression, Options, View};

/// A program that ends with the value of an expression in an environment.
fn program_of(text: &str, environment: &Environment) -> Result<branchpoint_core::ir::Program, Vec<DefectKind>> {
    let mut builder = Builder::new();
    let result = builder.expr_with(ROOT, Dialect::Machine, |options: Options<'_>| {
        Expression::compile(text, options.environment(environment))
    });
    let end = builder.close(Status::Completed, result.expect("it compiles"));
    builder.begin(ROOT, &[end]);
    builder.finish().map_err(|wrong| wrong.into_iter().map(|wrong| wrong.kind).collect())
}

#[test]
fn a_program_cannot_call_a_function_that_a_host_registered() {
    let mut environment = Environment::default();
    let now = Function::new("wall_clock", 0..=0, [], Types::INT, |_, _| Ok(View::Int(0)));
    environment.functions.register(now).unwrap();
    assert_eq!(program_of("wall_clock()", &environment).unwrap_err(), [DefectKind::UnknownFunction]);
    assert!(program_of("len('abc')", &environment).is_ok());
    assert!(program_of("listed([1])", &ENVIRONMENT).is_ok());
}

#[test]
fn documents_cannot_call_functions_of_front_ends() {
    for name in ENVIRONMENT.functions.names() {
        let problems = Expression::compile(&format!("{name}(1)"), Options::dialect(Dialect::Machine)).unwrap_err();
        assert_eq!(problems.first().cause().as_str(), "unknown_function", "{name}");
    }
}

/// Stored programs contain these names, so a changed name would break them.
#[test]
fn stored_names_of_functions_do_not_change() {
    let names = ENVIRONMENT.functions.names().collect::<Vec<_>>().join(" ");
    assert_eq!(
        names,
        "putPath nested pick declared assigned wholeNumber rounds field webAddress keyed sameAs listed joinTexts \
         loopItems pickAttachments durationMs instantMs itemsOf integerOf expandTemplate elapsedText \
         environmentNames offeredTools approvalAnswer approvalChanges callFailed filledIn withDefaults \
         inputProblems attachmentsIn storedAttachments joinAttachments maskedJson toolStates"
    );
}
