//! The virtual object of a run: one key, one run. Its exclusive handlers apply one fact after the other, so a run needs no lock and no
//! owner. Each invocation loads the snapshot, advances the run, and stores the new snapshot and the rows of the journal.

use std::sync::Arc;

use branchpoint_backend::Rejection;
use branchpoint_core::codec::{decode_event, decode_value};
use branchpoint_core::{Event, State, Usage};
use branchpoint_expr::{Object, Value};
use branchpoint_runners::{Answer, child_run, judge};
use restate_sdk::prelude::*;

use crate::drive;
use crate::messages::{Blob, DeliverMessage, Fact, Reply, Row, StartMessage};
use crate::programs::Programs;
use crate::record::{Header, Record, RecordError, StoredRequest, decode_rows};
use crate::shared::{Shared, now_ms};
use crate::transition::Transition;

/// The key of the record in the state of the object.
pub(crate) const RECORD: &str = "record";

/// The prefix of the keys of signals that were accepted with a deduplication key.
const SIGNAL_KEY: &str = "k/";

pub(crate) struct Run {
    pub(crate) shared: Arc<Shared>,
}

#[restate_sdk::object(
    client_visibility = "pub(crate)",
    inactivity_timeout = "10s",
    abort_timeout = "1h",
    journal_retention = "0s",
    invocation_retry_policy(initial_interval = "50ms", factor = 2.0, max_interval = "5s")
)]
impl Run {
    /// Starts the run. The state of a new object is empty, so sending it along costs nothing.
    #[handler]
    async fn start(&self, ctx: ObjectContext<'_>, start: Json<StartMessage>) -> Result<Json<Reply>, HandlerError> {
        if ctx.get::<Vec<u8>>(RECORD).await?.is_some() {
            return Ok(Json(reply(Ok(false))));
        }
        let start = start.into_inner();
        let programs = self.shared.programs(start.workflow).await?;
        let Some(program) = programs.get(&start.part) else {
            return Ok(Json(reply(Err(Rejection::NoPart(start.part)))));
        };
        let facts = self.facts(&ctx, &start, &program.facts).await?;
        let input = decode_value(&start.input.0)?;
        let header = Header {
            id: ctx.key().to_owned(),
            workflow: start.workflow,
            part: start.part,
            folder: start.folder,
            parent: start.parent,
            started_ms: start.at_ms,
            tags: start.tags,
            stepped: start.stepped,
            max_ops: start.max_ops,
            ..Header::default()
        };
        let record = Record { header, state: State::new() };
        let mut transition = Transition::new(record, program, programs);
        let event = Event::Start { input, facts, depth: start.depth, max_ops: start.max_ops, budget: start.budget };
        let outcome = transition.deliver(event, start.at_ms)?;
        Ok(Json(drive::complete(&self.shared, &ctx, transition, outcome).await?))
    }

    /// Applies a fact.
    #[handler(lazy_state)]
    async fn deliver(
        &self,
        ctx: ObjectContext<'_>,
        message: Json<DeliverMessage>,
    ) -> Result<Json<Reply>, HandlerError> {
        let DeliverMessage { fact, at_ms } = message.into_inner();
        let Some(bytes) = ctx.get::<Vec<u8>>(RECORD).await? else { return Ok(Json(reply(Err(Rejection::NoRun)))) };
        let record = Record::decode(&bytes)?;
        let programs = self.shared.programs(record.header.workflow).await?;
        let mut transition = transition(record, programs)?;
        let at_ms = match at_ms {
            Some(at_ms) => at_ms,
            None => ctx.run(|| async { Ok(now_ms()) }).name("time").await?,
        };
        let outcome = match fact {
            Fact::Event(event) => {
                let (_, event) = decode_event(&event.0)?;
                if let Some(key) = signal_key(&event) {
                    if ctx.get::<bool>(&key).await?.is_some() {
                        return Ok(Json(reply(Ok(false))));
                    }
                    let outcome = transition.deliver(event, at_ms)?;
                    if outcome.is_ok() {
                        ctx.set(&key, true);
                    }
                    outcome
                } else {
                    transition.deliver(event, at_ms)?
                }
            }
            Fact::Wake => {
                transition.record.header.wake_ms = None;
                transition.fire_due(at_ms)?;
                Ok(true)
            }
            fact => self.child_fact(&ctx, &mut transition, fact, at_ms).await?,
        };
        Ok(Json(drive::complete(&self.shared, &ctx, transition, outcome).await?))
    }

    /// The record of the run.
    #[handler(lazy_state)]
    async fn load(&self, ctx: SharedObjectContext<'_>) -> Result<Json<Option<Blob>>, HandlerError> {
        Ok(Json(ctx.get::<Vec<u8>>(RECORD).await?.map(Blob)))
    }

    /// The accepted events, in order.
    #[handler(lazy_state)]
    async fn journal(&self, ctx: SharedObjectContext<'_>) -> Result<Json<Vec<Row>>, HandlerError> {
        let mut keys = ctx.get_keys().await?;
        keys.retain(|key| key.starts_with(drive::JOURNAL_KEY));
        keys.sort_unstable();
        let mut rows = Vec::new();
        for key in keys {
            let bytes = ctx.get::<Vec<u8>>(&key).await?.unwrap_or_default();
            let decoded = decode_rows(&bytes)?.into_iter();
            rows.extend(decoded.map(|(check, event)| Row { check, event: Blob(event) }));
        }
        Ok(Json(rows))
    }

