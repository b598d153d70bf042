//! Driving one run from a command: until it has ended, waits for people, or somebody presses Ctrl-C.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use branchpoint_core::Event;
use branchpoint_core::ir::Status;
use branchpoint_engine::host::{Drives, Host, Refused};
use branchpoint_engine::store::{RunNo, Sent, Store};
use branchpoint_engine::{Driver, Outside, Stop};
use branchpoint_expr::Value;

use crate::notices::Notices;
use crate::opened::Opened;
use crate::outside::{Here, Manner};
use crate::project::StoreArguments;
use crate::runs::{Follower, pending};
use crate::{exit, interrupt, masked, moment, spent, terminal};

/// How often it is looked how the run stands.
const NAP: Duration = Duration::from_millis(30);

/// How long calls in flight may take to end when the command leaves.
const GRACE: Duration = Duration::from_millis(500);

/// A time that a command waits for by itself.
const SHORT_MS: i64 = 60_000;

/// What is said when another process drives a run and is silent.
const UNHEARD: &str = "the process that drives this run does not answer, and nothing was changed; stop it (`branchpoint doctor` names it), then try again";

/// A driver for the runs that a command names, and the store beside it.
pub(crate) struct Drive {
    driver: Driver,
    store: Store,
    stop: Stop,
}

/// How far a run is driven.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// Until only people can make it go on, however long its timers take.
    People,
    /// Until nothing comes of itself within a minute.
    Rest,
}

/// Who has taken an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakenBy {
    /// This process, which drives the run now.
    Us,
    /// The process that drives the run.
    Another,
}

impl Drive {
    pub(crate) fn new(opened: Opened, arguments: &StoreArguments, what: &str) -> Result<Self> {
        let manner = Manner::unattended(&opened.project);
        Self::with(opened, arguments, what, manner)
    }

