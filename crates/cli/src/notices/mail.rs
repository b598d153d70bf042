//! Mails to the people of the project about approvals. A mail is composed when it is sent, so it shows the state of that time.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use branchpoint_backend::{ApprovalRecord, Backend, Delivery, OpenApproval, Run};
use branchpoint_core::effect::Kind;
use branchpoint_core::ir::Effect;
use branchpoint_core::ir::builder::effect;
use branchpoint_core::{ApprovalKey, EffectNo, RequestNo};
use branchpoint_expr::{Object, Value};
use branchpoint_runners::tools::{Settings, Tools};
use branchpoint_runners::{Answer, Call, CancellationToken, SecretStore, Secrets, no_secrets, runtime};
use branchpoint_server::Access;

use super::page::{Letter, one_line};
use super::sender::Outcome;
use crate::approvals::{command, facts_of, link_to, reference};
use crate::project::{FILE, Project, StoreArguments};
use crate::{json, time};

/// The longest prompt in a subject, in characters.
const LONGEST_SUBJECT: usize = 80;

/// The name of the target.
const TARGET: &str = "mail";

/// Sends mails to the people of the project.
pub(super) struct Mail {
    tools: Tools,
    /// The mail boxes of people by user name.
    boxes: BTreeMap<String, String>,
    access: Access,
    /// The address of the server, if it is configured.
    address: Option<String>,
    link_ms: i64,
    cooldown_ms: i64,
}

/// A mail, or why it is not necessary.
enum Composed {
    Mail(String, Letter),
    Obsolete(String),
}

impl Mail {
    /// The mails of a project; none if no person has a mail box.
    pub(super) fn of_project(
        project: &Project,
        arguments: &StoreArguments,
        secrets: &SecretStore,
    ) -> Result<Option<Self>> {
        let boxes = &project.people.mail;
        if boxes.is_empty() {
            return Ok(None);
        }
        for (user, address) in boxes {
            let is_box = address.contains('@') && !address.contains(',') && !address.chars().any(char::is_control);
            if !is_box {
                bail!("the mail address of `{user}` in [people.mail] of {FILE} is invalid");
            }
        }
        if project.mail.is_empty() {
            bail!(
                "[people.mail] in {FILE} has addresses, but no mail server is configured; add [mail] with url and from"
            );
        }
        let section = toml::Table::from_iter([("mail".to_owned(), project.mail.clone().into())]);
        let settings: Settings = section.try_into().with_context(|| format!("[mail] in {FILE} is invalid"))?;
        Ok(Some(Self {
            tools: Tools::new(settings, Arc::clone(secrets)),
            boxes: boxes.clone(),
            access: Access::of_store(&project.store_path(arguments)?),
            address: project.notify.address()?,
            link_ms: project.notify.link_ms()?,
            cooldown_ms: project.notify.cooldown_ms()?,
        }))
    }

    pub(super) fn has_address(&self, user: &str) -> bool {
        self.boxes.contains_key(user)
    }

    /// Composes and sends a mail, once.
    pub(super) fn attempt(&self, store: &dyn Backend, delivery: &Delivery) -> Result<Outcome> {
        let user = delivery.notice.user.as_deref().unwrap_or_default();
        let Some(address) = self.boxes.get(user) else {
            return Ok(Outcome::Skipped(format!("{user} has no mail address any more")));
        };
        Ok(match self.compose(store, delivery, user)? {
            Composed::Obsolete(why) => Outcome::Skipped(why),
            Composed::Mail(subject, letter) => self.send(&delivery.id, address, &subject, &letter),
        })
    }

    fn compose(&self, store: &dyn Backend, delivery: &Delivery, user: &str) -> Result<Composed> {
        let notice = &delivery.notice;
        let obsolete = |why: &str| Ok(Composed::Obsolete(why.to_owned()));
        let (Some(run), Some(request)) = (&notice.run, notice.request.map(RequestNo)) else {
            return obsolete("it is about no approval");
        };
        let Some(row) = store.run(run)? else { return obsolete("the run was removed") };
        let secrets = store.secrets(row.run)?;
        let workflow = store.document(row.workflow)?.name;
        if notice.event == "approval.ended" {
            let record = store.approval_records(row.run)?.into_iter().find(|record| record.request == request);
            let record = record.filter(|record| record.requested_ms <= delivery.created_ms);
            let Some(record) = record else { return obsolete("the approval does not exist any more") };
            let outcome = notice.body.as_deref().and_then(|body| serde_json::from_str(body).ok());
            return Ok(outcome_mail(&record, outcome.as_ref(), &row, &workflow, &secrets));
        }
        let key = ApprovalKey::Request(request);
        let mut open = store.approvals(row.run)?.open.into_iter();
        let open = open.find(|open| open.run == row.run && open.approval.key == key);
        let Some(open) = open.filter(|open| open.requested_ms <= delivery.created_ms) else {
            return obsolete("the approval is settled");
        };
        let now_ms = time::now_ms();
        if !open.approval.awaits(user, now_ms) {
            return Ok(Composed::Obsolete(format!("{user} has voted, or is not an approver any more")));
        }
        if notice.event == "approval.reminded"
            && let Some(last_ms) = store.last_delivered_ms(TARGET, user, &notice.event)?
            && now_ms.saturating_sub(last_ms) < self.cooldown_ms
        {
            return Ok(Composed::Obsolete(format!("{user} was reminded {} ago", time::duration(now_ms - last_ms))));
        }
        self.approval_mail(&open, user, &notice.event, &workflow, &secrets)
    }

