//! Edits of step trees: what becomes of the text.

use branchpoint_dialects::{EditErrorKind, Operation, Position, Segment};
use branchpoint_expr::Value;
use serde_json::json;

use super::{add, branch, check, edge, edited, move_to, rejected, remove, rename};

const SUPPORT: &str = "\
# Drafts a reply.
name: support
steps:
  # Writes the draft.
  - id: draft
    step_type: prompt_call  # the model of the host
    prompt_template: \"Answer: {{input}}\"

  # Rates it.
  - id: score
    step_type: evaluate_step
    target_step_id: draft

  # Decides.
  - id: tier
    step_type: conditional
    if: step.score.output.score < 0.5
    then:
      - {id: drop, step_type: text, template: Too weak}  # nothing is sent
    elif:
      # Doubtful.
      - if: step.score.output.score < 0.85
        then:
          - id: ask
            step_type: human_in_the_loop
            prompt_template: |
              Send this?
              {{step.draft.output}}
    else:
      # Sends it.
      - id: mail
        step_type: send_email
        to: a@example.com
    child_steps:
      - id: show
        step_type: display_result
# The end.
";

/// Quality is checked in a gate below the step; everything below it runs side by side.
const FAN_OUT: &str = "\
name: fan-out
steps:
  - id: draft
    step_type: prompt_call
    child_steps:
      - {id: good, step_type: gate, if: input != '', child_steps: [{id: show, step_type: display_result}]}
      - {id: note, step_type: text}
";

fn hello(position: Position) -> Operation {
    let fields = [("template".into(), Value::from("Hello"))].into_iter().collect();
    Operation::Add { step_type: "text".into(), position, id: Some("hi".into()), fields }
}

fn set(step: &str, path: &[Segment], value: &serde_json::Value) -> Operation {
    Operation::SetField { step: Some(step.into()), path: path.to_vec(), value: Value::from(value) }
}

fn unset(step: &str, path: &[Segment]) -> Operation {
    Operation::RemoveField { step: Some(step.into()), path: path.to_vec() }
}

/// The text with one part replaced.
#[track_caller]
fn with(text: &str, old: &str, new: &str) -> String {
    assert_eq!(text.matches(old).count(), 1, "{old}");
    text.replacen(old, new, 1)
}

#[test]
fn a_step_is_added_on_every_kind_of_edge() {
    let hi = "  - id: hi\n    step_type: text\n    template: Hello\n";
    let first = with(SUPPORT, "  # Writes", &format!("{hi}\n  # Writes"));
    check(SUPPORT, &hello(edge("start", None, "draft")), &first);
    check(SUPPORT, &hello(Position::Start), &first);
    let second = with(SUPPORT, "  # Rates", &format!("{hi}\n  # Rates"));
    check(SUPPORT, &hello(edge("draft", None, "score")), &second);
    check(SUPPORT, &hello(Position::After("draft".into())), &second);
    check(SUPPORT, &hello(Position::Before("score".into())), &second);
    check(SUPPORT, &hello(Position::Below { step: "draft".into(), branch: None }), &second);
    let last = with(SUPPORT, "# The end", &format!("\n{hi}# The end"));
    check(SUPPORT, &hello(Position::End), &last);
    // The edge from the end of a branch leads to what follows the decision, but the step belongs into the branch.
    let hi = "      - id: hi\n        step_type: text\n        template: Hello\n";
    let in_branch = with(SUPPORT, "        to: a@example.com\n", &format!("        to: a@example.com\n{hi}"));
    check(SUPPORT, &hello(edge("mail", None, "show")), &in_branch);
    check(SUPPORT, &hello(branch("tier", "else")), &in_branch);
    let below = with(SUPPORT, "      - id: show", &format!("{hi}      - id: show"));
    check(SUPPORT, &hello(Position::Below { step: "tier".into(), branch: None }), &below);
    let first = with(
        SUPPORT,
        "          - id: ask",
        "          - id: hi\n            step_type: text\n            template: Hello\n          - id: ask",
    );
    check(SUPPORT, &hello(edge("tier", Some("elif-0"), "ask")), &first);
}

#[test]
fn a_step_between_steps_that_run_side_by_side_has_the_lower_one_below_it() {
    let expect = with(
        FAN_OUT,
        "      - {id: note, step_type: text}\n",
        "      - {id: hi, step_type: text, template: Hello, child_steps: [{id: note, step_type: text}]}\n",
    );
    check(FAN_OUT, &hello(edge("draft", None, "note")), &expect);
    let nested = with(
        FAN_OUT,
        "[{id: show, step_type: display_result}]",
        "[{id: hi, step_type: text, template: Hello, child_steps: [{id: show, step_type: display_result}]}]",
    );
    check(FAN_OUT, &hello(edge("good", Some("passed"), "show")), &nested);
    let leaf = add("display_result", edge("draft", None, "note"));
    rejected(FAN_OUT, &leaf, EditErrorKind::InvalidPosition, "ends its line");
    rejected(FAN_OUT, &hello(edge("good", Some("blocked"), "end")), EditErrorKind::InvalidPosition, "blocks its line");
    rejected(
        FAN_OUT,
        &hello(Position::Below { step: "show".into(), branch: None }),
        EditErrorKind::InvalidPosition,
        "ends",
    );
}

