//! `branchpoint approvals`: lists and answers the approvals of runs.

mod find;
mod form;
mod link;
mod text;
mod vote;

use std::process::ExitCode;

use anyhow::{Result, bail};
use branchpoint_backend::OpenApproval;
use branchpoint_expr::Value;

use crate::project::Reach;
use crate::run_driver::Live;
use crate::server_option::ServerCommand;
use crate::store_access::StoreAccess;
use crate::table::{facts, table};
use crate::{json, terminal, time};
use find::readable;
use form::FormArguments;
pub(crate) use link::link_to;
pub(crate) use text::{command, describe, facts_of, missing_voters, quoted, reference, shown_with_command, to_value};
use vote::{Remarks, Response};

/// List and answer the approvals of runs
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("about.txt")),
    after_long_help = terminal::page(include_str!("after.txt")),
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    on: ServerCommand,

    /// Acting user [default: `BRANCHPOINT_USER`, branchpoint.toml, or your login name]
    #[arg(long = "as", value_name = "USER", global = true)]
    user: Option<String>,

    #[command(flatten)]
    live: Live,

    #[command(flatten)]
    reach: Reach,

    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List open approvals, oldest first
    List {
        /// Only approvals waiting for the acting user
        #[arg(long)]
        mine: bool,
    },
    /// Show an approval and its votes
    Show {
        /// A run with one open approval, RUN/N or RUN/STEP
        approval: String,
    },
    /// Approve
    Approve(Answer),
    /// Reject
    Reject(Answer),
    /// Vote for one of the choices
    Vote {
        /// A run with one open approval, RUN/N or RUN/STEP
        approval: String,
        /// One of its choices
        choice: String,
        /// Comment with the vote
        #[arg(long, value_name = "TEXT")]
        comment: Option<String>,
        #[command(flatten)]
        form: FormArguments,
    },
    /// Let another person vote in your place
    #[command(group = clap::ArgGroup::new("delegation").required(true).args(["to", "revoke"]))]
    Delegate {
        /// A run with one open approval, RUN/N or RUN/STEP
        approval: String,
        /// Delegate
        #[arg(long, value_name = "USER", requires = "until")]
        to: Option<String>,
        /// How long the delegation lasts, such as `2d` or `4h`
        #[arg(long, value_name = "DURATION", conflicts_with = "revoke")]
        until: Option<String>,
        /// Revoke the delegation
        #[arg(long)]
        revoke: bool,
    },
    /// Create a link with which one person votes without signing in
    Link(link::Arguments),
    /// Cancel an approval, as owner or admin of branchpoint.toml
    Cancel {
        /// A run with one open approval, RUN/N or RUN/STEP
        approval: String,
        /// Reason
        #[arg(long, value_name = "TEXT", alias = "comment")]
        reason: Option<String>,
    },
}

#[derive(clap::Args)]
struct Answer {
    /// A run with one open approval, RUN/N or RUN/STEP
    approval: String,
    /// Comment with the vote
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    #[command(flatten)]
    form: FormArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let on = arguments.on.resolve()?;
    let opened = StoreAccess::existing(&on.store)?.reaching(arguments.reach);
    let user = opened.user(arguments.user.as_deref())?;
    let answer = |approval: &str, response: Response<'_>, opened: StoreAccess| {
        vote::run(opened, &on.store, approval, response, (&user, arguments.live), on.json)
    };
    match &arguments.command {
        Command::List { mine } => list(&opened, mine.then_some(&*user), on.json),
        Command::Show { approval } => show(&opened, approval, on.json),
        Command::Approve(Answer { approval, comment, form }) => {
            answer(approval, Response::Decision(true, Remarks { comment: comment.as_deref(), form }), opened)
        }
        Command::Reject(Answer { approval, comment, form }) => {
            answer(approval, Response::Decision(false, Remarks { comment: comment.as_deref(), form }), opened)
        }
        Command::Vote { approval, choice, comment, form } => {
            answer(approval, Response::Choice(choice, Remarks { comment: comment.as_deref(), form }), opened)
        }
        Command::Delegate { approval, to, until, revoke: _ } => {
            let until_ms = until.as_deref().map(delegation_end).transpose()?;
            answer(approval, Response::Delegate(to.as_deref().zip(until_ms)), opened)
        }
        Command::Link(link) => link::run(&opened, &on.store, link, on.json),
        Command::Cancel { approval, reason } => answer(approval, Response::Cancel(reason.as_deref()), opened),
    }
}

