//! Runs in the foreground: driven by this process, shown on the terminal, and answered by the person at the terminal.

mod backpressure;
mod prompt;
mod view;

use std::collections::BTreeSet;
use std::process;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};
use branchpoint_backend::{
    Backend, BackendError, CallSource, OpenApproval, Rejection, RequestChange, RunEvent, RunEventKind, RunNo, RunView,
};
use branchpoint_core::ir::Status;
use branchpoint_core::{EffectNo, Note, RequestNo};
use branchpoint_runners::SharedSecrets;
use branchpoint_runners::models::{self, Piece};
use jiff::{Timestamp, tz::TimeZone};

use self::backpressure::{Backpressure, QueuedOutput};
use self::prompt::{Prompt, PromptOutcome, is_attended, is_fed};
pub(crate) use self::view::View;
use crate::backend::{self, Driving};
use crate::exit::{self, Exit};
use crate::interrupt;
use crate::local_runner::{LocalRunner, OutputListeners};
use crate::project::{Project, StoreArguments};
use crate::step_line;

/// How often spinners move, and how often a run of another process is checked.
const TICK: Duration = Duration::from_millis(100);

/// The most ops that are replayed for the view when a run is resumed.
const PAST_OPS: u64 = 100_000;

/// The shortest wait that is shown.
const NOTABLE_MS: i64 = 1_000;

/// Drives runs and shows them.
pub(crate) struct Foreground {
    /// Dropped before the backend, which waits for calls: a call may wait until its output is received.
    incoming: Receiver<Incoming>,
    backend: Box<dyn Backend>,
    masks: SharedSecrets,
    view: View,
    prompt: Prompt,
}

/// Events of a run in the foreground.
pub(crate) enum Incoming {
    Notes(RunNo, Vec<Note>),
    StatusChanged(RunNo, Status),
    /// A request to people was opened, or (true) closed.
    RequestChanged(RunNo, RequestNo, bool),
    Output(QueuedOutput),
    /// Text of a model in a call of a run; none if the reply has ended or was discarded.
    ModelText(Arc<str>, EffectNo, Option<String>),
    Line(Option<String>),
    Interrupt,
}

/// Why a run is no longer followed.
pub(crate) enum Outcome {
    /// It has ended.
    Ended(Box<RunView>),
    /// It waits for people.
    Waiting(Box<RunView>, Vec<OpenApproval>),
    /// Ctrl-C was pressed.
    Interrupted,
}

impl Foreground {
    /// Opens the store to drive runs for a user. A quiet one shows no steps. Conversations read lines of standard input if `stdin` is set.
    pub(crate) fn open(
        project: &Project,
        store: &StoreArguments,
        user: String,
        quiet: bool,
        stdin: bool,
    ) -> Result<Self> {
        let reads_lines = is_attended() || stdin && is_fed();
        let (sender, incoming) = channel();
        let (room, printed) = (Backpressure::default(), sender.clone());
        let listeners = OutputListeners {
            printed: Arc::new(move |text| drop(printed.send(Incoming::Output(room.print(text))))),
            words: words(sender.clone(), View::moves(quiet)),
        };
        let here = Arc::new(LocalRunner::new(project, store, listeners)?.for_user(project, &user, reads_lines));
        let backend = backend::drive(project, store, "run", &here, Driving::here(&here, project))?;
        Self::over(backend, here.masks().clone(), (user, quiet, reads_lines), (sender, incoming))
    }

    /// Follows runs that a server drives.
    pub(crate) fn of_server(backend: Box<dyn Backend>, user: String, quiet: bool, stdin: bool) -> Result<Self> {
        let reads_lines = is_attended() || stdin && is_fed();
        Self::over(backend, SharedSecrets::default(), (user, quiet, reads_lines), channel())
    }

    fn over(
        backend: Box<dyn Backend>,
        masks: SharedSecrets,
        (user, quiet, reads_lines): (String, bool, bool),
        (sender, incoming): (Sender<Incoming>, Receiver<Incoming>),
    ) -> Result<Self> {
        let events = sender.clone();
        // The receiver may be gone.
        backend.subscribe(Box::new(move |event| drop(Incoming::of(event).map(|incoming| events.send(incoming)))))?;
        let interrupted = sender.clone();
        interrupt::on_first(move || interrupted.send(Incoming::Interrupt).is_ok())?;
        let view = View::new(quiet, masks.clone());
        let prompt = Prompt::new(user, sender, reads_lines);
        Ok(Self { incoming, backend, masks, view, prompt })
    }

    pub(crate) fn store(&self) -> &dyn Backend {
        &*self.backend
    }

    /// The secrets that are masked in all output.
    pub(crate) fn masks(&self) -> &SharedSecrets {
        &self.masks
    }

    /// Prints a message above the running steps.
    pub(crate) fn say(&mut self, text: &str) {
        self.view.say(text);
    }

