//! The share of one user in the streams and topics of the server, so that no user can use up what all have.

use std::collections::BTreeSet;

use super::{State, Topic};
use crate::caller::Caller;
use crate::problem::{Problem, ProblemKind};

/// The topics of all clients.
const ALL_TOPICS: usize = 4_096;

/// The topics that all clients of one user follow.
const USER_TOPICS: usize = 1_024;

/// The event streams of one user.
const USER_STREAMS: usize = 256;

impl State {
    /// Fails if a user has too many streams to open another. The local user, who needs no credential, has the whole server.
    pub(super) fn check_streams(&self, caller: &Caller) -> Result<(), Problem> {
        let streams = self.clients.values().filter(|client| client.caller.user == caller.user).count();
        if caller.credential.is_some() && streams >= USER_STREAMS {
            let detail = format!("{} has {streams} event streams already. Close some.", caller.user);
            return Err(Problem::new(ProblemKind::LimitReached, detail).with("limit", USER_STREAMS));
        }
        Ok(())
    }

    /// Fails if there are too many topics to add these. Nothing is added before, so that a rejected request leaves nothing behind.
    pub(super) fn check_room(&self, caller: &Caller, topics: &BTreeSet<Topic>) -> Result<(), Problem> {
        let is_followed = |topic: &&Topic| self.topics.get(topic).is_some_and(|known| known.subscribers > 0);
        let followed = self.topics.values().filter(|topic| topic.subscribers > 0).count();
        if followed + topics.iter().filter(|topic| !is_followed(topic)).count() > ALL_TOPICS {
            let detail = format!("Clients of the server follow {followed} topics already.");
            return Err(Problem::new(ProblemKind::Unavailable, detail).retry_after(5));
        }
        if caller.credential.is_some() && self.topics_of(caller, topics) > USER_TOPICS {
            let detail = format!("The clients of {} follow at most {USER_TOPICS} topics.", caller.user);
            return Err(Problem::new(ProblemKind::LimitReached, detail).with("limit", USER_TOPICS));
        }
        Ok(())
    }

    /// The number of topics that a user would follow with more.
    fn topics_of(&self, caller: &Caller, more: &BTreeSet<Topic>) -> usize {
        let clients = self.clients.values().filter(|client| client.caller.user == caller.user);
        let followed: BTreeSet<&Topic> = clients.flat_map(|client| &client.topics).chain(more).collect();
        followed.len()
    }

