//! The trait of runners, a call, and its raw answer.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use branchpoint_core::effect::{
    Content, FieldError, HttpResponse, Kind, ModelResult, ProcessResult, Request, Response,
};
use branchpoint_core::ir::{Effect, Index, Program};
use branchpoint_core::{Again, Command, EffectNo, Failed, Usage};
use branchpoint_expr::Value;
use tokio_util::sync::CancellationToken;

use crate::local::SecretStore;
use crate::secrets::{Secrets, resolve};

/// An attempt that is being performed.
pub type Performing<'c> = Pin<Box<dyn Future<Output = Answer> + Send + 'c>>;

/// Performs calls, many at a time. It reports what came back, as it came; [`crate::judge`] decides whether that is good.
pub trait Runner: Send + Sync {
    /// Performs one attempt, however long it takes. It ends early when it is cancelled.
    fn perform<'c>(&'c self, call: &'c Call, cancel: &'c CancellationToken) -> Performing<'c>;

    /// Answers a call that needs no waiting: the host asks on its own thread, before it hands the call to the runtime.
    fn at_once(&self, _call: &Call) -> Option<Answer> {
        None
    }

    /// What the host knows under a name; null if it knows nothing.
    fn fact(&self, name: &str) -> Value;

    /// The next line of the user, if one is attached and has more to say.
    fn line(&self) -> Option<String> {
        None
    }
}

/// One attempt of an effect.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The id of the run that asks.
    pub run: Arc<str>,
    /// The folder that the run works in; the empty name is that of whoever performs the call.
    pub folder: Arc<str>,
    /// The effect of the run, by number.
    pub effect: EffectNo,
    /// The attempt, counted from 1.
    pub attempt: u32,
    /// How many answers the effect has had: with the run and the effect, the key on the wire.
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
    /// The sealed secrets of the run: output that is cut must not end in the middle of one.
    pub sealed: Secrets,
}

impl Call {
    /// The call that a command of a run asks for; none for other commands.
    pub fn of(program: &Program, run: &Arc<str>, folder: &Arc<str>, command: Command) -> Option<Self> {
        let Command::Perform { effect, attempt, what, input, answers, path } = command else { return None };
        let what = &program.effects[what.index()];
        Some(Self {
            run: run.clone(),
            folder: folder.clone(),
            effect,
            attempt,
            answers,
            definition: what.clone(),
            input,
            step: what.step.map(|step| program.steps[step.index()].id.clone()),
            callers: "".into(),
            path,
            sealed: Secrets::default(),
        })
    }

    /// The first attempt of an effect on its own, without a program.
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

    /// The same call with a limit for the attempt.
    #[must_use]
    pub fn within(mut self, limit_ms: u64) -> Self {
        Arc::make_mut(&mut self.definition).attempt_limit_ms = Some(limit_ms);
        self
    }

    /// The request, from the fixed fields of the effect and those of this call.
    ///
    /// # Errors
    ///
    /// A field is unknown, or has a value that it cannot have.
    pub fn request(&self) -> Result<Request, FieldError> {
        Request::parse(self.kind(), &self.definition.fixed, &self.input)
    }

    /// Puts in the secrets that the call names, and parses its request: once, for whichever runner performs it.
    ///
    /// # Errors
    ///
    /// The answer of a call that cannot be performed: the store does not have a secret, it cannot be written where it is named, or a
    /// field is wrong. Another attempt would fail the same.
    pub fn prepare(&self, store: &SecretStore) -> Result<PreparedCall, Answer> {
        let impossible = |why: String| Answer::impossible("step_failed", why);
        let (input, values) = resolve(&self.input, &self.definition.secrets, store).map_err(impossible)?;
        let call = Self { input, ..self.clone() };
        let secrets = Secrets::from_values(values);
        let request = call.request().map_err(|error| secrets.mask_answer(impossible(error.to_string())))?;
        Ok(PreparedCall { call, request, secrets })
    }

