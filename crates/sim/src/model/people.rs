//! Signals and requests to people.

use branchpoint_expr::Value;

use super::walk::accepts;
use super::{Due, Model, OpenRequest, Output, Parked, ms};
use crate::tree::{Node, NodeKind};

/// The choices of a request.
pub const CHOICES: [&str; 2] = ["yes", "no"];

/// The maximum number of reminders.
pub const REMINDERS: u32 = 2;

impl<'t> Model<'t> {
    pub(super) fn signal(&mut self, node: u32, payload: i64) -> bool {
        let mut has_waiter = false;
        let strands: Vec<u64> = self.strands.keys().copied().collect();
        for no in strands {
            if !matches!(self.strands[&no].parked, Parked::Wait { .. }) || self.node_of(no).id != node {
                continue;
            }
            has_waiter = true;
            if accepts(self.node_of(no), payload) {
                self.tally("signals accepted");
                self.stop_waiting(no);
                self.resume(no, Value::Int(payload));
                return true;
            }
        }
        let nodes = self.tree.nodes();
        let keep =
            nodes.iter().any(|known| known.id == node && matches!(known.kind, NodeKind::Signal { keep: true, .. }));
        if has_waiter || !keep {
            return false;
        }
        self.mailbox.push((node, payload));
        true
    }

    pub(super) fn stop_waiting(&mut self, no: u64) {
        let parked = std::mem::replace(&mut self.strand(no).parked, Parked::Ready);
        let Parked::Wait { timer, request } = parked else { return };
        if let Some(timer) = timer {
            self.timers.remove(&timer);
        }
        if let Some(request) = request {
            let open = self.requests.remove(&request).expect("the request is pending");
            if let Some(timer) = open.timer {
                self.timers.remove(&timer);
            }
            self.outputs.push(Output::Retract(request));
        }
    }

    pub(super) fn ask(&mut self, no: u64, node: &'t Node) {
        let request = self.number();
        self.outputs.push(Output::Ask { request, node: node.id });
        let open =
            OpenRequest { strand: no, node, requested_ms: self.now, reminded: 0, votes: Vec::new(), timer: None };
        self.requests.insert(request, open);
        self.next_due(request);
        self.wait(no, None, Some(request));
    }

    /// Sets the timer for the next reminder, or for the deadline if that comes first.
    fn next_due(&mut self, request: u64) {
        let open = &self.requests[&request];
        let NodeKind::Request { reminder_ms, .. } = open.node.kind else { unreachable!("only requests have votes") };
        let deadline = open.deadline();
        let reminder = reminder_ms.map(|every| open.requested_ms + ms(every) * i64::from(open.reminded + 1));
        let reminder = reminder.filter(|at| deadline.is_none_or(|deadline| *at < deadline));
        let reminder = reminder.filter(|_| open.reminded < REMINDERS);
        let timer = reminder.or(deadline).map(|at| self.set_timer(at, Due::Request(request)));
        self.requests.get_mut(&request).expect("the request is pending").timer = timer;
    }

    pub(super) fn request_due(&mut self, request: u64) {
        let now = self.now;
        let open = self.requests.get_mut(&request).expect("a pending request has a timer");
        open.timer = None;
        if open.deadline().is_some_and(|deadline| now >= deadline) {
            return self.resolve(request, "timeout");
        }
        open.reminded += 1;
        let users = open.without_vote();
        self.tally("reminders");
        self.outputs.push(Output::Remind { request, users });
        self.next_due(request);
    }

    pub(super) fn vote(&mut self, request: u64, user: String, choice: &str) -> bool {
        let now = self.now;
        let Some(open) = self.requests.get_mut(&request) else { return false };
        let NodeKind::Request { people, required, .. } = open.node.kind else {
            unreachable!("only requests have votes")
        };
        let late = open.deadline().is_some_and(|deadline| now >= deadline);
        if late || !CHOICES.contains(&choice) || !open.without_vote().contains(&user) {
            return false;
        }
        open.votes.push((user, choice.to_owned()));
        let for_it = open.votes.iter().filter(|(_, of)| *of == choice).count();
        if for_it >= required as usize {
            self.resolve(request, choice);
        } else if open.votes.len() == people as usize {
            self.resolve(request, "no_quorum");
        }
        true
    }

    pub(super) fn cancel_request(&mut self, request: u64) -> bool {
        let pending = self.requests.contains_key(&request);
        if pending {
            self.resolve(request, "cancelled");
        }
        pending
    }

    fn resolve(&mut self, request: u64, outcome: &str) {
        let open = &self.requests[&request];
        let NodeKind::Request { expired, .. } = open.node.kind else { unreachable!("only requests have votes") };
        let votes = i64::try_from(open.votes.len()).expect("few people vote");
        let last = if expired && outcome == "timeout" {
            Value::from("expired")
        } else {
            Value::from(vec![Value::from(outcome), Value::Int(votes)])
        };
        let strand = open.strand;
        self.tally(match outcome {
            "timeout" => "requests timed out",
            "cancelled" => "requests cancelled",
            "no_quorum" => "requests without quorum",
            _ => "requests decided",
        });
        self.stop_waiting(strand);
        self.resume(strand, last);
    }
}

impl OpenRequest<'_> {
    fn deadline(&self) -> Option<i64> {
        let NodeKind::Request { timeout_ms, .. } = self.node.kind else { return None };
        timeout_ms.map(|timeout| self.requested_ms + ms(timeout))
    }

    /// The people who have not voted.
    fn without_vote(&self) -> Vec<String> {
        let NodeKind::Request { people, .. } = self.node.kind else { return Vec::new() };
        let all = (0..people).map(|person| format!("u{person}"));
        all.filter(|user| !self.votes.iter().any(|(voter, _)| voter == user)).collect()
    }
}
