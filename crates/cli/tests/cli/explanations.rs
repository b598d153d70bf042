//! Explanations of approvals and budgets: who could vote, who did, which rule settled it, and why a budget ended a part.

use serde_json::{Value, json};

use super::running::{Place, err, out};

const SETTINGS: &str = "user = \"ada\"\n[people]\nowner = \"ada\"\nadmins = [\"bob\"]\n\
                        [groups]\nfinance = [\"ada\", \"bob\", \"cid\"]\nlegal = [\"dan\", \"eve\"]\n";

/// A project with one approval that has these keys.
fn asking(keys: &str) -> Place {
    let document =
        format!("name: pay\nsteps:\n  - id: ask\n    step_type: human_in_the_loop\n    prompt: Pay?\n{keys}");
    let place = Place::new(&[("branchpoint.toml", SETTINGS), ("pay.yaml", &document)]);
    let started = place.run(&["run", "pay.yaml", "--id", "r", "--quiet"]);
    assert_eq!(started.status.code(), Some(5), "{}", err(&started));
    place
}

#[track_caller]
fn done(place: &Place, arguments: &[&str]) {
    let output = place.run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}{}", out(&output), err(&output));
}

#[track_caller]
fn explained(place: &Place, run: &str) -> String {
    let output = place.run(&["runs", "explain", run, "ask"]);
    assert!(output.status.success(), "{}", err(&output));
    out(&output)
}

#[track_caller]
fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "expected {part:?} in\n{text}");
    }
}

/// The approval in the JSON of the trace.
#[track_caller]
fn decision(place: &Place) -> Value {
    let output = place.run(&["runs", "trace", "r", "--json"]);
    let trace: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    trace["steps"][0]["decisions"][0].clone()
}

#[test]
fn an_open_approval_says_who_may_vote_who_has_voted_and_what_is_missing() {
    let place = asking("    need: {finance: 2, legal: 1}\n    veto: [legal]\n");
    done(&place, &["approvals", "delegate", "r", "--as", "eve", "--to", "fay", "--until", "1h"]);
    done(&place, &["approvals", "vote", "r", "approve", "--as", "cid"]);
    let text = explained(&place, "r");
    contains(
        &text,
        &[
            "ask: waiting for votes on approval r/",
            "  approve: needs 2 votes of finance (has 1) and 1 vote of legal (has 0)\n",
            "  approvers: ada, bob, cid, dan, eve\n",
            "  group: legal needs 1 vote of dan, eve\n",
            "  veto: dan, eve\n",
            "  delegated: eve to fay until ",
            "  vote: cid approve [finance] (",
        ],
    );
}

#[test]
fn a_settled_approval_names_the_rule_and_everyone_who_voted() {
    let place = asking("    need: {finance: 1, legal: 1}\n    self_approval: false\n");
    done(&place, &["approvals", "vote", "r", "approve", "--as", "bob", "--comment", "fine"]);
    done(&place, &["approvals", "delegate", "r", "--as", "eve", "--to", "fay", "--until", "1h"]);
    done(&place, &["approvals", "vote", "r", "approve", "--as", "fay"]);
    contains(
        &explained(&place, "r"),
        &[
            "2 votes for `approve` (bob, fay for eve); required: 1 vote of finance and 1 vote of legal",
            "approvers: bob, cid, dan, eve",
            "excluded: ada, who started the run",
            "vote: bob approve [finance] \"fine\"",
            "vote: fay for eve approve [legal]",
        ],
    );
    let decision = decision(&place);
    let approval = &decision["approval"];
    assert_eq!(decision["chosen"], "approve", "{decision}");
    assert_eq!(approval["rule"], "quorum");
    assert_eq!(approval["approvers"], json!(["bob", "cid", "dan", "eve"]));
    assert_eq!(approval["excluded"], "ada");
    assert_eq!(approval["groups"][1], json!({"group": "legal", "needed": 1, "votes": 1, "members": ["dan", "eve"]}));
    let voters: Vec<&Value> = approval["votes"].as_array().expect("votes").iter().map(|vote| &vote["user"]).collect();
    assert_eq!(voters, ["bob", "fay"]);
    assert_eq!(approval["votes"][1]["on_behalf_of"], "eve");
}

#[test]
fn every_rule_that_settles_an_approval_is_named() {
    let all = "    recipient_distribution: owner_admins\n    required_approvals: 2\n";
    let check = |keys: &str, acts: &[&[&str]], rule: &str, sentence: &str| {
        let place = asking(keys);
        for act in acts {
            done(&place, &[&["approvals"], *act].concat());
        }
        contains(&explained(&place, "r"), &[sentence]);
        assert_eq!(decision(&place)["approval"]["rule"], rule);
    };
    check(
        &format!("{all}    veto: [bob]\n"),
        &[&["vote", "r", "deny", "--as", "bob"]],
        "veto",
        "bob voted for `deny` and has a veto",
    );
    check(
        &format!("{all}    show: x\n"),
        &[&["vote", "r", "deny", "--as", "bob"], &["vote", "r", "approve", "--as", "ada"]],
        "everyone_voted",
        "all 2 approvers voted, and no choice has the required 2 votes",
    );
    check(
        "    need: {finance: 3}\n    end_early: true\n",
        &[&["vote", "r", "deny", "--as", "bob"], &["vote", "r", "approve", "--as", "ada"]],
        "unreachable",
        "after 2 votes, no choice can have the required 3 votes of finance any more",
    );
    check(
        &format!("{all}    show: x\n"),
        &[&["vote", "r", "approve", "--as", "bob"], &["cancel", "r", "--reason", "obsolete"]],
        "cancelled",
        "the approval was cancelled: obsolete",
    );
}

