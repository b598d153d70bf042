//! Commands run for real: by the user's shell, in a process group of their own, told while they run.

pub(crate) mod environment;
mod output;

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::runner::{Answer, Call};
use crate::secrets::Secrets;
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
    /// Secrets that output must not end in the middle of, where it is cut.
    pub secrets: Secrets,
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
    /// Runs the command until it ends, exceeds its limit, or is cancelled.
    pub async fn run(&self, cancel: &CancellationToken, listener: &Listener) -> Answer {
        self.run_program(self.command_line(), None, cancel, listener).await
    }

    /// The shell with the command.
    pub(crate) fn command_line(&self) -> Command {
        let mut command = Command::new(self.shell.clone().unwrap_or_else(shell));
        command.arg("-c").arg(&self.command);
        command
    }

    /// Runs a program under the same rules, with text on its standard input.
    pub async fn run_program(
        &self,
        mut command: Command,
        input: Option<String>,
        cancel: &CancellationToken,
        listener: &Listener,
    ) -> Answer {
        command.current_dir(&self.dir).process_group(0).kill_on_drop(true);
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(names) = &self.inherited {
            command.env_clear().envs(names.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        }
        command.envs(self.env.iter().filter(|(name, _)| may_be_set(name)).map(|(name, value)| (name, value)));
        match command.spawn().and_then(|child| self.attend(child, input, listener)) {
            Ok(attended) => attended.answer(self, cancel).await,
            Err(error) => {
                let program = command.as_std().get_program().display();
                Answer::failed("exit_code", format!("`{program}` cannot be started in {}: {error}", self.dir.display()))
            }
        }
    }

    fn attend(&self, mut child: Child, input: Option<String>, listener: &Listener) -> io::Result<Attended> {
        if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
            // A task of its own, because a program may speak before it reads; it may also not read at all.
            tokio::spawn(async move { stdin.write_all(input.as_bytes()).await });
        }
        let mut outputs = Vec::new();
        if let Some(stream) = child.stdout.take() {
            outputs.push(Output::follow(stream.into_owned_fd()?, Stream::Out, self.max_output, listener)?);
        }
        if let Some(stream) = child.stderr.take() {
            outputs.push(Output::follow(stream.into_owned_fd()?, Stream::Err, self.max_output, listener)?);
        }
        Ok(Attended { group: Group::of(&child), child, outputs })
    }
}

/// A command that runs, and its streams.
struct Attended {
    group: Group,
    child: Child,
    outputs: Vec<Output>,
}

impl Attended {
    async fn answer(mut self, shell: &Shell, cancel: &CancellationToken) -> Answer {
        let until = shell.limit.map(|limit| Instant::now() + limit);
        let ended = tokio::select! {
            status = self.child.wait() => status.map_or(Ended::Cancelled, Ended::By),
            () = cancel.cancelled() => Ended::Cancelled,
            () = reached(until) => Ended::Limit,
        };
        if let Ended::By(_) = ended {
            // Programs that it has left in the background may go on.
            self.group.0 = None;
        } else {
            self.group.kill();
            // It is gone or going; what is left of it must not stay a zombie.
            let _ = self.child.wait().await;
        }
        self.outputs.iter().for_each(Output::drain);
        if !matches!(ended, Ended::Cancelled) {
            self.await_left().await;
        }
        self.await_told(until, cancel).await;
        let cut = self.outputs.iter().find_map(Output::cut);
        let is_whole = matches!(ended, Ended::By(_));
        let mut texts = self.outputs.iter().map(|output| match output.cut() {
            None if is_whole => Arc::from(output.text()),
            _ => shell.secrets.without_unfinished(output.text()).into(),
        });
        let (stdout, stderr) = (texts.next().unwrap_or_default(), texts.next().unwrap_or_default());
        match ended {
            Ended::By(status) => Answer::Process { exit: exit_code(status), stdout, stderr, cut },
            Ended::Limit => Answer::TimedOut { stdout, stderr },
            Ended::Cancelled => Answer::Never,
        }
    }

    /// Reads what the ended command has left behind: nobody knows whether that comes to an end, or prints anything more.
    async fn await_left(&self) {
        let ended = Instant::now();
        let quiet = join_all(self.outputs.iter().map(|output| output.quiet(ended, SILENCE)));
        // However much it prints, it is not read for ever.
        let _ = timeout_at(ended + GRACE, quiet).await;
    }

    /// Everything that was printed up to now reaches the listener before the command is reported as ended, unless that would
    /// take too long.
    async fn await_told(&self, until: Option<Instant>, cancel: &CancellationToken) {
        let told = join_all(self.outputs.iter().map(|output| output.told(output.said())));
        let ended = Instant::now();
        let over = async {
            tokio::select! {
                () = cancel.cancelled() => {}
                () = reached(until) => {}
            }
            sleep_until(ended + SILENCE).await;
        };
        tokio::select! {
            _ = told => {}
            () = over => {}
        }
    }
}

/// Waits for a moment; without one, for ever.
async fn reached(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// How a command ended.
enum Ended {
    By(ExitStatus),
    Limit,
    Cancelled,
}

/// The process group of a command. It does not survive this value: a call whose future is dropped leaves nothing behind.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }

    fn kill(&mut self) {
        if let Some(group) = self.0.take() {
            // Nobody may be left in it, and that is what was wanted.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
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
