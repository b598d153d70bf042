//! Prompts for the person at the terminal. Other people may answer an approval meanwhile.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io::{self, IsTerminal, stderr, stdin};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileTypeExt as _;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use anyhow::Result;
use branchpoint_backend::{Backend, BackendError, OpenApproval, RunNo};
use branchpoint_core::{Approval, ApprovalKey, Ballot, Event, FormField, RequestNo};
use branchpoint_expr::{Object, Value};

use super::{Incoming, View};
use crate::approvals::describe;
use crate::{terminal, time};

/// Prompts for approvals and lines of conversations.
pub(crate) struct Prompt {
    user: String,
    /// Reads lines of standard input on request; none without input.
    keyboard: Option<Sender<()>>,
    /// Whether a person writes the lines. Lines of a pipe are for conversations only.
    is_attended: bool,
    /// Whether a line was requested and has not arrived.
    reading: bool,
    /// The approval that the person at the terminal answers.
    awaited: Option<OpenApproval>,
    /// The form that the person at the terminal fills in.
    filling: Option<Filling>,
    /// Approvals that the person at the terminal leaves to others.
    skipped: BTreeSet<(RunNo, ApprovalKey)>,
}

/// A form that is filled in, field by field.
struct Filling {
    /// The fields that are left.
    fields: VecDeque<FormField>,
    given: Object,
    ballot: Ballot,
}

/// The result of prompting for an open approval.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PromptOutcome {
    /// An answer was submitted.
    Answered,
    /// A person is being asked.
    Asked,
    /// There is no person to ask.
    Nothing,
}

impl Prompt {
    pub(crate) fn new(user: String, incoming: Sender<Incoming>, reads_lines: bool) -> Self {
        let keyboard = reads_lines.then(|| {
            let (keyboard, wanted) = channel();
            thread::spawn(move || {
                for () in wanted {
                    if incoming.send(Incoming::Line(terminal::read_line())).is_err() {
                        break;
                    }
                }
            });
            keyboard
        });
        Self {
            user,
            keyboard,
            is_attended: is_attended(),
            reading: false,
            awaited: None,
            filling: None,
            skipped: BTreeSet::new(),
        }
    }

    /// Prompts for an approval that no script has answered.
    pub(crate) fn prompt_for(
        &mut self,
        open: &OpenApproval,
        recorded: bool,
        backend: &dyn Backend,
        view: &mut View,
    ) -> Result<PromptOutcome> {
        let key = (open.run, open.approval.key.clone());
        if recorded {
            // A recorded run whose approval timed out waits for the deadline again.
            return Ok(if open.approval.deadline_ms().is_some() {
                PromptOutcome::Asked
            } else {
                PromptOutcome::Nothing
            });
        }
        if self.skipped.contains(&key) {
            return Ok(PromptOutcome::Nothing);
        }
        match (&open.approval.key, self.keyboard.is_some()) {
            // A conversation without input gets null as its line.
            (ApprovalKey::Line, false) => Ok(self.submit(open, &Value::Null, None, backend, view)?),
            (ApprovalKey::Line, true) => Ok(self.ask(open, view)),
            (_, true) if self.is_attended => Ok(self.ask(open, view)),
            _ => Ok(PromptOutcome::Nothing),
        }
    }

    /// Prompts the person at the terminal, one approval at a time.
    fn ask(&mut self, open: &OpenApproval, view: &mut View) -> PromptOutcome {
        if self.awaited.is_some() {
            return PromptOutcome::Asked;
        }
        if !open.approval.awaits(&self.user, time::now_ms()) {
            self.skipped.insert((open.run, open.approval.key.clone()));
            return PromptOutcome::Nothing;
        }
        let question = match open.approval.key {
            ApprovalKey::Line if !self.is_attended => String::new(),
            ApprovalKey::Line => "> ".to_owned(),
            _ => format!("\n{}{}", describe(&open.approval), self.instructions(&open.approval)),
        };
        view.ask(&question);
        self.awaited = Some(open.clone());
        if !self.reading
            && let Some(keyboard) = &self.keyboard
        {
            self.reading = keyboard.send(()).is_ok();
        }
        PromptOutcome::Asked
    }

