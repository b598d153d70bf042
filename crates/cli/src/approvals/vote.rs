//! An answer to a question: it is kept, and the run goes on here unless another process drives it.

use std::process::ExitCode;

use anyhow::{Result, bail};
use branchpoint_core::Event;
use branchpoint_expr::Value;
use branchpoint_host::people::{QuestionKey, RESUME};

use super::open::{self, Open, late, text};
use crate::drive::{Drive, Live, TakenBy, Until};
use crate::foreground::quoted;
use crate::opened::Opened;
use crate::project::{Project, StoreArguments};
use crate::runs::Follower;
use crate::{drive, exit, masked, moment, terminal};

/// Choices that mean yes, in any case.
const YES: [&str; 8] = ["approve", "approved", "yes", "ok", "accept", "allow", "confirm", "true"];

/// Choices that mean no.
const NO: [&str; 8] = ["deny", "denied", "reject", "rejected", "no", "decline", "refuse", "false"];

/// What somebody says to a question, with a word or without.
#[derive(Clone, Copy)]
pub(super) enum Said<'a> {
    Yes(Option<&'a str>),
    No(Option<&'a str>),
    Choice(&'a str, Option<&'a str>),
    Off(Option<&'a str>),
}

pub(super) fn run(
    opened: Opened,
    arguments: &StoreArguments,
    approval: &str,
    said: Said<'_>,
    (user, live): (&str, Live),
    json: bool,
) -> Result<ExitCode> {
    let open = open::named(&opened, approval)?;
    if matches!(said, Said::Off(_)) {
        may_cancel(&opened.project, user)?;
    }
    let event = event(&open, said, user)?;
    let root = opened.store.root_of(open.row.run)?;
    let drive = Drive::new(opened, arguments, "approvals")?;
    if live.live
        && let Err(refused) = drive.wake(root, live.with())?
    {
        drive.leave()?;
        bail!("run `{}` cannot continue without its script: {refused}", open.row.id);
    }
    let follower = Follower::silent_if(json).beginning_now(drive.store(), root)?;
    let taken = match drive.give(open.row.run, &event)? {
        Ok(taken) => taken,
        Err(code) if open.question.is_overdue(moment::now_ms()) => {
            // The deadline has settled the approval just now, so the run continues.
            drive.until(Until::Rest, root, follower)?;
            bail!("Rejected: {}", refusal(&open, &code, user));
        }
        Err(code) => {
            drive.leave()?;
            bail!("Rejected: {}", refusal(&open, &code, user));
        }
    };
    let progress = Progress::of(&open, &event);
    if !json {
        terminal::tell(&progress.message(user));
    }
    if taken == TakenBy::Another {
        let status = drive.store().stands(root)?.as_str();
        drive.leave()?;
        return told(&open, &progress, status, "another process", json);
    }
    let (store, stands) = drive.until(Until::Rest, root, follower)?;
    if json {
        let status = stands.map_or("interrupted", branchpoint_core::ir::Status::as_str);
        return told(&open, &progress, status, "this process", json);
    }
    // The vote was taken, whatever becomes of the run; only an interruption has a status of its own.
    drive::tell(&store, root, stands, false)?;
    Ok(if stands.is_none() { ExitCode::from(exit::INTERRUPTED) } else { ExitCode::SUCCESS })
}

fn told(open: &Open, progress: &Progress, status: &str, driven_by: &str, json: bool) -> Result<ExitCode> {
    if json {
        let told = masked::object([
            ("approval", Value::from(open.name())),
            ("taken", Value::Bool(true)),
            ("votes", progress.quorum.map_or(Value::Null, |(votes, _)| masked::count(votes))),
            ("required", progress.quorum.map_or(Value::Null, |(_, required)| masked::count(required))),
            ("status", Value::from(status)),
            ("driven_by", Value::from(driven_by)),
        ]);
        terminal::print(&(serde_json::to_string_pretty(&told)? + "\n"))?;
    } else {
        terminal::tell(&format!("Run `{}` goes on in {driven_by}.\n", open.row.id));
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
    fn of(open: &Open, event: &Event) -> Self {
        let Event::Signal { name, payload, .. } = event else { return Self { what: "answer", quorum: None } };
        let choice = payload.get("choice").and_then(Value::as_str);
        let quorum = open.question.request.as_ref().zip(choice).map(|(request, choice)| {
            let before = request.votes.iter().filter(|vote| &*vote.choice == choice).count() as u64;
            (before + 1, u64::from(request.required))
        });
        let what = match &**name {
            "cancel_request" => "cancellation",
            _ if quorum.is_some() => "vote",
            _ => "answer",
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
            "nobody may call a question off here: {} names no owner and no admins\n\
             help: write `[people]` with `owner = \"{user}\"` into it",
            crate::project::FILE
        );
    }
    bail!("{user} may not call a question off; these may: {}\nhelp: act as one of them with --as", may.join(", "))
}

fn event(open: &Open, said: Said<'_>, user: &str) -> Result<Event> {
    let (name, payload) = match (&open.question.key, said) {
        (QuestionKey::Vote(request), Said::Off(reason)) => {
            let request = masked::count(request.0);
            ("cancel_request", masked::object([("request", request), ("reason", reason.map_or(Value::Null, text))]))
        }
        (QuestionKey::Vote(request), said) => {
            let (choice, comment) = choice(open, said)?;
            let payload = [
                ("request", masked::count(request.0)),
                ("choice", text(&choice)),
                ("comment", comment.map_or(Value::Null, text)),
            ];
            ("vote", masked::object(payload))
        }
        (_, Said::Off(_)) => {
            bail!("`{}` cannot be called off; reject it, or cancel the run with `branchpoint runs cancel`", open.name())
        }
        (_, said) => {
            let (choice, comment) = choice(open, said)?;
            let input = masked::object([("decision", text(&choice)), ("note", comment.map_or(Value::Null, text))]);
            (RESUME, masked::object([("id", text(&open.question.step)), ("input", input)]))
        }
    };
    Ok(Event::Signal { name: name.into(), payload, sender: Some(user.into()), key: None })
}

/// The choice that is meant, and the word with it.
fn choice<'a>(open: &Open, said: Said<'a>) -> Result<(String, Option<&'a str>)> {
    let (words, asked, comment) = match said {
        Said::Yes(comment) => (YES, "approve", comment),
        Said::No(comment) => (NO, "reject", comment),
        Said::Choice(choice, comment) => return Ok((choice.to_owned(), comment)),
        Said::Off(reason) => return Ok((String::new(), reason)),
    };
    let choices = open.choices();
    let meant = choices.iter().find(|choice| words.contains(&choice.trim().to_lowercase().as_str()));
    match meant {
        Some(meant) => Ok((meant.clone(), comment)),
        None => bail!(
            "none of the choices of `{}` means {asked}: they are {}\n\
             help: branchpoint approvals vote {} CHOICE",
            open.name(),
            choices.join(", "),
            quoted(&open.name())
        ),
    }
}

/// Why an answer was refused, in plain words.
fn refusal(open: &Open, code: &str, user: &str) -> String {
    if let Some(deadline_ms) = open.question.deadline_ms().filter(|_| open.question.is_overdue(moment::now_ms())) {
        return late(&open.name(), deadline_ms);
    }
    let asked = open.question.request.as_ref();
    let recipients = asked.map(|asked| asked.recipients.join(", ")).unwrap_or_default();
    let voted = asked.and_then(|asked| asked.votes.iter().find(|vote| &*vote.user == user));
    match code {
        "not_recipient" => {
            format!("{user} is not an approver (approvers: {recipients})\nhelp: act as one of them with --as")
        }
        "already_voted" => {
            let choice = voted.map(|vote| format!(" for `{}`", vote.choice)).unwrap_or_default();
            format!("{user} has already voted{choice}, and votes cannot be changed")
        }
        "unknown_choice" => {
            format!("unknown choice (choices: {})", open.choices().join(", "))
        }
        "not_pending" => format!("`{}` is already settled or cancelled", open.name()),
        other if other.contains("not accepted") => {
            format!("`{}` accepts only approve or reject", open.name())
        }
        other => other.to_owned(),
    }
}