#[test]
fn a_removed_step_closes_the_gap_and_reports_who_refers_to_it() {
    let expect =
        with(SUPPORT, "  # Rates it.\n  - id: score\n    step_type: evaluate_step\n    target_step_id: draft\n\n", "");
    let removed = edited(SUPPORT, &remove("score"));
    assert_eq!(removed.text, expect);
    assert_eq!(removed.selected.as_deref(), Some("draft"));
    let affected: Vec<_> = removed.affected.iter().map(|one| (one.step.as_deref(), &*one.field, one.line)).collect();
    assert_eq!(affected, [(Some("tier"), "if", 17), (Some("tier"), "elif[0].if", 22)]);
    // The steps below a decision take its place; those in its branches are removed with it.
    let removed = edited(SUPPORT, &remove("tier"));
    assert!(
        removed
            .text
            .ends_with("    target_step_id: draft\n\n  - id: show\n    step_type: display_result\n# The end.\n")
    );
    assert_eq!(removed.removed, ["tier", "drop", "ask", "mail"]);
    check(
        SUPPORT,
        &remove("mail"),
        &with(
            SUPPORT,
            "    else:\n      # Sends it.\n      - id: mail\n        step_type: send_email\n        to: a@example.com\n",
            "",
        ),
    );
    check(
        FAN_OUT,
        &remove("good"),
        &with(
            FAN_OUT,
            "{id: good, step_type: gate, if: input != '', child_steps: [{id: show, step_type: display_result}]}",
            "{id: show, step_type: display_result}",
        ),
    );
    rejected(FAN_OUT, &remove("draft"), EditErrorKind::HasChildren, "side by side");
    let all = Operation::Remove { steps: vec!["draft".into(), "note".into()], with_children: true };
    check(FAN_OUT, &all, "name: fan-out\nsteps: []\n");
    rejected(SUPPORT, &remove("missing"), EditErrorKind::UnknownStep, "`missing`");
}

#[test]
fn a_step_moves_with_its_comments() {
    let mail = "      # Sends it.\n      - id: mail\n        step_type: send_email\n        to: a@example.com\n";
    let without = with(SUPPORT, &format!("    else:\n{mail}"), "");
    let expect = with(&without, "  # nothing is sent\n", &format!("  # nothing is sent\n{mail}"));
    check(SUPPORT, &move_to("mail", branch("tier", "then")), &expect);
    let ask = edited(SUPPORT, &move_to("ask", Position::Start)).text;
    assert!(
        ask.contains(
            "steps:\n  - id: ask\n    step_type: human_in_the_loop\n    prompt_template: |\n      Send this?\n"
        )
    );
    assert!(ask.contains("      # Doubtful.\n      - if: step.score.output.score < 0.85\n        then: []\n"));
    check(SUPPORT, &move_to("draft", Position::Start), SUPPORT);
    check(SUPPORT, &move_to("draft", Position::Before("score".into())), SUPPORT);
    rejected(SUPPORT, &move_to("tier", branch("tier", "then")), EditErrorKind::IntoItself, "into itself");
    rejected(SUPPORT, &move_to("tier", Position::After("ask".into())), EditErrorKind::IntoItself, "into itself");
    rejected(SUPPORT, &move_to("mail", branch("tier", "elif-1")), EditErrorKind::UnknownBranch, "no branch `elif-1`");
    rejected(SUPPORT, &move_to("mail", Position::Free { x: 0.0, y: 0.0 }), EditErrorKind::InvalidPosition, "canvas");
}

#[test]
fn a_comment_of_a_step_that_moves_into_brackets_stays() {
    let source = "name: n\nsteps:\n  # One.\n  - id: a\n    step_type: text  # two\n  - {id: b, step_type: text, child_steps: [{id: c, step_type: text}]}\n";
    let moved = edited(source, &move_to("a", Position::After("c".into()))).text;
    assert!(moved.contains("# One.") && moved.contains("# two"), "{moved}");
    assert!(moved.contains("{id: a, step_type: text}"), "{moved}");
}

