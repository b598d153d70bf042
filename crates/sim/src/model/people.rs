//! Signals and requests to people.

use branchpoint_expr::Value;

use super::walk::accepts;
use super::{Due, Model, Output, Parked, Question, ms};
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
                self.tally("signals taken");
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
        let Parked::Wait { timer, ask } = parked else { return };
        if let Some(timer) = timer {
            self.timers.remove(&timer);
        }
        if let Some(ask) = ask {
            let question = self.asks.remove(&ask).expect("it is pending");
            if let Some(timer) = question.timer {
                self.timers.remove(&timer);
            }
            self.outputs.push(Output::Retract(ask));
        }
    }

    pub(super) fn ask(&mut self, no: u64, node: &'t Node) {
        let ask = self.number();
        self.outputs.push(Output::Ask { ask, node: node.id });
        let question = Question { strand: no, node, asked: self.now, reminded: 0, votes: Vec::new(), timer: None };
        self.asks.insert(ask, question);
        self.next_due(ask);
        self.wait(no, None, Some(ask));
    }

    /// Sets the timer for the next reminder, or for the deadline if that comes first.
    fn next_due(&mut self, ask: u64) {
        let question = &self.asks[&ask];
        let NodeKind::Request { reminder_ms, .. } = question.node.kind else { unreachable!("only requests ask") };
        let deadline = question.deadline();
        let reminder = reminder_ms.map(|every| question.asked + ms(every) * i64::from(question.reminded + 1));
        let reminder = reminder.filter(|at| deadline.is_none_or(|deadline| *at < deadline));
        let reminder = reminder.filter(|_| question.reminded < REMINDERS);
        let timer = reminder.or(deadline).map(|at| self.set_timer(at, Due::Question(ask)));
        self.asks.get_mut(&ask).expect("it is pending").timer = timer;
    }

    pub(super) fn question_due(&mut self, ask: u64) {
        let now = self.now;
        let question = self.asks.get_mut(&ask).expect("a pending question has a timer");
        question.timer = None;
        if question.deadline().is_some_and(|deadline| now >= deadline) {
            return self.resolve(ask, "timeout");
        }
        question.reminded += 1;
        let users = question.without_vote();
        self.tally("reminders");
        self.outputs.push(Output::Remind { ask, users });
        self.next_due(ask);
    }

    pub(super) fn vote(&mut self, ask: u64, user: String, choice: &str) -> bool {
        let now = self.now;
        let Some(question) = self.asks.get_mut(&ask) else { return false };
        let NodeKind::Request { people, required, .. } = question.node.kind else { unreachable!("only requests ask") };
        let late = question.deadline().is_some_and(|deadline| now >= deadline);
        if late || !CHOICES.contains(&choice) || !question.without_vote().contains(&user) {
            return false;
        }
        question.votes.push((user, choice.to_owned()));
        let for_it = question.votes.iter().filter(|(_, of)| *of == choice).count();
        if for_it >= required as usize {
            self.resolve(ask, choice);
        } else if question.votes.len() == people as usize {
            self.resolve(ask, "no_quorum");
        }
        true
    }

    pub(super) fn cancel_request(&mut self, ask: u64) -> bool {
        let pending = self.asks.contains_key(&ask);
        if pending {
            self.resolve(ask, "cancelled");
        }
        pending
    }

    fn resolve(&mut self, ask: u64, outcome: &str) {
        let question = &self.asks[&ask];
        let NodeKind::Request { expired, .. } = question.node.kind else { unreachable!("only requests ask") };
        let votes = i64::try_from(question.votes.len()).expect("few people are asked");
        let last = if expired && outcome == "timeout" {
            Value::from("expired")
        } else {
            Value::from(vec![Value::from(outcome), Value::Int(votes)])
        };
        let strand = question.strand;
        self.tally(match outcome {
            "timeout" => "requests timed out",
            "cancelled" => "requests called off",
            "no_quorum" => "requests without quorum",
            _ => "requests decided",
        });
        self.stop_waiting(strand);
        self.resume(strand, last);
    }
}

impl Question<'_> {
    fn deadline(&self) -> Option<i64> {
        let NodeKind::Request { timeout_ms, .. } = self.node.kind else { return None };
        timeout_ms.map(|timeout| self.asked + ms(timeout))
    }

    /// The people who have not voted.
    fn without_vote(&self) -> Vec<String> {
        let NodeKind::Request { people, .. } = self.node.kind else { return Vec::new() };
        let all = (0..people).map(|person| format!("u{person}"));
        all.filter(|user| !self.votes.iter().any(|(voter, _)| voter == user)).collect()
    }
}
