//! Questions of runs as people and programs see them.

use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_core::{RequestNo, offers};
use branchpoint_expr::{Object, Value, shell};
use branchpoint_host::VirtualDriver;
use branchpoint_host::host::Look;
use branchpoint_host::people::{OpenQuestion, QuestionKey};
use branchpoint_host::store::{RunNo, Store, Trouble};

/// An open question of a run.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) run: RunNo,
    /// The id of the run.
    pub(crate) id: String,
    pub(crate) question: OpenQuestion,
}

impl Open {
    /// The open questions of a run.
    pub(crate) fn of(look: &Look, store: &Store) -> Result<Vec<Self>, Trouble> {
        let (run, id) = (look.row.run, &look.row.id);
        let questions = OpenQuestion::of(look, store)?.into_iter();
        Ok(questions.map(|question| Self { run, id: id.clone(), question }).collect())
    }

    /// The open questions of a dry run, which has no id.
    pub(crate) fn of_trial(program: &Program, trial: &VirtualDriver<'_>) -> Vec<Self> {
        let asked = trial.questions().iter().map(|question| (question.request, question.spec.clone())).collect();
        let result = trial.view("result").unwrap_or_default();
        let questions = OpenQuestion::list(&offers(program, trial.state()), &asked, &result).into_iter();
        questions.map(|question| Self { run: RunNo::default(), id: String::new(), question }).collect()
    }

    /// Everyone who may answer and has not; one unnamed user where anybody may.
    pub(crate) fn everyone(&self) -> Vec<Option<Arc<str>>> {
        match self.question.key {
            QuestionKey::Vote(_) => self.question.silent().into_iter().map(Some).collect(),
            _ => vec![None],
        }
    }

    /// The question as a person reads it.
    pub(crate) fn shown(&self) -> String {
        let question = &self.question;
        let prompt = question.prompt.trim_end().replace('\n', "\n  ");
        let choices = question.choices().join(", ");
        let shown = format!("The step `{}` asks people:\n  {prompt}\nChoices: {choices}\n", question.step);
        let people = |word: &str, people: &[Arc<str>]| {
            if people.is_empty() { String::new() } else { format!("{word}: {}\n", people.join(", ")) }
        };
        let voters: Vec<Arc<str>> = question.voters().cloned().collect();
        shown + &people("Asked", question.recipients()) + &people("Answered", &voters)
    }

    /// How it is named to commands about approvals.
    pub(crate) fn reference(&self) -> String {
        reference(&self.id, &self.question.key)
    }

    /// What to type to answer it.
    pub(crate) fn command(&self) -> Option<String> {
        let silent = self.question.silent();
        let user = silent.first().map(|user| &**user);
        Some(command(&self.reference(), self.question.choices().first()?, user))
    }

    /// The question for programs.
    pub(crate) fn to_value(&self) -> Value {
        let texts =
            |texts: &[Arc<str>]| Value::from(texts.iter().map(|text| Value::Str(text.clone())).collect::<Vec<_>>());
        let question = &self.question;
        let voters: Vec<Arc<str>> = question.voters().cloned().collect();
        object([
            ("approval", Some(Value::from(self.reference()))),
            ("step", Some(Value::Str(question.step.clone()))),
            ("question", Some(Value::from(question.prompt.as_str()))),
            ("choices", Some(texts(&question.choices()))),
            ("recipients", Some(texts(question.recipients()))),
            ("voted", Some(texts(&voters))),
            ("command", self.command().map(Value::from)),
        ])
    }
}

/// How a question is named to commands about approvals: the run, and what it is called there.
pub(crate) fn reference(run: &str, key: &QuestionKey) -> String {
    match key {
        QuestionKey::Vote(RequestNo(number)) => format!("{run}/{number}"),
        QuestionKey::Approval(node) => format!("{run}/{node}"),
        QuestionKey::Line => run.to_owned(),
    }
}

/// The command that answers an approval as a user, quoted for a shell.
pub(crate) fn command(reference: &str, choice: &str, user: Option<&str>) -> String {
    // A word that begins with a dash would be read as an option.
    let is_option = |word: &str| word.starts_with('-');
    let user = user.map(|user| format!(" --as{}{}", if is_option(user) { '=' } else { ' ' }, quoted(user)));
    let (user, words) = (user.unwrap_or_default(), format!("{} {}", quoted(reference), quoted(choice)));
    if is_option(reference) || is_option(choice) {
        format!("branchpoint approvals vote{user} -- {words}")
    } else {
        format!("branchpoint approvals vote {words}{user}")
    }
}

/// A word of a shell command, in quotes unless it needs none.
pub(crate) fn quoted(text: &str) -> String {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./@:+".contains(c));
    if plain { text.to_owned() } else { shell::word(text) }
}

fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let fields = fields.into_iter().filter_map(|(key, value)| Some((Arc::from(key), value?)));
    Value::from(fields.collect::<Object>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(reference: &str, choice: &str, user: Option<&str>, expect: &str) {
        assert_eq!(command(reference, choice, user), format!("branchpoint approvals vote {expect}"));
    }

    #[test]
    fn the_suggested_command_is_quoted_for_a_shell() {
        check("k/1", "approve", Some("ada"), "k/1 approve --as ada");
        check("k/a b; rm -rf ~", "$(id)", None, "'k/a b; rm -rf ~' '$(id)'");
        check("k/1", "it's fine", Some("a`b"), r"k/1 'it'\''s fine' --as 'a`b'");
        check("k/1", "--json", Some("-x"), "--as=-x -- k/1 --json");
        check("k/1", "", None, "k/1 ''");
    }
}
