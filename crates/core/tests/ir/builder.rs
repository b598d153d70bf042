//! The builder: labels, names, and the programs that it rejects.

use branchpoint_core::ir::builder::{Builder, FUEL, ROOT, ScopeSpec};
use branchpoint_core::ir::{Defect, DefectKind, Exit, Program, ScopeId, SlotId, Status, Write, validate};
use branchpoint_expr::{Condition, Dialect, Located, Object, Value};

/// Builds a program that ends at once, after a change to the builder.
fn ending(change: impl FnOnce(&mut Builder)) -> Result<Program, Vec<Defect>> {
    let mut b = Builder::new();
    let nothing = b.value(Value::Null);
    let end = b.close(Status::Completed, nothing);
    b.begin(ROOT, &[end]);
    change(&mut b);
    b.finish()
}

#[track_caller]
fn check_rejected(kind: DefectKind, expect: &str, change: impl FnOnce(&mut Builder)) {
    let wrong = ending(change).expect_err("the program is refused");
    assert_eq!(wrong.iter().map(|wrong| wrong.kind).collect::<Vec<_>>(), [kind], "{wrong:?}");
    let message = wrong[0].to_string();
    assert!(message.contains(expect), "{message}");
}

#[test]
fn the_sample_is_valid_and_has_the_defaults() {
    let program = Builder::sample();
    assert_eq!(validate(&program), Ok(vec![]));
    assert_eq!((program.fuel, program.scopes.len(), program.places.len()), (FUEL, 1, 1));
}

#[test]
fn a_reserved_place_is_defined_exactly_once() {
    check_rejected(DefectKind::Undefined, "builder.rs:", |b| {
        b.reserve();
    });
    check_rejected(DefectKind::DefinedTwice, "second time at", |b| {
        let (place, nothing) = (b.reserve(), b.value(Value::Null));
        b.at(place).leave(ROOT, Exit::Done(None));
        b.at(place).leave(ROOT, Exit::Done(Some(nothing)));
    });
}

#[test]
fn a_scope_begins_exactly_once() {
    check_rejected(DefectKind::NoEntries, "scope s1", |b| {
        let scope = b.scope(ROOT, ScopeSpec::default());
        let next = b.next(scope);
        b.at(next).leave(ROOT, Exit::Done(None));
    });
    check_rejected(DefectKind::DefinedTwice, "scope s0", |b| {
        let place = b.leave(ROOT, Exit::Done(None));
        b.begin(ROOT, &[place]);
    });
}

#[test]
fn a_label_of_another_builder_is_rejected() {
    let mut other = Builder::new();
    let foreign = (0..9).map(|_| other.reserve()).last().expect("nine were reserved");
    check_rejected(DefectKind::NoSuchId, "never reserved", |b| {
        b.at(foreign).leave(ROOT, Exit::Done(None));
    });
    check_rejected(DefectKind::NoSuchId, "place 8", |b| {
        b.fork([foreign]);
    });
}

#[test]
fn slots_are_numbered_within_their_home() {
    let program = ending(|b| {
        let (first, second, local) = (b.slot(ROOT, "a", None), b.slot(ROOT, "b", None), b.local("l"));
        assert_eq!([first, second, local], [SlotId(0), SlotId(1), SlotId(2)]);
        assert_eq!([b.now(), b.payload(), b.input(), b.now()], [SlotId(3), SlotId(4), SlotId(5), SlotId(3)]);
    });
    assert_eq!(program.expect("it is valid").scope(ROOT).slots, [SlotId(0), SlotId(1), SlotId(5)]);
}