    fn instructions(&self, approval: &Approval) -> String {
        let numbered: Vec<String> =
            approval.choices().iter().enumerate().map(|(at, choice)| format!("{}={choice}", at + 1)).collect();
        let (numbered, user) = (numbered.join(" "), &self.user);
        format!("Answer as {user} ({numbered}), with a comment after it if you like; Enter leaves the run waiting: ")
    }

    /// Handles a line that was typed.
    pub(crate) fn handle_line(&mut self, line: Option<&str>, backend: &dyn Backend, view: &mut View) -> Result<()> {
        self.reading = false;
        let Some(open) = self.awaited.take() else { return Ok(()) };
        view.typed();
        let text = line.map(|line| line.trim_end_matches(['\n', '\r']));
        if open.approval.key == ApprovalKey::Line {
            let line = text.map_or(Value::Null, Value::from);
            return self.submit(&open, &line, None, backend, view).map(drop);
        }
        let text = text.unwrap_or_default().trim();
        // At the end of the input, a form is left to others.
        if text.is_empty() && (self.filling.is_none() || line.is_none()) {
            self.filling = None;
            self.skipped.insert((open.run, open.approval.key));
            return Ok(());
        }
        if let Some(filling) = self.filling.take() {
            return self.fill(open, filling, text, backend, view);
        }
        match parse_choice(&open.approval, text) {
            Some((choice, comment)) => {
                let ballot = open.approval.ballot(&choice);
                let ballot = Ballot { comment: comment.map(Into::into), ..ballot };
                match (open.approval.form(), ballot.form.is_some()) {
                    (Some(form), true) => {
                        let filling = Filling { fields: form.fields.into(), given: Object::default(), ballot };
                        self.next_field(open, filling, backend, view)?;
                    }
                    _ => drop(self.cast(&open, &ballot, backend, view)?),
                }
            }
            None => view.say(&format!("`{text}` is not one of the choices.\n")),
        }
        Ok(())
    }

    /// Asks for the next field of a form, or casts the vote.
    fn next_field(
        &mut self,
        open: OpenApproval,
        filling: Filling,
        backend: &dyn Backend,
        view: &mut View,
    ) -> Result<()> {
        let Some(field) = filling.fields.front() else {
            let ballot = Ballot { form: Some(Value::from(filling.given)), ..filling.ballot };
            return self.cast(&open, &ballot, backend, view).map(drop);
        };
        view.ask(&field_prompt(field, open.approval.form_defaults().get(&field.name)));
        self.awaited = Some(open);
        self.filling = Some(filling);
        if let Some(keyboard) = &self.keyboard {
            self.reading = keyboard.send(()).is_ok();
        }
        Ok(())
    }

    /// A line for a field: nothing keeps the proposed value.
    fn fill(
        &mut self,
        open: OpenApproval,
        mut filling: Filling,
        text: &str,
        backend: &dyn Backend,
        view: &mut View,
    ) -> Result<()> {
        let Some(field) = filling.fields.front() else { return self.next_field(open, filling, backend, view) };
        let is_needed = field.is_required && open.approval.form_defaults().get(&field.name).is_none();
        match field.read(text) {
            _ if text.is_empty() && !is_needed => drop(filling.fields.pop_front()),
            Ok(value) if !text.is_empty() => {
                filling.given.insert(field.name.clone(), value);
                filling.fields.pop_front();
            }
            Ok(_) => view.say(&format!("The field `{}` is required.\n", field.name)),
            Err(problem) => view.say(&format!("{problem}\n")),
        }
        self.next_field(open, filling, backend, view)
    }

    fn cast(
        &mut self,
        open: &OpenApproval,
        ballot: &Ballot,
        backend: &dyn Backend,
        view: &mut View,
    ) -> Result<PromptOutcome> {
        let event = open.approval.key.vote(&self.user, ballot);
        self.send(open, &event, backend, view)
    }

    fn submit(
        &mut self,
        open: &OpenApproval,
        choice: &Value,
        comment: Option<&str>,
        backend: &dyn Backend,
        view: &mut View,
    ) -> Result<PromptOutcome> {
        let user = (open.approval.key != ApprovalKey::Line).then_some(self.user.as_str());
        let event = open.approval.key.answer(user, choice, comment);
        self.send(open, &event, backend, view)
    }

