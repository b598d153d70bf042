//! Who performs calls for the command line: the script first, then this machine, else nobody, and that is told.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use branchpoint_core::ir::Effect;
use branchpoint_engine::host::Host;
use branchpoint_engine::models::{Listener as Words, Piece};
use branchpoint_engine::{Answer, Call, Local, Outside, Runner as _, Secrets, SharedSecrets, Stop};
use branchpoint_expr::{Kind, Object, Value};

use crate::login;
use crate::moment;
use crate::project::Project;
use crate::run::Answers;
use crate::runners::Runners;

/// How often a call that hangs looks whether it is to end.
const NAP: Duration = Duration::from_millis(20);

/// Hears a text, with secrets masked.
pub(crate) type Said = Arc<dyn Fn(&str) + Send + Sync>;

/// Whoever watches.
pub(crate) struct Ears {
    /// Hears what commands print and what is logged, and may keep them waiting.
    pub(crate) printed: Said,
    /// Hears what the driver's own thread has to say, and does not keep it waiting: whoever watches may wait for the driver.
    pub(crate) noted: Said,
    /// Hears what models say while they say it.
    pub(crate) words: Words,
}

impl Ears {
    /// Whoever hears everything alike, and models when they have said it.
    pub(crate) fn of(said: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let said: Said = Arc::new(said);
        Self { printed: Arc::clone(&said), noted: said, words: Arc::new(|_, _| {}) }
    }

    /// The same, without secrets.
    fn masked(self, masks: &SharedSecrets) -> Self {
        let masked = |said: Said| -> Said {
            let masks = masks.clone();
            Arc::new(move |text| said(&masks.mask(text)))
        };
        let (words, shown) = (self.words, masks.clone());
        let words: Words = Arc::new(move |call, piece| match piece {
            Piece::Text(text) => words(call, Piece::Text(&shown.mask(text))),
            piece => words(call, piece),
        });
        Self { printed: masked(self.printed), noted: masked(self.noted), words }
    }
}

/// This machine, and the answers of the script.
pub(crate) struct Here {
    local: Local,
    runners: Runners,
    answers: Mutex<Answers>,
    /// What the script answers to calls that take their time, by their keys.
    pending: Mutex<BTreeMap<String, Pending>>,
    noted: Said,
    /// Everything that is masked in what is shown.
    masks: SharedSecrets,
    /// The secrets of the environment.
    private: Secrets,
    account: Value,
    /// Whether somebody sits at the terminal.
    attached: bool,
    /// Whether runs without a folder are worked for where this process stands.
    anywhere: bool,
}

/// An answer that comes after some time.
struct Pending {
    answer: Answer,
    /// None: it does not come at all.
    after: Option<Duration>,
}

/// For whom calls are performed, and how.
pub(crate) struct Manner {
    pub(crate) user: String,
    pub(crate) answers: Answers,
    /// Whether somebody sits at the terminal.
    pub(crate) attached: bool,
}

impl Manner {
    /// Nobody is there, and nothing was written down.
    pub(crate) fn unattended(project: &Project) -> Self {
        let (user, answers) = (project.user(None), Answers::none());
        Self { user, answers, attached: false }
    }
}

impl Here {
    pub(crate) fn new(project: &Project, manner: Manner, ears: Ears) -> Result<Self> {
        let Manner { user, answers, attached } = manner;
        let private = project.private();
        let masks = SharedSecrets::from(private.clone());
        let (file, seen, recorded) = (project.secrets()?, masks.clone(), answers.is_recorded());
        let Ears { printed, noted, words } = ears.masked(&masks);
        let mut local = Local {
            listener: Arc::new(move |_, text| printed(text)),
            mask: masks.clone(),
            // Whatever was put into a call is not shown when the call repeats it.
            secrets: Arc::new(move |name| {
                let value = env::var(name).ok().or_else(|| file.get(name).cloned());
                seen.add(value.clone());
                // Nothing goes out when a run is played again, so a secret that is not here is not missed.
                value.or_else(|| recorded.then(|| "***".to_owned()))
            }),
            ..Local::new(env::current_dir()?)
        };
        let runners = Runners::new(project, &local, words)?;
        local.agents = runners.agents().clone();
        let (answers, pending, account) = (Mutex::new(answers), Mutex::default(), account(project, &user));
        Ok(Self { local, runners, answers, pending, noted, masks, private, account, attached, anywhere: true })
    }

    /// The same for a worker: it works only in the folders of the runs.
    pub(crate) fn for_worker(project: &Project, ears: Ears) -> Result<Self> {
        let here = Self::new(project, Manner::unattended(project), ears)?;
        Ok(Self { anywhere: false, ..here })
    }

    pub(crate) fn masks(&self) -> &SharedSecrets {
        &self.masks
    }

    /// The host with what it is to know of this machine: what is secret here, and what the operator lets agents use.
    pub(crate) fn furnish(&self, host: Host, project: &Project) -> Host {
        let host = host.with_secrets(Arc::clone(&self.local.secrets)).keeping_private(&self.private);
        // A worker shows nothing that runs say, and would collect the secrets of all of them.
        let host = if self.anywhere { host.sharing_secrets(self.masks.clone()) } else { host };
        host.with_agents(project.agent_bounds()).with_max_ops(project.max_ops())
    }

