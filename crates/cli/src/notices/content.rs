//! What notices say, as JSON, and which target gets which notice. Secrets of runs are masked.

use std::sync::Arc;

use anyhow::{Context, Result};
use branchpoint_backend::{ApprovalRecord, Backend, NewDelivery, Notice, Run};
use branchpoint_core::{ApprovalKey, RequestNo};
use branchpoint_expr::{Value, preview};

use super::settings::Format;
use super::slack;
use super::target::Target;
use crate::approvals::{command, reference};
use crate::project::Project;
use crate::{json, time};

/// The longest result of a run in a message, in bytes. A longer one is cut.
const LONGEST_RESULT: usize = 8 * 1024;

/// Builds the messages about notices.
pub(super) struct Content {
    /// The address of the server, if it is configured.
    address: Option<String>,
}

/// What happened to which run.
pub(super) struct Facts {
    /// The name of the event, such as `approval.requested`.
    pub(super) event: String,
    pub(super) run: Run,
    /// The approval; none if the event is about the run.
    request: Option<RequestNo>,
    pub(super) workflow: String,
    /// What a webhook gets about it.
    pub(super) data: Value,
    /// The page about it, if the address of the server is configured.
    pub(super) page: Option<String>,
}

impl Content {
    pub(super) fn new(project: &Project) -> Result<Self> {
        Ok(Self { address: project.notify.address()? })
    }

    /// The deliveries of a notice to the targets that get it.
    pub(super) fn deliveries(
        &self,
        store: &dyn Backend,
        notice: &Notice,
        targets: &[Arc<Target>],
    ) -> Result<Vec<NewDelivery>> {
        let row = store.row(notice.run)?;
        let workflow = store.document(row.workflow)?.name;
        let Some(request) = notice.request else {
            let facts = self.run_facts(store, notice, row, workflow)?;
            return Ok(to_webhooks(&facts, targets));
        };
        let record = record(store, notice, request)?;
        let recipients: Vec<Arc<str>> = match notice.kind.as_str() {
            "reminded" | "escalated" => notice.users.clone(),
            _ => record.recipients().into_iter().map(Into::into).collect(),
        };
        let notice_data = approval_data(notice, &row, &workflow, &record, &recipients);
        let page = self.address.as_ref().map(|address| format!("{address}/approvals/{}/{}", row.id, request.0));
        let event = approval_event(&notice.kind).to_owned();
        let facts = Facts { event, run: row, request: Some(request), workflow, data: notice_data, page };
        let mut deliveries = to_webhooks(&facts, targets);
        for target in targets {
            match &**target {
                Target::Command(..) => {
                    deliveries
                        .push(NewDelivery { body: Some(format!("{:?}\n", facts.data)), ..facts.delivery(target) });
                }
                Target::Webhook(_) => {}
                Target::Mail(mail) => {
                    let users = recipients.iter().filter(|user| mail.has_address(user));
                    deliveries.extend(users.map(|user| NewDelivery {
                        user: Some(user.clone()),
                        // An approval that has ended is described when it ends; others when the mail is sent.
                        body: notice.outcome.as_ref().map(|outcome| format!("{outcome:?}")),
                        ..facts.delivery(target)
                    }));
                }
            }
        }
        Ok(deliveries)
    }

    fn run_facts(&self, store: &dyn Backend, notice: &Notice, row: Run, workflow: String) -> Result<Facts> {
        let (view, secrets) = (store.load(notice.run)?, store.secrets(notice.run)?);
        let result = view.result().map(|result| secrets.mask_value(&result)).unwrap_or_default();
        let is_long = format!("{result:?}").len() > LONGEST_RESULT;
        let result = if is_long { Value::from(preview(&result)) } else { result };
        let failure = view.failure().filter(|_| notice.kind == "failed").map_or(Value::Null, |failure| {
            json::object([
                ("kind", Value::from(failure.kind)),
                ("message", Value::from(secrets.mask(&failure.message).into_owned())),
                ("step", failure.step.map_or(Value::Null, Value::from)),
            ])
        });
        let page = self.address.as_ref().map(|address| format!("{address}/runs/{}", row.id));
        let data = json::object([
            ("run", Value::from(row.id.as_str())),
            ("workflow", Value::from(workflow.as_str())),
            ("status", Value::from(notice.kind.as_str())),
            ("started", time::to_iso(row.started_ms)),
            ("updated", time::to_iso(row.updated_ms)),
            ("result", if notice.kind == "waiting_people" { Value::Null } else { result }),
            ("result_is_cut", Value::Bool(is_long)),
            ("error", failure),
            ("url", page.clone().map_or(Value::Null, Value::from)),
        ]);
        let event = run_event(&notice.kind).to_owned();
        Ok(Facts { event, run: row, request: None, workflow, data, page })
    }
}

