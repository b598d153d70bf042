//! Turns changes of runs into events, at most ten times a second.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use branchpoint_backend::{Backend, Filter, Run, RunEvent, RunEventKind, RunNo, RunTrace};
use branchpoint_core::{EffectNo, StepStatus};
use serde_json::{Value, json};

use super::text::TextUpdate;
use super::{NewEvent, Topic};
use crate::app::App;
use crate::problem::Problem;
use crate::routes::approvals;
use crate::routes::overview::overview;
use crate::routes::runs::record::RunReader;
use crate::routes::runs::step::StepWriter;
use crate::time::now_ms;

/// The shortest time between two publications.
const INTERVAL: Duration = Duration::from_millis(100);

/// How often runs that other processes drive are looked at.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// More changed runs than this are a reset of their topic.
const MAX_RUNS: usize = 300;

/// More changed steps of a run than this are a reset of its topic.
const MAX_STEPS: usize = 500;

/// Steps that ended this long before the first look are published too, because the client may have loaded the trace before.
const RECENT_MS: i64 = 5_000;

/// What has changed since the last publication.
#[derive(Debug, Default)]
pub(super) struct Dirty {
    runs: BTreeSet<RunNo>,
    /// Runs whose approvals have changed.
    approvals: BTreeSet<RunNo>,
    /// The ids of runs that another client follows now.
    followed: BTreeSet<String>,
}

impl App {
    /// Notes that a run has changed. It returns quickly, because the run waits for it.
    pub(crate) fn note_change(&self, event: &RunEvent) {
        let is_quiet = matches!(event.kind, RunEventKind::Message(_));
        if is_quiet {
            return;
        }
        let mut dirty = self.live.dirty.lock().unwrap_or_else(PoisonError::into_inner);
        dirty.runs.insert(event.run);
        if matches!(event.kind, RunEventKind::Request(..) | RunEventKind::Status(..)) {
            dirty.approvals.insert(event.run);
        }
        drop(dirty);
        self.live.wake.notify_one();
    }
}

impl App {
    /// Notes that an approval of a run has changed. A vote that leaves it open gives no event of the run.
    pub(crate) fn note_changed_approvals(&self, run: RunNo) {
        let mut dirty = self.live.dirty.lock().unwrap_or_else(PoisonError::into_inner);
        dirty.runs.insert(run);
        dirty.approvals.insert(run);
        drop(dirty);
        self.live.wake.notify_one();
    }

    /// Notes that the row of a run has changed without an event of the run.
    pub(crate) fn note_changed_row(&self, run: RunNo) {
        self.live.dirty.lock().unwrap_or_else(PoisonError::into_inner).runs.insert(run);
        self.live.wake.notify_one();
    }
}

/// Publishes events until the server stops.
pub(crate) async fn publish_until_stopped(app: App) {
    let (mut polled, mut checked) = (Instant::now(), Instant::now());
    let mut seen = PublishedState::default();
    loop {
        let _ = tokio::time::timeout(POLL_INTERVAL, app.live.wake.notified()).await;
        if app.live.state().is_closed {
            return;
        }
        tokio::time::sleep(INTERVAL).await;
        if checked.elapsed() >= POLL_INTERVAL {
            checked = Instant::now();
            check_credentials(&app).await;
        }
        let is_poll = polled.elapsed() >= POLL_INTERVAL;
        if is_poll {
            polled = Instant::now();
        }
        let shared = app.clone();
        let published = app
            .call(move |backend| {
                let result = seen.publish(&shared, backend, is_poll);
                Ok((seen, result))
            })
            .await;
        seen = match published {
            Ok((seen, Ok(()))) => seen,
            // The storage failed. Clients load everything again when it works.
            Ok((_, Err(_))) | Err(_) => {
                app.live.reset_all(&app);
                PublishedState::default()
            }
        };
    }
}

/// Ends the streams of credentials that are not valid any more.
async fn check_credentials(app: &App) {
    let shared = app.clone();
    let checked = app.compute(move || {
        if let Some(access) = &shared.host.access {
            shared.live.disconnect_expired(access, now_ms());
        }
        Ok(())
    });
    // It fails only while the server stops, which ends all streams.
    let _ = checked.await;
}

/// What the publisher has seen of runs that other processes may drive.
#[derive(Default)]
struct PublishedState {
    version: i64,
    /// The number of events of the newest runs.
    newest: HashMap<RunNo, u64>,
    overview: Option<(Instant, Value)>,
    is_overview_due: bool,
}