    /// Forgets the topic that has been without followers for the longest time, if there are as many topics as possible. A client that follows it
    /// again loads it again.
    pub(super) fn make_room(&mut self) {
        if self.topics.len() < ALL_TOPICS {
            return;
        }
        let idle = self.topics.iter().filter_map(|(topic, known)| Some((known.idle_since?, topic)));
        if let Some((_, oldest)) = idle.min() {
            let oldest = oldest.clone();
            self.topics.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::super::Client;
    use super::*;

    fn caller(user: &str) -> Caller {
        Caller::of_link(user.to_owned(), "any")
    }

    fn topics(range: std::ops::Range<usize>) -> BTreeSet<Topic> {
        range.map(|number| Topic::Run(number.to_string())).collect()
    }

    /// Opens a stream as [`super::super::Live::open`] does.
    fn open(state: &mut State, user: &str, topics: BTreeSet<Topic>) -> Result<(), Problem> {
        let caller = caller(user);
        state.check_streams(&caller)?;
        state.check_room(&caller, &topics)?;
        for topic in &topics {
            state.subscribe(topic);
        }
        let id = format!("{user}-{}", state.clients.len());
        state.clients.insert(id, Client { caller, topics, sender: mpsc::channel(1).0 });
        Ok(())
    }

    #[test]
    fn one_user_cannot_use_up_the_topics_of_the_server() {
        let mut state = State::default();
        for begin in (0..USER_TOPICS).step_by(256) {
            open(&mut state, "eve", topics(begin..begin + 256)).unwrap();
        }
        let refused = open(&mut state, "eve", topics(USER_TOPICS..USER_TOPICS + 1)).unwrap_err();
        assert_eq!(refused.kind(), ProblemKind::LimitReached);
        // Topics that the user follows already count once.
        open(&mut state, "eve", topics(0..256)).unwrap();
        open(&mut state, "ada", topics(USER_TOPICS..USER_TOPICS + 256)).unwrap();
    }

    #[test]
    fn one_user_cannot_use_up_the_streams_of_the_server() {
        let mut state = State::default();
        for _ in 0..USER_STREAMS {
            open(&mut state, "eve", topics(0..1)).unwrap();
        }
        assert_eq!(open(&mut state, "eve", topics(0..1)).unwrap_err().kind(), ProblemKind::LimitReached);
        open(&mut state, "ada", topics(0..1)).unwrap();
    }

    #[test]
    fn topics_that_were_left_make_room_for_others() {
        let mut state = State::default();
        for begin in (0..ALL_TOPICS).step_by(256) {
            open(&mut state, "eve", topics(begin..begin + 256)).unwrap();
            let clients: Vec<String> = state.clients.keys().cloned().collect();
            for client in &clients {
                state.remove(client);
            }
        }
        assert_eq!(state.topics.len(), ALL_TOPICS);
        open(&mut state, "ada", topics(ALL_TOPICS..ALL_TOPICS + 256)).unwrap();
        assert_eq!(state.topics.len(), ALL_TOPICS);
        let is_followed = |number: usize| state.topics.contains_key(&Topic::Run(number.to_string()));
        assert!((ALL_TOPICS..ALL_TOPICS + 256).all(is_followed));
    }

    #[test]
    fn a_rejected_request_leaves_no_topic_behind() {
        let mut state = State::default();
        open(&mut state, "eve", topics(0..USER_TOPICS)).unwrap();
        open(&mut state, "eve", topics(5_000..5_001)).unwrap_err();
        assert_eq!(state.topics.len(), USER_TOPICS);
        assert_eq!(state.clients.len(), 1);
    }

    /// Live events with these clients, who all follow `run:0`.
    fn live(users: &[&str]) -> super::super::Live {
        let live = super::super::Live::new().unwrap();
        for user in users {
            open(&mut live.state(), user, topics(0..1)).unwrap();
        }
        live
    }

    fn subscribers(live: &super::super::Live, number: usize) -> Option<usize> {
        live.state().topics.get(&Topic::Run(number.to_string())).map(|topic| topic.subscribers)
    }

    fn named(numbers: &[usize]) -> Vec<Topic> {
        numbers.iter().map(|number| Topic::Run(number.to_string())).collect()
    }

    #[test]
    fn a_topic_that_a_request_names_twice_counts_once() {
        let live = live(&["eve"]);
        live.change("eve-0", &caller("eve"), named(&[1, 1, 0]), &[]).unwrap();
        assert_eq!((subscribers(&live, 0), subscribers(&live, 1)), (Some(1), Some(1)));
        live.remove("eve-0");
        assert_eq!(
            (subscribers(&live, 0), subscribers(&live, 1)),
            (Some(0), Some(0)),
            "no subscription is left behind"
        );
    }

    #[test]
    fn a_client_cannot_silence_the_topics_of_others() {
        let live = live(&["ada", "eve"]);
        live.change("eve-1", &caller("eve"), Vec::new(), &named(&[0, 0, 0])).unwrap();
        assert_eq!(subscribers(&live, 0), Some(1), "ada still follows it");
        live.change("eve-1", &caller("eve"), named(&[2]), &named(&[2, 0])).unwrap();
        assert_eq!((subscribers(&live, 0), subscribers(&live, 2)), (Some(1), None));
        assert!(live.change("ada-0", &caller("eve"), Vec::new(), &named(&[0])).is_err(), "it is the stream of ada");
    }
}
