//! Properties of edits, for random operations on all examples: the text reads as the document with the change, and nothing else.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use branchpoint_dialects::{EditErrorKind, Edited, Operation, Position, changes, edit, is_editable, load, read};
use branchpoint_expr::{Located, Value};
use proptest::prelude::*;

use super::{applied, rename};

/// The fields with steps.
const LISTS: [&str; 12] = [
    "steps",
    "child_steps",
    "then",
    "then_steps",
    "else",
    "else_steps",
    "elif",
    "cases",
    "branches",
    "body",
    "on_error",
    "on_budget",
];

/// A step or a node of an example.
#[derive(Clone, Debug)]
struct Step {
    id: String,
    /// Its lines, counted from 0.
    lines: Range<usize>,
    /// Its fields without the steps in it.
    own: Value,
}

struct Example {
    name: String,
    text: String,
    steps: Vec<Step>,
    is_graph: bool,
}

/// The examples of both dialects, with a comment of its own wherever one can stand.
static EXAMPLES: LazyLock<Vec<Example>> = LazyLock::new(|| {
    let mut examples = Vec::new();
    for folder in ["steps", "graph", "workflows"] {
        let path = format!("{}/../../examples/{folder}", env!("CARGO_MANIFEST_DIR"));
        for entry in std::fs::read_dir(path).expect("the folder of examples") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            let is_document = !name.contains(".script.") && !name.contains("README");
            let text = if is_document { std::fs::read_to_string(&path).expect("an example") } else { continue };
            let Some(dialect) = load(&text, None).dialect.filter(|dialect| is_editable(*dialect)) else { continue };
            let text = commented(&text);
            let steps = steps(&text);
            let is_graph = dialect == branchpoint_expr::Dialect::Graph;
            examples.push(Example { name, text, steps, is_graph });
        }
    }
    examples.sort_by(|one, other| one.name.cmp(&other.name));
    assert!(examples.len() > 25, "only {} examples", examples.len());
    examples
});

/// A text with numbered comments above lines and behind them, where that does not change its value.
fn commented(source: &str) -> String {
    let value = read(source).expect("an example").to_value();
    let mut lines: Vec<String> = source.lines().map(str::to_owned).collect();
    let is_same = |lines: &[String]| read(&(lines.join("\n") + "\n")).is_ok_and(|read| read.to_value() == value);
    let mut number = 0;
    for at in (0..lines.len()).rev() {
        let mut with = lines.clone();
        with[at] = format!("{} # behind {number}.", lines[at]);
        if is_same(&with) {
            lines = with;
            number += 1;
        }
        let indent = lines[at].len() - lines[at].trim_start().len();
        let mut with = lines.clone();
        with.insert(at, format!("{}# above {number}.", " ".repeat(indent)));
        if is_same(&with) {
            lines = with;
            number += 1;
        }
    }
    lines.join("\n") + "\n"
}

fn comments(text: &str) -> Vec<String> {
    let numbered = |text: &str| text.split('.').next().unwrap_or_default().to_owned();
    let mut comments: Vec<String> = text
        .match_indices("# ")
        .map(|(at, _)| numbered(&text[at..]))
        .filter(|comment| comment.starts_with("# behind ") || comment.starts_with("# above "))
        .collect();
    comments.sort();
    comments
}

fn steps(text: &str) -> Vec<Step> {
    let mut all_steps = Vec::new();
    collect(&read(text).expect("a document"), text, &mut all_steps);
    all_steps
}

fn collect(value: &Located, text: &str, all_steps: &mut Vec<Step>) {
    let is_node = value.get("data").is_some();
    let kind = value.get("step_type").or(value.get("type").filter(|_| is_node));
    if let (Some(id), Some(_)) = (value.get("id").and_then(Located::text), kind) {
        let line = |at: u32| text[..at as usize].matches('\n').count();
        // `fail` is the default of `on_error`, and all that remains of a removed handler with a comment.
        let is_own = |field: &&branchpoint_expr::Field| {
            let is_fail = field.value.text().is_some_and(|text| &**text == "fail");
            !LISTS.contains(&&*field.key) || field.value.items().is_none() && !is_fail
        };
        let own = value.fields().iter().filter(is_own);
        all_steps.push(Step {
            id: id.to_string(),
            lines: line(value.span.start)..line(value.span.end) + 1,
            own: own
                .map(|field| (field.key.clone(), field.value.to_value()))
                .collect::<branchpoint_expr::Object>()
                .into(),
        });
    }
    value.fields().iter().for_each(|field| collect(&field.value, text, all_steps));
    value.items().unwrap_or_default().iter().for_each(|item| collect(item, text, all_steps));
}

fn own_fields(text: &str) -> BTreeMap<String, Value> {
    steps(text).into_iter().map(|step| (step.id, step.own)).collect()
}

#[derive(Clone, Debug)]
struct Seed {
    example: usize,
    step: usize,
    other: usize,
    choice: usize,
}

