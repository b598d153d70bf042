//! Records a vote or an answer. The run continues in this process unless another process drives it.

use std::process::ExitCode;

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use branchpoint_backend::{Backend, BackendError, HandledBy, OpenApproval, Rejection};
use branchpoint_core::{ApprovalKey, Event, Rejected, VoteRejection, resume_rejection};
use branchpoint_expr::Value;

use super::find::{self, late};
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
    Decision(bool, Option<&'a str>),
    Choice(&'a str, Option<&'a str>),
    Cancel(Option<&'a str>),
}

pub(super) fn run(
    opened: StoreAccess,
    arguments: &StoreArguments,
    approval: &str,
    response: Response<'_>,
    (user, live): (&str, Live),
    json: bool,
) -> Result<ExitCode> {
    let open = find::named(&opened, approval)?;
    if matches!(response, Response::Cancel(_)) {
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
    let progress = Progress::of(&open, response, &event);
    if !json {
        terminal::message(&progress.message(user));
    }
    if handled_by == HandledBy::AnotherProcess {
        let status = drive.store().status(root)?.as_str();
        drive.leave()?;
        return report_vote(&open, &progress, status, "another process", json);
    }
    let (store, stands) = drive.until(Until::Rest, root, follower)?;
    if json {
        let status = stands.map_or("interrupted", branchpoint_core::ir::Status::as_str);
        return report_vote(&open, &progress, status, "this process", json);
    }
    // The vote is recorded even if the run fails; only an interruption has an exit status of its own.
    run_driver::report(&*store, root, stands, false)?;
    Ok(if stands.is_none() { ExitCode::from(exit::INTERRUPTED) } else { ExitCode::SUCCESS })
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
    /// The votes for the choice, and how many it needs.
    quorum: Option<(u64, u64)>,
}

impl Progress {
    fn of(open: &OpenApproval, response: Response<'_>, event: &Event) -> Self {
        let Event::Signal { payload, .. } = event else { return Self { what: "answer", quorum: None } };
        let choice = payload.get("choice").and_then(Value::as_str);
        let quorum = open.approval.request.as_ref().zip(choice).map(|(request, choice)| {
            let before = request.votes.iter().filter(|vote| &*vote.choice == choice).count() as u64;
            (before + 1, u64::from(request.required))
        });
        let what = match (response, quorum) {
            (Response::Cancel(_), _) => "cancellation",
            (_, Some(_)) => "vote",
            (_, None) => "answer",
        };
        Self { what, quorum }
    }

    fn message(&self, user: &str) -> String {
        let quorum = self.quorum.map(|(votes, required)| format!(" ({votes} of {required})")).unwrap_or_default();
        format!("Recorded {user}'s {}{quorum}.\n", self.what)
    }
}

/// Only the owner and the admins of the project may call a question off.
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
    let (choice, comment) = match response {
        Response::Decision(approves, comment) => (choice_meaning(open, approves)?, comment),
        Response::Choice(choice, comment) => (choice.into(), comment),
        Response::Cancel(reason) => {
            return key.cancel(Some(user), reason).with_context(|| {
                let name = reference_to(open);
                format!("`{name}` cannot be cancelled; reject it, or cancel the run with `branchpoint runs cancel`")
            });
        }
    };
    Ok(key.answer(Some(user), &Value::Str(choice), comment))
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
