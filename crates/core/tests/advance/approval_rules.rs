//! Groups, vetoes, escalation, delegation, forms and exact votes, one behaviour at a time.

use branchpoint_core::codec::{decode_state, encode_state};
use branchpoint_core::ir::Arm;
use branchpoint_core::{Approval, Ballot, InvalidRequest, Rejected, Request, VoteRejection, approvals};
use branchpoint_expr::Value;

use crate::host::{Host, Make, object};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

const GROUPS: &str = r#"{"finance": ["ann", "bob", "cid"], "legal": ["bob", "dan"]}"#;

/// The specification of a request to ann and bob with these rules.
fn spec(rules: &str) -> Value {
    let rules = json(&format!(r#"{{"groups": {GROUPS}, "requester": "zoe", {rules}}}"#));
    let texts = |texts: &[&str]| Value::from(texts.iter().map(|text| Value::from(*text)).collect::<Vec<_>>());
    object([
        ("prompt", Value::from("Pay?")),
        ("recipients", texts(&["ann", "bob"])),
        ("choices", texts(&["approve", "deny"])),
        ("required", Value::Int(2)),
        ("timeout_ms", Value::Int(1_000)),
        ("rules", rules),
    ])
}

fn opened(rules: &str) -> Host {
    let mut make = Make::new();
    let spec = make.b.value(spec(rules));
    let wait = make.b.wait([Arm::Request { spec, into: Some(make.r), next: make.end, expired: None }], None);
    make.run(wait)
}

fn open(host: &Host) -> Approval {
    approvals(&host.program, &host.state, &std::collections::BTreeMap::new()).remove(0)
}

#[track_caller]
fn vote(host: &mut Host, user: &str, choice: &str) {
    let ballot = open(host).ballot(choice);
    cast(host, user, &ballot).unwrap();
}

fn cast(host: &mut Host, user: &str, ballot: &Ballot) -> Result<(), VoteRejection> {
    let event = open(host).key.vote(user, ballot);
    // Every state can be stored and read again.
    let stored = encode_state(&host.state).unwrap();
    assert_eq!(decode_state(&stored).unwrap(), host.state);
    match host.hand(event) {
        Ok(_) => Ok(()),
        Err(Rejected::Vote(rejection)) => Err(rejection),
        Err(other) => panic!("{other}"),
    }
}

fn delegate(host: &mut Host, user: &str, to: Option<(&str, i64)>) -> Result<(), VoteRejection> {
    let event = open(host).key.delegate(user, to).expect("people vote");
    host.hand(event).map(drop).map_err(|rejected| match rejected {
        Rejected::Vote(rejection) => rejection,
        other => panic!("{other}"),
    })
}

#[track_caller]
fn ended(host: &Host, outcome: &str, settled_by: &str) -> Value {
    let (_, output) = host.end.clone().expect("the run has ended");
    let got = (output.get("outcome").and_then(Value::as_str), output.get("settled_by").and_then(Value::as_str));
    assert_eq!(got, (Some(outcome), Some(settled_by)), "{output:?}");
    output
}

#[track_caller]
fn refused(rules: &str, kind: &str, message: &str) {
    let error = Request::open(&spec(rules), 0).expect_err(rules);
    assert_eq!(error.kind(), kind, "{rules}: {error}");
    assert!(error.to_string().contains(message), "{rules}: {error}");
}

#[test]
fn each_group_needs_its_votes_and_a_vote_counts_for_every_group_of_its_voter() {
    let mut host = opened(r#""need": {"finance": 2, "legal": 1}"#);
    assert_eq!(open(&host).recipients().iter().map(|user| &**user).collect::<Vec<_>>(), ["ann", "bob", "cid", "dan"]);
    vote(&mut host, "ann", "approve");
    vote(&mut host, "cid", "approve");
    assert!(host.end.is_none(), "legal has no vote yet");
    vote(&mut host, "bob", "approve");
    let output = ended(&host, "approve", "quorum");
    assert_eq!(output.get("required"), Some(&Value::Null));
    assert_eq!(output.get("need"), Some(&json(r#"{"finance": 2, "legal": 1}"#)));
    let last = &output.get("votes").and_then(Value::as_list).unwrap()[2];
    assert_eq!(last.get("groups"), Some(&json(r#"["finance", "legal"]"#)));
}

#[test]
fn a_request_that_could_never_be_settled_is_not_opened() {
    refused(r#""need": {"sales": 1}"#, "hitl_group", "the group `sales` is not defined");
    refused(r#""need": {"legal": 3}"#, "hitl_group", "needs 3 votes, but 2 of its members may vote");
    refused(r#""need": {}"#, "bad_request", "need");
    refused(r#""need": {"legal": 0}"#, "bad_request", "need");
    refused(r#""veto": ["eve"]"#, "hitl_group", "no user of `eve` in `veto` is an approver");
    refused(r#""escalate_ms": 5, "escalate_to": ["zoe"], "self_approval": false"#, "hitl_group", "no user of `zoe`");
    refused(r#""end_early": true, "need": null, "veto": ["ann"], "form": {"type": "list"}"#, "hitl_form", "`object`");
    let crowd: Vec<String> = (0..1_001).map(|n| format!("\"u{n}\"")).collect();
    refused(&format!(r#""escalate_ms": 5, "escalate_to": [{}]"#, crowd.join(",")), "hitl_group", "at most 1000");
    let mut few = spec(r#""end_early": true"#);
    if let Value::Object(fields) = &mut few {
        fields.edit(|fields| fields.insert("required".into(), Value::Int(3)));
    }
    assert_eq!(Request::open(&few, 0), Err(InvalidRequest::TooFew { required: 3, voters: 2 }));
}

#[test]
fn a_veto_settles_the_request_at_once() {
    let mut host = opened(r#""need": {"finance": 3}, "veto": ["legal"]"#);
    vote(&mut host, "ann", "deny");
    assert!(host.end.is_none(), "ann has no veto");
    vote(&mut host, "bob", "deny");
    let output = ended(&host, "deny", "veto");
    assert_eq!(output.get("quorum_met"), Some(&Value::Bool(false)));
    let mut host = opened(r#""need": {"finance": 3}, "veto": ["legal"]"#);
    vote(&mut host, "bob", "approve");
    assert!(host.end.is_none(), "a veto is a choice that means no");
}

#[test]
fn the_user_who_started_the_run_can_be_excluded() {
    let rules = r#""self_approval": false, "need": {"finance": 1}"#;
    let excluding = |requester: &str| {
        let groups = format!(r#"{{"groups": {GROUPS}, "requester": {requester}, {rules}}}"#);
        let mut spec = spec("\"end_early\": false");
        if let Value::Object(fields) = &mut spec {
            fields.edit(|fields| fields.insert("rules".into(), json(&groups)));
        }
        Request::open(&spec, 0)
    };
    let request = excluding("\"ann\"").unwrap();
    assert_eq!(request.recipients, ["bob".into(), "cid".into()]);
    for unknown in ["null", "\"\"", "7"] {
        assert_eq!(excluding(unknown), Err(InvalidRequest::RequesterUnknown), "{unknown}");
    }
}

#[test]
fn an_escalation_adds_recipients_whose_votes_count_for_every_group() {
    let mut host = opened(r#""need": {"finance": 1, "legal": 1}, "escalate_ms": 100, "escalate_to": ["eve", "ann"]"#);
    let ballot = open(&host).ballot("approve");
    assert_eq!(cast(&mut host, "eve", &ballot), Err(VoteRejection::NotRecipient));
    vote(&mut host, "ann", "approve");
    host.pass(100);
    assert_eq!(host.escalated, [["eve"]]);
    assert!(host.end.is_none(), "the groups of a vote are fixed when it is cast");
    vote(&mut host, "eve", "approve");
    let output = ended(&host, "approve", "quorum");
    assert_eq!(output.get("escalated"), Some(&Value::Bool(true)));
    assert_eq!(output.get("total_recipients"), Some(&Value::Int(5)));
}

#[test]
fn an_early_end_counts_the_votes_that_an_escalation_may_bring() {
    let mut host = opened(r#""end_early": true"#);
    vote(&mut host, "ann", "approve");
    vote(&mut host, "bob", "deny");
    ended(&host, "no_quorum", "everyone_voted");
    let mut host = opened(r#""end_early": true, "need": {"finance": 3}"#);
    vote(&mut host, "ann", "approve");
    vote(&mut host, "cid", "deny");
    ended(&host, "no_quorum", "unreachable");
    let mut host = opened(r#""end_early": true, "need": {"finance": 3}, "escalate_ms": 10, "escalate_to": ["eve"]"#);
    vote(&mut host, "ann", "approve");
    vote(&mut host, "cid", "deny");
    assert!(host.end.is_none(), "eve may still vote");
}

#[test]
fn a_delegate_uses_the_vote_of_the_recipient() {
    let mut host = opened(r#""need": {"finance": 1, "legal": 1}, "veto": ["dan"]"#);
    let until = host.now_ms + 50;
    assert_eq!(delegate(&mut host, "eve", Some(("fay", until))), Err(VoteRejection::NotRecipient));
    delegate(&mut host, "dan", Some(("eve", until))).unwrap();
    assert_eq!(delegate(&mut host, "eve", Some(("fay", until))), Err(VoteRejection::NotRecipient));
    for (to, until) in [("ann", until), ("eve", until), ("", until), ("fay", host.now_ms)] {
        let rejection = delegate(&mut host, "bob", Some((to, until))).expect_err(to);
        assert_eq!(rejection.code(), "bad_delegate", "{to}");
    }
    assert!(open(&host).awaits("eve", host.now_ms) && !open(&host).awaits("eve", until));
    vote(&mut host, "eve", "approve");
    assert_eq!(cast(&mut host, "eve", &Ballot::new("deny")), Err(VoteRejection::AlreadyVoted));
    assert_eq!(cast(&mut host, "dan", &Ballot::new("deny")), Err(VoteRejection::AlreadyVoted));
    assert_eq!(delegate(&mut host, "dan", None), Err(VoteRejection::AlreadyVoted));
    assert_eq!(delegate(&mut host, "bob", Some(("eve", until))).unwrap_err().code(), "bad_delegate");
    vote(&mut host, "ann", "approve");
    let output = ended(&host, "approve", "quorum");
    let first = &output.get("votes").and_then(Value::as_list).unwrap()[0];
    assert_eq!((first.get("user_id"), first.get("on_behalf_of")), (Some(&"eve".into()), Some(&"dan".into())));
}

#[test]
fn a_delegation_ends_by_time_by_revocation_and_by_the_recipients_own_vote() {
    let mut host = opened(r#""need": {"finance": 3}"#);
    let until = host.now_ms + 50;
    delegate(&mut host, "ann", Some(("eve", until))).unwrap();
    delegate(&mut host, "ann", None).unwrap();
    assert_eq!(cast(&mut host, "eve", &Ballot::new("approve")), Err(VoteRejection::NotRecipient));
    delegate(&mut host, "ann", Some(("eve", until))).unwrap();
    host.pass(50);
    assert_eq!(cast(&mut host, "eve", &Ballot::new("approve")), Err(VoteRejection::NotRecipient));
    delegate(&mut host, "bob", Some(("eve", until + 100))).unwrap();
    vote(&mut host, "bob", "approve");
    assert_eq!(cast(&mut host, "eve", &Ballot::new("approve")), Err(VoteRejection::NotRecipient));
}

const FORM: &str = r#""form": {"type": "object", "properties": {"amount": {"type": "integer", "maximum": 1000}, "note": {"type": "string"}},
    "required": ["amount"]}, "defaults": {"amount": 100, "note": null}"#;

fn with_form(host: &Host, choice: &str, form: &str) -> Ballot {
    Ballot { form: Some(json(form)), ..open(host).ballot(choice) }
}

#[test]
fn a_vote_carries_a_valid_form() {
    let mut host = opened(&format!(r#""need": {{"finance": 1}}, {FORM}"#));
    let bad = |host: &mut Host, ballot| match cast(host, "ann", &ballot) {
        Err(VoteRejection::BadForm { field, problem }) => (field, problem),
        other => panic!("{other:?}"),
    };
    let ballot = with_form(&host, "approve", r#"{"amount": 2000}"#);
    assert_eq!(bad(&mut host, ballot), ("amount".into(), "the field `amount` of the form must be at most 1000".into()));
    let ballot = with_form(&host, "approve", r#"{"amont": 1}"#);
    assert_eq!(bad(&mut host, ballot).0, "amont");
    let ballot = with_form(&host, "deny", r#"{"amount": "many"}"#);
    assert_eq!(bad(&mut host, ballot).0, "amount", "a form that is given is checked");
    assert_eq!(bad(&mut host, Ballot::new("approve")).1, "the form is missing");
    vote(&mut host, "ann", "approve");
    let output = ended(&host, "approve", "quorum");
    assert_eq!(output.get("form"), Some(&json(r#"{"amount": 100}"#)), "the default applies");
    assert_eq!(output.get("edited"), Some(&Value::Bool(false)));

    let mut host = opened(&format!(r#""need": {{"finance": 1}}, {FORM}"#));
    let ballot = with_form(&host, "approve", r#"{"amount": 90, "note": "less"}"#);
    cast(&mut host, "ann", &ballot).unwrap();
    assert_eq!(ended(&host, "approve", "quorum").get("edited"), Some(&Value::Bool(true)));

    let mut host = opened(&format!(r#""veto": ["ann"], {FORM}"#));
    vote(&mut host, "ann", "deny");
    assert_eq!(ended(&host, "deny", "veto").get("form"), Some(&Value::Null));
    let mut host = opened(r#""need": {"finance": 1}"#);
    let ballot = with_form(&host, "approve", "{}");
    assert_eq!(bad(&mut host, ballot).1, "the form must be left out, because the approval has none");
}

#[test]
fn a_voter_cannot_change_what_another_has_approved() {
    let mut host = opened(&format!(r#""need": {{"finance": 2}}, {FORM}"#));
    vote(&mut host, "ann", "approve");
    let edited = with_form(&host, "approve", r#"{"amount": 999}"#);
    cast(&mut host, "bob", &edited).unwrap();
    assert!(host.end.is_none(), "ann has approved 100, bob 999");
    let noted = with_form(&host, "approve", r#"{"note": "fine"}"#);
    cast(&mut host, "cid", &noted).unwrap();
    let output = ended(&host, "approve", "quorum");
    assert_eq!(output.get("form"), Some(&json(r#"{"amount": 100, "note": "fine"}"#)), "ann and cid have approved 100");
}

#[test]
fn a_vote_is_refused_if_its_voter_saw_something_else() {
    let mut host = opened(&format!(r#""need": {{"finance": 1}}, {FORM}"#));
    let hash = open(&host).shown_hash().cloned().expect("it has rules");
    assert_eq!(hash.len(), 64);
    let other = Ballot { shown_hash: Some("other".into()), ..open(&host).ballot("approve") };
    assert_eq!(cast(&mut host, "ann", &other), Err(VoteRejection::ApprovalOutdated));
    let shown = |spec: &Value| {
        let mut make = Make::new();
        let spec = make.b.value(spec.clone());
        let wait = make.b.wait([Arm::Request { spec, into: Some(make.r), next: make.end, expired: None }], None);
        open(&make.run(wait)).shown_hash().cloned().expect("it has rules")
    };
    let base = spec(FORM);
    assert_ne!(shown(&base), shown(&spec(&FORM.replace("100,", "101,"))), "the defaults count");
    let mut asks = base.clone();
    if let Value::Object(fields) = &mut asks {
        fields.edit(|fields| fields.insert("prompt".into(), "Pay twice?".into()));
    }
    assert_ne!(shown(&base), shown(&asks), "the prompt counts");
}

#[test]
fn hosts_get_the_recipients_and_not_the_groups_of_the_operator() {
    let mut make = Make::new();
    let spec = make.b.value(spec(&format!(r#""need": {{"legal": 1}}, {FORM}"#)));
    let wait = make.b.wait([Arm::Request { spec, into: Some(make.r), next: make.end, expired: None }], None);
    make.b.begin(branchpoint_core::ir::builder::ROOT, &[wait]);
    let program = make.b.finish().expect("the program is valid");
    let mut state = branchpoint_core::State::new();
    let start = branchpoint_core::Event::start(Value::Null);
    let outcome = branchpoint_core::advance(&program, &mut state, &branchpoint_core::Stamp::default(), start).unwrap();
    let specs: Vec<&Value> = outcome
        .commands
        .iter()
        .filter_map(|command| match command {
            branchpoint_core::Command::Ask { spec, .. } => Some(spec),
            _ => None,
        })
        .collect();
    assert_eq!(specs[0].get("recipients"), Some(&json(r#"["bob", "dan"]"#)));
    assert_eq!(specs[0].get("rules"), None);
    assert_eq!(specs[0].get("need"), Some(&json(r#"{"legal": 1}"#)));
}
