//! Runs commands in the user's shell, each in its own process group, and reports their output while they run.

pub(crate) mod environment;
mod output;

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use branchpoint_core::RunKinds as _;
use branchpoint_core::effect::{ProcessResult, Stream};
use branchpoint_core::variables::name_problem;
use branchpoint_expr::Kind;
use futures_util::future::{join_all, select_all};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::runner::{Answer, Call};
use crate::secrets::Secrets;
use crate::shorten::shortened;
use output::Output;

/// How many bytes of each stream are kept, unless the effect sets `max_output`.
pub const MAX_OUTPUT: usize = 4 * 1024 * 1024;

/// The output limit of a call: `max_output` of its effect, or the default.
///
/// ```
/// use branchpoint_core::{effect::Kind, ir::builder::effect};
/// use branchpoint_runners::{Call, MAX_OUTPUT, max_output};
///
/// let call = Call::first(effect(Kind::Process), branchpoint_expr::Value::Null);
/// assert_eq!(max_output(&call), MAX_OUTPUT);
/// ```
pub fn max_output(call: &Call) -> usize {
    call.response().max_output.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(MAX_OUTPUT)
}

/// How long to wait for more output after a command has ended, while one of its background processes keeps a stream open.
const SILENCE: Duration = Duration::from_millis(200);

/// The longest time to read output of background processes, however much they print.
const GRACE: Duration = Duration::from_secs(2);

/// The environment variable with the key of the call. A command that is repeated after an interruption gets the same key.
const KEY: &str = "BRANCHPOINT_KEY";

/// The environment variable with the key of a call.
pub(crate) fn key(call: &Call) -> (String, String) {
    (KEY.to_owned(), call.key())
}

/// A command and its options.
#[derive(Clone, Debug)]
pub struct Shell {
    /// The command line for the shell.
    pub command: String,
    /// The working directory.
    pub dir: PathBuf,
    /// The environment variables that it inherits from this process; `None` for all.
    pub inherited: Option<Vec<String>>,
    /// Further environment variables.
    pub env: Vec<(String, String)>,
    /// The time limit.
    pub limit: Option<Duration>,
    /// The most bytes of each stream that are kept.
    pub max_output: usize,
    /// The streams that stop the command when they exceed `max_output`. The rest of other streams is read and dropped, so that the command
    /// does not block.
    pub limited: Vec<Stream>,
    /// Secrets: truncated output must not end in the middle of one.
    pub secrets: Secrets,
    /// The shell, if it is not the user's.
    pub shell: Option<PathBuf>,
}

/// Receives the output of a command piece by piece while it runs. Background processes of the command may print more after it has ended.
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
        if let Some((name, reason)) = self.env.iter().find_map(|(name, _)| Some((name, name_problem(name)?))) {
            let message = format!("`env` must not set the variable `{}`: {reason}", shortened(name));
            return Answer::impossible(Kind::BadEnvName.as_str(), message);
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        match command.spawn().and_then(|child| self.follow(child, input, listener)) {
            Ok(running) => running.answer(self, cancel).await,
            Err(error) => self.not_started(&command, &error),
        }
    }

    /// Explains why a command could not be started. The system reports the same error for a missing program and a missing directory.
    fn not_started(&self, command: &Command, error: &io::Error) -> Answer {
        let is_dir = fs::metadata(&self.dir)
            .and_then(|metadata| if metadata.is_dir() { Ok(()) } else { Err(ErrorKind::NotADirectory.into()) });
        if let Err(error) = is_dir {
            let dir = shortened(&self.dir.display().to_string());
            let message = format!(
                "the working directory `{dir}` cannot be used: {error}; create it, or change `cwd` or `dir` of the step"
            );
            return Answer::impossible(Kind::BadWorkingDir.as_str(), message);
        }
        let program = shortened(&command.as_std().get_program().display().to_string());
        let remedy = match error.kind() {
            ErrorKind::NotFound => "; install it, or correct its name",
            ErrorKind::ArgumentListTooLong => "; pass large values in `stdin` or in a file",
            _ => "",
        };
        let message = format!("`{program}` cannot be started: {error}{remedy}");
        let is_lasting =
            !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::OutOfMemory | ErrorKind::ExecutableFileBusy);
        let answer = if is_lasting { Answer::impossible } else { Answer::failed };
        answer(Kind::StartFailed.as_str(), message)
    }

    fn follow(&self, mut child: Child, input: Option<String>, listener: &Listener) -> io::Result<RunningCommand> {
        if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
            // A separate task, because a program may print before it reads, and may never read.
            tokio::spawn(async move { stdin.write_all(input.as_bytes()).await });
        }
        let mut outputs = Vec::new();
        if let Some(stream) = child.stdout.take() {
            outputs.push(Output::follow(stream.into_owned_fd()?, Stream::Out, self.max_output, listener)?);
        }
        if let Some(stream) = child.stderr.take() {
            outputs.push(Output::follow(stream.into_owned_fd()?, Stream::Err, self.max_output, listener)?);
        }
        Ok(RunningCommand { group: Group::of(&child), child, outputs })
    }
}

