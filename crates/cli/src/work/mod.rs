//! `branchpoint work`: executes every run of the store that can continue, until a signal.

mod log;
mod metrics;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use branchpoint_backend::RunEvent;

use self::log::{Format, Log};
use self::metrics::{Counters, Metrics, To};
use crate::backend::{self, Driving};
use crate::exit::Exit;
use crate::local_runner::{LocalRunner, OutputListeners};
use crate::project::{Project, Reach, StoreArguments};
use crate::{interrupt, numbers, terminal};

/// How often the driver is checked, and due metrics are written.
const TICK: Duration = Duration::from_millis(200);

/// Execute detached, due and answered runs of a store
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("about.txt")),
    after_long_help = terminal::page(include_str!("after.txt")),
)]
pub(crate) struct Arguments {
    /// Maximum number of concurrent calls
    #[arg(long, value_name = "N", value_parser = numbers::positive)]
    calls: Option<u32>,

    /// Log format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Text)]
    log_format: Format,

    /// Metrics over HTTP at ADDRESS, in a FILE, or as JSON lines on stderr
    #[arg(long, value_name = "ADDRESS|FILE", num_args = 0..=1, default_missing_value = "-")]
    metrics: Option<To>,

    /// Seconds that calls in flight have to end on shutdown
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    grace: u64,

    #[command(flatten)]
    reach: Reach,

    #[command(flatten)]
    store: StoreArguments,
}

/// Events for the log.
enum Incoming {
    Line(log::Line),
    Interrupt,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let project = Project::find()?.reaching(arguments.reach);
    let path = project.store_path(&arguments.store)?;
    let here = Arc::new(LocalRunner::for_worker(&project, &arguments.store, OutputListeners::of(|_| {}))?);
    let (sender, incoming) = channel();
    let interrupted = sender.clone();
    interrupt::on_first(move || interrupted.send(Incoming::Interrupt).is_ok())?;
    let mut limits = project.limits();
    if let Some(calls) = arguments.calls {
        limits.calls = usize::try_from(calls)?;
    }
    let counters = Arc::new(Counters::default());
    let runner = Arc::new(metrics::CountingRunner::new(Arc::clone(&here), Arc::clone(&counters)));
    let driving = Driving { runner, limits, events: counters.events(), waker: Arc::default() };
    let mut backend = backend::drive(&project, &arguments.store, "work", &here, driving)?;
    let counted = Arc::clone(&counters);
    backend.subscribe(Box::new(move |event: &RunEvent| {
        counted.count(event);
        // The receiver may be gone.
        let _ = log::Line::of(event).map(|line| sender.send(Incoming::Line(line)));
    }))?;
    backend.drive_all()?;
    let mut metrics = Metrics::open(arguments.metrics.as_ref(), &counters, &path)?;
    let mut log = Log::new(arguments.log_format, backend::open_read_only(&path)?);
    log.plain("working", &format!("drives the runs in {}; Ctrl-C stops it", path.display()));
    let mut due = Instant::now() + metrics::PERIOD;
    loop {
        match incoming.recv_timeout(TICK) {
            Ok(Incoming::Line(line)) => log.write(&line),
            Ok(Incoming::Interrupt) => break,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => bail!(Exit::system("the worker has stopped by itself")),
        }
        if !backend.is_driving() {
            // The backend reports why it has stopped.
            backend.stop(Duration::ZERO)?;
            bail!(Exit::system("the worker has stopped by itself"));
        }
        if Instant::now() >= due {
            due = Instant::now() + metrics::PERIOD;
            metrics.write()?;
        }
    }
    log.plain("stopping", "waits for calls in flight; Ctrl-C again ends them at once");
    backend.stop(Duration::from_secs(arguments.grace))?;
    while let Ok(incoming) = incoming.try_recv() {
        if let Incoming::Line(line) = incoming {
            log.write(&line);
        }
    }
    metrics.write()?;
    log.plain("stopped", "other workers can resume the runs");
    Ok(ExitCode::SUCCESS)
}
