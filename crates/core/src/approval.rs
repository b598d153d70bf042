//! Open approvals: the decisions that a run waits for, who may answer, and the event that carries an answer.
//!
//! There are two kinds. A request (see [`Request`]) has recipients, choices and votes. A program with the signal `resume` lists its
//! open approvals in the view `approvals`, as `[{id, prompt}]`, and the first answer settles an approval.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_expr::{Object, Value};

use crate::advance::Rejected;
use crate::event::Event;
use crate::functions::approval_decision;
use crate::ir::{Program, ViewId};
use crate::offers::{Offer, offers, view};
use crate::request::{ApprovalForm, Ballot, CANCEL_REQUEST, DELEGATE, Request, Rules, VOTE, object};
use crate::state::{RequestNo, State};

/// The signal that answers an approval of the view `approvals`: `{id?, input}`.
///
/// ```
/// use branchpoint_core::{ApprovalKey, Event, RESUME};
///
/// let event = ApprovalKey::Step("ask".into()).answer(None, &"yes".into(), None);
/// assert!(matches!(event, Event::Signal { name, .. } if &*name == RESUME));
/// ```
pub const RESUME: &str = "resume";

/// The signal that carries a line of a conversation.
///
/// ```
/// use branchpoint_core::{ApprovalKey, Event, LINE};
///
/// let event = ApprovalKey::Line.answer(None, &"Hello".into(), None);
/// assert!(matches!(event, Event::Signal { name, .. } if &*name == LINE));
/// ```
pub const LINE: &str = "line";

/// The view of the approvals that the signal `resume` answers.
const APPROVALS: &str = "approvals";

/// The choices of an approval that the signal `resume` answers.
const DECISIONS: [&str; 2] = ["approve", "reject"];

/// Identifies an open approval within its run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApprovalKey {
    /// A request that people vote on.
    Request(RequestNo),
    /// An approval that the first answer settles, by the id of its step.
    Step(Arc<str>),
    /// The next line of a conversation; any text answers it.
    Line,
}

/// An approval that a run waits for.
#[derive(Clone, Debug, PartialEq)]
pub struct Approval {
    /// Identifies the approval within its run.
    pub key: ApprovalKey,
    /// The step that waits for the approval.
    pub step: Arc<str>,
    /// The positions of the enclosing items, outermost first.
    pub path: Vec<u32>,
    /// The text shown to approvers.
    pub prompt: String,
    /// The request as the workflow wrote it; null if people do not vote.
    pub spec: Value,
    /// Recipients, votes, quorum and deadline, if people vote.
    pub request: Option<Request>,
}

/// The open approvals of a run. `specs` are its requests as the workflow wrote them.
///
/// ```
#[doc = include_str!("../docs/approval.txt")]
/// let open = approvals(&program, &state, &BTreeMap::new());
/// assert_eq!(open[0].choices(), ["yes".into(), "no".into()]);
/// ```
pub fn approvals(program: &Program, state: &State, specs: &BTreeMap<RequestNo, Value>) -> Vec<Approval> {
    let mut open = Vec::new();
    for offer in offers(program, state) {
        match offer {
            Offer::Vote { request, details } => {
                let spec = specs.get(&request).cloned().unwrap_or_default();
                let path = state.request_path(program, request).unwrap_or_default();
                open.push(Approval { path, ..Approval::vote(request, details, spec) });
            }
            Offer::Signal { name, .. } if &*name == LINE => open.push(Approval::line()),
            Offer::Signal { name, .. } if &*name == RESUME => {
                let listed = program.views.iter().position(|view| &*view.name == APPROVALS);
                let listed = listed.and_then(|at| view(program, state, ViewId(u32::try_from(at).ok()?)).ok());
                let listed = listed.as_ref().and_then(Value::as_list).unwrap_or_default();
                open.extend(listed.iter().filter_map(Approval::step));
            }
            Offer::Signal { .. } => {}
        }
    }
    open
}

impl Approval {
    fn vote(request: RequestNo, details: Request, spec: Value) -> Self {
        let part = |key: &str| spec.get(key).filter(|value| **value != Value::Null).map(Value::to_string);
        Self {
            key: ApprovalKey::Request(request),
            step: part("step").unwrap_or_else(|| "people".into()).into(),
            path: Vec::new(),
            prompt: part("prompt").unwrap_or_default(),
            spec,
            request: Some(details),
        }
    }

