//! Who answers for people: the script, then the person at the terminal. An answer may come from elsewhere meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, stderr, stdin};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use anyhow::Result;
use branchpoint_core::{Rejected, RequestNo};
use branchpoint_engine::Driver;
use branchpoint_engine::host::Refused;
use branchpoint_engine::store::RunNo;
use branchpoint_expr::Value;

use super::questions::{Open, What};
use super::{Heard, View};
use crate::outside::Here;
use crate::run::{Written, votes};
use crate::terminal;

/// Asks and answers.
pub(crate) struct Desk {
    user: String,
    /// Reads lines when it is asked to; none if nobody sits at the terminal.
    keyboard: Option<Sender<()>>,
    /// Whether a line was asked for that has not come.
    reading: bool,
    /// What the person at the terminal is asked.
    asking: Option<Open>,
    /// What is left to others: the script gave a wrong answer, or the person did not want to answer.
    left: BTreeSet<(RunNo, What)>,
    /// Answers of the script that came when the run had just gone on: they are given when it waits again.
    early: BTreeMap<(RunNo, What), Value>,
}

/// What came of looking at something open.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    /// An answer was handed in.
    Answered,
    /// Somebody is asked.
    Asked,
    /// Nobody here answers.
    Nothing,
}

impl Desk {
    pub(crate) fn new(user: String, heard: Sender<Heard>) -> Self {
        let keyboard = is_attended().then(|| {
            let (asked, wanted) = channel();
            thread::spawn(move || {
                for () in wanted {
                    if heard.send(Heard::Line(terminal::read_line())).is_err() {
                        break;
                    }
                }
            });
            asked
        });
        Self { user, keyboard, reading: false, asking: None, left: BTreeSet::new(), early: BTreeMap::new() }
    }

    /// Answers something open, or asks for an answer.
    pub(crate) fn look_at(&mut self, open: &Open, driver: &Driver, here: &Here, view: &mut View) -> Result<Came> {
        let key = (open.run, open.what.clone());
        let recorded = here.answers().is_recorded();
        if self.left.contains(&key) {
            // Where nobody had answered in time, nobody answers in time again.
            return Ok(if recorded && open.expires { Came::Asked } else { Came::Nothing });
        }
        let step = open.name_in(&here.answers());
        let written = self.early.remove(&key).or_else(|| here.answers().said(&step, &open.question, ""));
        if let Some(answer) = written {
            let taken = if let Some(votes) = votes(&answer) {
                // What each of them had said is all that is said.
                self.left.insert(key.clone());
                voted(open, votes, driver, view)?
            } else {
                let said = answer.get("$output").unwrap_or(&answer);
                let Some(taken) = scripted(open, said, driver, view)? else {
                    self.early.insert(key, answer);
                    return Ok(Came::Answered);
                };
                taken
            };
            if !taken {
                self.left.insert(key);
            }
            let waits = recorded && open.expires;
            return Ok(if taken {
                Came::Answered
            } else if waits {
                Came::Asked
            } else {
                Came::Nothing
            });
        }
        if recorded {
            view.say(&format!("The recorded script does not know what was said to the step `{}`.\n", open.step));
            self.left.insert(key);
            return Ok(Came::Nothing);
        }
        match (&open.what, self.keyboard.is_some()) {
            // A conversation without anybody to talk to hears so.
            (What::Line, false) => Ok(self.hand(open, &Value::Null, None, driver, view)?),
            (_, false) => Ok(Came::Nothing),
            (_, true) => Ok(self.ask(open, view)),
        }
    }

    /// Asks the person at the terminal, one thing at a time.
    fn ask(&mut self, open: &Open, view: &mut View) -> Came {
        if self.asking.is_some() {
            return Came::Asked;
        }
        let mine = open.recipients.is_empty() || open.recipients.iter().any(|user| **user == *self.user);
        if !mine || open.voted.iter().any(|user| **user == *self.user) {
            self.left.insert((open.run, open.what.clone()));
            return Came::Nothing;
        }
        let question = match open.what {
            What::Line => "> ".to_owned(),
            _ => format!("\n{}{}", open.shown(), self.how(open)),
        };
        view.ask(&question);
        self.asking = Some(open.clone());
        if !self.reading
            && let Some(keyboard) = &self.keyboard
        {
            self.reading = keyboard.send(()).is_ok();
        }
        Came::Asked
    }

    fn how(&self, open: &Open) -> String {
        let numbered: Vec<String> =
            open.choices.iter().enumerate().map(|(at, choice)| format!("{}={choice}", at + 1)).collect();
        let (numbered, user) = (numbered.join(" "), &self.user);
        format!("Answer as {user} ({numbered}), with a comment after it if you like; Enter leaves the run waiting: ")
    }

    /// A line that was typed.
    pub(crate) fn typed(&mut self, line: Option<&str>, driver: &Driver, view: &mut View) -> Result<()> {
        self.reading = false;
        let Some(open) = self.asking.take() else { return Ok(()) };
        view.typed();
        let text = line.map(|line| line.trim_end_matches(['\n', '\r']));
        if open.what == What::Line {
            let line = text.map_or(Value::Null, Value::from);
            return self.hand(&open, &line, None, driver, view).map(drop);
        }
        let text = text.unwrap_or_default().trim();
        if text.is_empty() {
            self.left.insert((open.run, open.what));
            return Ok(());
        }
        match chosen(&open, text) {
            Some((choice, comment)) => {
                self.hand(&open, &Value::from(choice), comment, driver, view)?;
            }
            None => view.say(&format!("`{text}` is none of the choices.\n")),
        }
        Ok(())
    }