#[test]
fn renaming_follows_references_of_every_notation() {
    check(
        SUPPORT,
        &rename("score", "rating"),
        &SUPPORT.replace("id: score", "id: rating").replace("step.score", "step.rating"),
    );
    let draft = SUPPORT.replace("id: draft", "id: reply").replace("step.draft", "step.reply");
    check(SUPPORT, &rename("draft", "reply"), &draft);
    let source = r#"{"name": "n", "steps": [
  {"id": "a", "step_type": "text", "template": "a step.a {{ step.a.output }} \"{{step.a.output}}\" {{step.ab.output}}"},
  {"id": "ab", "step_type": "gate", "conditions": [{"target": "input", "operator": "$eq", "value": "{{step.a.output}}"}]},
  {"id": "c", "step_type": "if_else", "if": {"combinator": "and", "conditions": [{"variable": "{{step.a.output}}", "operator": "is_empty"}]}},
  {"id": "d", "step_type": "merge", "child_steps": [{"id": "e", "step_type": "retry", "target_step_id": "d", "max_retries": 1}]}
]}
"#;
    let renamed = edited(source, &rename("a", "first"));
    let expect = source
        .replace("\"id\": \"a\"", "\"id\": \"first\"")
        .replace("{{ step.a.output }}", "{{ step.first.output }}")
        .replace("{{step.a.output}}", "{{step.first.output}}");
    assert!(renamed.affected.iter().any(|one| one.step.as_deref() == Some("c")), "{:?}", renamed.affected);
    // Text outside of placeholders is not a reference; the text in quotes is reported as a whole.
    assert_eq!(renamed.text.replace("a step.first ", "a step.a "), expect);
    check(
        source,
        &rename("d", "all"),
        &source.replace("\"id\": \"d\"", "\"id\": \"all\"").replace("_id\": \"d\"", "_id\": \"all\""),
    );
    rejected(SUPPORT, &rename("draft", "score"), EditErrorKind::DuplicateId, "already");
    rejected(SUPPORT, &rename("draft", "a b"), EditErrorKind::InvalidId, "letters");
}

#[test]
fn a_step_without_an_id_gets_one() {
    let source =
        "steps:\n  - step_type: text\n    template: a\n  - {step_type: text, template: '{{step.step_1.output}}'}\n";
    check(
        source,
        &rename("step_1", "first"),
        "steps:\n  - step_type: text\n    template: a\n    id: first\n  - {step_type: text, template: '{{step.first.output}}'}\n",
    );
}

#[test]
fn fields_are_set_where_they_are() {
    let prompt = |text: &str| set("ask", &["prompt_template".into()], &json!(text));
    let block = "            prompt_template: |\n              Send this?\n              {{step.draft.output}}\n";
    check(
        SUPPORT,
        &prompt("One\nTwo\n"),
        &with(SUPPORT, block, "            prompt_template: |\n              One\n              Two\n"),
    );
    check(SUPPORT, &prompt("One"), &with(SUPPORT, block, "            prompt_template: One\n"));
    let condition = set("tier", &["elif".into(), 0.into(), "if".into()], &json!("input == ''"));
    check(SUPPORT, &condition, &with(SUPPORT, "step.score.output.score < 0.85", "input == ''"));
    let retry = set("draft", &["retry".into()], &json!({"max_attempts": 3, "delay": "2s"}));
    let with_retry = with(SUPPORT, "{{input}}\"\n", "{{input}}\"\n    retry: {max_attempts: 3, delay: 2s}\n");
    check(SUPPORT, &retry, &with_retry);
    check(&with_retry, &unset("draft", &["retry".into(), "delay".into()]), &with(&with_retry, ", delay: 2s", ""));
    check(&with_retry, &unset("draft", &["retry".into()]), SUPPORT);
    // A new field stands before the steps inside.
    let purpose = set("tier", &["purpose".into()], &json!("Chooses"));
    check(SUPPORT, &purpose, &with(SUPPORT, "score < 0.5\n", "score < 0.5\n    purpose: Chooses\n"));
    let of_document =
        Operation::SetField { step: None, path: vec!["description".into()], value: Value::from("Replies") };
    check(SUPPORT, &of_document, &with(SUPPORT, "name: support\n", "name: support\ndescription: Replies\n"));
    let steps = Operation::SetField { step: None, path: vec!["steps".into()], value: Value::from(Vec::new()) };
    rejected(SUPPORT, &steps, EditErrorKind::InvalidPath, "`steps`");
    rejected(SUPPORT, &unset("draft", &["nothing".into()]), EditErrorKind::InvalidPath, "`steps[0].nothing`");
}

#[test]
fn a_value_is_changed_in_part_so_that_its_comments_stay() {
    let source = "steps:\n  - id: a\n    step_type: gate\n    conditions:\n      - target: input  # the text\n        operator: $eq\n        value: one\n";
    let value =
        json!([{"target": "input", "operator": "$ne", "value": "one"}, {"target": "input", "operator": "$not_empty"}]);
    check(
        source,
        &set("a", &["conditions".into()], &value),
        &(with(source, "$eq", "\"$ne\"") + "      - target: input\n        operator: \"$not_empty\"\n")
            .replace("\"$ne\"", "$ne")
            .replace("\"$not_empty\"", "$not_empty"),
    );
}

