//! Carries out what follows from a fact, and stores the run.
//!
//! Calls that a runner answers at once are performed inside the invocation, each as one recorded step. All others are sent to the service
//! [`Calls`](crate::calls::Calls), so that votes and cancellations are accepted meanwhile; it sends the result back as a fact. The
//! decision is recorded with the result, so a repeated invocation decides the same.

use std::time::Duration;

use branchpoint_backend::Rejection;
use branchpoint_core::codec::{decode_event, encode_event, encode_value};
use branchpoint_core::{Event, Stamp};
use branchpoint_runners::{Answer, Call, child_run, judge};
use restate_sdk::prelude::*;

use crate::calls::CallsClient;
use crate::children;
use crate::messages::{Blob, DeliverMessage, Fact, Order, PerformMessage, Performed, Place, Reply, Row, StartMessage};
use crate::record::encode_rows;
use crate::run_object::{RECORD, RunClient};
use crate::shared::{Shared, now_ms};
use crate::transition::{Output, Transition, unstorable};

/// The key of the entry of a run in lists.
pub(crate) const LIST_ENTRY: &str = "list";

/// The prefix of the keys of the journal, before the sequence number of their first event.
pub(crate) const JOURNAL_KEY: &str = "j/";

/// The prefix of the keys of closed requests, before their number.
pub(crate) const REQUEST_KEY: &str = "q/";

/// The most calls that one invocation performs itself, so that its journal stays short and others get their turn.
const INLINE_CALLS: u32 = 100;

/// Carries out all outputs of a transition, stores the run, and returns the reply.
pub(crate) async fn complete(
    shared: &Shared,
    ctx: &ObjectContext<'_>,
    mut transition: Transition,
    outcome: Result<bool, Rejection>,
) -> Result<Reply, HandlerError> {
    let mut orders = Vec::new();
    let stepped = transition.record.header.stepped;
    let mut inline = INLINE_CALLS;
    while let Some(output) = transition.outputs.pop_front() {
        match output {
            Output::Perform(call) if !stepped && inline > 0 => {
                inline -= 1;
                match perform_inline(shared, ctx, &call).await? {
                    Performed { settled: Some(event), at_ms } => {
                        let (_, event) = decode_event(&event.0)?;
                        let _ = transition.deliver(event, at_ms)?;
                    }
                    Performed { settled: None, .. } => orders.push(perform_order(&transition, &call)),
                }
            }
            Output::Perform(call) => orders.push(perform_order(&transition, &call)),
            Output::StartChild(call, part) => match children::start(&transition, shared.agents, &call, &part) {
                Ok(start) => {
                    transition.notify_of_agent(&call, None);
                    let id = child_run::id(&call.run, call.effect.0, call.attempt);
                    orders.push(Order::StartChild { id, start: Box::new(start), limit_ms: call.attempt_limit_ms() });
                }
                Err(answer) => {
                    let (effect, attempt, usage) = (call.effect, call.attempt, answer.usage());
                    let settled = Event::Settled { effect, attempt, result: judge(&call, answer), usage };
                    let at_ms = transition.record.state.now_ms();
                    let _ = transition.deliver(settled, at_ms)?;
                }
            },
            Output::Withdraw { effect, attempt, is_child } => {
                if is_child {
                    transition.cancel_child(effect.0, attempt);
                }
                orders.push(Order::Withdraw { effect: effect.0 });
            }
            Output::Deliver(id, fact) => orders.push(Order::Deliver { id, fact }),
            Output::Ended => orders.extend(report_to_parent(&transition)?),
        }
    }
    let changed = !transition.rows.is_empty() || matches!(outcome, Ok(true));
    if changed {
        if !stepped {
            dispatch(ctx, &transition, std::mem::take(&mut orders));
            schedule(ctx, &mut transition);
        }
        store(ctx, &transition)?;
    }
    let rows = if stepped { std::mem::take(&mut transition.rows) } else { Vec::new() };
    let rows = rows.into_iter().map(|(check, event)| Row { check, event: Blob(event) }).collect();
    Ok(Reply { outcome, rows, orders })
}

/// Performs a call as one recorded step, if its runner answers at once.
async fn perform_inline(shared: &Shared, ctx: &ObjectContext<'_>, call: &Call) -> Result<Performed, HandlerError> {
    let (runner, name, call) = (shared.runner.clone(), call.name().to_string(), call.clone());
    let perform = || async move {
        let settled = runner.answer_immediately(&call).map(|answer| settled_event(&call, answer));
        Ok(Json(Performed { settled, at_ms: now_ms() }))
    };
    Ok(ctx.run(perform).name(name).await?.into_inner())
}

/// The stored event for the answer of a call. An answer that cannot be stored becomes a failed attempt.
pub(crate) fn settled_event(call: &Call, answer: Answer) -> Blob {
    let (effect, attempt, usage) = (call.effect, call.attempt, answer.usage());
    let settled = Event::Settled { effect, attempt, result: judge(call, answer), usage };
    let bytes = encode_event(&Stamp::default(), &settled).or_else(|error| {
        let failed = unstorable(&settled, &error).expect("the event settles an effect");
        encode_event(&Stamp::default(), &failed)
    });
    Blob(bytes.expect("an error message can be stored"))
}