impl PublishedState {
    fn publish(&mut self, app: &App, backend: &dyn Backend, is_poll: bool) -> Result<(), Problem> {
        let live = &app.live;
        let topics = live.current_topics();
        let mut dirty = std::mem::take(&mut *live.dirty.lock().unwrap_or_else(PoisonError::into_inner));
        let followed = std::mem::take(&mut dirty.followed);
        let texts = live.text.lock().unwrap_or_else(PoisonError::into_inner).take(!followed.is_empty());
        if topics.is_empty() {
            *self = Self::default();
            return Ok(());
        }
        // The first poll records the state with which later polls compare.
        if is_poll || self.version == 0 {
            self.poll(app, backend, &topics, &mut dirty)?;
        }
        publish_texts(app, backend, &topics, &followed, texts)?;
        self.is_overview_due |= !dirty.runs.is_empty();
        if dirty.runs.len() > MAX_RUNS {
            for topic in [Topic::Runs, Topic::Approvals] {
                reset(app, topic);
            }
            let followed = |run: &Run| topics.contains(&Topic::Run(run.id.clone()));
            let mut runs = BTreeSet::new();
            for run in &dirty.runs {
                if followed(&backend.row(*run)?) {
                    runs.insert(*run);
                }
            }
            dirty = Dirty { runs, ..Dirty::default() };
        }
        let reader = RunReader::new(app, backend)?;
        publish_followed(app, backend, &reader, followed)?;
        for run in with_roots(backend, &dirty.runs) {
            // A run may have been removed since.
            let Ok(row) = backend.row(run) else { continue };
            publish_run(app, backend, &reader, &topics, &row)?;
        }
        if topics.contains(&Topic::Approvals) {
            for run in &dirty.approvals {
                publish_approvals(app, backend, *run)?;
            }
        }
        if topics.contains(&Topic::Overview) && self.is_overview_due {
            self.publish_overview(app, backend)?;
        }
        Ok(())
    }

    /// Finds runs that other processes have changed.
    fn poll(
        &mut self,
        app: &App,
        backend: &dyn Backend,
        topics: &BTreeSet<Topic>,
        dirty: &mut Dirty,
    ) -> Result<(), Problem> {
        let version = backend.version()?;
        if version == self.version {
            return Ok(());
        }
        self.version = version;
        if [Topic::Runs, Topic::Overview, Topic::Approvals].iter().any(|topic| topics.contains(topic)) {
            let newest =
                backend.runs(&Filter { children: true, sessions: true, limit: Some(100), ..Filter::default() })?;
            for run in &newest {
                if !self.newest.is_empty() && self.newest.get(&run.run) != Some(&run.seq) {
                    dirty.runs.insert(run.run);
                    dirty.approvals.insert(run.run);
                }
            }
            self.newest = newest.into_iter().map(|run| (run.run, run.seq)).collect();
        }
        for topic in topics {
            let Topic::Run(id) = topic else { continue };
            let Some(run) = backend.run(id)? else { continue };
            let known = app.live.state().topics.get(topic).map(|topic| topic.seq);
            if known.is_some_and(|known| known != run.seq) {
                dirty.runs.insert(run.run);
            }
        }
        Ok(())
    }

    fn publish_overview(&mut self, app: &App, backend: &dyn Backend) -> Result<(), Problem> {
        if self.overview.as_ref().is_some_and(|(at, _)| at.elapsed() < POLL_INTERVAL) {
            app.live.wake.notify_one();
            return Ok(());
        }
        self.is_overview_due = false;
        let data = json(&overview(app, backend, None)?);
        if self.overview.as_ref().is_none_or(|(_, known)| *known != data) {
            let event =
                NewEvent { topics: vec![Topic::Overview], workflow: None, name: "overview", data: data.clone() };
            app.live.publish(app, event);
        }
        self.overview = Some((Instant::now(), data));
        Ok(())
    }
}

fn json(record: &impl serde::Serialize) -> Value {
    serde_json::to_value(record).unwrap_or_default()
}

fn reset(app: &App, topic: Topic) {
    let data = json!({"topic": topic.to_string()});
    app.live.publish(app, NewEvent { topics: vec![topic], workflow: None, name: "reset", data });
}