    /// The name under which scripts answer it: that of its step, or its kind if it belongs to none.
    pub fn name(&self) -> Arc<str> {
        self.step.clone().unwrap_or_else(|| self.kind().as_str().into())
    }

    /// Which runner performs it.
    pub fn kind(&self) -> Kind {
        self.definition.kind
    }

    /// How a raw answer becomes the value of the step.
    pub fn response(&self) -> &Response {
        &self.definition.response
    }

    /// How long the attempt may take.
    pub fn attempt_limit_ms(&self) -> Option<u64> {
        self.definition.attempt_limit_ms
    }

    /// The key on the wire: an attempt whose fate is unknown is repeated under the same key, one after an answer gets a
    /// new one. Whoever performs the call twice under one key may do the work once.
    pub fn key(&self) -> String {
        format!("{}/{}/{}", self.run, self.effect.0, self.answers)
    }
}

/// A call that a runner can perform.
#[derive(Clone)]
pub struct PreparedCall {
    /// The call, with the secrets that it names.
    pub call: Call,
    /// Its request.
    pub request: Request,
    /// The secrets that were put in, which runners mask in the answer.
    pub secrets: Secrets,
}

/// The name of the call alone: call and request contain secrets.
impl fmt::Debug for PreparedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreparedCall({})", self.call.name())
    }
}

/// What came back, as it came.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The text or the reply of a model.
    Model(ModelResult),
    /// A value that needs no reading: the result of a tool, of a child run, of a script.
    Data(Content),
    /// A response over HTTP, whatever its status.
    Http(HttpResponse),
    /// A process that has ended, however it ended.
    Process(ProcessResult),
    /// There was no answer, or one that says no.
    Failed(Failed),
    /// The same, after something was used up.
    Spent {
        /// Why there was none.
        failed: Failed,
        /// What it used up.
        usage: Usage,
    },
    /// What an answer came to when it was judged before: it is not judged again.
    Judged {
        /// The value of the step, or its error.
        result: Result<Value, Failed>,
        /// What it used up.
        usage: Usage,
    },
    /// Nothing came back within the limit of the attempt.
    Never,
}

impl Answer {
    /// The text of a model whose usage is not known.
    pub fn model(text: impl Into<Arc<str>>) -> Self {
        Self::Model(ModelResult { value: Value::Str(text.into()), ..ModelResult::default() })
    }

    /// A value of no particular content type.
    pub fn data(value: impl Into<Value>) -> Self {
        Self::Data(Content { value: value.into(), content_type: None })
    }

    /// A failure that another attempt may mend; whether the other side has seen the call is not known.
    pub fn failed(kind: &str, message: impl Into<Arc<str>>) -> Self {
        Self::Failed(Failed { kind: kind.into(), message: message.into(), again: Again::Soon, answered: false })
    }

    /// Nothing went out, and nothing will: what is wrong is wrong in the document or in the settings.
    pub fn impossible(kind: &str, message: impl Into<Arc<str>>) -> Self {
        Self::Failed(Failed { kind: kind.into(), message: message.into(), again: Again::Never, answered: false })
    }

    /// The other side has answered, and another attempt would only be answered the same.
    pub fn refused(kind: &str, message: impl Into<Arc<str>>) -> Self {
        Self::Failed(Failed { kind: kind.into(), message: message.into(), again: Again::Never, answered: true })
    }

    /// A failure that may have used something up.
    pub fn failed_after(failed: Failed, usage: Usage) -> Self {
        if usage == Usage::default() { Self::Failed(failed) } else { Self::Spent { failed, usage } }
    }

    /// What the attempt used up.
    pub fn usage(&self) -> Usage {
        match self {
            Self::Model(ModelResult { usage, .. }) | Self::Spent { usage, .. } | Self::Judged { usage, .. } => *usage,
            _ => Usage::default(),
        }
    }
}
