//! What a run that is only tried asks people, answered from the script or at the terminal.

use branchpoint_core::ir::Program;
use branchpoint_core::{Event, Rejected};
use branchpoint_expr::Value;
use branchpoint_host::VirtualDriver;
use branchpoint_host::people::{QuestionKey, written_votes};
use branchpoint_runners::Runner as _;

use super::answers::Answers;
use crate::foreground::Open;
use crate::terminal;

/// Answers the oldest thing for which there is an answer. False if there is none.
pub(crate) fn answer(program: &Program, host: &mut VirtualDriver<'_>, answers: &mut Answers) -> bool {
    Open::of_trial(program, host).iter().any(|open| answered(open, program, host, answers))
}

/// True: the run can go on.
fn answered(open: &Open, program: &Program, host: &mut VirtualDriver<'_>, answers: &mut Answers) -> bool {
    let name = open.question.name_in(answers.script());
    answers.at(host.now_ms());
    let Some(said) = answers.said(&name, &open.question.spec, &open.shown()) else {
        // A conversation without anybody to talk to hears so.
        return open.question.key == QuestionKey::Line && hand(open, host, None, &Value::Null, None).is_ok();
    };
    if let Some(votes) = written_votes(&said) {
        for vote in votes {
            let choice = Value::from(&*vote.choice);
            if let Err(refused) = hand(open, host, Some(&vote.user), &choice, vote.comment.as_deref()) {
                complain(open, &format!("`{choice}` of {}", vote.user), &refused);
            }
        }
        return !is_open(open, program, host);
    }
    let said = said.get("$output").unwrap_or(&said);
    let mut taken = false;
    // Everyone who was asked says the same, until it is enough.
    for user in open.everyone() {
        match hand(open, host, user.as_deref(), said, None) {
            Ok(()) => taken = true,
            Err(_) if taken => break,
            Err(refused) => {
                complain(open, &format!("`{said}`"), &refused);
                // A person may think again; what is written down stays as it is.
                return answers.can_ask(&name);
            }
        }
    }
    taken && !is_open(open, program, host)
}

fn complain(open: &Open, answer: &str, refused: &Rejected) {
    terminal::complain(&format!("the answer {answer} to step `{}` was rejected: {refused}", open.question.step));
}

fn hand(
    open: &Open,
    host: &mut VirtualDriver<'_>,
    user: Option<&str>,
    choice: &Value,
    comment: Option<&str>,
) -> Result<(), Rejected> {
    let Event::Signal { name, payload, sender, .. } = open.question.answer(user, choice, comment) else {
        return Ok(());
    };
    host.signal(&name, payload, sender.as_deref())
}

/// Whether votes are still missing. What else is answered is answered at once.
fn is_open(open: &Open, program: &Program, host: &VirtualDriver<'_>) -> bool {
    let key = &open.question.key;
    matches!(key, QuestionKey::Vote(_)) && Open::of_trial(program, host).iter().any(|other| other.question.key == *key)
}

/// What is asked, and how to answer it.
pub(crate) fn pending(open: &Open) -> String {
    let choices = open.question.choices();
    let (answer, step) = (choices.first().map_or("a line", |choice| choice), &open.question.step);
    format!("{}To answer it here, write `{step}: [{answer}]` into the file of --script.\n", open.shown())
}