fn seed() -> impl Strategy<Value = Seed> {
    let number = 0_usize..10_000;
    (number.clone(), number.clone(), number.clone(), number).prop_map(|(example, step, other, choice)| Seed {
        example,
        step,
        other,
        choice,
    })
}

impl Seed {
    fn example(&self) -> &'static Example {
        &EXAMPLES[self.example % EXAMPLES.len()]
    }

    fn step(&self) -> &'static Step {
        let example = self.example();
        &example.steps[self.step % example.steps.len()]
    }

    fn other(&self) -> &'static Step {
        let example = self.example();
        &example.steps[self.other % example.steps.len()]
    }

    fn position(&self) -> Position {
        let (step, other) = (self.step().id.clone(), self.other().id.clone());
        if self.example().is_graph {
            return match self.choice % 3 {
                0 => Position::End,
                1 => Position::Free { x: 10.0, y: 20.5 },
                _ => Position::Below { step, branch: None },
            };
        }
        let branch = ["then", "else", "elif-0", "body", "child_steps", "on_error"][self.choice / 10 % 6].to_owned();
        match self.choice % 8 {
            0 => Position::Start,
            1 => Position::End,
            2 => Position::Before(other),
            3 => Position::After(other),
            4 => Position::Below { step: other, branch: None },
            5 => Position::Edge { from: step, branch: None, to: other },
            _ => Position::Branch { step: other, branch, index: None },
        }
    }
}

/// A text in which every place that names a step has another id.
fn with_id(text: &str, old: &str, new: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let names = [
        "id: ",
        "step.",
        "step_id: ",
        "target: ",
        "\"id\": \"",
        "\"source\": \"",
        "\"target\": \"",
        "\"target_step_id\": \"",
    ];
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(old) {
        let (before, after) = (&rest[..at], &rest[at + old.len()..]);
        out.push_str(before);
        let is_name = names.iter().any(|name| out.ends_with(name)) && !after.starts_with(is_word);
        out.push_str(if is_name { new } else { old });
        rest = after;
    }
    out + rest
}

/// An edit, or none if the operation does not fit the example.
fn try_edit(source: &str, operation: &Operation) -> Option<Edited> {
    match edit(source, None, operation) {
        Ok(edited) => {
            assert_eq!(applied(source, &edited.edits), edited.text, "{operation:?}");
            assert!(read(&edited.text).is_ok(), "{operation:?}\n{}", edited.text);
            Some(edited)
        }
        Err(error) => {
            assert!(error.kind != EditErrorKind::UnsupportedNotation, "{operation:?}: {error}");
            None
        }
    }
}