    fn line() -> Self {
        Self {
            key: ApprovalKey::Line,
            step: LINE.into(),
            path: Vec::new(),
            prompt: String::new(),
            spec: Value::Null,
            request: None,
        }
    }

    fn step(listed: &Value) -> Option<Self> {
        let step: Arc<str> = listed.get("id")?.as_str()?.into();
        let prompt = listed.get("prompt").map(Value::to_string).unwrap_or_default();
        Some(Self {
            key: ApprovalKey::Step(step.clone()),
            step,
            path: Vec::new(),
            prompt,
            spec: Value::Null,
            request: None,
        })
    }

    /// The possible answers; empty if any text is accepted.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// assert_eq!(approval.choices(), ["yes".into(), "no".into()]);
    /// ```
    pub fn choices(&self) -> Vec<Arc<str>> {
        match (&self.request, &self.key) {
            (Some(request), _) => request.choices.clone(),
            (None, ApprovalKey::Step(_)) => DECISIONS.map(Arc::from).to_vec(),
            (None, _) => Vec::new(),
        }
    }

    /// The first choice that approves, or that rejects.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// assert_eq!(approval.choice_meaning(true).as_deref(), Some("yes"));
    /// assert_eq!(approval.choice_meaning(false).as_deref(), Some("no"));
    /// ```
    pub fn choice_meaning(&self, approves: bool) -> Option<Arc<str>> {
        self.choices().into_iter().find(|choice| approval_decision(choice) == Some(approves))
    }

    /// The users who may answer; empty if everyone may.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// assert_eq!(approval.recipients(), ["ada".into(), "bob".into()]);
    /// ```
    pub fn recipients(&self) -> &[Arc<str>] {
        self.request.as_ref().map_or(&[], |request| &request.recipients)
    }

    /// The users who have voted.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// let vote = approval.key.answer(Some("ada"), &"yes".into(), None);
    /// advance(&program, &mut state, &Stamp::default(), vote)?;
    /// let approval = approvals(&program, &state, &BTreeMap::new()).remove(0);
    /// assert_eq!(approval.voters().count(), 1);
    /// # Ok::<(), Rejected>(())
    /// ```
    pub fn voters(&self) -> impl Iterator<Item = &Arc<str>> {
        self.request.iter().flat_map(|request| &request.votes).map(|vote| &vote.user)
    }

    /// Recipients who have not voted.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// assert_eq!(approval.missing_voters(), ["ada".into(), "bob".into()]);
    /// ```
    pub fn missing_voters(&self) -> Vec<Arc<str>> {
        let Some(request) = &self.request else { return Vec::new() };
        request.recipients.iter().filter(|user| !request.has_voted(user)).cloned().collect()
    }

    /// Whether a user may answer at a time and has not, as a recipient or as the delegate of one.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// assert!(approval.awaits("ada", 0) && !approval.awaits("eve", 0));
    /// ```
    pub fn awaits(&self, user: &str, now_ms: i64) -> bool {
        let Some(request) = &self.request else { return true };
        (request.is_recipient(user) && !request.has_voted(user)) || request.delegation_to(user, now_ms).is_some()
    }

    fn rules(&self) -> Option<&Rules> {
        self.request.as_ref()?.rules.as_deref()
    }

    /// The form that a vote must carry; none if the approval has no form.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// assert_eq!(approval.form(), None);
    /// ```
    pub fn form(&self) -> Option<ApprovalForm> {
        self.rules()?.form()
    }

    /// The proposed values of the form, by field.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// assert_eq!(approval.form_defaults(), Value::Null);
    /// ```
    pub fn form_defaults(&self) -> Value {
        self.rules().map(|rules| rules.defaults.clone()).unwrap_or_default()
    }

    /// What the approval shows beside its prompt.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// assert_eq!(approval.shown(), None);
    /// ```
    pub fn shown(&self) -> Option<&Value> {
        self.spec.get("show").filter(|shown| **shown != Value::Null)
    }

    /// What has changed since the earlier approval that this one replaces, as `[{path, before, after}]`.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// assert!(approval.changes().is_empty());
    /// ```
    pub fn changes(&self) -> &[Value] {
        self.spec.get("changed").and_then(Value::as_list).unwrap_or_default()
    }

