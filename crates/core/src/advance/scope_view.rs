//! The values that a strand can read and write: slots of the enclosing frames, its locals, the payload and the time.

use std::cell::Cell;
use std::collections::BTreeMap;

use branchpoint_expr::{Context, Environment, EvalError, Kind, Name, Source, Value, limits};

use super::{Clock, Machine, Rejected};
use crate::functions::ENVIRONMENT;
use crate::ir::{ConditionId, Entries, ExprId, Home, Index, Program, Rounds, SlotId, StepId};
use crate::request::object;
use crate::state::{Frame, FrameNo, State, StrandNo};
use crate::state_size::{bytes, some_bytes};
use crate::trace::Iteration;

/// The values that expressions of one strand can read.
pub(crate) struct ScopeView<'s> {
    pub(crate) program: &'s Program,
    pub(crate) state: &'s State,
    pub(crate) frame: FrameNo,
    pub(crate) entry: u32,
    pub(crate) locals: &'s [Value],
    pub(crate) payload: &'s Value,
    pub(crate) clock: &'s Clock,
    /// What expressions read of the meters of open frames.
    pub(crate) readings: &'s BTreeMap<FrameNo, Value>,
    /// Counts the work of evaluations; none if the work does not count against the run.
    pub(crate) spent: Option<&'s Cell<u64>>,
}

impl Context for ScopeView<'_> {
    fn read(&self, name: &Name) -> Option<Source<'_>> {
        let slot = self.program.slots.get(name.slot? as usize)?;
        match slot.home {
            Home::Frame(scope, index) => {
                let (frame, entry) = self.state.frame_of(self.frame, self.entry, scope)?;
                values(self.program, frame, entry).get(index as usize)?.as_ref().map(Source::Value)
            }
            Home::Local(index) => self.locals.get(index as usize).map(Source::Value),
            Home::Payload => Some(Source::Value(self.payload)),
            Home::Now => Some(Source::Value(self.clock.now())),
            Home::Clock { zone, date } => self.clock.zoned(zone, date).map(Source::Value),
            Home::Meter(scope) => {
                let (frame, _) = self.state.frame_no_from(self.frame, self.entry, scope)?;
                self.readings.get(&frame).map(Source::Value)
            }
        }
    }

    fn environment(&self) -> &Environment {
        &ENVIRONMENT
    }

    fn report_steps(&self, steps: u64) {
        if let Some(spent) = self.spent {
            spent.set(spent.get().saturating_add(steps));
        }
    }
}

/// The slots of an entry of a frame: its own in a frame of items, else those of the frame.
fn values<'s>(program: &Program, frame: &'s Frame, entry: u32) -> &'s [Option<Value>] {
    match program.scope(frame.scope).start {
        Entries::Each { .. } => frame.entries.get(&entry).map_or(&[], |entry| &entry.values),
        Entries::Branches(_) => &frame.values,
    }
}

impl State {
    /// The enclosing frame of a scope, and the entry in it.
    pub(crate) fn frame_of(
        &self,
        mut frame: FrameNo,
        mut entry: u32,
        scope: crate::ir::ScopeId,
    ) -> Option<(&Frame, u32)> {
        loop {
            let candidate = self.frames.get(&frame)?;
            if candidate.scope == scope {
                return Some((candidate, entry));
            }
            let strand = self.strands.get(&candidate.entered_by?)?;
            (frame, entry) = (strand.frame, strand.entry);
        }
    }

    /// Like [`Self::frame_of`], but returns the number of the frame.
    pub(crate) fn frame_no_of(&self, no: StrandNo, scope: crate::ir::ScopeId) -> Option<(FrameNo, u32)> {
        let strand = self.strands.get(&no)?;
        self.frame_no_from(strand.frame, strand.entry, scope)
    }

    fn frame_no_from(&self, mut frame: FrameNo, mut entry: u32, scope: crate::ir::ScopeId) -> Option<(FrameNo, u32)> {
        loop {
            let candidate = self.frames.get(&frame)?;
            if candidate.scope == scope {
                return Some((frame, entry));
            }
            let strand = self.strands.get(&candidate.entered_by?)?;
            (frame, entry) = (strand.frame, strand.entry);
        }
    }
}