    fn hand(
        &mut self,
        open: &Open,
        choice: &Value,
        comment: Option<&str>,
        driver: &Driver,
        view: &mut View,
    ) -> Result<Came> {
        let user = (open.what != What::Line).then_some(self.user.as_str());
        match driver.hand(open.run, open.answer(user, choice, comment))? {
            Ok(_) => Ok(Came::Answered),
            Err(refused) => {
                self.left.insert((open.run, open.what.clone()));
                view.say(&format!("The answer was not taken: {refused}\n"));
                Ok(Came::Nothing)
            }
        }
    }

    /// A question was settled. If it is the one that stands on the terminal, somebody else was faster.
    pub(crate) fn closed(&mut self, run: RunNo, request: RequestNo, view: &mut View) {
        let stands = |open: &Open| open.run == run && open.what == What::Vote(request);
        if self.asking.as_ref().is_some_and(stands) {
            self.forget(view);
        }
    }

    /// A run goes on that was asked about here: an approval of a graph has no number that could be closed.
    pub(crate) fn moved(&mut self, run: RunNo, view: &mut View) {
        let stands = |open: &Open| open.run == run && matches!(open.what, What::Approval(_));
        if self.asking.as_ref().is_some_and(stands) {
            self.forget(view);
        }
    }

    fn forget(&mut self, view: &mut View) {
        self.asking = None;
        view.unask("It was answered elsewhere, and the run goes on.\n");
    }
}

/// Whether somebody can be asked here.
pub(crate) fn is_attended() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// Everyone says again what they had said. False: nobody had said anything that is taken.
fn voted(open: &Open, votes: Vec<Written<'_>>, driver: &Driver, view: &mut View) -> Result<bool> {
    let mut taken = false;
    for Written { user, choice, comment } in votes {
        match driver.hand(open.run, open.answer(Some(user), &Value::from(choice), comment))? {
            Ok(_) => taken = true,
            Err(refused) => {
                view.say(&format!("`{choice}` of {user} is no answer to the step `{}`: {refused}\n", open.step));
            }
        }
    }
    Ok(taken)
}

/// Everyone who was asked says what is written down, until it is enough. False: that is no answer. None: the run has just gone on, and
/// does not wait at this moment.
fn scripted(open: &Open, answer: &Value, driver: &Driver, view: &mut View) -> Result<Option<bool>> {
    let mut voted = false;
    for user in open.everyone() {
        match driver.hand(open.run, open.answer(user, answer, None))? {
            Ok(_) => voted = true,
            // It was enough.
            Err(_) if voted => break,
            Err(Refused::Rejected(Rejected::NotWaiting(_))) => return Ok(None),
            Err(refused) => {
                view.say(&format!("`{answer}` is no answer to the step `{}`: {refused}\n", open.step));
                return Ok(Some(false));
            }
        }
    }
    Ok(Some(voted))
}

/// The choice that a line begins with, by name or by number, and the comment after it.
fn chosen<'l>(open: &Open, line: &'l str) -> Option<(String, Option<&'l str>)> {
    let rest_of = |choice: &str| {
        let rest = line.strip_prefix(choice)?;
        (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim())
    };
    let named = open.choices.iter().filter_map(|choice| Some((choice, rest_of(choice)?)));
    let named = named.max_by_key(|(choice, _)| choice.len()).map(|(choice, rest)| (choice.to_string(), rest));
    let (choice, rest) = named.or_else(|| {
        let (number, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let place = number.parse::<usize>().ok()?.checked_sub(1)?;
        Some((open.choices.get(place)?.to_string(), rest.trim()))
    })?;
    Some((choice, (!rest.is_empty()).then_some(rest)))
}

#[cfg(test)]
mod tests {
    use branchpoint_core::RequestNo;

    use super::*;

    #[track_caller]
    fn check(line: &str, expect: Option<(&str, Option<&str>)>) {
        let open = Open {
            run: RunNo::default(),
            id: "r".into(),
            what: What::Vote(RequestNo(1)),
            step: "ask".into(),
            prompt: String::new(),
            choices: vec!["send".into(), "send later".into(), "no".into()],
            recipients: Vec::new(),
            voted: Vec::new(),
            question: Value::Null,
            expires: false,
        };
        let got = chosen(&open, line);
        assert_eq!(got.as_ref().map(|(choice, comment)| (choice.as_str(), *comment)), expect, "{line}");
    }

    #[test]
    fn a_choice_is_typed_by_name_or_number_with_a_comment_after_it() {
        check("send", Some(("send", None)));
        check("send it now", Some(("send", Some("it now"))));
        check("send later please", Some(("send later", Some("please"))));
        check("3 not today", Some(("no", Some("not today"))));
        check("4", None);
        check("0", None);
        check("nope", None);
    }
}
