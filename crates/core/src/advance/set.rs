//! `Set`: writes slots in order, all or nothing. Each write sees the writes before it.

use branchpoint_expr::{Size, Value};

use super::scope_view::error_object;
use super::{Flow, Machine};
use crate::ir::{Failure, PlaceId, SlotId, Write};
use crate::state::StrandNo;

/// How to undo a write.
enum Undo {
    Put(SlotId, Option<Value>),
    /// Drops the last element after an append. Restoring the old list would mean copying it.
    Pop(SlotId, Size),
}

impl Machine<'_> {
    pub(super) fn set(&mut self, no: StrandNo, writes: &[Write], next: PlaceId, fail: Option<Failure>) -> Flow {
        let mut undo = Vec::new();
        for write in writes {
            match self.write_one(no, *write) {
                Ok(done) => undo.push(done),
                Err(error) => {
                    undo.into_iter().rev().for_each(|done| self.undo_write(no, done));
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
        match self.write(no, slot, None) {
            Some(Value::List(mut items)) => {
                let before = items.push(value);
                let items = Value::List(items);
                let exceeded = self.exceeded(&items);
                self.write(no, slot, Some(items));
                let Some((kind, message)) = exceeded else { return Ok(Undo::Pop(slot, before)) };
                self.undo_write(no, Undo::Pop(slot, before));
                Err(error_object(kind.as_str(), &message, None))
            }
            old @ (None | Some(Value::Null)) => match self.bounded(Value::from(vec![value])) {
                Ok(items) => {
                    self.write(no, slot, Some(items));
                    Ok(Undo::Put(slot, old))
                }
                Err(error) => {
                    self.write(no, slot, old);
                    Err(error)
                }
            },
            Some(other) => {
                let message =
                    format!("a value can be appended only to a list, but the variable is {}", other.view().type_name());
                self.write(no, slot, Some(other));
                Err(error_object("wrong_kind", &message, None))
            }
        }
    }

    fn undo_write(&mut self, no: StrandNo, undo: Undo) {
        match undo {
            Undo::Put(slot, old) => {
                self.write(no, slot, old);
            }
            Undo::Pop(slot, before) => {
                if let Some(Value::List(mut items)) = self.write(no, slot, None) {
                    items.undo_push(before);
                    self.write(no, slot, Some(Value::List(items)));
                }
            }
        }
    }
}