/// The runs with the runs that called them, whose status depends on them.
fn with_roots(backend: &dyn Backend, runs: &BTreeSet<RunNo>) -> BTreeSet<RunNo> {
    let mut all = runs.clone();
    for run in runs {
        let mut run = *run;
        while let Ok(row) = backend.row(run) {
            let Some(parent) = row.parent else { break };
            run = parent.run;
            if !all.insert(run) {
                break;
            }
        }
    }
    all
}

/// Publishes runs to the clients that follow them since the last look: what happened after such a client has loaded a run, and before it
/// followed it, was published without it.
fn publish_followed(
    app: &App,
    backend: &dyn Backend,
    reader: &RunReader<'_>,
    followed: BTreeSet<String>,
) -> Result<(), Problem> {
    for id in followed {
        // A run that does not exist yet may be started in a moment.
        let Some(row) = backend.run(&id)? else { continue };
        let topic = Topic::Run(id);
        if let Some(known) = app.live.state().topics.get_mut(&topic) {
            known.steps = None;
        }
        publish_run(app, backend, reader, &BTreeSet::from([topic]), &row)?;
    }
    Ok(())
}

fn publish_run(
    app: &App,
    backend: &dyn Backend,
    reader: &RunReader<'_>,
    topics: &BTreeSet<Topic>,
    row: &Run,
) -> Result<(), Problem> {
    let topic = Topic::Run(row.id.clone());
    let is_followed = topics.contains(&topic);
    let mut of_record: Vec<Topic> = Vec::new();
    if row.parent.is_none() && topics.contains(&Topic::Runs) {
        of_record.push(Topic::Runs);
    }
    if is_followed {
        of_record.push(topic.clone());
    }
    if of_record.is_empty() {
        return Ok(());
    }
    let workflow = Arc::clone(&app.version(backend, row.workflow)?.name);
    if is_followed {
        // The record of a run that cannot be read shows why.
        if let Ok(trace) = app.trace(backend, row) {
            publish_steps(app, backend, &topic, &workflow, &trace)?;
        }
    }
    let data = json(&reader.live_record(row, is_followed)?);
    app.live.publish(app, NewEvent { topics: of_record, workflow: Some(workflow), name: "run", data });
    Ok(())
}

/// Publishes the steps of a run that have changed since the last look.
fn publish_steps(
    app: &App,
    backend: &dyn Backend,
    topic: &Topic,
    workflow: &Arc<str>,
    trace: &RunTrace,
) -> Result<(), Problem> {
    let fingerprints: Vec<u64> = (0..trace.records.len()).map(|index| fingerprint(trace, index)).collect();
    let changed: Vec<usize> = {
        let mut state = app.live.state();
        let Some(known) = state.topics.get_mut(topic) else { return Ok(()) };
        known.seq = trace.view.row.seq;
        let recent_ms = now_ms() - RECENT_MS;
        let is_changed = |index: &usize| match &known.steps {
            Some(steps) => steps.get(&trace.keys[*index]) != Some(&fingerprints[*index]),
            None => trace.records[*index].ended_ms.is_none_or(|ended_ms| ended_ms >= recent_ms),
        };
        let changed = (0..trace.records.len()).filter(is_changed).collect();
        known.steps = Some(trace.keys.iter().cloned().zip(fingerprints).collect());
        changed
    };
    if changed.len() > MAX_STEPS {
        let data = json!({"topic": topic.to_string()});
        let event = NewEvent { topics: vec![topic.clone()], workflow: Some(Arc::clone(workflow)), name: "reset", data };
        app.live.publish(app, event);
        return Ok(());
    }
    if changed.is_empty() {
        return Ok(());
    }
    let writer = StepWriter::new(backend, trace)?;
    for index in changed {
        let data = json!({"run": trace.view.row.id, "step": json(&writer.step(index))});
        let event = NewEvent { topics: vec![topic.clone()], workflow: Some(Arc::clone(workflow)), name: "step", data };
        app.live.publish(app, event);
    }
    Ok(())
}