    /// What is written down. Calls are known by what they were asked with, secrets aside.
    pub(crate) fn answers(&self) -> MutexGuard<'_, Answers> {
        let mut answers = lock(&self.answers);
        if answers.is_recorded() {
            answers.mask_with(self.masks.secrets());
            answers.at(moment::now_ms());
        }
        answers
    }

    /// Waits until an answer comes, the limit of the call is over, or nobody waits any more.
    fn await_pending(pending: Pending, call: &Call, stop: &Stop) -> Answer {
        let (began, limit) = (Instant::now(), call.attempt_limit_ms.map(Duration::from_millis));
        let until = pending.after.into_iter().chain(limit).min();
        while !stop.is_set() {
            let left = until.map(|until| until.saturating_sub(began.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                let in_time = pending.after.is_some_and(|after| limit.is_none_or(|limit| after <= limit));
                return if in_time { pending.answer } else { Answer::Never };
            }
            thread::sleep(left.map_or(NAP, |left| left.min(NAP)));
        }
        Answer::Never
    }

    fn local(&self, call: &Call, stop: &Stop) -> Option<Answer> {
        let folder = Path::new(&*call.folder);
        let works = matches!(&*call.kind, "shell" | "agent" | "read" | "process");
        if works && !self.anywhere && !folder.is_absolute() {
            return Some(Answer::failed("exit_code", "the run has no folder, and a worker runs commands only there"));
        }
        if works && folder.is_absolute() && !folder.is_dir() {
            let message = format!("the folder of the run, {}, is not there", folder.display());
            return Some(Answer::failed("exit_code", message));
        }
        self.local.perform(call, stop).or_else(|| self.agent(call, stop))
    }

    /// Agents that are programs; the others are asked over their API.
    fn agent(&self, call: &Call, stop: &Stop) -> Option<Answer> {
        if &*call.kind == "agent" { self.local.agent(call, stop) } else { None }
    }

    /// The word that ends the looking for what is lacking: servers of tools are asked for it, and may not answer.
    pub(crate) fn checks(&self) -> Stop {
        self.runners.checks()
    }

    /// Why calls of an effect cannot be performed here; none if they can.
    pub(crate) fn lacks(&self, effect: &Effect) -> Option<(Kind, String)> {
        if matches!(&*effect.kind, "shell" | "read" | "log") { None } else { self.runners.lacks(effect) }
    }
}

impl Outside for Here {
    fn perform(&self, call: &Call, stop: &Stop) -> Answer {
        let pending = lock(&self.pending).remove(&call.key());
        if let Some(pending) = pending {
            return Self::await_pending(pending, call, stop);
        }
        self.local(call, stop).or_else(|| self.runners.perform(call, stop)).unwrap_or_else(|| {
            let message = format!("nothing here performs `{}`; write an answer into the file of --script", call.kind);
            Answer::impossible(if &*call.kind == "agent" { "agent" } else { "no_runner" }, message)
        })
    }

    /// What was written down takes no time, unless it says so: a call that the script lets hang has reached its limit at once, if it
    /// has one.
    fn at_once(&self, call: &Call) -> Option<Answer> {
        let mut answers = self.answers();
        if !answers.answers(call) {
            return None;
        }
        let reply = match answers.reply(call) {
            Ok(reply) => reply,
            Err(why) => {
                // The workflow may go on after the failure; whoever plays it again is to know that it went otherwise.
                (self.noted)(&format!("{why}.\n"));
                return Some(Answer::refused("step_failed", why));
            }
        };
        let after = match &reply.answer {
            _ if reply.withdrawn => None,
            Answer::Never if call.attempt_limit_ms.is_none() => None,
            answer if reply.delay_ms == 0 => return Some(answer.clone()),
            _ => Some(Duration::from_millis(reply.delay_ms)),
        };
        lock(&self.pending).insert(call.key(), Pending { answer: reply.answer, after });
        None
    }

    fn fact(&self, name: &str) -> Value {
        let recorded = self.answers().fact(name);
        match name {
            _ if recorded.is_some() => recorded.unwrap_or_default(),
            "user_attached" => Value::Bool(self.attached),
            "account" => self.account.clone(),
            name => fact(name),
        }
    }
}

/// What is known of this machine under a name. Nobody is attached to a run that is only tried.
pub(crate) fn fact(name: &str) -> Value {
    match name {
        "user_attached" => Value::Bool(false),
        "run_id" => Value::from("run"),
        "working_dir" => env::current_dir().map_or(Value::Null, |dir| Value::from(dir.display().to_string())),
        "user" => Value::from(login::user_name()),
        "hostname" => variable("HOSTNAME"),
        "attachments" | "metadata" => Value::from(Object::default()),
        "agent_id" => Value::from("agent"),
        name => name.strip_prefix("env.").map_or(Value::Null, variable),
    }
}

/// Who can be asked: the people of the project; where it names none, whoever runs the workflow.
pub(crate) fn account(project: &Project, user: &str) -> Value {
    let people = &project.people;
    let list = |names: &[String]| -> Value {
        let names = if names.is_empty() { &[user.to_owned()] } else { names };
        Value::from(names.iter().map(|name| Value::from(name.as_str())).collect::<Vec<_>>())
    };
    let fields = [
        ("owner", Value::from(people.owner.as_deref().unwrap_or(user))),
        ("admins", list(&people.admins)),
        ("members", list(&people.members)),
    ];
    Value::from(fields.into_iter().map(|(key, value)| (Arc::from(key), value)).collect::<Object>())
}

fn variable(name: &str) -> Value {
    env::var(name).map_or(Value::Null, Value::from)
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}