    /// The hash of what voters see; none if the approval cannot change while it is open.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// assert_eq!(approval.shown_hash(), None);
    /// ```
    pub fn shown_hash(&self) -> Option<&Arc<str>> {
        self.rules().map(|rules| &rules.shown_hash)
    }

    /// A vote for a choice, with the hash of what this approval shows, and with an empty form where the approval needs one. The
    /// defaults of the form then apply.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// assert_eq!(approval.ballot("yes"), Ballot::new("yes"));
    /// ```
    pub fn ballot(&self, choice: &str) -> Ballot {
        let needs_form = self.rules().is_some_and(|rules| rules.form != Value::Null);
        let form = (needs_form && approval_decision(choice) != Some(false)).then(|| Value::from(Object::default()));
        Ballot { form, shown_hash: self.shown_hash().cloned(), ..Ballot::new(choice) }
    }

    /// The time when the approval expires.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// assert_eq!(approval.deadline_ms(), Some(5_000));
    /// ```
    pub fn deadline_ms(&self) -> Option<i64> {
        self.request.as_ref().and_then(|request| request.deadline_ms)
    }

    /// Whether the deadline has passed.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// assert!(!approval.is_overdue(4_999) && approval.is_overdue(5_000));
    /// ```
    pub fn is_overdue(&self, now_ms: i64) -> bool {
        self.deadline_ms().is_some_and(|deadline_ms| deadline_ms <= now_ms)
    }
}

impl ApprovalKey {
    /// The event that carries a user's answer.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// for user in ["ada", "bob"] {
    ///     let vote = approval.key.answer(Some(user), &"yes".into(), None);
    ///     advance(&program, &mut state, &Stamp::default(), vote)?;
    /// }
    /// assert_eq!(status(&program, &state), Status::Completed);
    /// # Ok::<(), Rejected>(())
    /// ```
    pub fn answer(&self, user: Option<&str>, choice: &Value, comment: Option<&str>) -> Event {
        let comment = comment.map(Value::from);
        let (name, payload) = match self {
            Self::Request(request) => {
                let choice = choice.as_str().map_or_else(|| Value::from(choice.to_string()), Value::from);
                let mut vote = object([("request", number(*request)), ("choice", choice)]);
                vote.extend(comment.map(|comment| (Arc::from("comment"), comment)));
                (VOTE, Value::from(vote))
            }
            Self::Step(step) => {
                let input = match comment {
                    Some(note) => Value::from(object([("decision", choice.clone()), ("note", note)])),
                    None => choice.clone(),
                };
                (RESUME, Value::from(object([("id", Value::Str(step.clone())), ("input", input)])))
            }
            Self::Line => (LINE, choice.clone()),
        };
        signal(name, payload, user)
    }

    /// The event that carries a user's vote with everything that a vote can have. Only requests have forms; other approvals get the choice
    /// and the comment.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// let ballot = Ballot { comment: Some("fine".into()), ..approval.ballot("yes") };
    /// advance(&program, &mut state, &Stamp::default(), approval.key.vote("ada", &ballot))?;
    /// # Ok::<(), Rejected>(())
    /// ```
    pub fn vote(&self, user: &str, ballot: &Ballot) -> Event {
        let choice = Value::Str(ballot.choice.clone());
        let event = self.answer(Some(user), &choice, ballot.comment.as_deref());
        let Event::Signal { name, payload, sender, key } = event else { return event };
        let mut fields = match payload {
            Value::Object(fields) if matches!(self, Self::Request(_)) => fields.into_parts(),
            payload => return Event::Signal { name, payload, sender, key },
        };
        fields.extend(ballot.form.clone().map(|form| (Arc::from("form"), form)));
        fields.extend(ballot.shown_hash.clone().map(|hash| (Arc::from("shown_hash"), Value::Str(hash))));
        Event::Signal { name, payload: Value::from(fields), sender, key }
    }

    /// The event by which a recipient names a delegate until a time, or revokes a delegation; none if people do not vote.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// let delegate = approval.key.delegate("ada", Some(("eve", 2_000))).unwrap();
    /// advance(&program, &mut state, &Stamp::default(), delegate)?;
    /// let approval = approvals(&program, &state, &BTreeMap::new()).remove(0);
    /// assert!(approval.awaits("eve", 1_999) && !approval.awaits("eve", 2_000));
    /// # Ok::<(), Rejected>(())
    /// ```
    pub fn delegate(&self, recipient: &str, to: Option<(&str, i64)>) -> Option<Event> {
        let Self::Request(request) = self else { return None };
        let mut payload = object([("request", number(*request)), ("to", Value::Null)]);
        if let Some((to, until_ms)) = to {
            payload.extend(object([("to", Value::from(to)), ("until_ms", Value::Int(until_ms))]));
        }
        Some(signal(DELEGATE, Value::from(payload), Some(recipient)))
    }

