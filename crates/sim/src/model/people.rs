//! Signals and requests to people.

use branchpoint_expr::Value;

use super::approvals::{Approval, End, Sent};
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
        let approval = match Approval::open(node, self.now) {
            Ok(approval) => approval,
            Err(kind) => {
                self.tally("requests refused");
                return self.entry_failed(no, kind.to_owned());
            }
        };
        let request = self.number();
        let recipients = approval.recipients().into_iter().collect();
        self.outputs.push(Output::Ask { request, node: node.id, recipients });
        let open = OpenRequest { strand: no, node, requested_ms: self.now, reminded: 0, approval, timer: None };
        self.requests.insert(request, open);
        self.next_due(request);
        self.wait(no, None, Some(request));
    }

    /// Sets the timer for the next reminder or the escalation, or for the deadline if that comes first.
    fn next_due(&mut self, request: u64) {
        let open = &self.requests[&request];
        let NodeKind::Request { reminder_ms, .. } = open.node.kind else { unreachable!("only requests have votes") };
        let deadline = open.approval.deadline_ms();
        let reminder = reminder_ms.map(|every| open.requested_ms + ms(every) * i64::from(open.reminded + 1));
        let reminder = reminder.filter(|at| deadline.is_none_or(|deadline| *at < deadline));
        let reminder = reminder.filter(|_| open.reminded < REMINDERS);
        let next = reminder.into_iter().chain(open.approval.escalates_ms()).min();
        let timer = next.or(deadline).map(|at| self.set_timer(at, Due::Request(request)));
        self.requests.get_mut(&request).expect("the request is pending").timer = timer;
    }

    pub(super) fn request_due(&mut self, request: u64) {
        let now = self.now;
        let open = self.requests.get_mut(&request).expect("a pending request has a timer");
        open.timer = None;
        if open.approval.is_over(now) {
            return self.resolve(request, &End { outcome: "timeout".into(), rule: "timeout" });
        }
        if open.approval.escalates_ms().is_some_and(|at| at <= now) {
            let users = open.approval.escalate();
            self.tally("escalations");
            self.outputs.push(Output::Escalate { request, users });
        } else {
            open.reminded += 1;
            let users = open.approval.silent(now);
            self.tally("reminders");
            self.outputs.push(Output::Remind { request, users });
        }
        self.next_due(request);
    }

    pub(super) fn vote(&mut self, request: u64, sent: &Sent) -> bool {
        let now = self.now;
        let Some(open) = self.requests.get_mut(&request) else { return false };
        if !open.approval.vote(sent, &CHOICES, now) {
            return false;
        }
        let (is_for_another, is_edited, end) =
            (open.approval.is_for_another(), open.approval.is_edited(), open.approval.settled());
        if is_for_another {
            self.tally("votes of delegates");
        }
        if is_edited {
            self.tally("votes with an edited form");
        }
        if let Some(end) = end {
            self.resolve(request, &end);
        }
        true
    }

    pub(super) fn delegate(&mut self, request: u64, from: &str, to: Option<&str>, until: i64) -> bool {
        let now = self.now;
        let Some(open) = self.requests.get_mut(&request) else { return false };
        let is_accepted = open.approval.delegate(from, to, until, now);
        if is_accepted {
            self.tally(if to.is_some() { "delegations" } else { "delegations revoked" });
        }
        is_accepted
    }

    pub(super) fn cancel_request(&mut self, request: u64) -> bool {
        let pending = self.requests.contains_key(&request);
        if pending {
            self.resolve(request, &End { outcome: "cancelled".into(), rule: "cancelled" });
        }
        pending
    }

    fn resolve(&mut self, request: u64, end: &End) {
        let open = &self.requests[&request];
        let NodeKind::Request { expired, .. } = open.node.kind else { unreachable!("only requests have votes") };
        let last = if expired && end.rule == "timeout" { Value::from("expired") } else { open.approval.output(end) };
        let strand = open.strand;
        self.tally(match end.rule {
            "timeout" => "requests timed out",
            "cancelled" => "requests cancelled",
            "everyone_voted" => "requests without quorum",
            "unreachable" => "requests ended early",
            "veto" => "requests vetoed",
            _ => "requests decided",
        });
        self.stop_waiting(strand);
        self.resume_with_new_value(strand, last);
    }
}