#[test]
fn branches_change_places() {
    let swapped = edited(SUPPORT, &Operation::Reorder { step: "tier".into(), from: 1, to: 0 }).text;
    let (ask, drop) = (swapped.find("id: ask").expect("ask"), swapped.find("id: drop").expect("drop"));
    assert!(ask < drop && swapped.find("< 0.85") < swapped.find("< 0.5\n"), "{swapped}");
    assert!(swapped.contains("# nothing is sent") && swapped.contains("# Doubtful."));
    let back = edited(&swapped, &Operation::Reorder { step: "tier".into(), from: 0, to: 1 }).text;
    assert_eq!(back, SUPPORT);
    let cases = "steps:\n  - id: s\n    step_type: switch\n    cases:\n      # One.\n      - {name: a, match: a}\n      - {name: b, match: b}  # two\n";
    check(
        cases,
        &Operation::Reorder { step: "s".into(), from: 0, to: 1 },
        "steps:\n  - id: s\n    step_type: switch\n    cases:\n      - {name: b, match: b}  # two\n      # One.\n      - {name: a, match: a}\n",
    );
    let too_far = Operation::Reorder { step: "tier".into(), from: 0, to: 2 };
    rejected(SUPPORT, &too_far, EditErrorKind::InvalidPosition, "2 branches");
}

#[test]
fn copied_text_is_pasted_with_unique_ids() {
    let paste = |fragment: &str| Operation::Paste { fragment: fragment.into(), position: Position::End };
    // As it is copied from its first character on: the first line lacks its indentation.
    let block = "id: draft\n    step_type: text  # copied\n    template: '{{step.draft.output}} {{step.score.output}}'";
    let expect = "\n  - id: draft_2\n    step_type: text  # copied\n    template: '{{step.draft_2.output}} {{step.score.output}}'\n# The end";
    check(SUPPORT, &paste(block), &with(SUPPORT, "# The end", expect));
    let two = "- {id: a, step_type: text}\n- {id: b, step_type: text, template: '{{step.a.output}}'}\n";
    let expect =
        "\n  - {id: a, step_type: text}\n\n  - {id: b, step_type: text, template: '{{step.a.output}}'}\n# The end";
    check(SUPPORT, &paste(two), &with(SUPPORT, "# The end", expect));
    let json = r#"{"id": "mail", "step_type": "text"}"#;
    check(SUPPORT, &paste(json), &with(SUPPORT, "# The end", "\n  - id: mail_2\n    step_type: text\n# The end"));
    rejected(SUPPORT, &paste("hello"), EditErrorKind::InvalidFragment, "not a step");
    rejected(SUPPORT, &paste("steps: [{id: a}]"), EditErrorKind::InvalidFragment, "not a step");
}

#[test]
fn windows_line_breaks_and_missing_ones_stay() {
    let source = "name: n\r\nsteps:\r\n  - id: a\r\n    step_type: text\r\n";
    check(
        source,
        &hello(Position::End),
        &format!("{source}  - id: hi\r\n    step_type: text\r\n    template: Hello\r\n"),
    );
    let source = "steps:\n  - id: a\n    step_type: text";
    check(source, &hello(Position::End), &format!("{source}\n  - id: hi\n    step_type: text\n    template: Hello"));
    check(&format!("{source}\n  - {{id: b, step_type: text}}"), &remove("b"), source);
}

#[test]
fn what_cannot_be_edited_is_rejected() {
    let shared = "steps:\n  - {id: a, step_type: text, child_steps: &c [{id: b, step_type: text}]}\n  - {id: d, step_type: text, child_steps: *c}\n";
    rejected(shared, &hello(branch("d", "child_steps")), EditErrorKind::UnsupportedNotation, "Edit the source");
    rejected("name: [", &remove("a"), EditErrorKind::InvalidText, "cannot be read");
    rejected("initial: a\nstates: {}\n", &remove("a"), EditErrorKind::UnsupportedDialect, "machine");
    let connect = Operation::Connect { source: "draft".into(), handle: None, target: "score".into() };
    rejected(SUPPORT, &connect, EditErrorKind::UnsupportedOperation, "no connections");
}

#[test]
fn steps_of_an_exported_agent_are_edited_in_place() {
    let source =
        "export_version: 1\nagent:\n  name: n\n  definition:\n    steps:\n      - id: a\n        step_type: text\n";
    check(
        source,
        &hello(Position::End),
        &format!("{source}      - id: hi\n        step_type: text\n        template: Hello\n"),
    );
}