    /// The event that cancels the approval; none if the approval cannot be cancelled on its own.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// let cancel = approval.key.cancel(Some("eve"), Some("no longer needed")).unwrap();
    /// advance(&program, &mut state, &Stamp::default(), cancel)?;
    /// assert!(approvals(&program, &state, &BTreeMap::new()).is_empty());
    /// # Ok::<(), Rejected>(())
    /// ```
    pub fn cancel(&self, user: Option<&str>, reason: Option<&str>) -> Option<Event> {
        let Self::Request(request) = self else { return None };
        let mut payload = object([("request", number(*request))]);
        payload.extend(reason.map(|reason| (Arc::from("reason"), Value::from(reason))));
        Some(signal(CANCEL_REQUEST, Value::from(payload), user))
    }
}

/// Whether a choice approves (true) or rejects (false); none for all other choices.
///
/// ```
/// use branchpoint_core::choice_meaning;
///
/// assert_eq!((choice_meaning("approve"), choice_meaning("no"), choice_meaning("later")), (Some(true), Some(false), None));
/// ```
pub fn choice_meaning(choice: &str) -> Option<bool> {
    approval_decision(choice)
}

/// Whether a signal answers, delegates or cancels an approval.
///
/// ```
/// use branchpoint_core::{RESUME, VOTE, is_approval_signal};
///
/// assert!(is_approval_signal(VOTE) && is_approval_signal(RESUME) && !is_approval_signal("paid"));
/// ```
pub fn is_approval_signal(name: &str) -> bool {
    matches!(name, VOTE | DELEGATE | CANCEL_REQUEST | RESUME)
}

fn number(request: RequestNo) -> Value {
    Value::Int(i64::try_from(request.0).unwrap_or(i64::MAX))
}

fn signal(name: &str, payload: Value, sender: Option<&str>) -> Event {
    Event::Signal { name: name.into(), payload, sender: sender.map(Into::into), key: None }
}

/// The code of a rejected `resume` signal with this payload: `not_paused`, `not_waiting` or `bad_approval_input`.
///
/// ```
/// use branchpoint_core::{Rejected, resume_rejection};
///
/// let payload = [("id".into(), "ask".into())].into_iter().collect::<branchpoint_expr::Object>().into();
/// assert_eq!(resume_rejection(&Rejected::NotAccepted("resume".into()), &payload, &[]), "not_waiting");
/// assert_eq!(resume_rejection(&Rejected::Ended, &payload, &[]), "not_paused");
/// ```
pub fn resume_rejection(rejected: &Rejected, payload: &Value, open: &[Approval]) -> &'static str {
    let id = payload.get("id").and_then(Value::as_str);
    let is_open =
        |id: &str| open.iter().any(|approval| matches!(&approval.key, ApprovalKey::Step(step) if &**step == id));
    match rejected {
        Rejected::NotAccepted(_) if id.is_some_and(|id| !is_open(id)) => "not_waiting",
        Rejected::NotAccepted(_) | Rejected::TooDeep | Rejected::TooLarge(_) => "bad_approval_input",
        _ => "not_paused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(choices: &[&str], approves: bool, expect: Option<&str>) {
        let choices: Vec<Value> = choices.iter().map(|choice| Value::from(*choice)).collect();
        let recipients = Value::from(vec![Value::from("ada")]);
        let spec = Value::from(object([("recipients", recipients), ("choices", Value::from(choices))]));
        let request = Request::open(&spec, 0).expect("the request is valid");
        let approval = Approval::vote(RequestNo(1), request, spec);
        assert_eq!(approval.choice_meaning(approves).as_deref(), expect);
    }

    #[test]
    fn a_decision_is_the_first_choice_that_means_it() {
        check(&["later", " Approved", "yes", "deny"], true, Some(" Approved"));
        check(&["later", "Approve", "deny", "no"], false, Some("deny"));
        check(&["not ok", "send"], true, None);
        check(&["not ok", "send"], false, None);
    }
}
