//! Records a vote or an answer. The run continues in this process unless another process drives it.

use std::process::ExitCode;

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use branchpoint_backend::{Backend, BackendError, HandledBy, OpenApproval, Rejection};
use branchpoint_core::{ApprovalKey, Ballot, Event, Rejected, VoteRejection, resume_rejection};
use branchpoint_expr::Value;

use super::find::{self, late};
use super::form::FormArguments;
use super::text::{quoted, reference_to};
use crate::project::{Project, StoreArguments};
use crate::run_driver::{Live, RunDriver, Until};
use crate::runs::Follower;
use crate::store_access::StoreAccess;
use crate::{exit, json, run_driver, terminal, time};

/// A person's response to an approval, with a comment or a reason.
#[derive(Clone, Copy)]
pub(super) enum Response<'a> {
    /// Approve (true) or reject, by the choice that means so.
    Decision(bool, Remarks<'a>),
    Choice(&'a str, Remarks<'a>),
    Cancel(Option<&'a str>),
    /// Name a delegate until a time, or revoke the delegation.
    Delegate(Option<(&'a str, i64)>),
}

/// What a vote carries beside its choice.
#[derive(Clone, Copy)]
pub(super) struct Remarks<'a> {
    pub(super) comment: Option<&'a str>,
    pub(super) form: &'a FormArguments,
}

pub(super) fn run(
    opened: StoreAccess,
    arguments: &StoreArguments,
    approval: &str,
    response: Response<'_>,
    (user, live): (&str, Live),
    json: bool,
) -> Result<ExitCode> {
    let open = find::by_name(&opened, approval)?;
    // A server checks it itself.
    if matches!(response, Response::Cancel(_)) && !opened.is_server() {
        may_cancel(&opened.project, user)?;
    }
    let event = event(&open, response, user)?;
    let root = opened.store.root_of(open.run)?;
    let drive = RunDriver::new(opened, arguments, "approvals")?;
    if live.live
        && let Err(refused) = drive.resume(root, live.with())?
    {
        drive.leave()?;
        bail!("run `{}` cannot continue without its script: {refused}", open.id);
    }
    let follower = Follower::silent_if(json).beginning_now(drive.store(), root)?;
    let handled_by = match drive.send(open.run, &event)? {
        Ok(handled_by) => handled_by,
        Err(why) => {
            let rejection = rejection(&open, &why, &event, user, drive.store())?;
            if open.approval.is_overdue(time::now_ms()) {
                // The deadline has settled the approval just now, so the run continues.
                drive.until(Until::Rest, root, follower)?;
            } else {
                drive.leave()?;
            }
            bail!("Rejected: {rejection}");
        }
    };
    let progress = Progress::of(&open, response, &event, user);
    if !json {
        terminal::message(&progress.message(user));
    }
    if handled_by == HandledBy::AnotherProcess || matches!(response, Response::Delegate(_)) {
        let status = drive.store().status(root)?.as_str();
        drive.leave()?;
        if let (Response::Delegate(_), false) = (response, json) {
            return Ok(ExitCode::SUCCESS);
        }
        let driven_by = if handled_by == HandledBy::AnotherProcess { "another process" } else { "no process" };
        return report_vote(&open, &progress, status, driven_by, json);
    }
    let (store, status) = drive.until(Until::Rest, root, follower)?;
    if json {
        let status = status.map_or("interrupted", branchpoint_core::ir::Status::as_str);
        return report_vote(&open, &progress, status, "this process", json);
    }
    // The vote is recorded even if the run fails; only an interruption has an exit status of its own.
    run_driver::report(&*store, root, status, false)?;
    Ok(if status.is_none() { ExitCode::from(exit::INTERRUPTED) } else { ExitCode::SUCCESS })
}

fn report_vote(
    open: &OpenApproval,
    progress: &Progress,
    status: &str,
    driven_by: &str,
    json: bool,
) -> Result<ExitCode> {
    if json {
        let summary = json::object([
            ("approval", Value::from(reference_to(open))),
            ("taken", Value::Bool(true)),
            ("votes", progress.quorum.map_or(Value::Null, |(votes, _)| json::count(votes))),
            ("required", progress.quorum.map_or(Value::Null, |(_, required)| json::count(required))),
            ("status", Value::from(status)),
            ("driven_by", Value::from(driven_by)),
        ]);
        terminal::print_json(&summary)?;
    } else {
        terminal::message(&format!("Run `{}` resumes in {driven_by}.\n", open.id));
    }
    Ok(ExitCode::SUCCESS)
}

/// How far an approval is after an answer.
struct Progress {
    what: &'static str,
    /// What happened, if it is not a vote.
    done: Option<String>,
    /// The votes for the choice, and how many it needs.
    quorum: Option<(u64, u64)>,
    /// The votes of each group for the choice, and how many it needs.
    groups: Vec<(Arc<str>, u32, u32)>,
}

impl Progress {
    fn of(open: &OpenApproval, response: Response<'_>, event: &Event, user: &str) -> Self {
        let nothing = Self { what: "answer", done: None, quorum: None, groups: Vec::new() };
        let Event::Signal { payload, .. } = event else { return nothing };
        if let Response::Delegate(to) = response {
            let done = match to {
                Some((to, until_ms)) => format!("{to} may vote for {user} until {}.\n", time::local(until_ms)),
                None => format!("Revoked {user}'s delegation.\n"),
            };
            return Self { what: "delegation", done: Some(done), ..nothing };
        }
        let choice = payload.get("choice").and_then(Value::as_str);
        let counted = open.approval.request.as_ref().zip(choice).and_then(|(request, choice)| {
            let ballot = Ballot { form: payload.get("form").cloned(), ..Ballot::new(choice) };
            let vote = request.read_vote(user, ballot, time::now_ms()).ok()?;
            let after = request.after(vote.clone());
            let together = after.votes_with(&vote);
            Some(((together.len() as u64, u64::from(request.required)), after.progress_of(&together)))
        });
        let (quorum, groups) = counted.unzip();
        let groups = groups.unwrap_or_default();
        let what = match (response, quorum) {
            (Response::Cancel(_), _) => "cancellation",
            (_, Some(_)) => "vote",
            (_, None) => "answer",
        };
        let groups = groups.into_iter().map(|of| (of.group, of.votes, of.needed)).collect::<Vec<_>>();
        let quorum = quorum.filter(|_| groups.is_empty());
        Self { what, done: None, quorum, groups }
    }

    fn message(&self, user: &str) -> String {
        if let Some(done) = &self.done {
            return done.clone();
        }
        let quorum = self.quorum.map(|(votes, required)| format!(" ({votes} of {required})")).unwrap_or_default();
        let groups = self.groups.iter().map(|(group, votes, needed)| format!("{group} {votes} of {needed}"));
        let groups: Vec<String> = groups.collect();
        let groups = if groups.is_empty() { String::new() } else { format!(" ({})", groups.join(", ")) };
        format!("Recorded {user}'s {}{quorum}{groups}.\n", self.what)
    }
}

/// Only the owner and the admins of the project may cancel an approval.
fn may_cancel(project: &Project, user: &str) -> Result<()> {
    let people = &project.people;
    let mut may: Vec<&str> = people.owner.iter().map(String::as_str).collect();
    may.extend(people.admins.iter().map(String::as_str));
    if may.contains(&user) {
        return Ok(());
    }
    if may.is_empty() {
        bail!(
            "approvals cannot be cancelled: {} names no owner and no admins\n\
             help: add `[people]` with `owner = \"{user}\"` to it",
            crate::project::FILE
        );
    }
    bail!("{user} may not cancel approvals (allowed: {})\nhelp: act as one of them with --as", may.join(", "))
}

fn event(open: &OpenApproval, response: Response<'_>, user: &str) -> Result<Event> {
    let key = &open.approval.key;
    let (choice, remarks) = match response {
        Response::Decision(approves, remarks) => (choice_meaning(open, approves)?, remarks),
        Response::Choice(choice, remarks) => (choice.into(), remarks),
        Response::Delegate(to) => {
            return key.delegate(user, to).with_context(|| {
                let name = reference_to(open);
                format!("`{name}` cannot be delegated: anyone may answer it")
            });
        }
        Response::Cancel(reason) => {
            return key.cancel(Some(user), reason).with_context(|| {
                let name = reference_to(open);
                format!("`{name}` cannot be cancelled; reject it, or cancel the run with `branchpoint runs cancel`")
            });
        }
    };
    let ballot = open.approval.ballot(&choice);
    let form = remarks.form.read(&open.approval)?.or_else(|| ballot.form.clone());
    Ok(key.vote(user, &Ballot { comment: remarks.comment.map(Into::into), form, ..ballot }))
}

/// The choice that approves or rejects.
fn choice_meaning(open: &OpenApproval, approves: bool) -> Result<Arc<str>> {
    open.approval.choice_meaning(approves).with_context(|| {
        let name = reference_to(open);
        format!(
            "no choice of `{name}` means {}: the choices are {}\n\
             help: branchpoint approvals vote {} CHOICE",
            if approves { "approve" } else { "reject" },
            open.approval.choices().join(", "),
            quoted(&name)
        )
    })
}

/// The message for an answer that was rejected.
fn rejection(
    open: &OpenApproval,
    why: &BackendError,
    event: &Event,
    user: &str,
    store: &dyn Backend,
) -> Result<String> {
    let (name, approval) = (reference_to(open), &open.approval);
    if let Some(deadline_ms) = approval.deadline_ms().filter(|_| approval.is_overdue(time::now_ms())) {
        return Ok(late(&name, deadline_ms));
    }
    let BackendError::Rejection(Rejection::Rejected(rejected)) = why else { return Ok(run_driver::rejection(why)) };
    Ok(match (rejected, &approval.key) {
        (Rejected::Vote(VoteRejection::NotRecipient), _) => {
            let approvers = approval.recipients().join(", ");
            format!("{user} is not an approver (approvers: {approvers})\nhelp: act as one of them with --as")
        }
        (Rejected::Vote(VoteRejection::AlreadyVoted), _) => {
            let votes = approval.request.iter().flat_map(|request| &request.votes);
            let voted = votes.into_iter().find(|vote| &*vote.user == user);
            let choice = voted.map(|vote| format!(" for `{}`", vote.choice)).unwrap_or_default();
            format!("{user} has already voted{choice}, and votes cannot be changed")
        }
        (Rejected::Vote(VoteRejection::UnknownChoice), _) => {
            format!("unknown choice (choices: {})", approval.choices().join(", "))
        }
        (Rejected::Vote(VoteRejection::ApprovalOutdated), _) => {
            format!(
                "what `{name}` shows has changed\nhelp: look at it with `branchpoint approvals show {}`",
                quoted(&name)
            )
        }
        (Rejected::Vote(VoteRejection::BadForm { problem, .. }), _) => {
            let form = approval.form().map(|form| super::form::lines(&form, &approval.form_defaults()).join(", "));
            let help = form.map(|form| format!("\nhelp: its form has {form}")).unwrap_or_default();
            format!("{problem}{help}")
        }
        (Rejected::NotPending | Rejected::Ended, _) => format!("`{name}` is already settled or cancelled"),
        (rejected, ApprovalKey::Step(_)) => {
            let Event::Signal { payload, .. } = event else { return Ok(rejected.to_string()) };
            let now_open: Vec<_> = store.approvals(open.run)?.open.into_iter().map(|open| open.approval).collect();
            match resume_rejection(rejected, payload, &now_open) {
                "bad_approval_input" => format!("`{name}` accepts only {}", approval.choices().join(" or ")),
                _ => format!("`{name}` is already settled"),
            }
        }
        (rejected, _) => rejected.to_string(),
    })
}
