//! Random approvals beside an independent model, written from `docs/spec/house.md`. The model keeps a list of facts and computes
//! everything from the list each time; it shares no code with the core.

use std::collections::{BTreeMap, BTreeSet};

use branchpoint_core::codec::{decode_state, encode_state};
use branchpoint_core::ir::Arm;
use branchpoint_core::{Event, Rejected, approvals};
use branchpoint_expr::Value;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::host::{Host, Make};

const USERS: [&str; 8] = ["u0", "u1", "u2", "u3", "u4", "u5", "u6", "u7"];
const NAMES: [&str; 10] = ["u0", "u1", "u2", "u3", "u4", "u5", "u6", "u7", "g0", "g1"];
const CHOICES: [&str; 4] = ["approve", "later", "deny", "unknown"];
const DELEGATES: [&str; 10] = ["u0", "u1", "u2", "u3", "u4", "u5", "u6", "u7", "x0", ""];
const TIMEOUT_MS: i64 = 1_000;
const START_MS: i64 = 1_000;

/// An approval as a document would write it.
#[derive(Clone, Debug)]
struct Document {
    groups: Vec<Vec<usize>>,
    need: Option<Vec<u32>>,
    recipients: Vec<usize>,
    required: u32,
    veto: Vec<usize>,
    requester: Option<usize>,
    escalation: Option<(i64, Vec<usize>)>,
    end_early: bool,
    has_form: bool,
    has_deadline: bool,
}

#[derive(Clone, Debug)]
enum Action {
    Vote { user: usize, choice: usize, form: usize, saw: Saw },
    Delegate { user: usize, to: Option<usize>, for_ms: i64 },
    Pass(i64),
    Cancel,
}

/// What a voter says about what the voter saw.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Saw {
    Unsaid,
    It,
    SomethingElse,
}

/// The forms that votes carry. The proposed amount is 5.
fn form(number: usize) -> Json {
    match number {
        0 => Json::Null,
        1 => json!({}),
        2 => json!({"amount": 5, "note": "a"}),
        3 => json!({"amount": 6}),
        4 => json!({"amount": "many"}),
        _ => json!({"other": 1}),
    }
}