/// The deliveries to the webhooks that want an event.
fn to_webhooks(facts: &Facts, targets: &[Arc<Target>]) -> Vec<NewDelivery> {
    let mut deliveries = Vec::new();
    for target in targets {
        let Target::Webhook(webhook) = &**target else { continue };
        if !webhook.settings.wants(&facts.event, &facts.workflow) {
            continue;
        }
        let body = match webhook.settings.format {
            Format::Json if webhook.is_of_notify => facts.data.clone(),
            Format::Json => facts.message(),
            Format::Slack => slack::message(facts),
        };
        deliveries.push(NewDelivery { body: Some(format!("{body:?}")), ..facts.delivery(target) });
    }
    deliveries
}

impl Facts {
    /// The message to a webhook: `{type, timestamp, data}`.
    fn message(&self) -> Value {
        json::object([
            ("type", Value::from(self.event.as_str())),
            ("timestamp", time::to_iso(time::now_ms())),
            ("data", self.data.clone()),
        ])
    }

    fn delivery(&self, target: &Target) -> NewDelivery {
        NewDelivery {
            target: target.name(),
            user: None,
            event: self.event.clone(),
            run: Some(self.run.id.clone()),
            request: self.request.map(|request| request.0),
            body: None,
        }
    }
}

fn approval_event(kind: &str) -> &'static str {
    match kind {
        "reminded" => "approval.reminded",
        "escalated" => "approval.escalated",
        "ended" => "approval.ended",
        _ => "approval.requested",
    }
}

fn run_event(status: &str) -> &'static str {
    match status {
        "completed" => "run.completed",
        "failed" => "run.failed",
        "cancelled" => "run.cancelled",
        _ => "run.waiting",
    }
}

/// A request to people, with secrets masked.
pub(super) fn record(store: &dyn Backend, notice: &Notice, request: RequestNo) -> Result<ApprovalRecord> {
    let mut records = store.approval_records(notice.run)?.into_iter();
    let mut record = records.find(|record| record.request == request).context("the approval does not exist")?;
    record.spec = store.secrets(notice.run)?.mask_value(&record.spec);
    Ok(record)
}

/// A notice about an approval as JSON: `{event, run, approval, workflow, step, question, recipients, choices, command, outcome}`.
fn approval_data(
    notice: &Notice,
    row: &Run,
    workflow: &str,
    record: &ApprovalRecord,
    recipients: &[Arc<str>],
) -> Value {
    let part = |key: &str| record.spec.get(key).cloned().unwrap_or_default();
    let name = reference(&row.id, &ApprovalKey::Request(record.request));
    let choices = part("choices");
    let choice = choices.as_list().and_then(|choices| choices.first()).and_then(Value::as_str);
    let user = recipients.first().map(|user| &**user);
    let how = choice.map_or(Value::Null, |choice| Value::from(command(&name, choice, user)));
    json::object([
        ("event", Value::from(notice.kind.as_str())),
        ("run", Value::from(row.id.as_str())),
        ("approval", Value::from(name)),
        ("workflow", Value::from(workflow)),
        ("step", part("step")),
        ("question", part("prompt")),
        ("recipients", Value::from(recipients.iter().cloned().map(Value::Str).collect::<Vec<_>>())),
        ("choices", choices),
        ("command", how),
        ("outcome", notice.outcome.clone().unwrap_or_default()),
    ])
}
