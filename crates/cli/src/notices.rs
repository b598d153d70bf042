//! Notices about approvals: a command or a webhook of the project is called when an approval is requested, reminded of, or settled.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use branchpoint_backend::{Backend, Notice, RunEvent, RunEventKind};
use branchpoint_core::ApprovalKey;
use branchpoint_core::EffectNo;
use branchpoint_core::effect::{HttpResponse, Kind};
use branchpoint_core::ir::Effect;
use branchpoint_core::ir::builder::effect;
use branchpoint_expr::{Object, Value};
use branchpoint_runners::tools::{Settings, Tools};
use branchpoint_runners::{Answer, Call, CancellationToken, no_secrets, runtime};

use crate::approvals::{command, reference};
use crate::project::Project;
use crate::{json, terminal};

/// How long a command may take: one that hangs must not delay the other notices.
const LIMIT: Duration = Duration::from_secs(30);

/// How long the process waits for pending notices before it ends.
const FLUSH: Duration = Duration::from_secs(10);

/// Sends notices on a thread of its own: runs do not wait for it.
pub(crate) struct Notices {
    /// Reports that there are new notices; none when it is dropped.
    stored: Option<Sender<()>>,
    flushed: Receiver<()>,
}

impl Notices {
    /// The notices of a process that executes runs; none if the project configures none.
    pub(crate) fn open(
        project: &Project,
        owner: i64,
        store: impl FnOnce() -> Result<Box<dyn Backend>>,
    ) -> Result<Option<Self>> {
        let (command, webhook) = (project.notify.command.clone(), Webhook::new(project));
        if command.is_none() && webhook.is_none() {
            return Ok(None);
        }
        let notifier = Notifier { store: store()?, owner, command, folder: project.folder.clone(), webhook };
        let (sender, stored) = channel();
        let (done, flushed) = channel();
        thread::spawn(move || {
            // Notices that other processes left behind are sent first.
            notifier.send_all();
            while stored.recv().is_ok() {
                notifier.send_all();
            }
            drop(done);
        });
        Ok(Some(Self { stored: Some(sender), flushed }))
    }

    /// Sends the notice that an event has stored.
    pub(crate) fn report(&self, event: &RunEvent) {
        if let (RunEventKind::Request(..), Some(stored)) = (&event.kind, &self.stored) {
            // The thread lives as long as this.
            let _ = stored.send(());
        }
    }
}

/// Sends stored notices.
struct Notifier {
    store: Box<dyn Backend>,
    owner: i64,
    command: Option<String>,
    folder: PathBuf,
    webhook: Option<Webhook>,
}

impl Notifier {
    fn send_all(&self) {
        let stored = self.store.notices(self.owner).unwrap_or_else(|error| {
            terminal::message(&format!("warning: notices cannot be read: {error}\n"));
            Vec::new()
        });
        // A failure must not prevent the other notices.
        for notice in &stored {
            let sent = self.send(notice).and_then(|()| Ok(self.store.drop_notice(notice)?));
            if let Err(error) = sent {
                terminal::message(&format!("warning: a notice could not be sent: {error:#}\n"));
            }
        }
    }

    /// Calls the command and the webhook, even if the first fails. A failed one is not retried: that would delay all other notices.
    fn send(&self, notice: &Notice) -> Result<()> {
        let id: Arc<str> = self.store.row(notice.run)?.id.into();
        let text = notice_text(&*self.store, notice, &id)?;
        let executed = self.command.as_ref().map(|command| run(command, &self.folder, &text));
        let posted = self.webhook.as_ref().map(|webhook| webhook.post(&id, &text));
        for error in [executed, posted].into_iter().flatten().filter_map(Result::err) {
            terminal::message(&format!("warning: a notice about run `{id}` failed: {error:#}\n"));
        }
        Ok(())
    }
}

impl Drop for Notices {
    fn drop(&mut self) {
        drop(self.stored.take());
        if let Err(RecvTimeoutError::Timeout) = self.flushed.recv_timeout(FLUSH) {
            terminal::message("warning: a notice was not sent in time and is abandoned\n");
        }
    }
}