fn documents() -> impl Strategy<Value = Document> {
    let group = proptest::collection::vec(0..USERS.len(), 0..5);
    let escalation = (1..1_200_i64, proptest::collection::vec(0..NAMES.len(), 1..3));
    (
        proptest::collection::vec(group, 2),
        proptest::option::of(proptest::collection::vec(0..3_u32, 2)),
        proptest::collection::vec(0..USERS.len(), 1..5),
        1..4_u32,
        proptest::collection::vec(0..NAMES.len(), 0..2),
        proptest::option::weighted(0.3, 0..USERS.len()),
        proptest::option::weighted(0.4, escalation),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(
            |(groups, need, recipients, required, veto, requester, escalation, end_early, has_form, has_deadline)| {
                Document {
                    groups,
                    need,
                    recipients,
                    required,
                    veto,
                    requester,
                    escalation,
                    end_early,
                    has_form,
                    has_deadline,
                }
            },
        )
}

fn acts() -> impl Strategy<Value = Vec<Action>> {
    let saw = prop_oneof![4 => Just(Saw::Unsaid), 4 => Just(Saw::It), 1 => Just(Saw::SomethingElse)];
    let vote = (0..USERS.len(), prop_oneof![8 => 0..3_usize, 1 => Just(3)], 0..6_usize, saw)
        .prop_map(|(user, choice, form, saw)| Action::Vote { user, choice, form, saw });
    let delegate = (0..USERS.len(), proptest::option::weighted(0.8, 0..DELEGATES.len()), 0..400_i64)
        .prop_map(|(user, to, for_ms)| Action::Delegate { user, to, for_ms });
    let act = prop_oneof![
        10 => vote,
        4 => delegate,
        3 => (0..300_i64).prop_map(Action::Pass),
        1 => Just(Action::Cancel),
    ];
    proptest::collection::vec(act, 1..40)
}

impl Document {
    fn spec(&self) -> Value {
        let names = |positions: &[usize]| positions.iter().map(|position| NAMES[*position]).collect::<Vec<_>>();
        let groups = json!({"g0": names(&self.groups[0]), "g1": names(&self.groups[1])});
        let need = self.need.as_ref().map(|need| {
            let all = ["g0", "g1"].into_iter().zip(need).filter(|(_, needed)| **needed > 0);
            all.map(|(name, needed)| (name.to_owned(), json!(needed))).collect::<serde_json::Map<_, _>>()
        });
        let schema = json!({"type": "object", "required": ["amount"],
            "properties": {"amount": {"type": "integer"}, "note": {"type": "string"}}});
        let rules = json!({
            "groups": groups,
            "need": need,
            "veto": names(&self.veto),
            "self_approval": self.requester.is_none(),
            "requester": self.requester.map(|user| USERS[user]),
            "escalate_ms": self.escalation.as_ref().map(|(after, _)| after),
            "escalate_to": self.escalation.as_ref().map(|(_, to)| names(to)),
            "end_early": self.end_early,
            "form": self.has_form.then_some(schema),
            "defaults": self.has_form.then(|| json!({"amount": 5})),
        });
        Value::from(&json!({
            "recipients": names(&self.recipients),
            "choices": ["approve", "later", "deny"],
            "required": self.required,
            "timeout_ms": self.has_deadline.then_some(TIMEOUT_MS),
            "rules": rules,
        }))
    }
}

/// A vote that was accepted.
#[derive(Clone, Debug)]
struct Ballot {
    voter: String,
    recipient: String,
    choice: &'static str,
    amount: Option<i64>,
    groups: BTreeSet<usize>,
}

/// The approval by the words of the specification.
struct Model<'d> {
    document: &'d Document,
    now_ms: i64,
    ballots: Vec<Ballot>,
    delegations: Vec<(String, String, i64)>,
    /// The outcome and the rule.
    end: Option<(String, &'static str)>,
}

impl Model<'_> {
    fn may_ever_vote(&self, user: &str) -> bool {
        self.document.requester.is_none_or(|requester| USERS[requester] != user)
    }

    fn members(&self, group: usize) -> BTreeSet<String> {
        let members = self.document.groups[group].iter().map(|user| NAMES[*user].to_owned());
        members.filter(|user| self.may_ever_vote(user)).collect()
    }

    fn people(&self, names: &[usize]) -> BTreeSet<String> {
        let mut people = BTreeSet::new();
        for name in names {
            match NAMES[*name] {
                "g0" => people.extend(self.members(0)),
                "g1" => people.extend(self.members(1)),
                user if self.may_ever_vote(user) => drop(people.insert(user.to_owned())),
                _ => {}
            }
        }
        people
    }

    /// The groups that a choice needs, with their numbers.
    fn needed(&self) -> Vec<(usize, u32)> {
        let need = self.document.need.iter().flatten().copied().enumerate();
        need.filter(|(_, needed)| *needed > 0).collect()
    }

    fn first_recipients(&self) -> BTreeSet<String> {
        if self.document.need.is_some() {
            self.needed().into_iter().flat_map(|(group, _)| self.members(group)).collect()
        } else {
            self.people(&self.document.recipients)
        }
    }

    fn later_recipients(&self) -> BTreeSet<String> {
        self.document.escalation.as_ref().map(|(_, to)| self.people(to)).unwrap_or_default()
    }

    fn deadline_ms(&self) -> i64 {
        if self.document.has_deadline { START_MS + TIMEOUT_MS } else { i64::MAX }
    }

    fn escalates_ms(&self) -> Option<i64> {
        let at = START_MS + self.document.escalation.as_ref()?.0;
        (at < self.deadline_ms()).then_some(at)
    }

    fn is_escalated(&self) -> bool {
        self.escalates_ms().is_some_and(|at| at <= self.now_ms)
    }

    fn recipients(&self) -> BTreeSet<String> {
        let later = if self.is_escalated() { self.later_recipients() } else { BTreeSet::new() };
        self.first_recipients().union(&later).cloned().collect()
    }

    /// Whether the request can be opened.
    fn opens(&self) -> bool {
        let (first, later) = (self.first_recipients(), self.later_recipients());
        let voters: BTreeSet<String> = first.union(&later).cloned().collect();
        let enough = self.needed().iter().all(|(group, needed)| self.members(*group).len() >= *needed as usize);
        let has_need = self.document.need.as_ref().is_none_or(|need| need.iter().any(|needed| *needed > 0));
        let vetoes = self.document.veto.iter().all(|name| !self.people(&[*name]).is_disjoint(&voters));
        let escalates =
            self.document.escalation.iter().flat_map(|(_, to)| to).all(|name| !self.people(&[*name]).is_empty());
        let reachable =
            !self.document.end_early || self.document.need.is_some() || self.document.required as usize <= voters.len();
        enough && has_need && vetoes && escalates && reachable && !first.is_empty()
    }

    fn has_voted(&self, recipient: &str) -> bool {
        self.ballots.iter().any(|ballot| ballot.recipient == recipient)
    }

    fn represents(&self, user: &str) -> Option<String> {
        let mut active = self
            .delegations
            .iter()
            .filter(|(from, to, until)| to == user && self.now_ms < *until && !self.has_voted(from));
        active.next().map(|(from, ..)| from.clone())
    }

    fn vote(&mut self, user: &str, choice: &'static str, form: &Json, saw: Saw) -> &'static str {
        if self.end.is_some() || self.now_ms >= self.deadline_ms() {
            return "not_pending";
        }
        let is_recipient = self.recipients().contains(user);
        let has_used = self.ballots.iter().any(|ballot| ballot.voter == user);
        let represents = self.represents(user);
        if !is_recipient && !has_used && represents.is_none() {
            return "not_recipient";
        }
        if choice == "unknown" {
            return "unknown_choice";
        }
        if (is_recipient && self.has_voted(user)) || (!is_recipient && has_used) {
            return "already_voted";
        }
        if saw == Saw::SomethingElse {
            return "approval_outdated";
        }
        let amount = match (self.document.has_form, form) {
            (false, Json::Null) => None,
            (true, Json::Null) if choice == "deny" => None,
            (true, Json::Object(fields)) if fields.keys().all(|key| ["amount", "note"].contains(&&**key)) => {
                match fields.get("amount") {
                    None => Some(5),
                    Some(Json::Number(number)) => number.as_i64(),
                    Some(_) => return "bad_form",
                }
            }
            _ => return "bad_form",
        };
        let recipient = if is_recipient { user.to_owned() } else { represents.expect("the user represents someone") };
        let for_all = self.is_escalated() && self.later_recipients().contains(&recipient);
        let counted = |group: &usize| for_all || self.members(*group).contains(&recipient);
        let groups = self.needed().into_iter().map(|(group, _)| group).filter(counted).collect();
        self.ballots.push(Ballot { voter: user.to_owned(), recipient: recipient.clone(), choice, amount, groups });
        self.end = self.settled_by(&recipient, choice, amount);
        "ok"
    }

    fn settled_by(&self, recipient: &str, choice: &str, amount: Option<i64>) -> Option<(String, &'static str)> {
        if choice == "deny" && self.people(&self.document.veto).contains(recipient) {
            return Some((choice.to_owned(), "veto"));
        }
        if self.is_enough(&self.agreeing(choice, amount)) {
            return Some((choice.to_owned(), "quorum"));
        }
        if self.recipients().iter().all(|recipient| self.has_voted(recipient)) {
            return Some(("no_quorum".to_owned(), "everyone_voted"));
        }
        if self.document.end_early && !self.could_be_enough() {
            return Some(("no_quorum".to_owned(), "unreachable"));
        }
        None
    }

    /// The groups of all votes for a choice with the same proposed amount.
    fn agreeing(&self, choice: &str, amount: Option<i64>) -> Vec<BTreeSet<usize>> {
        let same = |ballot: &&Ballot| ballot.choice == choice && (choice == "deny" || ballot.amount == amount);
        self.ballots.iter().filter(same).map(|ballot| ballot.groups.clone()).collect()
    }

    fn is_enough(&self, votes: &[BTreeSet<usize>]) -> bool {
        if self.document.need.is_none() {
            return votes.len() >= self.document.required as usize;
        }
        let of = |group: usize| votes.iter().filter(|groups| groups.contains(&group)).count();
        self.needed().into_iter().all(|(group, needed)| of(group) >= needed as usize)
    }

    /// Everyone who has not voted and may vote some day votes for the same choice with the same amount.
    fn could_be_enough(&self) -> bool {
        let later = if self.escalates_ms().is_some() { self.later_recipients() } else { BTreeSet::new() };
        let all: BTreeSet<String> = self.first_recipients().union(&later).cloned().collect();
        let silent: Vec<BTreeSet<usize>> = all
            .iter()
            .filter(|user| !self.has_voted(user))
            .map(|user| {
                let counted = |group: &usize| later.contains(user) || self.members(*group).contains(user);
                self.needed().into_iter().map(|(group, _)| group).filter(counted).collect()
            })
            .collect();
        let amounts = [None, Some(5), Some(6)];
        ["approve", "later", "deny"].iter().any(|choice| {
            amounts.iter().any(|amount| {
                let votes: Vec<_> = self.agreeing(choice, *amount).into_iter().chain(silent.clone()).collect();
                self.is_enough(&votes)
            })
        })
    }

    fn delegate(&mut self, user: &str, to: Option<&str>, until_ms: i64) -> &'static str {
        if self.end.is_some() || self.now_ms >= self.deadline_ms() {
            return "not_pending";
        }
        if !self.recipients().contains(user) {
            return "not_recipient";
        }
        if self.has_voted(user) {
            return "already_voted";
        }
        let others = self.delegations.iter().filter(|(from, ..)| from != user).cloned().collect();
        if let Some(to) = to {
            let is_other = self.represents(to).is_some_and(|from| from != user)
                || self.ballots.iter().any(|ballot| ballot.voter == to);
            let is_recipient = self.recipients().contains(to) || self.later_recipients().contains(to);
            if to.is_empty() || until_ms <= self.now_ms || is_recipient || !self.may_ever_vote(to) || is_other {
                return "bad_delegate";
            }
            self.delegations = others;
            self.delegations.push((user.to_owned(), to.to_owned(), until_ms));
        } else {
            self.delegations = others;
        }
        "ok"
    }

    fn pass(&mut self, ms: i64) {
        self.now_ms += ms;
        if self.end.is_none() && self.now_ms >= self.deadline_ms() {
            self.end = Some(("timeout".to_owned(), "timeout"));
        }
    }

    fn cancel(&mut self) -> &'static str {
        if self.end.is_some() {
            return "not_pending";
        }
        self.end = Some(("cancelled".to_owned(), "cancelled"));
        "ok"
    }
}

