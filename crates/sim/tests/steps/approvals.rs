//! Approvals of step trees with groups, vetoes, escalation, forms and exact votes.

use branchpoint_core::{Approval, ApprovalKey, Ballot, Rejected, RequestNo, VoteRejection};
use branchpoint_dialects::read;
use branchpoint_expr::{Object, Value};
use branchpoint_host::{Script, VirtualDriver};

fn yaml(text: &str) -> Value {
    read(text).unwrap_or_else(|error| panic!("{text}: {error:?}")).to_value()
}

fn program(source: &str) -> branchpoint_core::ir::Program {
    let loaded = branchpoint_dialects::load(source, None);
    loaded.program.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

const ACCOUNT: &str =
    "{owner: ada, admins: [bob], requester: zoe, groups: {finance: [ada, bob, zoe], legal: [bob, dan]}}";

/// Starts a run, and calls its effects by a script.
fn start<'p>(program: &'p branchpoint_core::ir::Program, script: &str, account: &str) -> VirtualDriver<'p> {
    let mut host = VirtualDriver::new(program, 0).restarting();
    let account = yaml(account);
    let fact = |name: &str| if name == "account" { account.clone() } else { Value::Null };
    let facts: Object = program.facts.iter().map(|name| (name.clone(), fact(name))).collect();
    host.start(Value::from("in"), facts).unwrap();
    go_on(&mut host, script);
    host
}

fn go_on(host: &mut VirtualDriver<'_>, script: &str) {
    let mut script = Script::read(&yaml(script)).unwrap();
    host.run_until_idle(&mut |call| script.simulate(call));
}

/// Advances the clock.
fn pass(host: &mut VirtualDriver<'_>, at_ms: i64, script: &str) {
    let mut script = Script::read(&yaml(script)).unwrap();
    host.advance_clock_to(at_ms, &mut |call| script.simulate(call));
}

fn open(host: &VirtualDriver<'_>) -> Approval {
    host.approvals().pop().expect("an approval is open")
}

fn cast(host: &mut VirtualDriver<'_>, user: &str, ballot: &Ballot) -> Result<(), Rejected> {
    let event = open(host).key.vote(user, ballot);
    let cast = host.deliver(event);
    go_on(host, "{}");
    cast
}

#[track_caller]
fn vote(host: &mut VirtualDriver<'_>, user: &str, choice: &str) {
    let ballot = open(host).ballot(choice);
    cast(host, user, &ballot).unwrap();
}

fn result(host: &VirtualDriver<'_>, key: &str) -> Value {
    host.result().and_then(|result| result.get(key)).cloned().unwrap_or_default()
}

fn error_kind(host: &VirtualDriver<'_>) -> String {
    result(host, "error").get("kind").map(ToString::to_string).unwrap_or_default()
}

const PAY: &str = "steps:
  - id: pay
    step_type: human_in_the_loop
    prompt_template: Pay {{input}}?
    need: {finance: 2, legal: 1}
    veto: [legal]
    self_approval: false
    escalate_after: 1h
    escalate_to: [eve]
    timeout_seconds: 7200
    form:
      type: object
      properties:
        amount: {type: integer, default: 100, maximum: 500}
        note: {type: string}
      required: [amount]
  - {id: after, step_type: text, template: '{{step.pay.output.outcome}} {{step.pay.output.form.amount}} {{step.pay.output.settled_by}}'}
";

#[test]
fn groups_vote_and_later_steps_read_the_form() {
    let program = program(PAY);
    let mut host = start(&program, "{}", ACCOUNT);
    let approval = open(&host);
    assert_eq!(approval.prompt, "Pay in?");
    assert_eq!(approval.recipients(), ["ada".into(), "bob".into(), "dan".into()], "zoe has started the run");
    let edit = |form: &str| Ballot { form: Some(yaml(form)), ..approval.ballot("approve") };
    let rejected = cast(&mut host, "ada", &edit("{amount: 900}"));
    assert!(matches!(rejected, Err(Rejected::Vote(VoteRejection::BadForm { .. }))), "{rejected:?}");
    cast(&mut host, "ada", &edit("{amount: 90}")).unwrap();
    cast(&mut host, "bob", &edit("{amount: 90, note: less}")).unwrap();
    assert_eq!(result(&host, "output"), "approve 90 quorum".into());
}

#[test]
fn an_escalation_recipient_counts_for_every_group_and_a_veto_ends_it() {
    let program = program(PAY);
    let mut host = start(&program, "{}", ACCOUNT);
    pass(&mut host, 3_600_000, "{}");
    assert!(open(&host).awaits("eve", 3_600_000));
    vote(&mut host, "eve", "approve");
    vote(&mut host, "ada", "approve");
    assert_eq!(result(&host, "output"), "approve 100 quorum".into());
    let mut host = start(&program, "{}", ACCOUNT);
    vote(&mut host, "dan", "deny");
    assert_eq!(result(&host, "output"), "deny  veto".into());
}

#[test]
fn groups_and_requesters_that_are_unknown_fail_the_step() {
    let program = program(PAY);
    let host = start(&program, "{}", "{owner: ada, requester: zoe, groups: {finance: [ada, bob]}}");
    assert_eq!(error_kind(&host), "hitl_group");
    assert_eq!(result(&host, "error").get("step"), Some(&"pay".into()));
    let host = start(&program, "{}", "{owner: ada, groups: {finance: [ada, bob], legal: [dan]}}");
    assert_eq!(error_kind(&host), "hitl_requester_unknown");
    let alone =
        "steps:\n  - {id: a, step_type: human_in_the_loop, prompt: ok?, self_approval: false, on_error: continue}\n";
    let program = self::program(alone);
    let host = start(&program, "{}", "{owner: ada, requester: ada}");
    assert_eq!(result(&host, "status"), "completed".into(), "on_error handles an approval without approvers");
}

