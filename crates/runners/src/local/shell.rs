//! Commands run for real: by the user's shell, in a process group of their own, told while they run.

pub(crate) mod environment;
mod output;

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::cancel::Stop;
use crate::runner::{Answer, Call};
use environment::may_be_set;
use output::Output;

/// How many bytes of each stream are kept, unless the effect sets `max_output`. The rest is read and dropped, so that the command
/// does not block.
pub const MAX_OUTPUT: usize = 4 * 1024 * 1024;

/// The output limit of a call: `max_output` of its effect, or the default.
pub fn max_output(call: &Call) -> usize {
    call.response().max_output.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(MAX_OUTPUT)
}

/// How long something that the command has left behind may be silent, while it holds a stream of the ended command, until nothing
/// more is expected of it.
const SILENCE: Duration = Duration::from_millis(200);

/// How long it is listened to, however much it says.
const GRACE: Duration = Duration::from_secs(2);

/// How often somebody looks whether everything is read and told.
const NAP: Duration = Duration::from_millis(1);

/// The name under which a command finds the key of its call: one that was stopped halfway is started again under the same key.
const KEY: &str = "BRANCHPOINT_KEY";

/// What a command finds in its environment about its call.
pub(crate) fn key(call: &Call) -> (String, String) {
    (KEY.to_owned(), call.key())
}

/// One command.
#[derive(Clone, Debug)]
pub struct Shell {
    /// What the shell is given.
    pub command: String,
    /// Where it runs.
    pub dir: PathBuf,
    /// The names of this process's environment that it finds in its own; none: all of them.
    pub inherited: Option<Vec<String>>,
    /// What it finds in its environment beside these.
    pub env: Vec<(String, String)>,
    /// How long it may take.
    pub limit: Option<Duration>,
    /// How many bytes of each stream are kept.
    pub max_output: usize,
    /// The shell, if it is not the user's.
    pub shell: Option<PathBuf>,
}

/// A stream of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// What it prints.
    Out,
    /// What it complains about.
    Err,
}

/// Hears what a command says while it runs, a piece at a time. Something that the command has left in the background may go
/// on speaking after the command has ended.
pub type Listener = Arc<dyn Fn(Stream, &str) + Send + Sync>;

impl Shell {
    /// Runs the command until it ends, its limit is over, or it is stopped.
    pub fn run(&self, stop: &Stop, listener: &Listener) -> Answer {
        let mut command = Command::new(self.shell.clone().unwrap_or_else(shell));
        command.arg("-c").arg(&self.command);
        self.run_program(command, stop, listener)
    }

    /// Runs a program under the same rules.
    pub fn run_program(&self, command: Command, stop: &Stop, listener: &Listener) -> Answer {
        self.run_fed(command, None, stop, listener)
    }

    /// Runs a program under the same rules, with something to read.
    pub fn run_fed(&self, mut command: Command, input: Option<String>, stop: &Stop, listener: &Listener) -> Answer {
        command.current_dir(&self.dir).process_group(0);
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(names) = &self.inherited {
            command.env_clear().envs(names.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        }
        command.envs(self.env.iter().filter(|(name, _)| may_be_set(name)).map(|(name, value)| (name, value)));
        match command.spawn() {
            Ok(mut child) => {
                if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
                    // A thread of its own, because a program may speak before it listens; it may also not listen at all.
                    thread::spawn(move || stdin.write_all(input.as_bytes()));
                }
                self.attend(child, stop, listener)
            }
            Err(error) => {
                let program = command.get_program().display();
                Answer::failed("exit_code", format!("`{program}` cannot be started in {}: {error}", self.dir.display()))
            }
        }
    }

    fn attend(&self, mut child: Child, stop: &Stop, listener: &Listener) -> Answer {
        let until = self.limit.map(|limit| Instant::now() + limit);
        let outputs = [
            child.stdout.take().map(|stream| self.follow(OwnedFd::from(stream), Stream::Out, listener)),
            child.stderr.take().map(|stream| self.follow(OwnedFd::from(stream), Stream::Err, listener)),
        ];
        let ended = wait(&mut child, until, stop);
        if !matches!(ended, Ended::By(_)) {
            kill_group(&child);
            // It is gone or going; what is left of it must not stay a zombie.
            let _ = child.wait();
        }
        outputs.iter().flatten().for_each(Output::drain);
        if !matches!(ended, Ended::Stopped) {
            await_left(&outputs);
        }
        await_told(&outputs, until, stop);
        let cut = outputs.iter().flatten().find_map(Output::cut);
        let [stdout, stderr] = outputs.map(|output| output.map(|output| output.text()).unwrap_or_default().into());
        match ended {
            Ended::By(status) => Answer::Process { exit: exit_code(status), stdout, stderr, cut },
            Ended::Limit => Answer::TimedOut { stdout, stderr },
            Ended::Stopped => Answer::Never,
        }
    }

    fn follow(&self, stream: OwnedFd, which: Stream, listener: &Listener) -> Output {
        Output::follow(stream, which, self.max_output, listener)
    }
}

/// How a command ended.
enum Ended {
    By(ExitStatus),
    Limit,
    Stopped,
}

fn wait(child: &mut Child, until: Option<Instant>, stop: &Stop) -> Ended {
    let mut pause = Duration::from_micros(200);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ended::By(status),
            Ok(None) => {}
            Err(_) => return Ended::Stopped,
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ended::Limit;
        }
        if stop.is_set() {
            return Ended::Stopped;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}

/// Listens to what the ended command has left behind: nobody knows whether that comes to an end, or says anything more.
fn await_left(outputs: &[Option<Output>]) {
    let ended = Instant::now();
    let goes_on = |output: &Output| !output.has_ended() && output.silence().min(ended.elapsed()) < SILENCE;
    while outputs.iter().flatten().any(goes_on) && ended.elapsed() < GRACE {
        thread::sleep(NAP);
    }
}

/// Whoever listens has heard everything that was said up to now before it is told that the command has ended, unless that would take
/// too long.
fn await_told(outputs: &[Option<Output>], until: Option<Instant>, stop: &Stop) {
    let ended = Instant::now();
    let said: Vec<(&Output, u64)> = outputs.iter().flatten().map(|output| (output, output.said())).collect();
    while !said.iter().all(|(output, bytes)| output.is_told(*bytes)) {
        let is_over = stop.is_set() || until.is_some_and(|until| Instant::now() >= until);
        if is_over && ended.elapsed() >= SILENCE {
            return;
        }
        thread::sleep(NAP);
    }
}

/// Ends the command and everything it started that is still in its group.
fn kill_group(child: &Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // Nobody may be left in it, and that is what was wanted.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// A command that a signal ended has the code that shells give it.
fn exit_code(status: ExitStatus) -> i32 {
    const SIGNALLED: i32 = 128;
    status.code().or_else(|| status.signal().map(|signal| SIGNALLED + signal)).unwrap_or(1)
}

/// `$SHELL` when it is an absolute path that exists, else `/bin/sh`.
fn shell() -> PathBuf {
    let named = std::env::var_os("SHELL").map(PathBuf::from);
    named.filter(|shell| shell.is_absolute() && shell.exists()).unwrap_or_else(|| Path::new("/bin/sh").into())
}
