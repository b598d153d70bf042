//! The trait of runners, one call of a run, and the raw answer to it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use branchpoint_core::effect::{
    Content, FieldError, HttpResponse, Kind, ModelResult, ProcessResult, Request, Response,
};
use branchpoint_core::ir::{Effect, Index, Program};
use branchpoint_core::{AttemptError, Command, EffectNo, RetryHint, Usage};
use branchpoint_expr::Value;
use tokio_util::sync::CancellationToken;

use crate::local::SecretStore;
use crate::secrets::{Secrets, resolve};

/// An attempt that is being performed.
pub type AnswerFuture<'c> = Pin<Box<dyn Future<Output = Answer> + Send + 'c>>;

/// Performs calls, many at a time. It returns raw answers; [`crate::judge`] turns them into values or errors.
pub trait Runner: Send + Sync {
    /// Performs one attempt, however long that takes. The attempt ends early when it is cancelled.
    fn perform<'c>(&'c self, call: &'c Call, cancel: &'c CancellationToken) -> AnswerFuture<'c>;

    /// Answers a call without waiting. The host tries this on its own thread, before it hands the call to the runtime.
    fn answer_immediately(&self, _call: &Call) -> Option<Answer> {
        None
    }

    /// A fact about the host, such as the time, by its name; null for an unknown name.
    fn fact(&self, name: &str) -> Value;

    /// The next line that the user enters; `None` without an attached user, and at the end of the input.
    fn next_line(&self) -> Option<String> {
        None
    }
}

/// One attempt of an effect.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The id of the run that makes the call.
    pub run: Arc<str>,
    /// The folder that the run works in; empty for the runner's own folder.
    pub folder: Arc<str>,
    /// The effect of the run, by number.
    pub effect: EffectNo,
    /// The attempt, counted from 1.
    pub attempt: u32,
    /// How many answers the effect has had. With the run and the effect, it is the idempotency key.
    pub answers: u32,
    /// The effect as its program defines it.
    pub definition: Arc<Effect>,
    /// The fields of the request that the run computed.
    pub input: Value,
    /// The id of the step it belongs to.
    pub step: Option<Arc<str>>,
    /// The steps that called the run, outermost first, separated by `/`; empty for a run that nothing called.
    pub callers: Arc<str>,
    /// The positions of the items around it, outermost first; those around its callers come before its own.
    pub path: Vec<u32>,
    /// The sealed secrets of the run. Truncated output must not end in the middle of one.
    pub sealed: Secrets,
}

impl Call {
    /// The call of a command; `None` for commands other than [`Command::Perform`].
    ///
    /// ```
    /// use branchpoint_core::{Command, ir::Status, ir::builder::Builder};
    /// use branchpoint_runners::Call;
    ///
    /// let finish = Command::Finish { status: Status::Completed, result: "done".into() };
    /// assert_eq!(Call::from_command(&Builder::sample(), &"d1".into(), &"".into(), finish), None);
    /// ```
    pub fn from_command(program: &Program, run: &Arc<str>, folder: &Arc<str>, command: Command) -> Option<Self> {
        let Command::Perform { effect, attempt, effect_id, input, answers, path } = command else { return None };
        let definition = &program.effects[effect_id.index()];
        Some(Self {
            run: run.clone(),
            folder: folder.clone(),
            effect,
            attempt,
            answers,
            definition: definition.clone(),
            input,
            step: definition.step.map(|step| program.steps[step.index()].id.clone()),
            callers: "".into(),
            path,
            sealed: Secrets::default(),
        })
    }

    /// The first attempt of an effect on its own, without a program.
    ///
    /// ```
    /// use branchpoint_core::{effect::Kind, ir::builder::effect};
    /// use branchpoint_runners::Call;
    ///
    /// let call = Call::first(effect(Kind::Model), branchpoint_expr::Value::Null);
    /// assert_eq!(call.attempt, 1);
    /// ```
    pub fn first(definition: Effect, input: Value) -> Self {
        Self {
            run: "run".into(),
            folder: "".into(),
            effect: EffectNo(1),
            attempt: 1,
            answers: 0,
            definition: Arc::new(definition),
            input,
            step: None,
            callers: "".into(),
            path: Vec::new(),
            sealed: Secrets::default(),
        }
    }

    /// The same call with a time limit for the attempt.
    ///
    /// ```
    /// use branchpoint_core::{effect::Kind, ir::builder::effect};
    /// use branchpoint_runners::Call;
    ///
    /// let call = Call::first(effect(Kind::Model), branchpoint_expr::Value::Null).with_time_limit(1_000);
    /// assert_eq!(call.attempt_limit_ms(), Some(1_000));
    /// ```
    #[must_use]
    pub fn with_time_limit(mut self, limit_ms: u64) -> Self {
        Arc::make_mut(&mut self.definition).attempt_limit_ms = Some(limit_ms);
        self
    }