/// The end of a delegation that lasts for a duration from now.
fn delegation_end(lasting: &str) -> Result<i64> {
    let Some(ms) = branchpoint_expr::duration_ms(lasting).and_then(|ms| i64::try_from(ms).ok()).filter(|ms| *ms > 0)
    else {
        bail!("`--until {lasting}` must be a duration, such as `2d`, `4h` or `30m`");
    };
    Ok(time::now_ms().saturating_add(ms))
}

fn list(opened: &StoreAccess, mine: Option<&str>, json: bool) -> Result<ExitCode> {
    let mut open = readable(opened.store.open_approvals()?);
    open.retain(|open| mine.is_none_or(|user| open.approval.awaits(user, time::now_ms())));
    if json {
        let approvals = open.iter().map(|open| with_workflow(opened, open)).collect::<Result<Vec<_>>>()?;
        return terminal::print_json(&Value::from(approvals));
    }
    if open.is_empty() {
        terminal::message(&mine.map_or("Nothing waits for people.\n".to_owned(), |user| {
            format!("Nothing waits for {user}. Without --mine, all open approvals are listed.\n")
        }));
        return Ok(ExitCode::SUCCESS);
    }
    let now_ms = time::now_ms();
    let rows = open.iter().map(|open| {
        let approval = &open.approval;
        let deadline = approval.deadline_ms().map(|at_ms| {
            if approval.is_overdue(now_ms) {
                format!("overdue by {}", time::duration(now_ms - at_ms))
            } else {
                format!("in {}", time::duration(at_ms - now_ms))
            }
        });
        let requested = format!("{} ago", time::duration(now_ms - open.requested_ms));
        let (step, deadline) = (approval.step.to_string(), deadline.unwrap_or_default());
        Ok([
            text::reference_to(open),
            opened.store.document(open.workflow)?.name,
            step,
            requested,
            deadline,
            missing_voters(approval),
        ])
    });
    let rows = rows.collect::<Result<Vec<_>>>()?;
    terminal::print_styled(&table(["APPROVAL", "WORKFLOW", "STEP", "REQUESTED", "DEADLINE", "WAITS FOR"], &rows))?;
    Ok(ExitCode::SUCCESS)
}

fn show(opened: &StoreAccess, name: &str, json: bool) -> Result<ExitCode> {
    let open = find::by_name(opened, name)?;
    if json {
        return terminal::print_json(&with_workflow(opened, &open)?);
    }
    let (secrets, approval) = (opened.store.secrets(open.run)?, &open.approval);
    let mut lines = vec![
        ("approval", text::reference_to(&open)),
        ("run", open.id.clone()),
        ("step", approval.step.to_string()),
        ("requested", time::local(open.requested_ms)),
        ("question", approval.prompt.clone()),
        ("choices", approval.choices().join(", ")),
    ];
    lines.extend(text::shown_parts(approval));
    if let Some(request) = &approval.request {
        lines.push(("approvers", request.recipients.join(", ")));
        let needs = text::group_needs(request);
        lines.push((
            "needs",
            needs.unwrap_or_else(|| match request.required {
                1 => "1 vote".to_owned(),
                required => format!("{required} votes for one choice"),
            }),
        ));
        lines.extend(text::rule_lines(request));
        let votes = request.votes.iter().map(|vote| {
            let comment = vote.comment.as_deref().map(|comment| format!(" \"{comment}\"")).unwrap_or_default();
            let form = vote.form.as_ref().map(|form| format!(" {form:?}")).unwrap_or_default();
            let of = vote.on_behalf_of.as_ref().map(|recipient| format!(" for {recipient}")).unwrap_or_default();
            format!("{}{of} {}{form}{comment}, {}", vote.user, vote.choice, time::local(vote.at_ms))
        });
        let votes: Vec<String> = votes.collect();
        lines.push(("votes", if votes.is_empty() { "none yet".into() } else { votes.join("\n") }));
    }
    let overdue = if approval.is_overdue(time::now_ms()) { ", overdue" } else { "" };
    lines.extend(approval.deadline_ms().map(|at_ms| ("deadline", format!("{}{overdue}", time::local(at_ms)))));
    lines.extend(text::answer_command(&open).map(|command| ("to answer", command)));
    let lines: Vec<_> = lines.into_iter().map(|(name, fact)| (name, secrets.mask(&fact).into_owned())).collect();
    terminal::print_styled(&facts(&lines))?;
    Ok(ExitCode::SUCCESS)
}

/// An approval as JSON, with the name of its workflow.
fn with_workflow(opened: &StoreAccess, open: &OpenApproval) -> Result<Value> {
    let mut approval = to_value(open, &opened.store.secrets(open.run)?);
    let name = Value::from(opened.store.document(open.workflow)?.name);
    json::insert(&mut approval, "workflow", name);
    Ok(approval)
}