    /// The mail about an open approval, with the link of its reader.
    fn approval_mail(
        &self,
        open: &OpenApproval,
        user: &str,
        event: &str,
        workflow: &str,
        secrets: &Secrets,
    ) -> Result<Composed> {
        let (approval, now_ms) = (&open.approval, time::now_ms());
        let heading = match event {
            "approval.reminded" => format!("Reminder: {workflow} still waits for your vote"),
            "approval.escalated" => format!("{workflow} was not approved in time, and now asks you"),
            _ => format!("{workflow} asks for your vote"),
        };
        let expires_ms = now_ms.saturating_add(self.link_ms);
        let link = match (&self.address, link_to(open, user, expires_ms)) {
            (Some(address), Some(link)) => Some(format!("{address}/a/{}", self.access.sign_link(&link, now_ms)?)),
            _ => None,
        };
        let note = link.as_ref().map(|_| {
            format!(
                "The link is for {user} and works for one vote until {}. Do not forward this mail.",
                time::utc(expires_ms)
            )
        });
        let name = reference(&open.id, &approval.key);
        let command = approval.choices().first().map(|choice| command(&name, choice, Some(user)));
        let letter = Letter {
            heading,
            prompt: secrets.mask(&approval.prompt).into_owned(),
            facts: facts_of(open).into_iter().map(|(name, fact)| (name, secrets.mask(&fact).into_owned())).collect(),
            choices: approval.choices().iter().map(|choice| secrets.mask(choice).into_owned()).collect(),
            link,
            command,
            note,
        };
        Ok(Composed::Mail(subject(&letter.prompt, workflow, event), letter))
    }

    fn send(&self, id: &str, address: &str, subject: &str, letter: &Letter) -> Outcome {
        let input = json::object([
            ("to", Value::from(address)),
            ("subject", Value::from(subject)),
            ("text_body", Value::from(letter.text())),
            ("html_body", Value::from(letter.html())),
        ]);
        let definition = Effect { fixed: Object::default(), ..effect(Kind::Mail) };
        let call = Call { run: id.into(), effect: EffectNo(0), ..Call::first(definition, input) };
        let perform = |prepared| runtime().block_on(self.tools.perform(&prepared, &CancellationToken::new()));
        match call.prepare(&no_secrets()).map_or_else(Some, perform) {
            Some(Answer::Data(_)) => Outcome::Delivered("accepted by the mail server".into()),
            Some(Answer::Failed(failed)) if failed.retry.allows_retry() => {
                Outcome::Failed(failed.message.to_string(), 0)
            }
            Some(Answer::Failed(failed)) => Outcome::Rejected(failed.message.to_string()),
            _ => Outcome::Failed("the mail server did not respond in time".into(), 0),
        }
    }
}

/// The mail about an approval that has ended.
fn outcome_mail(
    record: &ApprovalRecord,
    outcome: Option<&Value>,
    row: &Run,
    workflow: &str,
    secrets: &Secrets,
) -> Composed {
    let spec = secrets.mask_value(&record.spec);
    let part = |key: &str| spec.get(key).map(Value::to_string).unwrap_or_default();
    let result = outcome.and_then(|outcome| outcome.get("outcome")).map_or("withdrawn".to_owned(), Value::to_string);
    let votes = outcome.and_then(|outcome| outcome.get("votes")).and_then(Value::as_list).unwrap_or_default();
    let votes = votes.iter().map(|vote| {
        let part = |key: &str| vote.get(key).filter(|part| **part != Value::Null).map(Value::to_string);
        let comment = part("comment").map(|comment| format!(" ({comment})")).unwrap_or_default();
        format!(
            "{}: {}{comment}",
            part("user_id").or(part("user")).unwrap_or_default(),
            part("choice").unwrap_or_default()
        )
    });
    let votes: Vec<String> = votes.collect();
    let mut facts = vec![("Outcome", result.clone())];
    if !votes.is_empty() {
        facts.push(("Votes", votes.join("\n")));
    }
    facts.extend([("Workflow", workflow.to_owned()), ("Run", row.id.clone()), ("Step", part("step"))]);
    let heading = format!("The approval of {workflow} has ended: {}", one_line(&result, LONGEST_SUBJECT));
    let letter = Letter { heading, prompt: part("prompt"), facts, ..Letter::default() };
    let subject = format!("{}: {}", one_line(&result, 40), subject(&letter.prompt, workflow, ""));
    Composed::Mail(subject, letter)
}

fn subject(prompt: &str, workflow: &str, event: &str) -> String {
    let prefix = match event {
        "approval.reminded" => "Reminder: ",
        "approval.escalated" => "Escalated: ",
        _ => "",
    };
    let first = prompt.lines().find(|line| !line.trim().is_empty()).unwrap_or("Approval");
    format!("{prefix}{} [{}]", one_line(first, LONGEST_SUBJECT), one_line(workflow, LONGEST_SUBJECT))
}