    /// Resumes an existing run and follows it. If another process drives it, waits for its end.
    pub(crate) fn resume_run(&mut self, run: RunNo) -> Result<Outcome> {
        self.masks.add(self.backend.secrets(run)?.values().to_vec());
        let mut notes = Vec::new();
        let view = self.backend.replay_part(run, None, PAST_OPS, &mut |note| notes.push(note))?.view;
        if view.row.status.is_final() {
            return Ok(Outcome::Ended(Box::new(view)));
        }
        match self.backend.resume(run, CallSource::Script) {
            Ok(()) => {
                self.view.add_earlier(run, &notes, &*self.backend);
                self.follow(run)
            }
            Err(BackendError::Rejection(Rejection::Driven)) => self.await_other_process(run),
            Err(BackendError::Rejection(refused)) => bail!("the run `{}` cannot be taken up: {refused}", view.row.id),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for a run of another process. If that process ends, the run is resumed here.
    fn await_other_process(&mut self, run: RunNo) -> Result<Outcome> {
        self.say("Another process owns this run; waiting for its end.\n");
        loop {
            let row = self.backend.row(run)?;
            if row.status.is_final() {
                return Ok(Outcome::Ended(Box::new(self.backend.load(run)?)));
            }
            if row.owner.is_none() {
                return self.resume_run(run);
            }
            if row.status == Status::WaitingPeople {
                let view = self.backend.load(run)?;
                let open = self.backend.approvals_in(&view)?;
                return Ok(Outcome::Waiting(Box::new(view), open));
            }
            if let Ok(Incoming::Interrupt) = self.incoming.recv_timeout(TICK) {
                return Ok(Outcome::Interrupted);
            }
        }
    }

    /// Follows a run until it has ended, waits for people, or is interrupted.
    pub(crate) fn follow(&mut self, root: RunNo) -> Result<Outcome> {
        let status = self.backend.load(root)?.status();
        let script = self.backend.script(root)?;
        let recorded = script.is_some_and(|script| script.live_ms.is_none() && script.is_recorded);
        let awaited = BTreeSet::from([root]);
        let mut followed = FollowedRun { root, status, recorded, awaited, must_recheck: true, waits_ms: None };
        loop {
            match self.next(!followed.must_recheck)? {
                Some(Incoming::Interrupt) => return Ok(Outcome::Interrupted),
                Some(incoming) => {
                    followed.note(&incoming);
                    self.handle(incoming)?;
                    continue;
                }
                None => {}
            }
            if followed.status.is_final() {
                let view = self.backend.load(root)?;
                self.view.show_end(root, followed.status);
                return Ok(Outcome::Ended(Box::new(view)));
            }
            if std::mem::take(&mut followed.must_recheck)
                && let Some(left) = self.prompt_for_approvals(&mut followed)?
            {
                return Ok(left);
            }
        }
    }

    /// The next event; none if there is none now, or within a tick if `wait` is set.
    fn next(&mut self, wait: bool) -> Result<Option<Incoming>> {
        let incoming = if wait { self.incoming.recv_timeout(TICK).ok() } else { self.incoming.try_recv().ok() };
        if incoming.is_none() && wait {
            self.view.tick();
            if !self.backend.is_driving() {
                bail!(Exit::system("the run was released: its store failed"));
            }
        }
        Ok(incoming)
    }

    fn handle(&mut self, incoming: Incoming) -> Result<()> {
        match incoming {
            Incoming::Notes(run, notes) => self.view.add_notes(run, &notes, &*self.backend),
            Incoming::StatusChanged(run, status) => {
                if status != Status::WaitingPeople {
                    self.prompt.run_continued(run, &mut self.view);
                }
                if status.is_final() {
                    self.view.show_end(run, status);
                }
            }
            Incoming::RequestChanged(run, request, true) => self.prompt.close(run, request, &mut self.view),
            Incoming::Output(printed) => self.view.show_output(printed.text()),
            Incoming::ModelText(run, effect, text) => self.view.words(&run, effect, text.as_deref()),
            Incoming::Line(line) => self.prompt.handle_line(line.as_deref(), &*self.backend, &mut self.view)?,
            Incoming::RequestChanged(_, _, false) | Incoming::Interrupt => {}
        }
        Ok(())
    }

    /// Prompts for the open approvals. Returns an outcome if they cannot be answered here.
    fn prompt_for_approvals(&mut self, followed: &mut FollowedRun) -> Result<Option<Outcome>> {
        let mut open = Vec::new();
        for run in &followed.awaited {
            open.extend(self.backend.approvals_in(&self.backend.load(*run)?)?);
        }
        let view = self.backend.load(followed.root)?;
        // The steps before an approval are shown before the prompt.
        while let Ok(incoming) = self.incoming.try_recv() {
            if matches!(incoming, Incoming::Interrupt) {
                return Ok(Some(Outcome::Interrupted));
            }
            followed.note(&incoming);
            self.handle(incoming)?;
        }
        let mut answered = PromptOutcome::Nothing;
        let mut moved = Vec::new();
        for open in &open {
            // An answer continues a run, so its other approvals are read again.
            if moved.contains(&open.run) {
                continue;
            }
            match self.prompt.prompt_for(open, followed.recorded, &*self.backend, &mut self.view)? {
                PromptOutcome::Answered => {
                    moved.push(open.run);
                    answered = PromptOutcome::Answered;
                }
                PromptOutcome::Asked if answered == PromptOutcome::Nothing => answered = PromptOutcome::Asked,
                _ => {}
            }
        }
        followed.must_recheck |= answered == PromptOutcome::Answered;
        // A script may have more answers than one turn gives, so the run does not wait for people.
        match view.row.status {
            Status::WaitingPeople if answered == PromptOutcome::Nothing && !followed.must_recheck => {
                let open = self.backend.approvals_in(&view)?;
                Ok(Some(Outcome::Waiting(Box::new(view), open)))
            }
            Status::WaitingTimer => {
                self.print_wait(followed, &view);
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Prints until when a run waits, unless the wait is short.
    fn print_wait(&mut self, followed: &mut FollowedRun, view: &RunView) {
        let Some(due_ms) = view.state.timers().map(|(_, due_ms)| due_ms).min() else { return };
        let pause_ms = due_ms - Timestamp::now().as_millisecond();
        if pause_ms < NOTABLE_MS || followed.waits_ms.replace(due_ms) == Some(due_ms) {
            return;
        }
        let until = Timestamp::from_millisecond(due_ms).map(|at| at.to_zoned(TimeZone::system()));
        let until = until.map(|at| at.strftime("%Y-%m-%d %H:%M:%S").to_string()).unwrap_or_default();
        self.say(&format!("… waits until {until}, {}\n", step_line::duration(pause_ms)));
    }

    /// Releases all runs, so that other processes can continue them, and cancels calls in flight. Returns the store.
    pub(crate) fn leave(mut self) -> Result<Box<dyn Backend>> {
        self.view.close();
        // A command that waits until its output is received could not be stopped.
        let incoming = self.incoming;
        thread::spawn(move || incoming.iter().for_each(drop));
        self.backend.stop(Duration::ZERO)?;
        // From now on the first Ctrl-C ends the process, even if its output is not read.
        interrupt::on_interrupt(|| process::exit(exit::INTERRUPTED.into()))?;
        Ok(self.backend)
    }
}

/// The state of a followed run.
struct FollowedRun {
    root: RunNo,
    status: Status,
    /// Whether a recorded script answers for people.
    recorded: bool,
    /// Runs that may have open approvals.
    awaited: BTreeSet<RunNo>,
    /// Whether the open approvals must be checked again.
    must_recheck: bool,
    /// The end of the wait that was shown last.
    waits_ms: Option<i64>,
}

impl FollowedRun {
    fn note(&mut self, incoming: &Incoming) {
        match incoming {
            Incoming::StatusChanged(run, status) => {
                if *run == self.root {
                    self.status = *status;
                }
                if status.is_final() {
                    self.awaited.remove(run);
                } else {
                    self.awaited.insert(*run);
                }
            }
            Incoming::RequestChanged(run, ..) => {
                self.awaited.insert(*run);
            }
            Incoming::Line(_) => {}
            Incoming::Notes(..) | Incoming::Output(_) | Incoming::ModelText(..) | Incoming::Interrupt => return,
        }
        self.must_recheck = true;
    }
}

impl Incoming {
    /// The part of an event that is shown; none if nothing is.
    fn of(event: &RunEvent) -> Option<Self> {
        Some(match &event.kind {
            RunEventKind::Notes(notes) => Self::Notes(event.run, notes.clone()),
            RunEventKind::Status(status, _) => Self::StatusChanged(event.run, *status),
            RunEventKind::Request(request, change) => {
                Self::RequestChanged(event.run, *request, matches!(change, RequestChange::Closed(_)))
            }
            RunEventKind::Message(text) | RunEventKind::Broken(text) => {
                Self::Output(QueuedOutput::at_once(&format!("{text}\n")))
            }
            RunEventKind::Call | RunEventKind::CallWithdrawn => return None,
        })
    }
}

/// Sends the text of models to the view, if it is shown.
fn words(incoming: Sender<Incoming>, is_seen: bool) -> models::Listener {
    Arc::new(move |call, piece| {
        let text = match piece {
            _ if !is_seen => return,
            Piece::Text(text) => Some(text.to_owned()),
            Piece::End | Piece::Restart => None,
        };
        // The receiver may be gone.
        let _ = incoming.send(Incoming::ModelText(call.run.clone(), call.effect, text));
    })
}
