//! `branchpoint approvals`: what people are asked, and their answers.

mod open;
mod vote;

use std::process::ExitCode;

use anyhow::Result;
use branchpoint_expr::Value;

use crate::drive::Live;
use crate::foreground::command;
use crate::opened::Opened;
use crate::project::{Reach, StoreArguments};
use crate::table::{facts, table};
use crate::{masked, moment, terminal};
use open::Open;
use vote::Said;

/// List and answer what runs ask people
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("about.txt")),
    after_long_help = terminal::page(include_str!("after.txt")),
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    store: StoreArguments,

    /// Print JSON
    #[arg(long, short, global = true)]
    json: bool,

    /// Who acts; without it, `BRANCHPOINT_USER`, else the user of branchpoint.toml, else your login name
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
    /// List what waits for people, the oldest first
    List {
        /// Only what waits for the one who acts
        #[arg(long)]
        mine: bool,
    },
    /// Show a question with the votes so far
    Show {
        /// A run with one open approval, RUN/N or RUN/STEP
        approval: String,
    },
    /// Say yes
    Approve(Answer),
    /// Say no
    Reject(Answer),
    /// Vote for one of the choices
    Vote {
        /// A run with one open approval, RUN/N or RUN/STEP
        approval: String,
        /// One of its choices
        choice: String,
        /// A word with the vote
        #[arg(long, value_name = "TEXT")]
        comment: Option<String>,
    },
    /// Call a question off; only the owner and the admins of branchpoint.toml may
    Cancel {
        /// A run with one open approval, RUN/N or RUN/STEP
        approval: String,
        /// Why
        #[arg(long, value_name = "TEXT", alias = "comment")]
        reason: Option<String>,
    },
}

#[derive(clap::Args)]
struct Answer {
    /// A run with one open approval, RUN/N or RUN/STEP
    approval: String,
    /// A word with the vote
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let opened = Opened::existing(&arguments.store)?.reaching(arguments.reach);
    let user = opened.project.user(arguments.user.as_deref());
    let answer = |approval: &str, said: Said<'_>, opened: Opened| {
        vote::run(opened, &arguments.store, approval, said, (&user, arguments.live), arguments.json)
    };
    match &arguments.command {
        Command::List { mine } => list(&opened, mine.then_some(&*user), arguments.json),
        Command::Show { approval } => show(&opened, approval, arguments.json),
        Command::Approve(Answer { approval, comment }) => answer(approval, Said::Yes(comment.as_deref()), opened),
        Command::Reject(Answer { approval, comment }) => answer(approval, Said::No(comment.as_deref()), opened),
        Command::Vote { approval, choice, comment } => {
            answer(approval, Said::Choice(choice, comment.as_deref()), opened)
        }
        Command::Cancel { approval, reason } => answer(approval, Said::Off(reason.as_deref()), opened),
    }
}

