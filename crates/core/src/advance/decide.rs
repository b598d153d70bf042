//! `Decide`: evaluates guards in order and takes the first that holds. An error never selects an arm.

use super::{Flow, Machine};
use crate::ir::{ConditionId, Failure, PlaceId};
use crate::state::StrandNo;

impl Machine<'_> {
    pub(super) fn decide(
        &mut self,
        no: StrandNo,
        at: PlaceId,
        arms: &[(ConditionId, PlaceId)],
        otherwise: PlaceId,
        fail: Option<Failure>,
    ) -> Flow {
        for (index, (condition, to)) in arms.iter().enumerate() {
            match self.holds(no, *condition) {
                Ok(false) => {}
                Ok(true) => {
                    self.decided_by_conditions(no, at, Some(index));
                    return Flow::Goto(*to);
                }
                Err(error) => {
                    let decides = self.program.place(at).decides.as_ref();
                    // An exit for failures means that the decision continues after one.
                    let continues = decides.is_some_and(|decides| decides.exits.len() > arms.len() + 1);
                    self.decided_by_conditions(no, at, continues.then_some(arms.len() + 1));
                    return self.failed(no, fail, error);
                }
            }
        }
        self.decided_by_conditions(no, at, Some(arms.len()));
        Flow::Goto(otherwise)
    }
}