#[test]
fn an_approval_that_is_withdrawn_still_says_who_had_voted() {
    let place = asking("    need: {finance: 2}\n");
    done(&place, &["approvals", "vote", "r", "approve", "--as", "cid"]);
    done(&place, &["runs", "cancel", "r"]);
    contains(
        &explained(&place, "r"),
        &[
            "ask: not decided",
            "the approval was withdrawn before it was settled, with 1 vote (cid)",
            "approvers: ada, bob, cid",
            "vote: cid approve [finance]",
        ],
    );
    let decision = decision(&place);
    assert_eq!((&decision["chosen"], &decision["approval"]["rule"]), (&Value::Null, &json!("withdrawn")), "{decision}");
}

#[test]
fn votes_with_other_forms_are_not_counted_together_in_any_message() {
    let form = "    form: {type: object, properties: {amount: {type: integer, default: 100}}}\n";
    let place = asking(&format!("    need: {{finance: 2}}\n{form}"));
    done(&place, &["approvals", "vote", "r", "approve", "--as", "ada"]);
    let second = place.run(&["approvals", "vote", "r", "approve", "--as", "bob", "--form", "amount=900"]);
    contains(&err(&second), &["Recorded bob's vote (finance 1 of 2)."]);
    let shown = out(&place.run(&["approvals", "show", "r"]));
    contains(&shown, &["finance 1 of 2 for `approve`"]);
    contains(&explained(&place, "r"), &["approve: needs 2 votes of finance (has 1)", "other forms: votes of "]);
    done(&place, &["approvals", "vote", "r", "approve", "--as", "cid"]);
    contains(
        &explained(&place, "r"),
        &[
            "2 votes for `approve` (ada, cid); required: 2 votes of finance",
            "other forms: votes of bob for `approve` do not count with those of ada, cid",
        ],
    );
}

#[test]
fn a_part_that_its_budget_ended_says_which_limit_and_which_steps_used_it() {
    const DOCUMENT: &str = "name: article
steps:
  - id: improve
    step_type: while
    if: 'true'
    budget: {tokens: 1000}
    on_budget: [{id: best, step_type: text, template: stopped}]
    body:
      - {id: draft, step_type: prompt_call, prompt_template: x}
      - {id: review, step_type: prompt_call, prompt_template: y}
";
    const SCRIPT: &str = "draft: [{$text: a, $usage: {tokens: 300}}]\nreview: [{$text: b, $usage: {tokens: 250}}]\n";
    let place = Place::new(&[("article.yaml", DOCUMENT), ("script.yaml", SCRIPT)]);
    done(&place, &["run", "article.yaml", "--script", "script.yaml", "--id", "r"]);
    let text = out(&place.run(&["runs", "explain", "r", "improve"]));
    contains(
        &text,
        &[
            "improve → on_budget",
            "the budget of 1000 tokens is used up: the calls used 1100 tokens",
            "draft 600 tokens",
            "review 500 tokens",
        ],
    );
    let steps = json!([
        {"step": "draft", "tokens": 600, "cost_usd": 0},
        {"step": "review", "tokens": 500, "cost_usd": 0},
    ]);
    let check = |budget: &Value| {
        assert_eq!((&budget["step"], &budget["ended_by"]), (&json!("improve"), &json!("tokens")), "{budget}");
        assert_eq!(budget["limits"]["tokens"], 1000);
        assert_eq!((&budget["used"]["tokens"], &budget["steps"]), (&json!(1100), &steps));
    };
    let json = |command: &str| -> Value {
        let output = place.run(&["runs", command, "r", "--json"]);
        serde_json::from_slice(&output.stdout).expect("it is JSON")
    };
    check(&json("show")["budgets"][0]);
    check(&json("trace")["steps"][0]["budget"]);
    let shown = out(&place.run(&["runs", "show", "r"]));
    contains(&shown, &["improve: used 1100 tokens of 1000", "the tokens are used up"]);
}

#[test]
fn a_queued_run_says_why_wherever_it_is_looked_at() {
    const DOCUMENT: &str = "name: hello\nlimits: {rate: 1/d}\nsteps:\n  - {id: ask, step_type: text, template: hi}\n";
    let place = Place::new(&[("hello.yaml", DOCUMENT)]);
    done(&place, &["run", "hello.yaml", "--id", "one"]);
    done(&place, &["run", "hello.yaml", "--id", "r", "--detach"]);
    let reason = "the rate 1/d of workflow `hello` is used up";
    for command in [&["runs", "show", "r"][..], &["runs", "explain", "r", "ask"], &["runs", "trace", "r"]] {
        let output = place.run(command);
        assert!(output.status.success(), "{command:?}: {}", err(&output));
        contains(&(out(&output) + &err(&output)), &["queued at position 1", reason]);
    }
    let shown: Value =
        serde_json::from_slice(&place.run(&["runs", "trace", "r", "--json"]).stdout).expect("it is JSON");
    assert!(shown["queued"].as_str().is_some_and(|text| text.contains(reason)), "{shown}");
}
