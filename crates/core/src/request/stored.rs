//! The stored form of a request. Journals and snapshots of earlier builds contain requests without rules and delegations; their bytes
//! are those of a request that uses neither, because the new fields are a new variant of an old one.

use std::sync::Arc;

use branchpoint_expr::Value;
use serde::{Deserialize, Serialize};

use super::{Delegation, Request, Rules, Vote};

/// A request as it is stored.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredRequest {
    recipients: Vec<Arc<str>>,
    choices: Vec<Arc<str>>,
    required: u32,
    requested_ms: i64,
    deadline_ms: Option<i64>,
    more: More,
    reminded: u32,
    votes: Vec<StoredVote>,
}

/// The reminders, with everything that earlier builds did not know. The bytes of the first two variants are those of an
/// `Option<(i64, u32)>`.
#[derive(Serialize, Deserialize)]
enum More {
    NoReminder,
    Reminder(i64, u32),
    Rules {
        reminder: Option<(i64, u32)>,
        rules: Option<Box<Rules>>,
        delegations: Vec<Delegation>,
        votes: Vec<MoreOfVote>,
    },
}

#[derive(Serialize, Deserialize)]
struct StoredVote {
    user: Arc<str>,
    choice: Arc<str>,
    comment: Option<Arc<str>>,
    at_ms: i64,
}

/// What earlier builds did not know of a vote.
#[derive(Default, Serialize, Deserialize)]
struct MoreOfVote {
    on_behalf_of: Option<Arc<str>>,
    groups: Vec<Arc<str>>,
    form: Option<Value>,
}

impl From<Request> for StoredRequest {
    fn from(request: Request) -> Self {
        let is_extended = request.rules.is_some()
            || !request.delegations.is_empty()
            || request.votes.iter().any(|vote| vote.on_behalf_of.is_some());
        let (votes, more): (Vec<_>, Vec<_>) = request.votes.into_iter().map(split).unzip();
        let more = match request.reminder {
            _ if is_extended => More::Rules {
                reminder: request.reminder,
                rules: request.rules,
                delegations: request.delegations,
                votes: more,
            },
            None => More::NoReminder,
            Some((every_ms, most)) => More::Reminder(every_ms, most),
        };
        Self {
            recipients: request.recipients,
            choices: request.choices,
            required: request.required,
            requested_ms: request.requested_ms,
            deadline_ms: request.deadline_ms,
            more,
            reminded: request.reminded,
            votes,
        }
    }
}

impl From<StoredRequest> for Request {
    fn from(stored: StoredRequest) -> Self {
        let (reminder, rules, delegations, more) = match stored.more {
            More::NoReminder => (None, None, Vec::new(), Vec::new()),
            More::Reminder(every_ms, most) => (Some((every_ms, most)), None, Vec::new(), Vec::new()),
            More::Rules { reminder, rules, delegations, votes } => (reminder, rules, delegations, votes),
        };
        let more = more.into_iter().map(Some).chain(std::iter::repeat_with(|| None));
        let votes = stored.votes.into_iter().zip(more).map(|(vote, more)| joined(vote, more.unwrap_or_default()));
        Self {
            recipients: stored.recipients,
            choices: stored.choices,
            required: stored.required,
            requested_ms: stored.requested_ms,
            deadline_ms: stored.deadline_ms,
            reminder,
            reminded: stored.reminded,
            votes: votes.collect(),
            delegations,
            rules,
        }
    }
}

fn split(vote: Vote) -> (StoredVote, MoreOfVote) {
    let Vote { user, choice, comment, at_ms, on_behalf_of, groups, form } = vote;
    (StoredVote { user, choice, comment, at_ms }, MoreOfVote { on_behalf_of, groups, form })
}

fn joined(vote: StoredVote, more: MoreOfVote) -> Vote {
    let StoredVote { user, choice, comment, at_ms } = vote;
    let MoreOfVote { on_behalf_of, groups, form } = more;
    Vote { user, choice, comment, at_ms, on_behalf_of, groups, form }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request as builds before the rules stored it.
    #[derive(Serialize)]
    struct Earlier {
        recipients: Vec<Arc<str>>,
        choices: Vec<Arc<str>>,
        required: u32,
        requested_ms: i64,
        deadline_ms: Option<i64>,
        reminder: Option<(i64, u32)>,
        reminded: u32,
        votes: Vec<StoredVote>,
    }

    fn plain(reminder: Option<(i64, u32)>) -> Request {
        let spec: Value =
            serde_json::from_str(r#"{"recipients": ["ada", "bob"], "choices": ["yes", "no"]}"#).expect("this is JSON");
        let mut request = Request::open(&spec, 7).expect("the request is valid");
        request.reminder = reminder;
        request.required = 2;
        request.record_vote(Vote { comment: Some("fine".into()), ..Vote::new("ada".into(), "yes".into(), 9) });
        request
    }

    #[test]
    fn requests_without_rules_have_the_bytes_of_earlier_builds() {
        for reminder in [None, Some((-3, 7)), Some((86_400_000, u32::MAX))] {
            let request = plain(reminder);
            let earlier = Earlier {
                recipients: request.recipients.clone(),
                choices: request.choices.clone(),
                required: 2,
                requested_ms: 7,
                deadline_ms: None,
                reminder,
                reminded: 0,
                votes: request.votes.iter().cloned().map(|vote| split(vote).0).collect(),
            };
            let bytes = postcard::to_allocvec(&earlier).expect("it can be stored");
            assert_eq!(postcard::to_allocvec(&request).expect("it can be stored"), bytes);
            assert_eq!(postcard::from_bytes::<Request>(&bytes).expect("it is readable"), request);
        }
    }

    #[test]
    fn requests_with_rules_and_delegations_are_stored_completely() {
        let mut delegated = plain(Some((5, 5)));
        delegated.delegate(&"bob".into(), Some(("eve".into(), 99)));
        let mut ruled = delegated.clone();
        ruled.rules = Some(Box::new(Rules { end_early: true, shown_hash: "abc".into(), ..Rules::default() }));
        ruled.votes[0].form = Some(Value::Int(1));
        for request in [delegated, ruled] {
            let bytes = postcard::to_allocvec(&request).expect("it can be stored");
            assert_eq!(postcard::from_bytes::<Request>(&bytes).expect("it is readable"), request);
        }
    }
}