fn list(opened: &Opened, mine: Option<&str>, json: bool) -> Result<ExitCode> {
    let mut open = open::all(&opened.store)?;
    open.retain(|open| mine.is_none_or(|user| open.waits_for().is_none_or(|users| users.iter().any(|of| of == user))));
    if json {
        let told = open.iter().map(|open| told(opened, open)).collect::<Result<Vec<_>>>()?;
        terminal::print(&(serde_json::to_string_pretty(&Value::from(told))? + "\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    if open.is_empty() {
        terminal::tell(&mine.map_or("Nothing waits for people.\n".to_owned(), |user| {
            format!("Nothing waits for {user}. Without --mine, all open approvals are listed.\n")
        }));
        return Ok(ExitCode::SUCCESS);
    }
    let now_ms = moment::now_ms();
    let rows = open.iter().map(|open| {
        let waits_for = open.waits_for().map_or("anybody".to_owned(), |users| users.join(", "));
        let deadline = open.question.deadline_ms().map(|at_ms| {
            let overdue = open.question.is_overdue(now_ms);
            if overdue {
                format!("overdue by {}", moment::took(now_ms - at_ms))
            } else {
                format!("in {}", moment::took(at_ms - now_ms))
            }
        });
        let asked = format!("{} ago", moment::took(now_ms - open.asked_ms));
        let (step, deadline) = (open.question.step.to_string(), deadline.unwrap_or_default());
        Ok([open.name(), opened.store.document(open.row.workflow)?.name, step, asked, deadline, waits_for])
    });
    let rows = rows.collect::<Result<Vec<_>>>()?;
    terminal::print_styled(&table(["APPROVAL", "WORKFLOW", "STEP", "ASKED", "DEADLINE", "WAITS FOR"], &rows))?;
    Ok(ExitCode::SUCCESS)
}

fn show(opened: &Opened, approval: &str, json: bool) -> Result<ExitCode> {
    let open = open::named(opened, approval)?;
    if json {
        terminal::print(&(serde_json::to_string_pretty(&told(opened, &open)?)? + "\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let secrets = opened.store.secrets(open.row.run)?;
    let mut lines = vec![
        ("approval", open.name()),
        ("run", open.row.id.clone()),
        ("step", open.question.step.to_string()),
        ("asked", moment::at(open.asked_ms)),
        ("question", open.question.prompt.clone()),
        ("choices", open.choices().join(", ")),
    ];
    if let Some(asked) = &open.question.request {
        lines.push(("asks", asked.recipients.join(", ")));
        lines.push(("needs", format!("{} votes for one choice", asked.required)));
        let votes = asked.votes.iter().map(|vote| {
            let comment = vote.comment.as_deref().map(|comment| format!(" \"{comment}\"")).unwrap_or_default();
            format!("{} {}{comment}, {}", vote.user, vote.choice, moment::at(vote.at_ms))
        });
        let votes: Vec<String> = votes.collect();
        lines.push(("votes", if votes.is_empty() { "none yet".into() } else { votes.join("\n") }));
    }
    let overdue = if open.question.is_overdue(moment::now_ms()) { ", overdue" } else { "" };
    lines.extend(open.question.deadline_ms().map(|at_ms| ("deadline", format!("{}{overdue}", moment::at(at_ms)))));
    let first = open.choices().into_iter().next().unwrap_or_default();
    let user = open.waits_for().and_then(|users| users.into_iter().next());
    lines.push(("to answer", command(&open.name(), &first, user.as_deref())));
    let lines: Vec<_> = lines.into_iter().map(|(name, fact)| (name, secrets.mask(&fact).into_owned())).collect();
    terminal::print_styled(&facts(&lines))?;
    Ok(ExitCode::SUCCESS)
}

/// An approval as JSON.
fn told(opened: &Opened, open: &Open) -> Result<Value> {
    let secrets = opened.store.secrets(open.row.run)?;
    let texts = |list: Vec<String>| Value::from(list.into_iter().map(Value::from).collect::<Vec<_>>());
    let (mut votes, mut recipients, mut required) = (Vec::new(), Value::Null, Value::Null);
    if let Some(asked) = &open.question.request {
        recipients = texts(asked.recipients.iter().map(ToString::to_string).collect());
        required = Value::Int(i64::from(asked.required));
        votes.extend(asked.votes.iter().map(|vote| {
            masked::object([
                ("user", Value::Str(vote.user.clone())),
                ("choice", Value::Str(vote.choice.clone())),
                ("comment", vote.comment.clone().map_or(Value::Null, Value::Str)),
                ("at", moment::iso(vote.at_ms)),
            ])
        }));
    }
    Ok(masked::object([
        ("approval", Value::from(open.name())),
        ("run", Value::from(open.row.id.as_str())),
        ("workflow", Value::from(opened.store.document(open.row.workflow)?.name)),
        ("step", Value::Str(open.question.step.clone())),
        ("question", Value::from(&*secrets.mask(&open.question.prompt))),
        ("choices", secrets.mask_value(&texts(open.choices()))),
        ("recipients", recipients),
        ("required", required),
        ("votes", secrets.mask_value(&Value::from(votes))),
        ("waits_for", open.waits_for().map_or(Value::Null, texts)),
        ("asked", moment::iso(open.asked_ms)),
        ("deadline", open.question.deadline_ms().map_or(Value::Null, moment::iso)),
        ("overdue", Value::Bool(open.question.is_overdue(moment::now_ms()))),
    ]))
}