/// The slots that an expression reads, in a scope inside a scope inside the root, each with names of its own.
#[track_caller]
fn check_names(text: &str, expect: &[u32]) {
    let mut b = Builder::new();
    let outer = b.scope(ROOT, ScopeSpec::default());
    let inner = b.scope(outer, ScopeSpec::default());
    let bind = |b: &mut Builder, scope: ScopeId, paths: &[&[&str]]| {
        for path in paths {
            let slot = b.slot(scope, &path.join("."), None);
            b.name(scope, path, slot);
        }
    };
    bind(&mut b, ROOT, &[&["item"], &["item", "price"], &["step", "a", "output"], &["input"]]); // slots 0 to 3
    bind(&mut b, outer, &[&["item"], &["step", "b"]]); // 4 and 5
    bind(&mut b, inner, &[&["step", "b", "output"]]); // 6
    let mut slots = Vec::new();
    b.expr_with(inner, Dialect::Steps, |options| {
        let expression = branchpoint_expr::Expression::compile(text, options)?;
        slots = expression.slots();
        Ok(expression)
    })
    .unwrap_or_else(|problems| panic!("{text}: {problems}"));
    assert_eq!(slots, expect, "{text}");
}

#[test]
fn names_become_slots_the_innermost_scope_first_and_there_the_longest_path() {
    check_names("input", &[3]);
    check_names("input.x.y + input.z", &[3]);
    check_names("item", &[4]);
    check_names("item.price", &[4]);
    check_names("step.a.output", &[2]);
    check_names("step.b.output", &[6]);
    check_names("step.b.error", &[5]);
    check_names("step.c.output", &[]);
    check_names("step.b.output == input && item > 1", &[3, 4, 6]);
}

#[test]
fn names_in_conditions_of_any_spelling_are_bound() {
    let mut b = Builder::new();
    let x = b.slot(ROOT, "x", None);
    b.name(ROOT, &["x"], x);
    let group: Value = serde_json::from_str(
        r#"{"combinator": "and", "conditions": [{"variable": "{{ $x }}", "operator": "equals", "value": 1}]}"#,
    )
    .expect("this is JSON");
    let mut slots = Vec::new();
    let condition = b.condition_with(ROOT, Dialect::Flow, |options| {
        let condition = Condition::group(&Located::from(&group), options)?;
        slots = condition.slots();
        Ok(condition)
    });
    assert!(condition.is_ok());
    assert_eq!(slots, [x.0]);
}

#[test]
fn problems_of_expressions_are_returned_and_warnings_are_collected() {
    let mut b = Builder::new();
    let problems = b.expr(ROOT, "1 +", Dialect::Machine).expect_err("this is no expression");
    assert_eq!(problems.first().kind.as_str(), "bad_condition");
    assert!(b.warnings().is_empty());
    b.condition(ROOT, "inptus.x == 1", Dialect::Machine).expect("an unknown name is only suspicious");
    assert_eq!(b.warnings().len(), 1);
}

#[test]
fn constants_are_shared_only_if_they_are_identical() {
    let object = |keys: &[&str]| -> Object { keys.iter().map(|key| ((*key).into(), Value::Null)).collect() };
    let mut b = Builder::new();
    assert_eq!(b.value("{{ inputs.x }}"), b.value("{{ inputs.x }}"));
    assert_eq!(b.value(Value::Null), b.value(Value::Null));
    assert_ne!(b.value("null"), b.value(Value::Null));
    assert_ne!(b.value("1"), b.value(1));
    assert_ne!(b.value(object(&["a", "b"])), b.value(object(&["b", "a"])));
    let slot = b.slot(ROOT, "x", None);
    assert_eq!(b.read(slot), b.read(slot));
}

/// A constant text that looks like a template is not expanded.
#[test]
fn a_constant_is_not_a_template() {
    let program = ending(|b| {
        b.value("{{ inputs.x }}");
    });
    let constants = program.expect("it is valid").exprs;
    assert_eq!(constants[1].value(&Value::Null), Ok(Value::from("{{ inputs.x }}")));
}

#[test]
fn writes_through_the_root_spec_keep_the_slots() {
    let program = ending(|b| {
        let slot = b.slot(ROOT, "x", None);
        b.root(ScopeSpec { time_limit_ms: Some(5), ..ScopeSpec::default() });
        let one = b.value(1);
        let done = b.leave(ROOT, Exit::Done(None));
        b.set([Write::Put(slot, one)], done, None);
    });
    let program = program.expect("it is valid");
    assert_eq!((program.scope(ROOT).slots.len(), program.scope(ROOT).time_limit_ms), (1, Some(5)));
}