    /// The same, with calls that are performed in a manner of their own.
    pub(crate) fn with(opened: Opened, arguments: &StoreArguments, what: &str, manner: Manner) -> Result<Self> {
        let Opened { project, store } = opened;
        let said = Arc::new(|said: &str| terminal::tell(said));
        let here = Here::new(&project, manner, said)?;
        let secrets = here.secrets();
        let outside: Arc<dyn Outside> = Arc::new(here);
        let (known, limits) = (Arc::clone(&outside), project.limits());
        let facts = Arc::new(move |name: &str| known.fact(name));
        let host = Host::new(store, what, Drives::Named, facts, moment::now_ms())?;
        let host = host.with_secrets(secrets).with_agents(project.agent_bounds());
        let (mut notices, host) = Notices::new(&project, &project.store_path(arguments)?, host)?;
        let driver = Driver::new(host, outside, limits, Box::new(move |act| notices.hear(act)));
        let stop = Stop::default();
        let word = stop.clone();
        interrupt::hear(move || word.set())?;
        Ok(Self { driver, store: project.open(arguments)?, stop })
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Takes a run up. Why not, if another process drives it.
    pub(crate) fn wake(&self, run: RunNo) -> Result<Result<(), Refused>> {
        Ok(self.driver.wake(run)?.map(drop))
    }

    /// Starts a run with the first events of another.
    pub(crate) fn fork(&self, from: RunNo, events: u64, id: &str) -> Result<RunNo> {
        match self.driver.fork(from, events, id.to_owned())? {
            Ok(taken) if taken.new => Ok(taken.run),
            Ok(_) => bail!("there is a run `{id}` already\nhelp: give another --id"),
            Err(refused) => bail!("the run cannot be forked: {refused}"),
        }
    }

    /// Hands an event to a run, whoever drives it; or tells why the run does not take it.
    pub(crate) fn give(&self, run: RunNo, event: &Event) -> Result<Result<TakenBy, String>> {
        loop {
            match self.driver.hand(run, event.clone())? {
                Ok(_) => return Ok(Ok(TakenBy::Us)),
                Err(Refused::Driven) => match self.store.send(run, event)? {
                    Sent::Taken => return Ok(Ok(TakenBy::Another)),
                    Sent::Refused(reason) => return Ok(Err(reason)),
                    Sent::Unheard => return Ok(Err(UNHEARD.into())),
                    // It has just left: now nobody is in the way.
                    Sent::Undriven => {}
                },
                Err(refused) => return Ok(Err(refused.to_string())),
            }
        }
    }

    /// Drives a run, tells its steps, and lets go of it. None: somebody pressed Ctrl-C.
    pub(crate) fn until(self, until: Until, run: RunNo, mut follower: Follower) -> Result<(Store, Option<Status>)> {
        let stands = self.follow(run, &mut follower, |status| {
            Ok(status.is_final() || status == Status::WaitingPeople || self.is_long(until, run, status)?)
        })?;
        self.driver.leave(GRACE)?;
        follower.show(&self.store, run, true)?;
        Ok((self.store, stands))
    }

    /// Tells the steps of a run until it stands as it is awaited. None: somebody pressed Ctrl-C.
    pub(crate) fn follow(
        &self,
        run: RunNo,
        follower: &mut Follower,
        mut is_awaited: impl FnMut(Status) -> Result<bool>,
    ) -> Result<Option<Status>> {
        let mut version = 0;
        loop {
            let now = self.store.version()?;
            if now != version {
                version = now;
                follower.show(&self.store, run, false)?;
                let status = self.store.stands(run)?;
                if is_awaited(status)? {
                    // It may have gone on between the two looks.
                    follower.show(&self.store, run, false)?;
                    return Ok(Some(status));
                }
            }
            if self.stop.is_set() || !self.driver.is_alive() {
                return Ok(None);
            }
            std::thread::sleep(NAP);
        }
    }

    fn is_long(&self, until: Until, run: RunNo, status: Status) -> Result<bool> {
        if until == Until::People || status != Status::WaitingTimer {
            return Ok(false);
        }
        let due_ms = self.store.next_due_ms(run)?;
        Ok(due_ms.is_none_or(|due_ms| due_ms > moment::now_ms() + SHORT_MS))
    }

    /// Lets go of everything.
    pub(crate) fn leave(self) -> Result<()> {
        Ok(self.driver.leave(GRACE)?)
    }
}

/// Tells how a run stands that was driven: the result on stdout, the rest on stderr. The exit status is that of `run`.
pub(crate) fn tell(store: &Store, run: RunNo, stands: Option<Status>, json: bool) -> Result<ExitCode> {
    let look = store.look(run)?;
    let (secrets, id) = (store.secrets(run)?, look.row.id.clone());
    let Some(status) = stands else {
        terminal::tell(&format!("The run was left as it stands; it goes on with `branchpoint runs resume {id}`.\n"));
        return Ok(ExitCode::from(exit::INTERRUPTED));
    };
    let result = look.result().unwrap_or_default();
    if json {
        let told = masked::object([
            ("run", Value::from(id.as_str())),
            ("status", Value::from(status.as_str())),
            ("usage", spent::object(look.state.usage())),
            ("result", masked::value(&secrets, &result)),
        ]);
        terminal::print(&(serde_json::to_string_pretty(&told)? + "\n"))?;
    }
    match status {
        Status::Completed => {
            if let Some(output) = output(&result).filter(|_| !json) {
                terminal::print(&format!("{}\n", secrets.mask(&output)))?;
            }
            terminal::tell(&format!("Run `{id}` has completed.\n"));
            Ok(ExitCode::SUCCESS)
        }
        Status::Failed | Status::Cancelled => {
            terminal::complain(&secrets.mask(&failure(&id, status, &result)));
            Ok(ExitCode::from(exit::FAILED))
        }
        Status::WaitingPeople => {
            terminal::tell(&format!("Run `{id}` waits for people.\n{}", pending(store, run)?));
            Ok(ExitCode::from(exit::WAITING))
        }
        Status::WaitingTimer | Status::Running => {
            let due =
                store.next_due_ms(run)?.map(|due_ms| format!(" until {}", moment::at(due_ms))).unwrap_or_default();
            let help = format!("`branchpoint work` goes on with it then, or `branchpoint runs resume {id}`");
            terminal::tell(&format!("Run `{id}` waits{due}; {help}.\n"));
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// What a run gave: its output, else the message of its end, else what its variables hold.
pub(crate) fn output(result: &Value) -> Option<String> {
    let part = |key: &str| result.get(key).filter(|part| **part != Value::Null);
    let state = part("state").filter(|state| state.as_object().is_some());
    let output = part("output").or_else(|| part("message")).or_else(|| part("variables")).or(state);
    output.map(ToString::to_string).filter(|output| !output.is_empty())
}

/// Why a run has failed: its dialect names the parts of an error in its own way.
pub(crate) fn failure(id: &str, status: Status, result: &Value) -> String {
    let error = result.get("error").filter(|error| **error != Value::Null).unwrap_or(result);
    let part = |keys: [&str; 2]| {
        let found = keys.iter().find_map(|key| error.get(key)).or_else(|| result.get(keys[0]));
        found.filter(|part| **part != Value::Null).map(Value::to_string).filter(|part| !part.is_empty())
    };
    let what = if status == Status::Cancelled { "was cancelled" } else { "has failed" };
    let at = failed_step(result).map(|step| format!(" at step `{step}`")).unwrap_or_default();
    let kind = part(["kind", "Type"]).map(|kind| format!(" [{kind}]")).unwrap_or_default();
    let message = part(["message", "Message"]).map(|message| format!(": {message}")).unwrap_or_default();
    format!("run `{id}` {what}{at}{kind}{message}\nhelp: `branchpoint runs trace {id}` tells what happened")
}

/// The step that a result names as the one that failed.
pub(crate) fn failed_step(result: &Value) -> Option<&str> {
    let error = result.get("error")?;
    error.get("step").or_else(|| error.get("State")).and_then(Value::as_str)
}
