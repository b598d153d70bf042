//! Live events: one stream for each client, with topics that the client changes.
//!
//! Events are states, not differences: an event carries the newest record of a run, a step or an approval. So events of one burst can be
//! combined, and a client that has missed some needs only the newest. Every event has a number. A client that reconnects with the last
//! number that it received gets the events after it; if they are no longer known, it gets a `reset` for each topic and loads it again. A client that begins to
//! follow a run gets its record, its recent steps, and the texts of its models from their beginning.

mod publisher;
mod share;
pub(crate) mod text;
mod topic;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use crate::access::Access;
use crate::app::App;
use crate::caller::{Action, Caller};
use crate::problem::{Problem, ProblemKind};

pub(crate) use publisher::publish_until_stopped;
use text::TextBuffer;
pub(crate) use topic::Topic;
use topic::TopicState;

/// The events for clients that reconnect.
const KEPT_EVENTS: usize = 20_000;

/// The size of these events in bytes.
const KEPT_BYTES: usize = 16 * 1024 * 1024;

/// The events that wait for one client. A client that is slower is disconnected, and catches up when it reconnects.
const WAITING_EVENTS: usize = 1_024;

/// The topics of one client.
const CLIENT_TOPICS: usize = 256;

/// The rendered text of an event.
pub(crate) type EventText = Arc<str>;

/// All clients, topics and recent events.
pub(crate) struct Live {
    state: Mutex<State>,
    /// Runs that have changed since the publisher last looked.
    dirty: Mutex<publisher::Dirty>,
    text: Mutex<TextBuffer>,
    wake: Notify,
    /// Changes with every start of the server, so that numbers of another start are not mistaken.
    epoch: String,
}

#[derive(Default)]
struct State {
    last: u64,
    events: VecDeque<Event>,
    bytes: usize,
    clients: HashMap<String, Client>,
    topics: BTreeMap<Topic, TopicState>,
    is_closed: bool,
}

struct Event {
    number: u64,
    topics: Vec<Topic>,
    /// The workflow that the event concerns; none for events about the whole server.
    workflow: Option<Arc<str>>,
    /// A reset says nothing but that a topic must be loaded again.
    is_reset: bool,
    text: EventText,
}

struct Client {
    caller: Caller,
    topics: BTreeSet<Topic>,
    sender: mpsc::Sender<EventText>,
}

/// A new event.
pub(crate) struct NewEvent {
    pub(crate) topics: Vec<Topic>,
    pub(crate) workflow: Option<Arc<str>>,
    pub(crate) name: &'static str,
    pub(crate) data: Value,
}

/// A stream that was opened for a client.
pub(crate) struct OpenStream {
    pub(crate) receiver: mpsc::Receiver<EventText>,
    /// The events with which the stream begins.
    pub(crate) first: Vec<EventText>,
    /// The client; removed when the stream ends.
    pub(crate) client: ClientGuard,
}

/// Removes a client when its stream ends.
pub(crate) struct ClientGuard {
    app: App,
    id: String,
}