    /// The request, from the fixed fields of the effect and those of this call.
    ///
    /// # Errors
    ///
    /// A field is unknown, or its value is invalid.
    ///
    /// ```
    /// use branchpoint_core::effect::{Kind, Request};
    /// use branchpoint_core::ir::builder::effect;
    /// use branchpoint_runners::Call;
    ///
    /// let call = Call::first(effect(Kind::Mail), branchpoint_expr::Value::Null);
    /// assert!(matches!(call.request(), Ok(Request::Mail(_))));
    /// ```
    pub fn request(&self) -> Result<Request, FieldError> {
        Request::parse(self.kind(), &self.definition.fixed, &self.input)
    }

    /// Fills in the secrets that the call names and parses its request, once for all runners.
    ///
    /// # Errors
    ///
    /// The answer to a call that cannot be performed: a secret is missing or cannot be inserted at its place, or a field is invalid.
    /// Another attempt would fail the same way.
    ///
    /// ```
    /// use branchpoint_core::{effect::Kind, ir::builder::effect};
    /// use branchpoint_runners::{Call, no_secrets};
    ///
    /// let call = Call::first(effect(Kind::Mail), branchpoint_expr::Value::Null);
    /// assert!(call.prepare(&no_secrets()).unwrap().secrets.values().is_empty());
    /// ```
    pub fn prepare(&self, store: &SecretStore) -> Result<PreparedCall, Answer> {
        let impossible = |why: String| Answer::impossible("step_failed", why);
        let (input, values) = resolve(&self.input, &self.definition.secrets, store).map_err(impossible)?;
        let call = Self { input, ..self.clone() };
        let secrets = Secrets::from_values(values);
        let request = call.request().map_err(|error| secrets.mask_answer(impossible(error.to_string())))?;
        Ok(PreparedCall { call, request, secrets })
    }

    /// The name of the call in scripts: the id of its step, or its kind if it belongs to no step.
    ///
    /// ```
    /// use branchpoint_core::{effect::Kind, ir::builder::effect};
    /// use branchpoint_runners::Call;
    ///
    /// assert_eq!(&*Call::first(effect(Kind::Mail), branchpoint_expr::Value::Null).name(), "mail");
    /// ```
    pub fn name(&self) -> Arc<str> {
        self.step.clone().unwrap_or_else(|| self.kind().as_str().into())
    }

    /// The kind of its effect.
    ///
    /// ```
    /// use branchpoint_core::{effect::Kind, ir::builder::effect};
    /// use branchpoint_runners::Call;
    ///
    /// assert_eq!(Call::first(effect(Kind::Mail), branchpoint_expr::Value::Null).kind(), Kind::Mail);
    /// ```
    pub fn kind(&self) -> Kind {
        self.definition.kind
    }

    /// The rules by which a raw answer becomes the value of the step.
    ///
    /// ```
    /// use branchpoint_core::{effect::Kind, ir::builder::effect};
    /// use branchpoint_runners::Call;
    ///
    /// let call = Call::first(effect(Kind::Mail), branchpoint_expr::Value::Null);
    /// assert_eq!(call.response().output_schema, None);
    /// ```
    pub fn response(&self) -> &Response {
        &self.definition.response
    }

    /// The time limit of the attempt.
    ///
    /// ```
    /// use branchpoint_core::{effect::Kind, ir::builder::effect};
    /// use branchpoint_runners::Call;
    ///
    /// let call = Call::first(effect(Kind::Mail), branchpoint_expr::Value::Null);
    /// assert_eq!(call.attempt_limit_ms(), None);
    /// ```
    pub fn attempt_limit_ms(&self) -> Option<u64> {
        self.definition.attempt_limit_ms
    }

    /// The idempotency key on the wire. An attempt whose outcome is unknown is repeated under the same key; one after an answer gets a
    /// new key.
    ///
    /// ```
    /// use branchpoint_core::{effect::Kind, ir::builder::effect};
    /// use branchpoint_runners::Call;
    ///
    /// assert_eq!(Call::first(effect(Kind::Mail), branchpoint_expr::Value::Null).key(), "run/1/0");
    /// ```
    pub fn key(&self) -> String {
        format!("{}/{}/{}", self.run, self.effect.0, self.answers)
    }
}

/// A call that a runner can perform.
#[derive(Clone)]
pub struct PreparedCall {
    /// The call, with its secrets filled in.
    pub call: Call,
    /// Its request.
    pub request: Request,
    /// The secrets that were filled in. Runners mask them in the answer.
    pub secrets: Secrets,
}