/// A running command and its streams.
struct RunningCommand {
    group: Group,
    child: Child,
    outputs: Vec<Output>,
}

impl RunningCommand {
    async fn answer(mut self, shell: &Shell, cancel: &CancellationToken) -> Answer {
        let until = shell.limit.map(|limit| Instant::now() + limit);
        let ended = tokio::select! {
            status = self.child.wait() => status.map_or(Ended::Cancelled, |_| Ended::Itself),
            () = cancel.cancelled() => Ended::Cancelled,
            () = reached(until) => Ended::Limit,
            () = over_limit(&self.outputs, &shell.limited) => Ended::OutputLimit,
        };
        if let Ended::Itself = ended {
            // Its background processes continue.
            self.group.0 = None;
        } else {
            self.group.kill();
        }
        // A killed command is reaped, so that it does not stay a zombie.
        let exit = self.child.wait().await.map_or(1, exit_code);
        self.outputs.iter().for_each(Output::drain);
        if !matches!(ended, Ended::Cancelled) {
            self.await_background_output().await;
        }
        self.await_listener(until, cancel).await;
        let cut = self.outputs.iter().find_map(Output::cut);
        let is_whole = matches!(ended, Ended::Itself);
        let mut texts = self.outputs.iter().map(|output| match output.cut() {
            None if is_whole => Arc::from(output.text()),
            _ => shell.secrets.without_partial_secret(output.text()).into(),
        });
        let (stdout, stderr) = (texts.next().unwrap_or_default(), texts.next().unwrap_or_default());
        match ended {
            Ended::Cancelled => Answer::Missing,
            Ended::Limit => Answer::Process(ProcessResult { exit_code: None, stdout, stderr, cut: None }),
            Ended::Itself | Ended::OutputLimit => {
                Answer::Process(ProcessResult { exit_code: Some(exit), stdout, stderr, cut })
            }
        }
    }

    /// Reads the output of background processes of the ended command, until they are silent or the time for it is over.
    async fn await_background_output(&self) {
        let ended = Instant::now();
        let quiet = join_all(self.outputs.iter().map(|output| output.quiet(ended, SILENCE)));
        // They may print for ever.
        let _ = timeout_at(ended + GRACE, quiet).await;
    }

    /// Waits until the listener has received all output so far, so that the end of the command is reported after it. Gives up if that takes
    /// too long.
    async fn await_listener(&self, until: Option<Instant>, cancel: &CancellationToken) {
        let delivered = join_all(self.outputs.iter().map(|output| output.delivered(output.deliverable_bytes())));
        let ended = Instant::now();
        let over = async {
            tokio::select! {
                () = cancel.cancelled() => {}
                () = reached(until) => {}
            }
            sleep_until(ended + SILENCE).await;
        };
        tokio::select! {
            _ = delivered => {}
            () = over => {}
        }
    }
}

/// Waits until one of these streams exceeds the output limit.
async fn over_limit(outputs: &[Output], limited: &[Stream]) {
    let limited = outputs.iter().filter(|output| limited.contains(&output.stream()));
    let exceeded: Vec<_> = limited.map(|output| Box::pin(output.exceeds())).collect();
    if exceeded.is_empty() {
        return std::future::pending().await;
    }
    select_all(exceeded).await;
}

/// Waits until an instant; without one, for ever.
async fn reached(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// How a command ended.
enum Ended {
    Itself,
    Limit,
    OutputLimit,
    Cancelled,
}

/// The process group of a command. Dropping the value kills it, so a call whose future is dropped leaves no processes.
#[derive(Debug)]
pub(crate) struct Group(Option<Pid>);

impl Group {
    pub(crate) fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }

    fn kill(&mut self) {
        if let Some(group) = self.0.take() {
            // It fails if the group is empty, which is fine.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The exit code. A command that a signal has killed gets the code that shells use: 128 and the signal.
fn exit_code(status: ExitStatus) -> i32 {
    const SIGNALLED: i32 = 128;
    status.code().or_else(|| status.signal().map(|signal| SIGNALLED + signal)).unwrap_or(1)
}

/// `$SHELL` when it is an absolute path that exists, else `/bin/sh`.
fn shell() -> PathBuf {
    let named = std::env::var_os("SHELL").map(PathBuf::from);
    named.filter(|shell| shell.is_absolute() && shell.exists()).unwrap_or_else(|| Path::new("/bin/sh").into())
}
