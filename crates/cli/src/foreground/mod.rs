//! One run in front of a person: driven here, seen here, and answered here if somebody sits at the terminal.

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

use self::backpressure::{Backpressure, Printed};
use self::prompt::{Prompt, PromptOutcome, is_attended, is_fed};
pub(crate) use self::view::View;
use crate::backend::{self, Driving};
use crate::exit::{self, Exit};
use crate::interrupt;
use crate::local_runner::{LocalRunner, OutputListeners};
use crate::project::{Project, StoreArguments};
use crate::step_line;

/// How often spinners move and somebody looks whether a run of another process has ended.
const TICK: Duration = Duration::from_millis(100);

/// How many ops of its past are replayed for the view when a run is taken up.
const PAST_OPS: u64 = 100_000;

/// A wait that is shorter is not worth a line.
const NOTABLE_MS: i64 = 1_000;

/// Drives runs and shows them.
pub(crate) struct Foreground {
    /// It goes before the driver, which waits for calls: those may wait until somebody has read what they print.
    heard: Receiver<Incoming>,
    backend: Box<dyn Backend>,
    here: Arc<LocalRunner>,
    view: View,
    desk: Prompt,
}

/// Events of a run in the foreground.
pub(crate) enum Incoming {
    Notes(RunNo, Vec<Note>),
    Stands(RunNo, Status),
    /// A question was asked, or (true) settled.
    Question(RunNo, RequestNo, bool),
    Printed(Printed),
    /// What a model says in a call of a run; none: it has ended, or does not count.
    Words(Arc<str>, EffectNo, Option<String>),
    Line(Option<String>),
    Interrupt,
}