/// The notice as JSON: `{event, run, approval, workflow, step, question, recipients, choices, command, outcome}`.
fn notice_text(store: &dyn Backend, notice: &Notice, id: &str) -> Result<String> {
    let questions = store.approval_records(notice.run)?.into_iter();
    let mut question = questions.into_iter().find(|question| question.request == notice.request);
    let question = question.as_mut().context("the question is gone")?;
    question.spec = store.secrets(notice.run)?.mask_value(&question.spec);
    let part = |key: &str| question.spec.get(key).cloned().unwrap_or_default();
    let document = store.document(store.row(notice.run)?.workflow)?;
    let recipients = match notice.kind.as_str() {
        "reminded" | "escalated" => notice.users.iter().map(ToString::to_string).collect(),
        _ => question.recipients(),
    };
    let name = reference(id, &ApprovalKey::Request(notice.request));
    let choices = part("choices");
    let user = recipients.first().map(String::as_str);
    let choice = choices.as_list().and_then(|choices| choices.first()).and_then(Value::as_str);
    let how = choice.map_or(Value::Null, |choice| Value::from(command(&name, choice, user)));
    let recipients = Value::from(recipients.into_iter().map(Value::from).collect::<Vec<_>>());
    let notice = json::object([
        ("event", Value::from(notice.kind.as_str())),
        ("run", Value::from(id)),
        ("approval", Value::from(name)),
        ("workflow", Value::from(document.name)),
        ("step", part("step")),
        ("question", part("prompt")),
        ("recipients", recipients),
        ("choices", choices),
        ("command", how),
        ("outcome", notice.outcome.clone().unwrap_or_default()),
    ]);
    Ok(format!("{notice:?}\n"))
}

/// Runs the command of the project with the notice on its standard input.
fn run(command: &str, folder: &PathBuf, notice: &str) -> Result<()> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .context("the command cannot be started")?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read is not wrong.
        let _ = stdin.write_all(notice.as_bytes());
    }
    let until = Instant::now() + LIMIT;
    while Instant::now() < until {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => bail!("`{command}` ended with {status}"),
            None => thread::sleep(Duration::from_millis(10)),
        }
    }
    child.kill()?;
    child.wait()?;
    bail!("`{command}` took more than {} s and was ended", LIMIT.as_secs())
}

/// An address that notices are posted to. The operator has set it, so it may lead anywhere.
struct Webhook {
    address: String,
    tools: Tools,
}

impl Webhook {
    fn new(project: &Project) -> Option<Self> {
        let address = project.notify.webhook.clone()?;
        let mut settings = Settings::default();
        settings.http.allow_private_network = true;
        let tools = Tools::new(settings, no_secrets());
        Some(Self { address, tools })
    }

    fn post(&self, run: &Arc<str>, notice: &str) -> Result<()> {
        let body: Value = serde_json::from_str(notice).unwrap_or_default();
        let parts = [("method", Value::from("POST")), ("url", Value::from(self.address.as_str())), ("body", body)];
        let input = json::object(parts);
        let definition = Effect {
            // A redirect would mostly be a request without the notice, and look like a success.
            fixed: Object::from_iter([(Arc::from("follow_redirects"), Value::Bool(false))]),
            attempt_limit_ms: u64::try_from(LIMIT.as_millis()).ok(),
            ..effect(Kind::Http)
        };
        let call = Call { run: run.clone(), effect: EffectNo(0), ..Call::first(definition, input) };
        let perform = |prepared| runtime().block_on(self.tools.perform(&prepared, &CancellationToken::new()));
        match call.prepare(&no_secrets()).map_or_else(Some, perform) {
            Some(Answer::Http(HttpResponse { status, .. })) if (200..300).contains(&status) => Ok(()),
            Some(Answer::Http(HttpResponse { status, headers, .. })) => {
                match headers.get("location").filter(|_| status < 400) {
                    Some(to) => {
                        bail!("the webhook answered with status {status}, a redirect to {to}, which is not followed")
                    }
                    None => bail!("the webhook answered with status {status}"),
                }
            }
            Some(Answer::Failed(failed)) => bail!("the webhook cannot be reached: {}", failed.message),
            _ => bail!("the webhook did not answer in time"),
        }
    }
}
