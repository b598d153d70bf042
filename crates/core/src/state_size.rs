//! The size of all values of a run, counting shared parts each time: the approximate size of its snapshot.
//!
//! [`State::size`] is updated with every change, so that reading it costs nothing. Code that adds a value to the run or removes one
//! calls the functions here, or `write` of the machine.

use branchpoint_expr::Value;

use crate::state::{EffectNo, Entry, EntryResult, Frame, FrameNo, InFlight, Pending, RequestNo, State};

impl State {
    /// The size of all values that the run stores, in bytes, counting shared parts each time.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// assert!(state.size_bytes() < 1_000);
    /// ```
    pub fn size_bytes(&self) -> u64 {
        self.size
    }

    pub(crate) fn hold(&mut self, bytes: u64) {
        self.size = self.size.saturating_add(bytes);
    }

    pub(crate) fn release(&mut self, bytes: u64) {
        self.size = self.size.saturating_sub(bytes);
    }

    /// Inserts a frame, or replaces a frame by its next attempt.
    pub(crate) fn insert_frame(&mut self, no: FrameNo, frame: Frame) {
        self.hold(frame_bytes(&frame));
        if let Some(old) = self.frames.insert(no, frame) {
            self.release(frame_bytes(&old));
        }
    }

    pub(crate) fn remove_frame(&mut self, no: FrameNo) -> Option<Frame> {
        let frame = self.frames.remove(&no)?;
        self.release(frame_bytes(&frame));
        Some(frame)
    }

    pub(crate) fn insert_effect(&mut self, no: EffectNo, flight: InFlight) {
        self.hold(flight.input_bytes);
        self.effects.insert(no, flight);
    }

    pub(crate) fn remove_effect(&mut self, no: EffectNo) -> Option<InFlight> {
        let flight = self.effects.remove(&no)?;
        self.release(flight.input_bytes);
        Some(flight)
    }

    pub(crate) fn insert_request(&mut self, no: RequestNo, pending: Pending) {
        self.hold(pending.bytes);
        self.requests.insert(no, pending);
    }

    pub(crate) fn remove_request(&mut self, no: RequestNo) -> Option<Pending> {
        let pending = self.requests.remove(&no)?;
        self.release(pending.bytes);
        Some(pending)
    }

    /// Recomputes [`Self::size_bytes`] after a host has replaced values, for example by `***`.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// state.map_values(&mut |value| *value = Value::from("***"));
    /// state.recount_size();
    /// ```
    pub fn recount_size(&mut self) {
        self.size = self.count_size();
    }

    /// Whether [`Self::size_bytes`] equals the recomputed size. Large runs are not checked, because the check runs after every event.
    pub(crate) fn size_is_exact(&self) -> bool {
        const SMALL: usize = 64;
        self.strands.len() > SMALL || self.size == self.count_size()
    }

    /// Computes the size of all values from scratch.
    pub(crate) fn count_size(&self) -> u64 {
        let strands: u64 = self.strands.values().map(|strand| values_bytes(&strand.locals)).sum();
        let frames: u64 = self.frames.values().map(frame_bytes).sum();
        let effects: u64 = self.effects.values().map(|flight| flight.input_bytes).sum();
        let requests: u64 = self.requests.values().map(|pending| pending.bytes).sum();
        let mailbox: u64 = self.mailbox.iter().map(|(_, payload)| bytes(payload)).sum();
        strands + frames + effects + requests + mailbox
    }
}

/// The unfolded size of a value.
pub(crate) fn bytes(value: &Value) -> u64 {
    value.size().bytes
}

/// The unfolded size of an optional value.
pub(crate) fn some_bytes(value: Option<&Value>) -> u64 {
    value.map_or(0, bytes)
}

/// The unfolded size of several values together.
pub(crate) fn values_bytes(values: &[Value]) -> u64 {
    values.iter().map(bytes).sum()
}

/// The unfolded size of the values of an entry.
pub(crate) fn entry_bytes(entry: &Entry) -> u64 {
    slots_bytes(&entry.values) + some_bytes(entry.value.as_ref())
}

/// The unfolded size of the results of entries.
pub(crate) fn results_bytes(results: &[EntryResult]) -> u64 {
    results.iter().map(EntryResult::bytes).sum()
}

fn frame_bytes(frame: &Frame) -> u64 {
    slots_bytes(&frame.values)
        + frame.entries.values().map(entry_bytes).sum::<u64>()
        + results_bytes(&frame.results)
        + frame.items.size().bytes
        + values_bytes(&frame.locals)
        + some_bytes(frame.failure.as_ref())
}

fn slots_bytes(values: &[Option<Value>]) -> u64 {
    values.iter().flatten().map(bytes).sum()
}

impl EntryResult {
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Done(value) => bytes(value),
            Self::Open | Self::None | Self::Failed => 0,
        }
    }
}
