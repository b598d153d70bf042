//! Notices about approvals and runs: mails, webhooks, and a command of the project.
//!
//! A run stores a notice in the transaction of its event. One thread replaces each notice with deliveries, one for each receiver, and each
//! target has a thread that attempts its deliveries until they are settled. So runs wait for no receiver, and a receiver that hangs does
//! not delay the others.

mod command;
mod content;
mod mail;
mod page;
mod sender;
pub(crate) mod settings;
mod slack;
mod target;
mod webhook;

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Result;
use branchpoint_backend::{Backend, RunEvent, RunEventKind};

use self::content::Content;
use self::target::Target;
use crate::project::{Project, StoreArguments};
use crate::{terminal, time};

/// How long the process waits for pending notices before it ends.
const FLUSH: Duration = Duration::from_secs(10);

/// How often notices and deliveries of processes that have ended are looked for.
const IDLE: Duration = Duration::from_secs(5);

/// Sends notices on threads of its own: runs do not wait for them.
pub(crate) struct Notices {
    /// Reports that there are new notices; none when it is dropped.
    stored: Option<Sender<()>>,
    flushed: Receiver<()>,
    about_runs: bool,
}

/// Wakes the threads of the targets, as long as they exist.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waker(Weak<Vec<Sender<()>>>);

impl Waker {
    /// Makes the targets look for due deliveries.
    pub(crate) fn wake(&self) {
        for sender in self.0.upgrade().iter().flat_map(|senders| senders.iter()) {
            // The thread may have ended.
            let _ = sender.send(());
        }
    }
}

impl Notices {
    /// The notices of a process that executes runs; none if the project configures no receiver.
    pub(crate) fn open(
        project: &Project,
        arguments: &StoreArguments,
        owner: i64,
        store: impl Fn() -> Result<Box<dyn Backend>>,
    ) -> Result<Option<(Self, Waker)>> {
        let targets = Target::of_project(project, arguments)?;
        if targets.is_empty() {
            return Ok(None);
        }
        let about_runs = targets.iter().any(Target::is_about_runs);
        let (mut senders, mut threads) = (Vec::new(), Vec::new());
        let targets: Vec<Arc<Target>> = targets.into_iter().map(Arc::new).collect();
        for target in &targets {
            let (wake, woken) = channel();
            let (target, store) = (Arc::clone(target), store()?);
            senders.push(wake);
            threads.push(thread::spawn(move || sender::send_until_closed(&target, &*store, owner, &woken)));
        }
        let senders = Arc::new(senders);
        let waker = Waker(Arc::downgrade(&senders));
        let (stored, news) = channel();
        let (done, flushed) = channel();
        let dispatcher = Dispatcher {
            store: store()?,
            owner,
            targets,
            content: Content::new(project)?,
            senders,
            failed: BTreeSet::new(),
        };
        thread::spawn(move || {
            dispatcher.dispatch_until_closed(&news, threads);
            drop(done);
        });
        Ok(Some((Self { stored: Some(stored), flushed, about_runs }, waker)))
    }

    /// Whether runs store notices about their status, too.
    pub(crate) fn are_about_runs(&self) -> bool {
        self.about_runs
    }

    /// Sends the notice that an event has stored.
    pub(crate) fn report(&self, event: &RunEvent) {
        let has_notice = match &event.kind {
            RunEventKind::Request(..) => true,
            RunEventKind::Status(..) => self.about_runs,
            _ => false,
        };
        if let (true, Some(stored)) = (has_notice, &self.stored) {
            // The thread lives as long as this.
            let _ = stored.send(());
        }
    }
}

impl Drop for Notices {
    fn drop(&mut self) {
        drop(self.stored.take());
        if let Err(RecvTimeoutError::Timeout) = self.flushed.recv_timeout(FLUSH) {
            terminal::message("warning: a notice was not sent in time; another process of the store sends it\n");
        }
    }
}

/// Replaces notices with deliveries.
struct Dispatcher {
    store: Box<dyn Backend>,
    owner: i64,
    targets: Vec<Arc<Target>>,
    content: Content,
    senders: Arc<Vec<Sender<()>>>,
    /// The numbers of notices that could not be dispatched. They are tried again, and reported once.
    failed: BTreeSet<i64>,
}

impl Dispatcher {
    /// Dispatches the notices of this process, and those that other processes left behind. At the end, lets every target attempt what is
    /// due.
    fn dispatch_until_closed(mut self, news: &Receiver<()>, threads: Vec<JoinHandle<()>>) {
        loop {
            self.dispatch_all();
            match news.recv_timeout(IDLE) {
                // Many events at once are one look into the store.
                Ok(()) => while news.try_recv().is_ok() {},
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.dispatch_all();
        drop(self);
        for thread in threads {
            // The thread's panic message is on stderr.
            let _ = thread.join();
        }
    }

    fn dispatch_all(&mut self) {
        let stored = self.store.notices(self.owner).unwrap_or_else(|error| {
            terminal::message(&format!("warning: notices cannot be read: {error}\n"));
            Vec::new()
        });
        for notice in &stored {
            let dispatched = self
                .content
                .deliveries(&*self.store, notice, &self.targets)
                .and_then(|deliveries| Ok(self.store.dispatch(notice, &deliveries, self.owner, time::now_ms())?));
            // A failure must not prevent the other notices.
            if let Err(error) = dispatched
                && self.failed.insert(notice.number)
            {
                terminal::message(&format!("warning: a notice could not be sent: {error:#}\n"));
            }
        }
        if !stored.is_empty() {
            for sender in self.senders.iter() {
                // The thread may have ended.
                let _ = sender.send(());
            }
        }
    }
}