/// A number that changes when the record of a step changes.
fn fingerprint(trace: &RunTrace, index: usize) -> u64 {
    let record = &trace.records[index];
    let mut hasher = DefaultHasher::new();
    match &record.status {
        StepStatus::Waiting(status) => (1, status.as_str()).hash(&mut hasher),
        StepStatus::Skipped(reason) => (2, &**reason).hash(&mut hasher),
        status => std::mem::discriminant(status).hash(&mut hasher),
    }
    let attempts = (record.attempts.len(), record.attempts.last().and_then(|attempt| attempt.ended_ms));
    (record.ended_ms, record.began_ms, record.waited_ms, attempts).hash(&mut hasher);
    (record.decisions.len(), record.decisions_omitted, record.items, record.warnings.len()).hash(&mut hasher);
    (&record.branch, record.usage.tokens, record.usage.cost_micros, trace.children[index].len()).hash(&mut hasher);
    hasher.finish()
}

/// Publishes the approvals of a run. Whether a client can vote depends on the client, so it is not part of the event.
fn publish_approvals(app: &App, backend: &dyn Backend, run: RunNo) -> Result<(), Problem> {
    let Ok(row) = backend.row(run) else { return Ok(()) };
    let workflow = Arc::clone(&app.version(backend, row.workflow)?.name);
    for record in approvals::live_records(app, backend, &row)? {
        let is_open = record.is_open();
        let mut data = json(&record);
        if let Value::Object(fields) = &mut data {
            for field in ["may_vote", "decisions", "usage"] {
                fields.remove(field);
            }
        }
        let name = if is_open { "approval" } else { "approval_settled" };
        let workflow = Some(Arc::clone(&workflow));
        app.live.publish(app, NewEvent { topics: vec![Topic::Approvals], workflow, name, data });
    }
    Ok(())
}

/// Publishes texts of models under the run that made the call, and under the runs that called it. Followers of a run that are new get its
/// texts from their beginning.
fn publish_texts(
    app: &App,
    backend: &dyn Backend,
    topics: &BTreeSet<Topic>,
    followed: &BTreeSet<String>,
    updates: Vec<TextUpdate>,
) -> Result<(), Problem> {
    let mut rows: BTreeMap<String, Option<Run>> = BTreeMap::new();
    for TextUpdate { run: id, effect, piece, whole } in updates {
        if !rows.contains_key(&id) {
            rows.insert(id.clone(), backend.run(&id)?);
        }
        let row = rows.get(&id).cloned().flatten();
        let mut next = row.map(|row| (row, effect));
        while let Some((row, effect)) = next {
            let whole = whole.as_deref().filter(|_| followed.contains(&row.id)).map(|text| (text, 0));
            if let Some(text) = whole.or(piece.as_ref().map(|(text, offset)| (text.as_str(), *offset))) {
                publish_text(app, backend, topics, &row, effect, text)?;
            }
            next = match row.parent {
                Some(parent) => Some((backend.row(parent.run)?, EffectNo(parent.effect))),
                None => None,
            };
        }
    }
    Ok(())
}

/// Publishes a part of the text of a call under one run.
fn publish_text(
    app: &App,
    backend: &dyn Backend,
    topics: &BTreeSet<Topic>,
    row: &Run,
    effect: EffectNo,
    (text, offset): (&str, usize),
) -> Result<(), Problem> {
    let topic = Topic::Run(row.id.clone());
    if !topics.contains(&topic) {
        return Ok(());
    }
    let trace = app.trace(backend, row)?;
    if let Some(index) = trace.callers.get(&effect) {
        let workflow = Some(Arc::clone(&app.version(backend, row.workflow)?.name));
        let data = json!({"run": row.id, "key": trace.keys[*index], "text": text, "offset": offset});
        app.live.publish(app, NewEvent { topics: vec![topic], workflow, name: "text", data });
    }
    Ok(())
}

impl super::Live {
    /// Notes the runs that a client follows from now on.
    pub(super) fn note_followed(&self, topics: &BTreeSet<Topic>) {
        let ids = topics.iter().filter_map(|topic| match topic {
            Topic::Run(id) => Some(id.clone()),
            _ => None,
        });
        self.dirty.lock().unwrap_or_else(PoisonError::into_inner).followed.extend(ids);
    }

    /// The topics that somebody follows, or did a moment ago.
    fn current_topics(&self) -> BTreeSet<Topic> {
        let mut state = self.state();
        state.topics.retain(|_, topic| !topic.is_over());
        state.topics.keys().cloned().collect()
    }

    /// Makes all clients load everything again.
    fn reset_all(&self, app: &App) {
        for topic in self.current_topics() {
            reset(app, topic);
        }
    }
}
