//! `Set`: pure writes, in order, all or nothing. Each sees the ones before it.

use std::sync::Arc;

use branchpoint_expr::Value;

use super::sight::{VALUE_DEPTH, error_object};
use super::{Flow, Machine};
use crate::ir::{Failure, PlaceId, SlotId, Write};
use crate::state::StrandNo;

/// How a write is taken back.
enum Undo {
    Put(SlotId, Option<Value>),
    /// An append is taken back by dropping the last element: keeping the old list would mean copying it.
    Pop(SlotId),
}

impl Machine<'_> {
    pub(super) fn set(&mut self, no: StrandNo, writes: &[Write], next: PlaceId, fail: Option<Failure>) -> Flow {
        let mut undo = Vec::new();
        for write in writes {
            match self.write_one(no, *write) {
                Ok(done) => undo.push(done),
                Err(error) => {
                    undo.into_iter().rev().for_each(|done| self.take_back(no, done));
                    return self.failed(no, fail, error);
                }
            }
        }
        Flow::Goto(next)
    }

    fn write_one(&mut self, no: StrandNo, write: Write) -> Result<Undo, Value> {
        match write {
            Write::Put(slot, expr) => {
                let value = self.value(no, expr)?;
                Ok(Undo::Put(slot, self.write(no, slot, Some(value))))
            }
            Write::Clear(slot) => {
                let first = self.program.slot(slot).first.clone();
                Ok(Undo::Put(slot, self.write(no, slot, first)))
            }
            Write::Push(slot, expr) => {
                let value = self.value(no, expr)?;
                self.push(no, slot, value)
            }
        }
    }

    fn push(&mut self, no: StrandNo, slot: SlotId, value: Value) -> Result<Undo, Value> {
        if !value.is_within_depth(VALUE_DEPTH - 1) {
            return Err(error_object("depth_limit", "this value is nested too deeply to be appended", None));
        }
        match self.write(no, slot, None) {
            Some(Value::List(mut items)) => {
                Arc::make_mut(&mut items).push(value);
                self.write(no, slot, Some(Value::List(items)));
                Ok(Undo::Pop(slot))
            }
            old @ (None | Some(Value::Null)) => {
                self.write(no, slot, Some(Value::from(vec![value])));
                Ok(Undo::Put(slot, old))
            }
            Some(other) => {
                let message = format!("only a list can be appended to, and this is {}", other.view().type_name());
                self.write(no, slot, Some(other));
                Err(error_object("wrong_kind", &message, None))
            }
        }
    }

    fn take_back(&mut self, no: StrandNo, undo: Undo) {
        match undo {
            Undo::Put(slot, old) => {
                self.write(no, slot, old);
            }
            Undo::Pop(slot) => {
                if let Some(Value::List(mut items)) = self.write(no, slot, None) {
                    Arc::make_mut(&mut items).pop();
                    self.write(no, slot, Some(Value::List(items)));
                }
            }
        }
    }
}