#[test]
fn a_formula_reads_its_own_slots_and_no_names_of_the_document() {
    let mut b = Builder::new();
    let (theirs, ours) = (b.slot(ROOT, "theirs", Some(Value::Int(1))), b.slot(ROOT, "ours", Some(Value::Int(2))));
    b.name(ROOT, &["x"], theirs);
    let formula = b.formula(r#"putPath({}, ["x"], $x)"#, Dialect::Flow, &[("x", ours)], &[]);
    let test = b.test("sameAs($x, 2)", Dialect::Flow, &[("x", ours)], &[]);
    let end = b.close(Status::Completed, formula);
    let start = b.decide([(test, end)], end, None);
    b.begin(ROOT, &[start]);
    let program = b.finish().expect("the program is valid");
    assert_eq!(program.exprs[0].slots(), [ours.0]);
    assert_eq!(program.conditions[0].slots(), [ours.0]);
}

#[test]
fn a_slot_at_the_empty_path_has_all_names_without_their_own_slot() {
    let mut b = Builder::new();
    let (all, one) = (b.slot(ROOT, "all", None), b.slot(ROOT, "one", None));
    b.name(ROOT, &[], all);
    b.name(ROOT, &["i"], one);
    for text in ["$i.x", "$other.y", "$i + $other"] {
        b.expr(ROOT, text, Dialect::Flow).expect("it compiles");
    }
    let nothing = b.value(Value::Null);
    let end = b.close(Status::Completed, nothing);
    b.begin(ROOT, &[end]);
    let program = b.finish().expect("the program is valid");
    let read: Vec<_> = program.exprs.iter().map(|expr| expr.slots()).collect();
    assert_eq!(read, [vec![one.0], vec![all.0], vec![all.0, one.0], vec![]]);
    assert_eq!(program.exprs[1].to_string(), "other.y");
}

#[test]
fn a_formula_reads_constants_by_name() {
    let mut b = Builder::new();
    let slot = b.slot(ROOT, "x", None);
    let rule: Value = serde_json::from_str(r#"{"a": {"b": ["it's \"c\""]}}"#).expect("this is JSON");
    b.formula("x ?? rule.a.b[0]", Dialect::Session, &[("x", slot)], &[("rule", rule)]);
    let result = b.value(Value::Null);
    let end = b.close(branchpoint_core::ir::Status::Completed, result);
    b.begin(ROOT, &[end]);
    let program = b.finish().expect("it is valid");
    assert_eq!(program.exprs[0].value(&Value::Null), Ok(Value::from("it's \"c\"")));
}

#[test]
fn a_program_that_is_too_large_is_rejected() {
    let program = |texts: usize| {
        let mut b = Builder::new();
        let mut value = b.value(0);
        for n in 0..texts {
            value = b.value(Value::from(format!("{n} {}", "x".repeat(1 << 20))));
        }
        let end = b.close(Status::Completed, value);
        b.begin(ROOT, &[end]);
        assert_eq!(b.is_too_large(), texts > 127);
        b.finish()
    };
    assert!(program(120).is_ok());
    let wrong = program(200).expect_err("200 MiB are too much");
    assert_eq!(wrong.iter().map(|wrong| wrong.kind).collect::<Vec<_>>(), [DefectKind::TooLarge]);
}

#[test]
fn a_formula_that_is_too_long_is_rejected() {
    let mut b = Builder::new();
    let list = format!("[{}]", vec!["1"; 30_000].join(", "));
    let value = b.formula(&list, Dialect::Machine, &[], &[]);
    b.test(&format!("1 in {list}"), Dialect::Machine, &[], &[]);
    let end = b.close(Status::Completed, value);
    b.begin(ROOT, &[end]);
    let wrong = b.finish().expect_err("an expression has at most 20,000 parts");
    assert_eq!(wrong.iter().map(|wrong| wrong.kind).collect::<Vec<_>>(), [DefectKind::Formula, DefectKind::Formula]);
    assert!(wrong[0].message.contains("builder.rs"), "{}", wrong[0].message);
}
