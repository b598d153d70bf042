//! The receivers of notices.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use branchpoint_backend::{Backend, Delivery};
use branchpoint_runners::tools::{Settings, Tools};

use super::command;
use super::mail::Mail;
use super::sender::Outcome;
use super::settings::{WebhookSettings, check_webhooks};
use super::webhook::Webhook;
use crate::project::{Project, StoreArguments};

/// Where notices are delivered.
pub(super) enum Target {
    /// A command of the project, which gets notices about approvals.
    Command(String, PathBuf),
    /// A webhook of `[[webhooks]]`, or that of `[notify]`.
    Webhook(Box<Webhook>),
    /// The mail boxes of the people of the project.
    Mail(Box<Mail>),
}

impl Target {
    /// The receivers that a project configures.
    pub(super) fn of_project(project: &Project, arguments: &StoreArguments) -> Result<Vec<Self>> {
        let mut targets = Vec::new();
        if let Some(command) = &project.notify.command {
            targets.push(Self::Command(command.clone(), project.folder.clone()));
        }
        check_webhooks(&project.webhooks)?;
        let secrets = project.secret_store(arguments)?;
        // The operator has set the addresses, so they may lead into private networks.
        let mut settings = Settings::default();
        settings.http.allow_private_network = true;
        let tools = Arc::new(Tools::new(settings, Arc::clone(&secrets)));
        if let Some(url) = &project.notify.webhook {
            targets.push(Self::Webhook(Box::new(Webhook::of_notify(url, &tools))));
        }
        let webhook = |settings: &WebhookSettings| {
            Self::Webhook(Box::new(Webhook::new(settings.clone(), Arc::clone(&tools), Arc::clone(&secrets))))
        };
        targets.extend(project.webhooks.iter().map(webhook));
        targets.extend(Mail::of_project(project, arguments, &secrets)?.map(|mail| Self::Mail(Box::new(mail))));
        Ok(targets)
    }

    /// The stable name, by which deliveries find their target.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Command(..) => "command".into(),
            Self::Webhook(webhook) => webhook.target(),
            Self::Mail(_) => "mail".into(),
        }
    }

    /// Whether it gets notices about the status of runs.
    pub(super) fn is_about_runs(&self) -> bool {
        matches!(self, Self::Webhook(webhook) if webhook.is_about_runs())
    }

    /// Whether failed attempts are repeated. A command is run once, because it may have done a part of its work.
    pub(super) fn is_retried(&self) -> bool {
        !matches!(self, Self::Command(..))
    }

    /// Attempts a delivery.
    pub(super) fn attempt(&self, store: &dyn Backend, delivery: &Delivery) -> Outcome {
        let body = delivery.notice.body.as_deref().unwrap_or_default();
        match self {
            Self::Command(command, folder) => match command::run(command, folder, body) {
                Ok(()) => Outcome::Delivered("exit status 0".into()),
                Err(error) => Outcome::Rejected(format!("{error:#}")),
            },
            Self::Webhook(webhook) => webhook.attempt(&delivery.id, body),
            Self::Mail(mail) => mail
                .attempt(store, delivery)
                .unwrap_or_else(|error| Outcome::Failed(format!("the mail cannot be composed: {error:#}"), 0)),
        }
    }
}