/// The fact that a call was answered, for the caller of a stepped run.
///
/// ```
/// use branchpoint_core::{effect::Kind, ir::builder::effect};
/// use branchpoint_restate::{messages::Fact, settled};
/// use branchpoint_runners::{Answer, Call};
///
/// let call = Call::first(effect(Kind::Mail), branchpoint_expr::Value::Null);
/// assert!(matches!(settled(&call, Answer::data(7)), Fact::Event(_)));
/// ```
pub fn settled(call: &Call, answer: Answer) -> Fact {
    Fact::Event(settled_event(call, answer))
}

fn perform_order(transition: &Transition, call: &Call) -> Order {
    let flight = transition.record.header.flights.get(&call.effect.0);
    let command = flight.map(|flight| flight.command.clone()).unwrap_or_default();
    Order::Perform { command, place: Place { callers: call.callers.to_string(), path: call.path.clone() } }
}

/// The message to the caller of a run that has ended.
fn report_to_parent(transition: &Transition) -> Result<Option<Order>, HandlerError> {
    let Some(parent) = &transition.record.header.parent else { return Ok(None) };
    let state = &transition.record.state;
    let result = state.result().map(|(_, result)| result.clone()).unwrap_or_default();
    let (effect, attempt, usage) = (parent.effect, parent.attempt, state.usage());
    let fact = Fact::ChildEnded { effect, attempt, result: Blob(encode_value(&result)?), usage };
    Ok(Some(Order::Deliver { id: parent.id.clone(), fact }))
}

/// Sends the messages that follow. They leave when the invocation has ended, whatever happens to this worker.
fn dispatch(ctx: &ObjectContext<'_>, transition: &Transition, orders: Vec<Order>) {
    let header = &transition.record.header;
    for order in orders {
        match order {
            Order::Perform { command, place } => {
                let perform = PerformMessage {
                    run: header.id.clone(),
                    workflow: header.workflow,
                    part: header.part.clone(),
                    folder: header.folder.clone(),
                    place,
                    command,
                };
                let _ = ctx.service_client::<CallsClient<'_>>().perform(Json(perform)).send();
            }
            Order::StartChild { id, start, limit_ms } => start_child(ctx, &header.id, id, *start, limit_ms),
            Order::Deliver { id, fact } => {
                let _ = ctx.object_client::<RunClient<'_>>(id).deliver(message(fact, None)).send();
            }
            // The worker that performs the call notices that the run no longer waits for it.
            Order::Withdraw { .. } => {}
        }
    }
}

fn start_child(ctx: &ObjectContext<'_>, parent: &str, id: String, start: StartMessage, limit_ms: Option<u64>) {
    if let (Some(limit_ms), Some(called)) = (limit_ms, &start.parent) {
        let overdue = Fact::ChildOverdue { effect: called.effect, attempt: called.attempt };
        let delay = Duration::from_millis(limit_ms);
        let _ = ctx.object_client::<RunClient<'_>>(parent).deliver(message(overdue, None)).send_after(delay);
    }
    let _ = ctx.object_client::<RunClient<'_>>(id).start(Json(start)).send();
}

/// Sends a delayed message for the first timer, unless one for an earlier time is on its way.
fn schedule(ctx: &ObjectContext<'_>, transition: &mut Transition) {
    let now_ms = transition.record.state.now_ms();
    let unfinished = transition.record.state.is_unfinished().then_some(now_ms);
    let Some(due_ms) = unfinished.or_else(|| transition.record.first_due_ms()) else { return };
    let header = &mut transition.record.header;
    if header.wake_ms.is_some_and(|wake_ms| wake_ms <= due_ms) {
        return;
    }
    header.wake_ms = Some(due_ms);
    let delay = Duration::from_millis(u64::try_from(due_ms.saturating_sub(now_ms)).unwrap_or_default());
    let _ = ctx.object_client::<RunClient<'_>>(ctx.key()).deliver(message(Fact::Wake, Some(due_ms))).send_after(delay);
}

fn message(fact: Fact, at_ms: Option<i64>) -> Json<DeliverMessage> {
    Json(DeliverMessage { fact, at_ms })
}

/// Writes the run into the state of its object.
fn store(ctx: &ObjectContext<'_>, transition: &Transition) -> Result<(), HandlerError> {
    let status = transition.status();
    if !transition.rows.is_empty() {
        ctx.set(&format!("{JOURNAL_KEY}{:012}", transition.first_seq), encode_rows(&transition.rows));
    }
    for (number, request) in &transition.closed {
        ctx.set(&format!("{REQUEST_KEY}{number}"), Json(request.clone()));
    }
    ctx.set(LIST_ENTRY, Json(transition.record.list_entry(status)));
    ctx.set(RECORD, transition.record.encode()?);
    Ok(())
}