    fn send(
        &mut self,
        open: &OpenApproval,
        event: &Event,
        backend: &dyn Backend,
        view: &mut View,
    ) -> Result<PromptOutcome> {
        match backend.send(open.run, event) {
            Ok(_) => Ok(PromptOutcome::Answered),
            Err(refused @ (BackendError::Rejection(_) | BackendError::NoResponse)) => {
                self.skipped.insert((open.run, open.approval.key.clone()));
                view.say(&format!("Rejected: {refused}\n"));
                Ok(PromptOutcome::Nothing)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Handles the end of a request. If the prompt shows it, another person was faster.
    pub(crate) fn close(&mut self, run: RunNo, request: RequestNo, view: &mut View) {
        let is_prompted = |open: &OpenApproval| open.run == run && open.approval.key == ApprovalKey::Request(request);
        if self.awaited.as_ref().is_some_and(is_prompted) {
            self.withdraw(view);
        }
    }

    /// Handles a run that continues: an approval without votes has no request that could be closed.
    pub(crate) fn run_continued(&mut self, run: RunNo, view: &mut View) {
        let is_prompted = |open: &OpenApproval| open.run == run && matches!(open.approval.key, ApprovalKey::Step(_));
        if self.awaited.as_ref().is_some_and(is_prompted) {
            self.withdraw(view);
        }
    }

    fn withdraw(&mut self, view: &mut View) {
        self.awaited = None;
        self.filling = None;
        view.close_prompt("Answered elsewhere; the run continues.\n");
    }
}

/// Whether a person can be prompted here.
pub(crate) fn is_attended() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// Whether standard input is a pipe, a socket or a file, whose lines conversations read.
pub(crate) fn is_fed() -> bool {
    let kind = || {
        let stdin = File::from(stdin().as_fd().try_clone_to_owned()?);
        let kind = stdin.metadata()?.file_type();
        Ok::<_, io::Error>(kind.is_fifo() || kind.is_socket() || kind.is_file())
    };
    kind().unwrap_or(false)
}

/// The question for a field of a form.
fn field_prompt(field: &FormField, proposed: Option<&Value>) -> String {
    let title = field.title.as_deref().unwrap_or(&field.name);
    let about = field.description.as_deref().map(|about| format!(" {about}")).unwrap_or_default();
    let options = field.options.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let kind = if options.is_empty() { field.ty.as_str().to_owned() } else { format!("one of {options}") };
    let keeps = match proposed {
        Some(proposed) => format!("; Enter keeps {proposed}"),
        None if field.is_required => String::new(),
        None => "; Enter leaves it out".to_owned(),
    };
    format!("{title} ({kind}{keeps}){about}: ")
}

/// The choice that a line begins with, by name or by number, and the comment after it.
fn parse_choice<'l>(approval: &Approval, line: &'l str) -> Option<(String, Option<&'l str>)> {
    let rest_of = |choice: &str| {
        let rest = line.strip_prefix(choice)?;
        (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim())
    };
    let choices = approval.choices();
    let named = choices.iter().filter_map(|choice| Some((choice, rest_of(choice)?)));
    let named = named.max_by_key(|(choice, _)| choice.len()).map(|(choice, rest)| (choice.to_string(), rest));
    let (choice, rest) = named.or_else(|| {
        let (number, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let place = number.parse::<usize>().ok()?.checked_sub(1)?;
        Some((choices.get(place)?.to_string(), rest.trim()))
    })?;
    Some((choice, (!rest.is_empty()).then_some(rest)))
}

#[cfg(test)]
mod tests {
    use branchpoint_core::{Request, RequestNo};

    use super::*;

    #[track_caller]
    fn check(line: &str, expect: Option<(&str, Option<&str>)>) {
        let spec = r#"{"recipients": ["ada"], "choices": ["send", "send later", "no"]}"#;
        let spec: Value = serde_json::from_str(spec).expect("this is JSON");
        let approval = Approval {
            path: Vec::new(),
            key: ApprovalKey::Request(RequestNo(1)),
            step: "ask".into(),
            prompt: String::new(),
            request: Some(Request::open(&spec, 0).expect("the request is valid")),
            spec,
        };
        let got = parse_choice(&approval, line);
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
