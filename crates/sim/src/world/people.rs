//! People vote, delegate and cancel: on time, late, twice, for others, with invalid forms, and on requests that are settled.

use branchpoint_core::{Event, RequestNo};
use branchpoint_expr::{Object, Value};

use super::World;
use crate::model::{Fact, Sent};
use crate::rng::Rng;

/// Those who try to vote on requests with rules. The last two are never recipients.
const VOTERS: [&str; 10] = ["u0", "u1", "u2", "u3", "u4", "u5", "u6", "u7", "x0", "x1"];

impl World<'_> {
    /// Casts a random vote, or delegates one: on time, late, duplicated, invalid, or on a settled request.
    pub(super) fn vote(&mut self, run: usize) -> Result<(), String> {
        self.prepare(run)?;
        let known: Vec<RequestNo> = self.runs[run].audit.requests.keys().copied().collect();
        if known.is_empty() {
            return Ok(());
        }
        let request = *self.rng.pick(&known);
        let user = format!("u{}", self.rng.below(5));
        let choice = *self.rng.pick(&["yes", "yes", "no", "maybe"]);
        // Random numbers of its own leave those of plain requests as they were before there were rules.
        let mut rng = Rng::new(self.rng.clone().draw() ^ 0x0de1_e9a7);
        if rng.percent(20) {
            return self.delegate(run, request, &mut rng);
        }
        let has_rules = self.requested(run, request, "shown_hash").is_some();
        if !has_rules && rng.percent(80) {
            return self.cast(run, request, Sent { user, choice: choice.into(), form: None, saw_it: None });
        }
        let form = self.random_form(run, request, &mut rng);
        let saw_it = *rng.pick(&[None, None, Some(true), Some(true), Some(false)]);
        let user = self.random_person(run, request, &mut rng);
        self.cast(run, request, Sent { user, choice: choice.into(), form, saw_it })
    }

    /// A recipient, a frequent delegate, or anybody.
    fn random_person(&self, run: usize, request: RequestNo, rng: &mut Rng) -> String {
        let recipients = self.requested(run, request, "recipients").and_then(Value::as_list).unwrap_or_default();
        match rng.below(10) {
            0..5 if !recipients.is_empty() => rng.pick(recipients).to_string(),
            5..8 => "x0".to_owned(),
            _ => (*rng.pick(&VOTERS)).to_owned(),
        }
    }

    /// A field of a pending request.
    fn requested(&self, run: usize, request: RequestNo, field: &str) -> Option<&Value> {
        self.runs[run].tables.requests.get(&request)?.get(field).filter(|value| **value != Value::Null)
    }

    pub(super) fn has_form(&self, run: usize, request: RequestNo) -> bool {
        self.requested(run, request, "form").is_some()
    }

    fn random_form(&self, run: usize, request: RequestNo, rng: &mut Rng) -> Option<Value> {
        let is_usual = rng.percent(80);
        if is_usual != self.has_form(run, request) {
            return None;
        }
        let amount = match rng.below(8) {
            0 => Some(("amount", Value::from("much"))),
            1 => Some(("total", Value::Int(1))),
            2..4 => Some(("amount", Value::Int(rng.int(10)))),
            _ => None,
        };
        let note = rng.percent(30).then(|| ("note", Value::from("fine")));
        Some(fields(amount.into_iter().chain(note)))
    }

    pub(super) fn cast(&mut self, run: usize, request: RequestNo, sent: Sent) -> Result<(), String> {
        let hash = sent.saw_it.map(|saw_it| {
            let shown = self.requested(run, request, "shown_hash").filter(|_| saw_it);
            ("shown_hash", shown.cloned().unwrap_or_else(|| Value::from("another")))
        });
        let form = sent.form.clone().map(|form| ("form", form));
        let vote = [("request", number(request)), ("choice", Value::from(&*sent.choice))];
        let payload = fields(vote.into_iter().chain(form).chain(hash));
        let event = signal("vote", payload.clone(), Some(&sent.user));
        let request = self.runs[run].audit.requests.get(&request).copied().unwrap_or(0);
        let is_accepted = self.write(run, self.now, &event, Some(Fact::Vote { request, sent, payload }))?;
        self.count(if is_accepted { "votes accepted" } else { "votes rejected" });
        Ok(())
    }

    fn delegate(&mut self, run: usize, request: RequestNo, rng: &mut Rng) -> Result<(), String> {
        let from = self.random_person(run, request, rng);
        let to = rng.percent(85).then(|| if rng.percent(50) { "x0" } else { *rng.pick(&VOTERS) }.to_owned());
        let until = self.now - 50 + rng.int(3_000);
        let named = [("to", to.as_deref().map_or(Value::Null, Value::from)), ("until_ms", Value::Int(until))];
        let payload = fields([("request", number(request))].into_iter().chain(named));
        let event = signal("delegate", payload.clone(), Some(&from));
        let request = self.runs[run].audit.requests.get(&request).copied().unwrap_or(0);
        let fact = Fact::Delegate { request, from, to, until, payload };
        let is_accepted = self.write(run, self.now, &event, Some(fact))?;
        self.count(if is_accepted { "delegations accepted" } else { "delegations rejected" });
        Ok(())
    }

    pub(super) fn cancel_request(&mut self, run: usize) -> Result<(), String> {
        let pending: Vec<RequestNo> = self.runs[run].audit.requests.keys().copied().collect();
        if pending.is_empty() || !self.rng.percent(30) {
            return Ok(());
        }
        let request = *self.rng.pick(&pending);
        let event = signal("cancel_request", fields([("request", number(request))]), None);
        let request = self.runs[run].audit.requests[&request];
        self.write(run, self.now, &event, Some(Fact::CancelRequest { request }))?;
        Ok(())
    }
}

fn number(request: RequestNo) -> Value {
    Value::Int(i64::try_from(request.0).expect("numbers are small"))
}

fn fields<'f>(fields: impl IntoIterator<Item = (&'f str, Value)>) -> Value {
    Value::from(fields.into_iter().map(|(key, value)| (key.into(), value)).collect::<Object>())
}

fn signal(name: &str, payload: Value, sender: Option<&str>) -> Event {
    Event::Signal { name: name.into(), payload, sender: sender.map(Into::into), key: None }
}
