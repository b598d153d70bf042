//! Signals and questions to people.

use branchpoint_expr::Value;

use super::walk::accepts;
use super::{Act, Due, Model, Parked, Question, ms};
use crate::tree::{Node, What};

/// What can be answered.
pub const CHOICES: [&str; 2] = ["yes", "no"];

/// How many times people are reminded.
pub const REMINDERS: u32 = 2;

impl<'t> Model<'t> {
    pub(super) fn signal(&mut self, node: u32, payload: i64) -> bool {
        let mut somebody_waits = false;
        let strands: Vec<u64> = self.strands.keys().copied().collect();
        for no in strands {
            if !matches!(self.strands[&no].parked, Parked::Wait { .. }) || self.node_of(no).id != node {
                continue;
            }
            somebody_waits = true;
            if accepts(self.node_of(no), payload) {
                self.tally("signals taken");
                self.stop_waiting(no);
                self.go_on(no, Value::Int(payload));
                return true;
            }
        }
        let nodes = self.tree.nodes();
        let keep = nodes.iter().any(|known| known.id == node && matches!(known.what, What::Signal { keep: true, .. }));
        if somebody_waits || !keep {
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
            self.acts.push(Act::Retract(ask));
        }
    }

    pub(super) fn ask(&mut self, no: u64, node: &'t Node) {
        let ask = self.number();
        self.acts.push(Act::Ask { ask, node: node.id });
        let question = Question { strand: no, node, asked: self.now, reminded: 0, votes: Vec::new(), timer: None };
        self.asks.insert(ask, question);
        self.next_due(ask);
        self.wait(no, None, Some(ask));
    }

    /// Sets the timer of the next reminder before the deadline, or of the deadline.
    fn next_due(&mut self, ask: u64) {
        let question = &self.asks[&ask];
        let What::Request { reminder_ms, .. } = question.node.what else { unreachable!("only requests ask") };
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
        let users = question.silent();
        self.tally("reminders");
        self.acts.push(Act::Remind { ask, users });
        self.next_due(ask);
    }

    pub(super) fn vote(&mut self, ask: u64, user: String, choice: &str) -> bool {
        let now = self.now;
        let Some(question) = self.asks.get_mut(&ask) else { return false };
        let What::Request { people, required, .. } = question.node.what else { unreachable!("only requests ask") };
        let late = question.deadline().is_some_and(|deadline| now >= deadline);
        if late || !CHOICES.contains(&choice) || !question.silent().contains(&user) {
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

    pub(super) fn call_off(&mut self, ask: u64) -> bool {
        let pending = self.asks.contains_key(&ask);
        if pending {
            self.resolve(ask, "cancelled");
        }
        pending
    }

    fn resolve(&mut self, ask: u64, outcome: &str) {
        let question = &self.asks[&ask];
        let What::Request { expired, .. } = question.node.what else { unreachable!("only requests ask") };
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
        self.go_on(strand, last);
    }
}

impl Question<'_> {
    fn deadline(&self) -> Option<i64> {
        let What::Request { timeout_ms, .. } = self.node.what else { return None };
        timeout_ms.map(|timeout| self.asked + ms(timeout))
    }

    /// Who has not voted.
    fn silent(&self) -> Vec<String> {
        let What::Request { people, .. } = self.node.what else { return Vec::new() };
        let all = (0..people).map(|person| format!("u{person}"));
        all.filter(|user| !self.votes.iter().any(|(voter, _)| voter == user)).collect()
    }
}
