//! Programs and commands of this machine that a step runs.

use branchpoint_expr::Value;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use super::failure::impossible;
use crate::local::Local;
use crate::local::shell::Listener;
use crate::runner::{Answer, Call};

/// What steps may run, and where.
#[derive(Clone)]
pub struct Commands {
    /// The directory, what is found in the environment, and who hears what is said.
    pub local: Local,
}

impl std::fmt::Debug for Commands {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Commands").field("dir", &self.local.dir).finish_non_exhaustive()
    }
}

impl Commands {
    /// Performs `process`: `argv`, or `command` with `args`, is a program; `command` alone is run by `sh`, to which a secret is one
    /// word and never a part of the command.
    pub(super) async fn perform(&self, call: &Call, cancel: &CancellationToken) -> Answer {
        match self.local.resolved(call, "step_failed") {
            Ok(resolved) => {
                let answer = self.run(&resolved.call, cancel, &resolved.listener()).await;
                resolved.redacted(answer)
            }
            Err(answer) => answer,
        }
    }

    async fn run(&self, call: &Call, cancel: &CancellationToken, listener: &Listener) -> Answer {
        let input = &call.input;
        let text = |key: &str| input.get(key).filter(|value| **value != Value::Null).map(ToString::to_string);
        let list = |key: &str| input.get(key).and_then(Value::as_list);
        let words = |items: &[Value]| items.iter().map(ToString::to_string).collect::<Vec<_>>();
        let words = match (list("argv"), list("args"), text("command")) {
            (Some(argv), ..) => words(argv),
            (None, Some(args), Some(program)) => [vec![program], words(args)].concat(),
            (None, None, Some(command)) => vec!["/bin/sh".into(), "-c".into(), command],
            (None, _, None) => Vec::new(),
        };
        let Some((program, arguments)) = words.split_first().filter(|(program, _)| !program.is_empty()) else {
            return impossible("there is nothing to run; the step needs `command` or `argv`");
        };
        let mut command = Command::new(program);
        command.args(arguments);
        let dir = self.local.dir_of(call).join(text("cwd").unwrap_or_default());
        let shell = self.local.child(call, dir);
        shell.run_program(command, text("stdin"), cancel, listener).await
    }
}
