//! `branchpoint work`: drives every run of the store that can go on, until it is told to stop.

mod log;
mod metrics;

use std::process::{self, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use branchpoint_host::host::Act;

use self::log::{Format, Log};
use self::metrics::{Counters, Metrics, To};
use crate::backend::{self, Driving, Scope};
use crate::exit::{self, System};
use crate::interrupt;
use crate::notices::Notices;
use crate::outside::{Ears, Here};
use crate::project::{Project, Reach, StoreArguments};
use crate::terminal;

/// How often the driver is looked after, and metrics that are due are told.
const TICK: Duration = Duration::from_millis(200);

/// Drive every run in the store that can go on
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("about.txt")),
    after_long_help = terminal::page(include_str!("after.txt")),
)]
pub(crate) struct Arguments {
    /// How many calls are made at a time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    calls: Option<u32>,

    /// How log lines look
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Text)]
    log_format: Format,

    /// Count what happens: at ADDRESS over HTTP, in a FILE, or every 10 seconds as a JSON line on stderr
    #[arg(long, value_name = "ADDRESS|FILE", num_args = 0..=1, default_missing_value = "-")]
    metrics: Option<To>,

    /// How many seconds calls in flight have to end when it is told to stop
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    grace: u64,

    #[command(flatten)]
    reach: Reach,

    #[command(flatten)]
    store: StoreArguments,
}

/// What comes to whoever writes the log.
enum Heard {
    Act(log::Line),
    Interrupt,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let project = Project::find()?.reaching(arguments.reach);
    let path = project.store_path(&arguments.store)?;
    let here = Arc::new(Here::for_worker(&project, &arguments.store, Ears::of(|_| {}))?);
    let (sender, heard) = channel();
    on_interrupt(sender.clone())?;
    let mut limits = project.limits();
    if let Some(calls) = arguments.calls {
        limits.calls = usize::try_from(calls)?;
    }
    let mut counters = None;
    let mut backend = backend::drive(&project, &arguments.store, ("work", Scope::All), &here, |events, notices| {
        let counted = Arc::new(Counters::new(events));
        counters = Some(Arc::clone(&counted));
        let listener = listener(sender, notices, Arc::clone(&counted));
        Driving { runner: Arc::new(metrics::Counted::new(Arc::clone(&here), counted)), limits, listener }
    })?;
    let counters = counters.context("the counters are made with the driver")?;
    let mut metrics = Metrics::open(arguments.metrics.as_ref(), &counters, &path)?;
    let mut log = Log::new(arguments.log_format, backend::open_read_only(&path)?);
    log.plain("working", &format!("drives the runs in {}; Ctrl-C stops it", path.display()));
    let mut due = Instant::now() + metrics::PERIOD;
    loop {
        match heard.recv_timeout(TICK) {
            Ok(Heard::Act(line)) => log.write(&line),
            Ok(Heard::Interrupt) => break,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => bail!(System("the worker has stopped by itself".into())),
        }
        if !backend.is_driving() {
            // It tells itself why it has stopped.
            backend.leave(Duration::ZERO)?;
            bail!(System("the worker has stopped by itself".into()));
        }
        if Instant::now() >= due {
            due = Instant::now() + metrics::PERIOD;
            metrics.tell()?;
        }
    }
    log.plain("stopping", "waits for calls in flight; Ctrl-C again ends them at once");
    backend.leave(Duration::from_secs(arguments.grace))?;
    while let Ok(heard) = heard.try_recv() {
        if let Heard::Act(line) = heard {
            log.write(&line);
        }
    }
    metrics.tell()?;
    log.plain("stopped", "every run can be taken up by others");
    Ok(ExitCode::SUCCESS)
}

fn listener(heard: Sender<Heard>, mut notices: Notices, counters: Arc<Counters>) -> branchpoint_host::DriverListener {
    Box::new(move |act: &Act| {
        notices.hear(act);
        counters.count(act);
        if let Some(line) = log::Line::of(act) {
            // Nobody may listen any more.
            let _ = heard.send(Heard::Act(line));
        }
    })
}

/// The first signal stops gracefully, the second at once.
fn on_interrupt(heard: Sender<Heard>) -> Result<()> {
    let before = AtomicBool::new(false);
    let handler = move || {
        if before.swap(true, Ordering::Relaxed) || heard.send(Heard::Interrupt).is_err() {
            process::exit(exit::INTERRUPTED.into());
        }
    };
    interrupt::hear(handler)
}