/// Shows only the name of the call: call and request contain secrets.
impl fmt::Debug for PreparedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreparedCall({})", self.call.name())
    }
}

/// The raw result of an attempt, before [`crate::judge`] decides what it means.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The text or the reply of a model.
    Model(ModelResult),
    /// A value that needs no parsing: the result of a tool, a child run or a script.
    Data(Content),
    /// An HTTP response with any status.
    Http(HttpResponse),
    /// A process that has ended, with any exit code.
    Process(ProcessResult),
    /// The attempt failed: there was no response, or the other side rejected the call.
    Failed(AttemptError),
    /// The attempt failed after it had used tokens or money.
    Spent {
        /// Why it failed.
        failed: AttemptError,
        /// What it used up.
        usage: Usage,
    },
    /// A recorded result, which was judged before and is not judged again.
    Judged {
        /// The value of the step, or its error.
        result: Result<Value, AttemptError>,
        /// What it used up.
        usage: Usage,
    },
    /// No answer came before the time limit of the attempt, or before the call was cancelled.
    Missing,
}

impl Answer {
    /// The text of a model whose usage is unknown.
    ///
    /// ```
    /// use branchpoint_core::Usage;
    /// use branchpoint_runners::Answer;
    ///
    /// assert_eq!(Answer::model("Because.").usage(), Usage::default());
    /// ```
    pub fn model(text: impl Into<Arc<str>>) -> Self {
        Self::Model(ModelResult { value: Value::Str(text.into()), ..ModelResult::default() })
    }

    /// A value of no particular content type.
    ///
    /// ```
    /// use branchpoint_runners::Answer;
    ///
    /// assert!(matches!(Answer::data(7), Answer::Data(content) if content.value == 7.into()));
    /// ```
    pub fn data(value: impl Into<Value>) -> Self {
        Self::Data(Content { value: value.into(), content_type: None })
    }

    /// A failure after which another attempt may succeed. It is unknown whether the other side has received the call.
    ///
    /// ```
    /// use branchpoint_core::RetryHint;
    /// use branchpoint_runners::Answer;
    ///
    /// let answer = Answer::failed("http", "the connection was closed");
    /// assert!(matches!(answer, Answer::Failed(failed) if failed.retry == RetryHint::Soon && !failed.answered));
    /// ```
    pub fn failed(kind: &str, message: impl Into<Arc<str>>) -> Self {
        Self::Failed(AttemptError {
            kind: kind.into(),
            message: message.into(),
            retry: RetryHint::Soon,
            answered: false,
        })
    }

    /// A failure of a call that was not sent, because the document or the settings are wrong.
    ///
    /// ```
    /// use branchpoint_core::RetryHint;
    /// use branchpoint_runners::Answer;
    ///
    /// let answer = Answer::impossible("step_failed", "`to` must be an address");
    /// assert!(matches!(answer, Answer::Failed(failed) if failed.retry == RetryHint::Never));
    /// ```
    pub fn impossible(kind: &str, message: impl Into<Arc<str>>) -> Self {
        Self::Failed(AttemptError {
            kind: kind.into(),
            message: message.into(),
            retry: RetryHint::Never,
            answered: false,
        })
    }

    /// A failure that the other side reported, and would report again.
    ///
    /// ```
    /// use branchpoint_runners::Answer;
    ///
    /// let answer = Answer::refused("http_status", "the server replied 404");
    /// assert!(matches!(answer, Answer::Failed(failed) if failed.answered));
    /// ```
    pub fn refused(kind: &str, message: impl Into<Arc<str>>) -> Self {
        Self::Failed(AttemptError {
            kind: kind.into(),
            message: message.into(),
            retry: RetryHint::Never,
            answered: true,
        })
    }

    /// A failure that may have used tokens or money.
    ///
    /// ```
    /// use branchpoint_core::Usage;
    /// use branchpoint_runners::Answer;
    ///
    /// let Answer::Failed(failed) = Answer::failed("step_failed", "the reply was cut") else { unreachable!() };
    /// let usage = Usage { tokens: 10, cost_micros: 0 };
    /// assert_eq!(Answer::failed_after(failed, usage).usage(), usage);
    /// ```
    pub fn failed_after(failed: AttemptError, usage: Usage) -> Self {
        if usage == Usage::default() { Self::Failed(failed) } else { Self::Spent { failed, usage } }
    }

    /// The tokens and the money that the attempt has used.
    ///
    /// ```
    /// assert_eq!(branchpoint_runners::Answer::Missing.usage().tokens, 0);
    /// ```
    pub fn usage(&self) -> Usage {
        match self {
            Self::Model(ModelResult { usage, .. }) | Self::Spent { usage, .. } | Self::Judged { usage, .. } => *usage,
            _ => Usage::default(),
        }
    }
}
