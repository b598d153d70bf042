//! What a run that is only tried asks people, answered from the script or at the terminal.

use branchpoint_core::ir::Program;
use branchpoint_core::{Event, Rejected};
use branchpoint_engine::{Memory, Runner as _};
use branchpoint_expr::Value;

use super::answers::{Answers, votes};
use crate::foreground::{Open, What};
use crate::terminal;

/// Answers the oldest thing for which there is an answer. False if there is none.
pub(crate) fn answer(program: &Program, host: &mut Memory<'_>, answers: &mut Answers) -> bool {
    Open::of_trial(program, host).iter().any(|open| answered(open, program, host, answers))
}

/// True: the run can go on.
fn answered(open: &Open, program: &Program, host: &mut Memory<'_>, answers: &mut Answers) -> bool {
    let name = open.name_in(answers);
    answers.at(host.now_ms());
    let Some(said) = answers.said(&name, &open.question, &open.shown()) else {
        // A conversation without anybody to talk to hears so.
        return open.what == What::Line && hand(open, host, None, &Value::Null, None).is_ok();
    };
    if let Some(votes) = votes(&said) {
        for vote in votes {
            if let Err(refused) = hand(open, host, Some(vote.user), &Value::from(vote.choice), vote.comment) {
                terminal::complain(&format!("`{}` is no answer to the step `{}`: {refused}", vote.choice, open.step));
            }
        }
        return !is_open(open, program, host);
    }
    let said = said.get("$output").unwrap_or(&said);
    let mut taken = false;
    // Everyone who was asked says the same, until it is enough.
    for user in open.everyone() {
        match hand(open, host, user, said, None) {
            Ok(()) => taken = true,
            Err(_) if taken => break,
            Err(refused) => {
                terminal::complain(&format!("`{said}` is no answer to the step `{}`: {refused}", open.step));
                // A person may think again; what is written down stays as it is.
                return answers.can_ask(&name);
            }
        }
    }
    taken && !is_open(open, program, host)
}

fn hand(
    open: &Open,
    host: &mut Memory<'_>,
    user: Option<&str>,
    choice: &Value,
    comment: Option<&str>,
) -> Result<(), Rejected> {
    let Event::Signal { name, payload, sender, .. } = open.answer(user, choice, comment) else { return Ok(()) };
    host.signal(&name, payload, sender.as_deref())
}

/// Whether votes are still missing. What else is answered is answered at once.
fn is_open(open: &Open, program: &Program, host: &Memory<'_>) -> bool {
    matches!(open.what, What::Vote(_)) && Open::of_trial(program, host).iter().any(|other| other.what == open.what)
}

/// What is asked, and how to answer it.
pub(crate) fn pending(open: &Open) -> String {
    let answer = open.choices.first().map_or("a line", |choice| choice);
    format!("{}To answer it here, write `{}: [{answer}]` into the file of --script.\n", open.shown(), open.step)
}