/// How a run was left.
pub(crate) enum Left {
    /// It is over.
    Ended(Box<RunView>),
    /// Only people can make it go on.
    Waiting(Box<RunView>, Vec<OpenApproval>),
    /// Somebody pressed Ctrl-C.
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
        let (sender, heard) = channel();
        let (room, printed) = (Backpressure::default(), sender.clone());
        let listeners = OutputListeners {
            printed: Arc::new(move |text| drop(printed.send(Incoming::Printed(room.print(text))))),
            words: words(sender.clone(), View::moves(quiet)),
        };
        let here = Arc::new(LocalRunner::new(project, store, listeners)?.for_user(project, &user, reads_lines));
        let backend = backend::drive(project, store, "run", &here, Driving::here(&here, project))?;
        let events = sender.clone();
        // The receiver may be gone.
        backend.subscribe(Box::new(move |event| drop(Incoming::of(event).map(|heard| events.send(heard)))))?;
        let interrupted = sender.clone();
        interrupt::on_first(move || interrupted.send(Incoming::Interrupt).is_ok())?;
        let view = View::new(quiet, here.masks().clone());
        let desk = Prompt::new(user, sender, reads_lines);
        Ok(Self { heard, backend, here, view, desk })
    }

    pub(crate) fn store(&self) -> &dyn Backend {
        &*self.backend
    }

    /// What must not be shown.
    pub(crate) fn masks(&self) -> &SharedSecrets {
        self.here.masks()
    }

    /// A message, above what is at work.
    pub(crate) fn say(&mut self, text: &str) {
        self.view.say(text);
    }

    /// Takes up a run that was there before, and follows it. If another process drives it, its end is awaited.
    pub(crate) fn take_up(&mut self, run: RunNo) -> Result<Left> {
        self.here.masks().add(self.backend.secrets(run)?.values().to_vec());
        let mut notes = Vec::new();
        let look = self.backend.replay_part(run, None, PAST_OPS, &mut |note| notes.push(note))?.view;
        if look.row.status.is_final() {
            return Ok(Left::Ended(Box::new(look)));
        }
        match self.backend.resume(run, CallSource::Script) {
            Ok(()) => {
                self.view.add_earlier(run, &notes, &*self.backend);
                self.follow(run)
            }
            Err(BackendError::Rejection(Rejection::Driven)) => self.await_other(run),
            Err(BackendError::Rejection(refused)) => bail!("the run `{}` cannot be taken up: {refused}", look.row.id),
            Err(error) => Err(error.into()),
        }
    }

    /// Another process drives the run. Should it be gone, the run is taken up here.
    fn await_other(&mut self, run: RunNo) -> Result<Left> {
        self.say("Another process owns this run; waiting for its end.\n");
        loop {
            let row = self.backend.row(run)?;
            if row.status.is_final() {
                return Ok(Left::Ended(Box::new(self.backend.load(run)?)));
            }
            if row.owner.is_none() {
                return self.take_up(run);
            }
            if row.status == Status::WaitingPeople {
                let look = self.backend.load(run)?;
                let open = self.backend.approvals_in(&look)?;
                return Ok(Left::Waiting(Box::new(look), open));
            }
            if let Ok(Incoming::Interrupt) = self.heard.recv_timeout(TICK) {
                return Ok(Left::Interrupted);
            }
        }
    }

    /// Follows a run until it has ended, only people can make it go on, or somebody interrupts.
    pub(crate) fn follow(&mut self, root: RunNo) -> Result<Left> {
        let status = self.backend.load(root)?.status();
        let script = self.backend.script(root)?;
        let recorded = script.is_some_and(|script| script.live_ms.is_none() && script.is_recorded);
        let asking = BTreeSet::from([root]);
        let mut scene = Scene { root, status, recorded, asking, look_again: true, waits_ms: None };
        loop {
            match self.next(!scene.look_again)? {
                Some(Incoming::Interrupt) => return Ok(Left::Interrupted),
                Some(heard) => {
                    scene.note(&heard);
                    self.hear(heard)?;
                    continue;
                }
                None => {}
            }
            if scene.status.is_final() {
                let look = self.backend.load(root)?;
                self.view.ended(root, scene.status);
                return Ok(Left::Ended(Box::new(look)));
            }
            if std::mem::take(&mut scene.look_again)
                && let Some(left) = self.attend(&mut scene)?
            {
                return Ok(left);
            }
        }
    }

    /// The next thing to hear. None: nothing has come, perhaps after a while.
    fn next(&mut self, wait: bool) -> Result<Option<Incoming>> {
        let incoming = if wait { self.heard.recv_timeout(TICK).ok() } else { self.heard.try_recv().ok() };
        if incoming.is_none() && wait {
            self.view.tick();
            if !self.backend.is_driving() {
                bail!(Exit::system("the run was released: its store failed"));
            }
        }
        Ok(incoming)
    }

    fn hear(&mut self, heard: Incoming) -> Result<()> {
        match heard {
            Incoming::Notes(run, notes) => self.view.add_notes(run, &notes, &*self.backend),
            Incoming::Stands(run, status) => {
                if status != Status::WaitingPeople {
                    self.desk.moved(run, &mut self.view);
                }
                if status.is_final() {
                    self.view.ended(run, status);
                }
            }
            Incoming::Question(run, request, true) => self.desk.closed(run, request, &mut self.view),
            Incoming::Printed(printed) => self.view.printed(printed.text()),
            Incoming::Words(run, effect, text) => self.view.words(&run, effect, text.as_deref()),
            Incoming::Line(line) => self.desk.typed(line.as_deref(), &*self.backend, &mut self.view)?,
            Incoming::Question(_, _, false) | Incoming::Interrupt => {}
        }
        Ok(())
    }

    /// Finds out who can answer the open approvals. The run is released if they cannot be answered here.
    fn attend(&mut self, scene: &mut Scene) -> Result<Option<Left>> {
        let mut open = Vec::new();
        for run in &scene.asking {
            open.extend(self.backend.approvals_in(&self.backend.load(*run)?)?);
        }
        let look = self.backend.load(scene.root)?;
        // The steps before an approval are shown before the prompt.
        while let Ok(heard) = self.heard.try_recv() {
            if matches!(heard, Incoming::Interrupt) {
                return Ok(Some(Left::Interrupted));
            }
            scene.note(&heard);
            self.hear(heard)?;
        }
        let mut answered = PromptOutcome::Nothing;
        let mut moved = Vec::new();
        for open in &open {
            // An answer moves a run: what else it waits for is looked at anew.
            if moved.contains(&open.run) {
                continue;
            }
            match self.desk.look_at(open, scene.recorded, &*self.backend, &mut self.view)? {
                PromptOutcome::Answered => {
                    moved.push(open.run);
                    answered = PromptOutcome::Answered;
                }
                PromptOutcome::Asked if answered == PromptOutcome::Nothing => answered = PromptOutcome::Asked,
                _ => {}
            }
        }
        scene.look_again |= answered == PromptOutcome::Answered;
        // A script that has more answers than a turn gives keeps the run from waiting.
        match look.row.status {
            Status::WaitingPeople if answered == PromptOutcome::Nothing && !scene.look_again => {
                let open = self.backend.approvals_in(&look)?;
                Ok(Some(Left::Waiting(Box::new(look), open)))
            }
            Status::WaitingTimer => {
                self.print_wait(scene, &look);
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Tells until when a run waits, if that is worth a line.
    fn print_wait(&mut self, scene: &mut Scene, look: &RunView) {
        let Some(due_ms) = look.state.timers().map(|(_, due_ms)| due_ms).min() else { return };
        let pause_ms = due_ms - Timestamp::now().as_millisecond();
        if pause_ms < NOTABLE_MS || scene.waits_ms.replace(due_ms) == Some(due_ms) {
            return;
        }
        let until = Timestamp::from_millisecond(due_ms).map(|at| at.to_zoned(TimeZone::system()));
        let until = until.map(|at| at.strftime("%Y-%m-%d %H:%M:%S").to_string()).unwrap_or_default();
        self.say(&format!("… waits until {until}, {}\n", step_line::duration(pause_ms)));
    }

    /// Lets go of all runs, so that others can go on with them. Calls that are in flight are stopped. The store tells what became
    /// of everything.
    pub(crate) fn leave(mut self) -> Result<Box<dyn Backend>> {
        self.view.close();
        // Commands that wait until somebody has read what they print could not be stopped.
        let incoming = self.heard;
        thread::spawn(move || incoming.iter().for_each(drop));
        self.backend.stop(Duration::ZERO)?;
        // Nothing is left to stop: from now on the first Ctrl-C ends the process, even if its output is not read.
        interrupt::on_interrupt(|| process::exit(exit::INTERRUPTED.into()))?;
        Ok(self.backend)
    }
}

/// How the run stands that is followed.
struct Scene {
    root: RunNo,
    status: Status,
    /// Whether a recorded script answers for people.
    recorded: bool,
    /// Runs that somebody may have to answer.
    asking: BTreeSet<RunNo>,
    /// Whether something has happened since somebody looked.
    look_again: bool,
    /// The wait that was shown last.
    waits_ms: Option<i64>,
}

impl Scene {
    fn note(&mut self, heard: &Incoming) {
        match heard {
            Incoming::Stands(run, status) => {
                if *run == self.root {
                    self.status = *status;
                }
                if status.is_final() {
                    self.asking.remove(run);
                } else {
                    self.asking.insert(*run);
                }
            }
            Incoming::Question(run, ..) => {
                self.asking.insert(*run);
            }
            Incoming::Line(_) => {}
            Incoming::Notes(..) | Incoming::Printed(_) | Incoming::Words(..) | Incoming::Interrupt => return,
        }
        self.look_again = true;
    }
}

impl Incoming {
    /// The part of an event that is shown; none if nothing is.
    fn of(event: &RunEvent) -> Option<Self> {
        Some(match &event.kind {
            RunEventKind::Notes(notes) => Self::Notes(event.run, notes.clone()),
            RunEventKind::Status(status, _) => Self::Stands(event.run, *status),
            RunEventKind::Request(request, change) => {
                Self::Question(event.run, *request, matches!(change, RequestChange::Closed(_)))
            }
            RunEventKind::Message(text) | RunEventKind::Broken(text) => {
                Self::Printed(Printed::at_once(&format!("{text}\n")))
            }
            RunEventKind::Call | RunEventKind::CallWithdrawn => return None,
        })
    }
}

/// Hands on what models say, where it can be seen.
fn words(heard: Sender<Incoming>, is_seen: bool) -> models::Listener {
    Arc::new(move |call, piece| {
        let text = match piece {
            _ if !is_seen => return,
            Piece::Text(text) => Some(text.to_owned()),
            Piece::End | Piece::Restart => None,
        };
        // The receiver may be gone.
        let _ = heard.send(Incoming::Words(call.run.clone(), call.effect, text));
    })
}