impl Machine<'_> {
    /// The values that a strand can read, for records. Evaluations of records must not count as work of the run, because runs are also
    /// replayed without recording.
    pub(super) fn scope_view(&self, no: StrandNo) -> ScopeView<'_> {
        let strand = &self.state.strands[&no];
        ScopeView {
            program: self.program,
            state: self.state,
            frame: strand.frame,
            entry: strand.entry,
            locals: &strand.locals,
            payload: &self.payload,
            clock: &self.clock,
            readings: &self.readings,
            spent: None,
        }
    }

    /// The values that a strand can read while it runs. Evaluations count as work.
    fn counted_view(&self, no: StrandNo) -> ScopeView<'_> {
        ScopeView { spent: Some(&self.work), ..self.scope_view(no) }
    }

    /// The value of an expression, or an error object.
    pub(super) fn value(&self, no: StrandNo, expr: ExprId) -> Result<Value, Value> {
        self.value_in(&self.counted_view(no), expr)
    }

    /// Like [`Self::value`], for records only.
    pub(super) fn recorded_value(&self, no: StrandNo, expr: ExprId) -> Result<Value, Value> {
        self.value_in(&self.scope_view(no), expr)
    }

    fn value_in(&self, view: &ScopeView<'_>, expr: ExprId) -> Result<Value, Value> {
        let expr = &self.program.exprs[expr.index()];
        let value = expr.value(view).map_err(|error| evaluation_error(&error))?;
        // The value of a slot was limited when it was written.
        if expr.is_read() { Ok(value) } else { self.bounded(value) }
    }

    /// Whether a condition holds, or an error object.
    pub(super) fn holds(&self, no: StrandNo, condition: ConditionId) -> Result<bool, Value> {
        self.program.conditions[condition.index()]
            .evaluate(&self.counted_view(no))
            .map_err(|error| evaluation_error(&error))
    }

    /// The storage of a slot for a strand.
    pub(super) fn slot_mut(&mut self, no: StrandNo, slot: SlotId) -> Option<&mut Option<Value>> {
        let Home::Frame(scope, index) = self.program.slot(slot).home else { return None };
        let (frame, entry) = self.state.frame_no_of(no, scope)?;
        let each = matches!(self.program.scope(scope).start, Entries::Each { .. });
        let frame = self.state.frames.get_mut(&frame)?;
        let values = if each { &mut frame.entries.get_mut(&entry)?.values } else { &mut frame.values };
        values.get_mut(index as usize)
    }

    /// Sets a slot and returns its old value.
    pub(super) fn write(&mut self, no: StrandNo, slot: SlotId, value: Option<Value>) -> Option<Value> {
        if let Home::Local(index) = self.program.slot(slot).home {
            return self.write_local(no, index as usize, value.unwrap_or_default());
        }
        let written = some_bytes(value.as_ref());
        let old = std::mem::replace(self.slot_mut(no, slot)?, value);
        self.state.hold(written);
        self.state.release(some_bytes(old.as_ref()));
        old
    }

    fn write_local(&mut self, no: StrandNo, index: usize, value: Value) -> Option<Value> {
        let locals = &mut self.state.strands.get_mut(&no)?.locals;
        let mut written = bytes(&value);
        if locals.len() <= index {
            written += (index + 1 - locals.len()) as u64 * bytes(&Value::Null);
            locals.resize(index + 1, Value::Null);
        }
        let old = std::mem::replace(&mut locals[index], value);
        self.state.hold(written);
        self.state.release(bytes(&old));
        Some(old)
    }

    /// The value, or the error object of the limit that it exceeds.
    pub(super) fn bounded(&self, value: Value) -> Result<Value, Value> {
        match self.exceeded(&value) {
            None => Ok(value),
            Some((kind, message)) => Err(error_object(kind.as_str(), &message, None)),
        }
    }

    /// The kind and the message of the limit that a value exceeds.
    pub(super) fn exceeded(&self, value: &Value) -> Option<(Kind, String)> {
        let (size, limit) = (value.size(), self.program.limits.value_bytes());
        if size.depth > VALUE_DEPTH {
            return Some((Kind::DepthLimit, format!("the value is nested more than {VALUE_DEPTH} levels deep")));
        }
        (size.bytes > limit).then(|| (Kind::ValueLimit, limits::value_message(limit)))
    }

    /// Checks the size of a value that an event brings into the run, alone and together with all values of the run.
    pub(super) fn admit(&self, value: &Value) -> Result<(), Rejected> {
        match self.exceeded(value) {
            Some((Kind::DepthLimit, _)) => return Err(Rejected::TooDeep),
            Some(_) => return Err(Rejected::TooLarge(self.program.limits.value_bytes())),
            None => {}
        }
        let limit = self.program.limits.state_bytes();
        if self.state.size_bytes().saturating_add(bytes(value)) > limit {
            return Err(Rejected::NoRoom(limit));
        }
        Ok(())
    }

    /// The positions of the enclosing items of a strand, outermost first.
    pub(super) fn item_path(&self, no: StrandNo) -> Vec<u32> {
        self.state.item_path(self.program, no)
    }

    /// The rounds of the enclosing loops of a strand, outermost first.
    pub(super) fn iterations(&self, no: StrandNo) -> Vec<Iteration> {
        let mut iterations = Vec::new();
        let mut strand = self.state.strands.get(&no);
        while let Some(inner) = strand {
            let Some(frame) = self.state.frames.get(&inner.frame) else { break };
            let scope = self.program.scope(frame.scope);
            if let Some(Rounds { step, round, items }) = scope.rounds {
                let (index, item) = match round {
                    Some(slot) => {
                        let index = self.round(frame, inner.entry, slot);
                        let items = items.and_then(|slot| self.slot_value(frame, inner.entry, slot));
                        (index, items.and_then(|items| items.as_list()?.get(index as usize).cloned()))
                    }
                    None => (inner.entry, frame.items.get(inner.entry as usize).cloned()),
                };
                iterations.push(Iteration { step, index, item });
            }
            strand = frame.entered_by.and_then(|by| self.state.strands.get(&by));
        }
        iterations.reverse();
        iterations
    }

    /// The strands that entered the frames around a strand, innermost first.
    pub(super) fn entered_by(&self, no: StrandNo) -> Vec<StrandNo> {
        let outer = |no: &StrandNo| self.state.frames.get(&self.state.strands.get(no)?.frame)?.entered_by;
        std::iter::successors(outer(&no), outer).collect()
    }

    /// The round in a slot, read from an entry of a frame.
    fn round(&self, frame: &Frame, entry: u32, slot: SlotId) -> u32 {
        match self.slot_value(frame, entry, slot) {
            Some(Value::Int(round)) => u32::try_from(*round).unwrap_or(u32::MAX),
            _ => 0,
        }
    }

    /// The value of a slot of a frame, read from an entry of that frame or of a frame inside.
    fn slot_value<'s>(&'s self, frame: &'s Frame, entry: u32, slot: SlotId) -> Option<&'s Value> {
        let Home::Frame(scope, index) = self.program.slot(slot).home else { return None };
        let (frame, entry) = if frame.scope == scope {
            (frame, entry)
        } else {
            let by = frame.entered_by.and_then(|by| self.state.strands.get(&by))?;
            self.state.frame_of(by.frame, by.entry, scope)?
        };
        values(self.program, frame, entry).get(index as usize)?.as_ref()
    }

    /// The id of a step for error objects.
    pub(super) fn step_id(&self, step: Option<StepId>) -> Option<&str> {
        step.map(|step| &*self.program.steps[step.index()].id)
    }
}

/// The maximum nesting depth of values of a run. Recursive functions over values must not overflow the stack.
const VALUE_DEPTH: u16 = 200;

fn evaluation_error(error: &EvalError) -> Value {
    error_object(error.kind.as_str(), &error.message, None)
}

/// The error object `{kind, message, step}`.
pub(super) fn error_object(kind: &str, message: &str, step: Option<&str>) -> Value {
    Value::from(object([
        ("kind", Value::from(kind)),
        ("message", Value::from(message)),
        ("step", step.map_or(Value::Null, Value::from)),
    ]))
}