fn same_meaning(before: &str, after: &str) -> bool {
    changes(before, after, None).is_ok_and(|changes| changes.list.is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn adding_changes_no_other_step_and_can_be_undone(seed in seed(), kind in 0_usize..100) {
        let example = seed.example();
        let kinds = if example.is_graph { ["agent", "if", "approval", "end"] } else { ["text", "conditional", "for_each", "human_in_the_loop"] };
        let add = super::add(kinds[kind % kinds.len()], seed.position());
        let Some(added) = try_edit(&example.text, &add) else { return Ok(()) };
        let id = added.selected.clone().expect("the new step is selected");
        prop_assert_eq!(comments(&example.text), comments(&added.text));
        let before = own_fields(&example.text);
        let mut after = own_fields(&added.text);
        prop_assert!(after.remove(&id).is_some() && !before.contains_key(&id));
        after.remove(&format!("{id}_item"));
        prop_assert_eq!(&before, &after);
        let Some(removed) = try_edit(&added.text, &super::remove(&id)) else { return Ok(()) };
        prop_assert_eq!(comments(&example.text), comments(&removed.text));
        // In a graph, an edge that the new node took over is gone with it.
        if !example.is_graph {
            prop_assert!(same_meaning(&example.text, &removed.text), "{:?}\n{}\n{}", add, example.text, removed.text);
        }
    }

    #[test]
    fn removing_keeps_every_other_step_and_its_comments(seed in seed(), with_children in any::<bool>()) {
        let (example, step) = (seed.example(), seed.step());
        let remove = Operation::Remove { steps: vec![step.id.clone()], with_children };
        let Some(removed) = try_edit(&example.text, &remove) else { return Ok(()) };
        let mut before = own_fields(&example.text);
        prop_assert!(removed.removed.contains(&step.id));
        removed.removed.iter().for_each(|id| drop(before.remove(id)));
        prop_assert_eq!(before, own_fields(&removed.text));
        // Comments outside of the lines of the step and its lead stay, and so do those of children that take its place.
        let lines: Vec<&str> = example.text.lines().collect();
        let lead = lines[..step.lines.start].iter().rev().take_while(|line| line.trim().starts_with('#')).count();
        let gone = step.lines.start - lead..step.lines.end;
        let is_unchanged = |line: &usize| {
            // A step in brackets may share its line with the removed one.
            let has_lines = |inner: &&Step| {
                inner.lines.start != step.lines.start && lines[inner.lines.start].trim().starts_with('-')
            };
            let inner = example.steps.iter().filter(|other| !removed.removed.contains(&other.id)).filter(has_lines);
            !gone.contains(line) || inner.filter(|inner| gone.contains(&inner.lines.start)).any(|inner| inner.lines.contains(line))
        };
        let after = comments(&removed.text);
        let connected = removed.affected.iter().map(|affected| affected.line as usize - 1);
        let connected: Vec<usize> = connected.flat_map(|line| [line.saturating_sub(1), line]).collect();
        for line in (0..lines.len()).filter(|line| is_unchanged(line) && !connected.contains(line) && !example.is_graph) {
            for comment in comments(lines[line]) {
                prop_assert!(after.contains(&comment), "{comment} is lost with {}\n{}\n{}", step.id, example.text, removed.text);
            }
        }
    }

    #[test]
    fn moving_keeps_all_steps_and_comments(seed in seed()) {
        let example = seed.example();
        if example.is_graph {
            return Ok(());
        }
        let step = seed.step();
        let Some(moved) = try_edit(&example.text, &super::move_to(&step.id, seed.position())) else { return Ok(()) };
        prop_assert_eq!(own_fields(&example.text), own_fields(&moved.text));
        prop_assert_eq!(comments(&example.text), comments(&moved.text), "{}", moved.text);
    }

    #[test]
    fn renaming_changes_only_the_id(seed in seed()) {
        let (example, step) = (seed.example(), seed.step());
        let Some(renamed) = try_edit(&example.text, &rename(&step.id, "renamed_step")) else { return Ok(()) };
        prop_assert_eq!(comments(&example.text), comments(&renamed.text));
        prop_assert_eq!(&renamed.text, &with_id(&example.text, &step.id, "renamed_step"));
        let back = try_edit(&renamed.text, &rename("renamed_step", &step.id)).expect("the old id is free");
        prop_assert_eq!(&back.text, &example.text);
    }

    #[test]
    fn a_field_is_set_and_removed(seed in seed(), value in 0_usize..6) {
        let (example, step) = (seed.example(), seed.step());
        let values = [
            serde_json::json!("one: two # three"),
            serde_json::json!("first\nsecond\n"),
            serde_json::json!({"a": [1, true, null], "b": {"c": "d"}}),
            serde_json::json!([]),
            serde_json::json!(1.5),
            serde_json::json!("{{input}}"),
        ];
        let value = Value::from(&values[value]);
        let path = vec!["note".into()];
        let set = Operation::SetField { step: Some(step.id.clone()), path: path.clone(), value: value.clone() };
        let set = try_edit(&example.text, &set).expect("a field can be added to every step");
        prop_assert_eq!(comments(&example.text), comments(&set.text));
        let mut before = own_fields(&example.text);
        let fields = before.get_mut(&step.id).expect("the step");
        let mut object = fields.as_object().cloned().expect("an object");
        object.insert("note".into(), value);
        *fields = object.into();
        prop_assert_eq!(before, own_fields(&set.text), "{}", set.text);
        let remove = Operation::RemoveField { step: Some(step.id.clone()), path };
        let removed = try_edit(&set.text, &remove).expect("a field can be removed");
        prop_assert_eq!(&removed.text, &example.text);
    }

    #[test]
    fn positions_of_nodes_are_set(seed in seed(), x in -1000.0_f64..1000.0) {
        let example = seed.example();
        if !example.is_graph {
            return Ok(());
        }
        let positions: Vec<_> = example.steps.iter().map(|step| (step.id.clone(), x, 7.0)).collect();
        let set = try_edit(&example.text, &Operation::SetPositions(positions)).expect("positions can be set");
        prop_assert!(steps(&set.text).iter().all(|step| step.own.get("y") == Some(&Value::Int(7))));
        prop_assert!(same_meaning(&example.text, &set.text));
    }

    #[test]
    fn a_copied_step_is_pasted_under_another_id(seed in seed()) {
        let (example, step) = (seed.example(), seed.step());
        let document = read(&example.text).expect("an example");
        let located = find(&document, &step.id).expect("the step");
        let fragment = located.span.text(&example.text).to_owned();
        let position = seed.position();
        let Some(pasted) = try_edit(&example.text, &Operation::Paste { fragment, position }) else { return Ok(()) };
        let before = own_fields(&example.text);
        let after = own_fields(&pasted.text);
        prop_assert!(before.iter().all(|(id, own)| after.get(id) == Some(own)));
        prop_assert!(after.len() > before.len() && after.contains_key(&format!("{}_2", step.id)), "{}", pasted.text);
    }
}

fn find<'d>(value: &'d Located, id: &str) -> Option<&'d Located> {
    let is_it = value.get("id").and_then(Located::text).is_some_and(|text| &**text == id);
    let has_type = value.get("step_type").is_some() || value.get("data").is_some();
    if is_it && has_type {
        return Some(value);
    }
    let fields = value.fields().iter().map(|field| &field.value);
    fields.chain(value.items().unwrap_or_default()).find_map(|inner| find(inner, id))
}