impl Drop for ClientGuard {
    fn drop(&mut self) {
        self.app.live.remove(&self.id);
        self.app.metrics.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Live {
    /// No clients. Fails if the operating system gives no random numbers.
    pub(crate) fn new() -> Result<Self, Problem> {
        Ok(Self {
            state: Mutex::default(),
            dirty: Mutex::default(),
            text: Mutex::default(),
            wake: Notify::new(),
            epoch: crate::random::token(4)?,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends an event to all clients with one of its topics that may read its workflow.
    pub(crate) fn publish(&self, app: &App, event: NewEvent) {
        let mut state = self.state();
        if !event.topics.iter().any(|topic| state.topics.contains_key(topic)) {
            return;
        }
        state.last += 1;
        let number = state.last;
        let text: EventText =
            format!("id: {}-{number}\nevent: {}\ndata: {}\n\n", self.epoch, event.name, event.data).into();
        let is_reset = event.name == "reset";
        let event = Event { number, topics: event.topics, workflow: event.workflow, is_reset, text };
        let mut slow = Vec::new();
        for (id, client) in &state.clients {
            if event.is_for(&client.topics, &client.caller) && client.sender.try_send(Arc::clone(&event.text)).is_err()
            {
                slow.push(id.clone());
            }
        }
        for id in slow {
            app.metrics.dropped_streams.fetch_add(1, Ordering::Relaxed);
            state.remove(&id);
        }
        state.bytes += event.text.len();
        state.events.push_back(event);
        while state.events.len() > KEPT_EVENTS || state.bytes > KEPT_BYTES {
            let Some(oldest) = state.events.pop_front() else { break };
            state.bytes -= oldest.text.len();
        }
    }

    /// Opens a stream. `last` is the number of the last event that the client received before.
    pub(crate) fn open(
        &self,
        app: &App,
        caller: Caller,
        topics: &BTreeSet<Topic>,
        last: Option<&str>,
    ) -> Result<OpenStream, Problem> {
        let client = crate::random::token(16)?;
        let (sender, receiver) = mpsc::channel(WAITING_EVENTS);
        let mut state = self.state();
        if state.is_closed {
            return Err(Problem::new(ProblemKind::Unavailable, "The server is shutting down.").retry_after(1));
        }
        if state.clients.len() >= app.settings.streams {
            let detail = format!("The server has {} event streams already.", app.settings.streams);
            return Err(Problem::new(ProblemKind::Unavailable, detail).retry_after(5));
        }
        let known = last.and_then(|last| last.strip_prefix(&*self.epoch)?.strip_prefix('-')?.parse::<u64>().ok());
        let known = known.filter(|known| *known <= state.last);
        let oldest = state.events.front().map_or(state.last + 1, |event| event.number);
        let is_complete = |topic: &Topic| {
            let since = state.topics.get(topic).map(|topic| topic.since);
            known.is_some_and(|known| known + 1 >= oldest && since.is_some_and(|since| since <= known))
        };
        let lost: Vec<Topic> = if last.is_some() {
            topics.iter().filter(|topic| !is_complete(topic)).cloned().collect()
        } else {
            Vec::new()
        };
        let remaining: BTreeSet<Topic> = topics.iter().filter(|topic| !lost.contains(topic)).cloned().collect();
        let begin = known.unwrap_or(state.last);
        let hello =
            json!({"client": client, "now": crate::time::rfc3339(crate::time::now_ms()), "build": app.content.version});
        let mut first: Vec<EventText> =
            vec![format!("retry: 1000\nid: {}-{begin}\nevent: hello\ndata: {hello}\n\n", self.epoch).into()];
        let missed = state.events.iter().filter(|event| event.number > begin && event.is_for(&remaining, &caller));
        first.extend(missed.map(|event| Arc::clone(&event.text)));
        for topic in &lost {
            let data = json!({"topic": topic.to_string()});
            first.push(format!("id: {}-{}\nevent: reset\ndata: {data}\n\n", self.epoch, state.last).into());
        }
        state.check_streams(&caller)?;
        state.check_room(&caller, topics)?;
        for topic in topics {
            state.subscribe(topic);
        }
        state.clients.insert(client.clone(), Client { caller, topics: topics.clone(), sender });
        drop(state);
        self.note_followed(topics);
        app.metrics.streams.fetch_add(1, Ordering::Relaxed);
        Ok(OpenStream { receiver, first, client: ClientGuard { app: app.clone(), id: client } })
    }

    /// Adds and removes topics of a client.
    pub(crate) fn change(
        &self,
        client: &str,
        caller: &Caller,
        add: Vec<Topic>,
        remove: &[Topic],
    ) -> Result<(), Problem> {
        let mut state = self.state();
        let missing = || Problem::not_found("This event stream does not exist. Open a new one.");
        let of_caller = state.clients.get(client).filter(|known| known.caller.user == caller.user);
        let topics = of_caller.ok_or_else(missing)?.topics.clone();
        // A topic counts once, however often a request names it, and one that is also removed is not added.
        let is_new = |topic: &Topic| !topics.contains(topic) && !remove.contains(topic);
        let new: BTreeSet<Topic> = add.into_iter().filter(is_new).collect();
        let dropped: BTreeSet<&Topic> = remove.iter().filter(|topic| topics.contains(topic)).collect();
        check_count(topics.len() + new.len())?;
        state.check_room(caller, &new)?;
        for topic in &new {
            state.subscribe(topic);
        }
        for topic in dropped {
            state.unsubscribe(topic);
        }
        let known = state.clients.get_mut(client).ok_or_else(missing)?;
        known.topics.extend(new.iter().cloned());
        known.topics.retain(|topic| !remove.contains(topic));
        drop(state);
        self.note_followed(&new);
        Ok(())
    }

    fn remove(&self, client: &str) {
        self.state().remove(client);
    }

    /// Ends the streams of callers for whom this is true.
    pub(crate) fn disconnect(&self, is_gone: impl Fn(&Caller) -> bool) {
        let mut state = self.state();
        let gone: Vec<String> =
            state.clients.iter().filter(|(_, client)| is_gone(&client.caller)).map(|(id, _)| id.clone()).collect();
        for id in gone {
            state.remove(&id);
        }
    }

    /// Ends the streams of callers whose credentials were revoked, by any process, or have expired. Reads a small file if it has changed.
    pub(crate) fn disconnect_expired(&self, access: &Access, now_ms: i64) {
        let has_credentials = self.state().clients.values().any(|client| client.caller.credential.is_some());
        if !has_credentials {
            return;
        }
        // Without the file, no credential is known to be valid.
        let valid = access.list(now_ms).unwrap_or_default();
        let valid: BTreeSet<String> = valid.into_iter().map(|credential| credential.id).collect();
        self.disconnect(|caller| caller.credential.as_ref().is_some_and(|credential| !valid.contains(credential)));
    }

    /// Ends all streams.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.clients.clear();
        drop(state);
        self.wake.notify_one();
    }

    /// Looks for changes soon.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }
}

impl State {
    fn subscribe(&mut self, topic: &Topic) {
        let last = self.last;
        if let Some(known) = self.topics.get_mut(topic) {
            known.subscribers += 1;
            known.idle_since = None;
            return;
        }
        self.make_room();
        self.topics.insert(topic.clone(), TopicState::new(last));
    }

    fn unsubscribe(&mut self, topic: &Topic) {
        if let Some(known) = self.topics.get_mut(topic) {
            known.subscribers = known.subscribers.saturating_sub(1);
            if known.subscribers == 0 {
                known.idle_since = Some(Instant::now());
            }
        }
    }

    fn remove(&mut self, client: &str) {
        if let Some(client) = self.clients.remove(client) {
            for topic in &client.topics {
                self.unsubscribe(topic);
            }
        }
    }
}

impl Event {
    fn is_for(&self, topics: &BTreeSet<Topic>, caller: &Caller) -> bool {
        self.topics.iter().any(|topic| topics.contains(topic))
            && match &self.workflow {
                Some(workflow) => caller.may(Action::Read, workflow).is_ok(),
                None => self.is_reset || caller.may_on_server(Action::Read).is_ok(),
            }
    }
}

/// Rejects too many topics of one client.
pub(crate) fn check_count(topics: usize) -> Result<(), Problem> {
    if topics > CLIENT_TOPICS {
        return Err(Problem::invalid_input(format!("A client follows at most {CLIENT_TOPICS} topics.")));
    }
    Ok(())
}