const EXACT: &str = "steps:
  - id: both
    step_type: parallel
    branches:
      - name: price
        steps:
          - {id: quote, step_type: http, url: 'https://example.org/1'}
          - {id: pause, step_type: wait, duration: 1h}
          - {id: again, step_type: http, url: 'https://example.org/2'}
      - name: people
        steps:
          - {id: first, step_type: wait, duration: 1m}
          - id: ask
            step_type: human_in_the_loop
            prompt_template: Buy?
            show: {price: '{{step.again.output}}', from: '{{step.quote.output}}'}
            form: {type: object, properties: {amount: {type: integer, default: '{{step.again.output}}'}}}
  - {id: after, step_type: text, template: '{{step.ask.output.form.amount}} {{step.ask.output.edited}}'}
";

#[test]
fn a_new_request_shows_what_changed_if_it_changes_before_they_have_decided() {
    let program = program(EXACT);
    let mut host = start(&program, "{quote: ['5']}", ACCOUNT);
    pass(&mut host, 60_000, "{}");
    let before = open(&host);
    assert_eq!(before.shown(), Some(&yaml("{price: null, from: '5'}")));
    pass(&mut host, 3_600_000, "{again: ['7']}");
    assert_eq!(open(&host).key, before.key, "the approval that is open does not change");
    cast(&mut host, "ada", &before.ballot("approve")).unwrap();
    let now = open(&host);
    assert_ne!(now.key, before.key);
    assert_eq!(
        Value::from(now.changes().to_vec()),
        yaml("[{path: show.price, before: null, after: '7'}, {path: form.amount, before: null, after: '7'}]"),
    );
    assert!(now.request.as_ref().is_some_and(|request| request.votes.is_empty()), "the votes are void");
    let outdated =
        cast(&mut host, "ada", &Ballot { shown_hash: before.shown_hash().cloned(), ..now.ballot("approve") });
    assert_eq!(outdated, Err(Rejected::Vote(VoteRejection::ApprovalOutdated)));
    cast(&mut host, "ada", &now.ballot("approve")).unwrap();
    assert_eq!(result(&host, "output"), "7 false".into());
}

#[test]
fn what_changes_all_the_time_fails_the_step() {
    let source = "steps:\n  - {id: ask, step_type: human_in_the_loop, prompt: ok?, show: '{{datetime.now}}'}\n";
    let program = program(source);
    let mut host = start(&program, "{}", ACCOUNT);
    for round in 1..=11 {
        assert_eq!(result(&host, "status"), Value::Null, "round {round}");
        pass(&mut host, round * 1_000, "{}");
        vote(&mut host, "ada", "approve");
    }
    assert_eq!(error_kind(&host), "approval_outdated");
    let mut host = start(&program, "{}", ACCOUNT);
    pass(&mut host, 1_000, "{}");
    let ApprovalKey::Request(RequestNo(number)) = open(&host).key else { panic!("people vote") };
    host.cancel_request(RequestNo(number), None).unwrap();
    go_on(&mut host, "{}");
    assert_eq!(result(&host, "status"), "completed".into(), "a cancellation stands");
}

#[test]
fn policies_cover_the_form() {
    let source = "policies: [{name: p, on: output, if: 'input.form.amount > 50', then: block}]\nsteps:
  - id: ask
    step_type: human_in_the_loop
    prompt: Pay?
    form: {type: object, properties: {amount: {type: integer, default: 10}}}
";
    let program = program(source);
    for (amount, expect) in [(50, ""), (51, "policy_blocked")] {
        let mut host = start(&program, "{}", ACCOUNT);
        let ballot = Ballot { form: Some(yaml(&format!("{{amount: {amount}}}"))), ..open(&host).ballot("approve") };
        cast(&mut host, "ada", &ballot).unwrap();
        assert_eq!(error_kind(&host), expect, "{amount}");
    }
}

#[test]
fn several_approvals_of_a_run_are_answered_in_any_order() {
    let one = |name: &str, group: &str| {
        format!(
            "      - {{name: {name}, steps: [{{id: {name}, step_type: human_in_the_loop, prompt: '{name}?', need: {{{group}: 1}}}}]}}\n"
        )
    };
    let source = format!(
        "steps:\n  - id: both\n    step_type: parallel\n    branches:\n{}{}  - {{id: after, step_type: text, template: '{{{{step.a.output.votes[0].user_id}}}} {{{{step.b.output.votes[0].user_id}}}}'}}\n",
        one("a", "finance"),
        one("b", "legal")
    );
    let program = program(&source);
    let mut host = start(&program, "{}", ACCOUNT);
    let approvals = host.approvals();
    assert_eq!(approvals.iter().map(|approval| &*approval.step).collect::<Vec<_>>(), ["a", "b"]);
    assert_ne!(approvals[0].key, approvals[1].key);
    for (at, user) in [(1, "dan"), (0, "ada")] {
        let event = approvals[at].key.vote(user, &approvals[at].ballot("approve"));
        host.deliver(event).unwrap();
        go_on(&mut host, "{}");
    }
    assert_eq!(result(&host, "output"), "ada dan".into());
}