    /// The closed requests to people, by number.
    #[handler(lazy_state)]
    async fn closed_requests(
        &self,
        ctx: SharedObjectContext<'_>,
    ) -> Result<Json<Vec<(u64, StoredRequest)>>, HandlerError> {
        let keys = ctx.get_keys().await?;
        let mut closed = Vec::new();
        for key in keys {
            let Some(number) = key.strip_prefix(drive::REQUEST_KEY).and_then(|number| number.parse().ok()) else {
                continue;
            };
            if let Some(request) = ctx.get::<Json<StoredRequest>>(&key).await? {
                closed.push((number, request.into_inner()));
            }
        }
        closed.sort_unstable_by_key(|(number, _)| *number);
        Ok(Json(closed))
    }

    /// Whether the run waits for an attempt of an effect.
    #[handler(lazy_state)]
    async fn waits_for(&self, ctx: SharedObjectContext<'_>, call: Json<(u64, u32)>) -> Result<bool, HandlerError> {
        let (effect, attempt) = call.into_inner();
        let Some(bytes) = ctx.get::<Vec<u8>>(RECORD).await? else { return Ok(false) };
        let flights = Record::decode(&bytes)?.header.flights;
        Ok(flights.get(&effect).is_some_and(|flight| flight.attempt == attempt))
    }

    /// What the run has used until now.
    #[handler(lazy_state)]
    async fn usage(&self, ctx: SharedObjectContext<'_>) -> Result<Json<Usage>, HandlerError> {
        let Some(bytes) = ctx.get::<Vec<u8>>(RECORD).await? else { return Ok(Json(Usage::default())) };
        Ok(Json(Record::decode(&bytes)?.state.usage()))
    }
}

impl Run {
    /// The facts that the program names: those of the start, and those of the worker, which are recorded because another worker may have
    /// others.
    async fn facts(
        &self,
        ctx: &ObjectContext<'_>,
        start: &StartMessage,
        names: &[Arc<str>],
    ) -> Result<Object, HandlerError> {
        let given = match &start.facts {
            Some(facts) => decode_value(&facts.0)?.as_object().cloned().unwrap_or_default(),
            None => Object::default(),
        };
        let mut facts = Object::default();
        let mut missing = Vec::new();
        for name in names {
            let known = given.get(name).cloned().or_else(|| match &**name {
                "run_id" => Some(Value::from(ctx.key())),
                "working_dir" if !start.folder.is_empty() => Some(Value::from(start.folder.as_str())),
                _ => None,
            });
            match known {
                Some(fact) => drop(facts.insert(name.clone(), fact)),
                None => missing.push(name.clone()),
            }
        }
        if !missing.is_empty() {
            let (runner, names) = (self.shared.runner.clone(), missing.clone());
            let read = || async move {
                let values: Vec<Value> = names.iter().map(|name| runner.fact(name)).collect();
                Ok(branchpoint_core::codec::encode_value(&Value::from(values))?)
            };
            let values = decode_value(&ctx.run(read).name("facts").await?)?;
            let values = values.as_list().unwrap_or_default().iter().cloned();
            facts.extend(missing.into_iter().zip(values));
        }
        Ok(facts)
    }

    /// Applies what happened to a child run.
    async fn child_fact(
        &self,
        ctx: &ObjectContext<'_>,
        transition: &mut Transition,
        fact: Fact,
        at_ms: i64,
    ) -> Result<Result<bool, Rejection>, HandlerError> {
        let (effect, attempt) = match &fact {
            Fact::ChildEnded { effect, attempt, .. }
            | Fact::ChildOverdue { effect, attempt }
            | Fact::ChildRejected { effect, attempt, .. } => (*effect, *attempt),
            Fact::Event(_) | Fact::Wake => return Ok(Ok(false)),
        };
        let Some(call) = transition.pending_call(effect, attempt) else { return Ok(Ok(false)) };
        let (answer, usage) = match fact {
            Fact::ChildEnded { result, usage, .. } => {
                let result = decode_value(&result.0)?;
                transition.notify_of_agent(&call, Some(&result));
                (child_run::answer(&call, result, usage), usage)
            }
            Fact::ChildRejected { reason, .. } => (Answer::failed("child", reason), Usage::default()),
            _ => {
                let child = child_run::id(ctx.key(), effect, attempt);
                let usage = if transition.record.header.stepped {
                    Usage::default()
                } else {
                    ctx.object_client::<RunClient<'_>>(child).usage().call().await?.into_inner()
                };
                transition.cancel_child(effect, attempt);
                (Answer::Missing, usage)
            }
        };
        let settled = Event::Settled { effect: call.effect, attempt, result: judge(&call, answer), usage };
        Ok(transition.deliver(settled, at_ms)?)
    }
}

fn transition(record: Record, programs: Arc<Programs>) -> Result<Transition, HandlerError> {
    let Some(program) = programs.get(&record.header.part) else {
        return Err(RecordError::NoProgram(record.header.part).into());
    };
    Ok(Transition::new(record, program, programs))
}

/// The key under which a signal with a deduplication key is remembered.
fn signal_key(event: &Event) -> Option<String> {
    match event {
        Event::Signal { key: Some(key), .. } => Some(format!("{SIGNAL_KEY}{key}")),
        _ => None,
    }
}

fn reply(outcome: Result<bool, Rejection>) -> Reply {
    Reply { outcome, rows: Vec::new(), orders: Vec::new() }
}