fn code(result: Result<branchpoint_core::Outcome, Rejected>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(Rejected::Vote(rejection)) => rejection.code(),
        Err(Rejected::NotPending | Rejected::Ended) => "not_pending",
        Err(other) => panic!("{other}"),
    }
}

fn signal(host: &mut Host, name: &str, sender: &str, payload: &Json) -> &'static str {
    let event =
        Event::Signal { name: name.into(), payload: Value::from(payload), sender: Some(sender.into()), key: None };
    code(host.hand(event))
}

fn opened(document: &Document) -> Host {
    let mut make = Make::new();
    let spec = make.b.value(document.spec());
    let wait = make.b.wait([Arm::Request { spec, into: Some(make.r), next: make.end, expired: None }], None);
    make.run(wait)
}

fn run(document: &Document, acts: &[Action]) {
    let mut host = opened(document);
    let mut model = Model { document, now_ms: START_MS, ballots: Vec::new(), delegations: Vec::new(), end: None };
    if !model.opens() {
        let (status, _) = host.end.expect("a request that cannot be opened fails the run");
        assert_eq!(status, branchpoint_core::ir::Status::Failed);
        return;
    }
    let request = host.asks.first().expect("the request is open").0;
    let open = approvals(&host.program, &host.state, &BTreeMap::new()).remove(0);
    let shown_hash = open.shown_hash().cloned().expect("it has rules").to_string();
    for act in acts {
        // The process crashes and goes on from its snapshot.
        let stored = encode_state(&host.state).expect("it can be stored");
        host.state = decode_state(&stored).expect("it can be read");
        let (got, expected) = match act {
            Action::Vote { user, choice, form: number, saw } => {
                let (user, choice, form) = (USERS[*user], CHOICES[*choice], form(*number));
                let seen = match saw {
                    Saw::Unsaid => Json::Null,
                    Saw::It => json!(shown_hash),
                    Saw::SomethingElse => json!("something else"),
                };
                let payload = json!({"request": request, "choice": choice, "form": form, "shown_hash": seen});
                (signal(&mut host, "vote", user, &payload), model.vote(user, choice, &form, *saw))
            }
            Action::Delegate { user, to, for_ms } => {
                let (user, to) = (USERS[*user], to.map(|to| DELEGATES[to]));
                let until_ms = model.now_ms + for_ms;
                let payload = json!({"request": request, "to": to, "until_ms": until_ms});
                (signal(&mut host, "delegate", user, &payload), model.delegate(user, to, until_ms))
            }
            Action::Pass(ms) => {
                host.pass(*ms);
                model.pass(*ms);
                ("ok", "ok")
            }
            Action::Cancel => {
                let payload = json!({"request": request});
                (signal(&mut host, "cancel_request", "", &payload), model.cancel())
            }
        };
        assert_eq!(got, expected, "{act:?}");
        assert_eq!(host.end.is_some(), model.end.is_some(), "after {act:?}: {:?}", model.end);
    }
    let Some((outcome, rule)) = model.end else { return };
    let (_, output) = host.end.expect("the run has ended");
    let text = |key: &str| output.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    assert_eq!((text("outcome"), text("settled_by")), (outcome, rule.to_owned()), "{output:?}");
    let votes = output.get("votes").and_then(Value::as_list).unwrap_or_default();
    assert_eq!(votes.len(), model.ballots.len());
    for (vote, ballot) in votes.iter().zip(&model.ballots) {
        let recipient = vote.get("on_behalf_of").and_then(Value::as_str).unwrap_or(&ballot.voter);
        assert_eq!((vote.get("user_id"), recipient), (Some(&Value::from(&*ballot.voter)), &*ballot.recipient));
    }
    let recipients: BTreeSet<&String> = model.ballots.iter().map(|ballot| &ballot.recipient).collect();
    let voters: BTreeSet<&String> = model.ballots.iter().map(|ballot| &ballot.voter).collect();
    assert_eq!((recipients.len(), voters.len()), (votes.len(), votes.len()), "each person votes once");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn an_approval_settles_as_the_specification_says_in_every_order_of_events(
        document in documents(), acts in acts(),
    ) {
        run(&document, &acts);
    }
}
