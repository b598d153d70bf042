//! `Decide`: ordered guards. An error never picks an arm.

use super::{Flow, Machine};
use crate::ir::{ConditionId, Failure, Index, PlaceId};
use crate::state::StrandNo;
use crate::trace::What;

impl Machine<'_> {
    pub(super) fn decide(
        &mut self,
        no: StrandNo,
        place: PlaceId,
        arms: &[(ConditionId, PlaceId)],
        otherwise: PlaceId,
        fail: Option<Failure>,
    ) -> Flow {
        let mut chosen = None;
        for (index, (condition, to)) in arms.iter().enumerate() {
            match self.holds(no, *condition) {
                Ok(false) => {}
                Ok(true) => {
                    chosen = Some((index, *to));
                    break;
                }
                Err(error) => {
                    self.told(no, place, &arms[..=index], None);
                    return self.failed(no, fail, error);
                }
            }
        }
        let looked_at = chosen.map_or(arms.len(), |(index, _)| index + 1);
        self.told(no, place, &arms[..looked_at], chosen.map(|(index, _)| index));
        Flow::Goto(chosen.map_or(otherwise, |(_, to)| to))
    }

    /// Explains the guards that were looked at: the same evaluation, with recording on.
    fn told(&mut self, no: StrandNo, place: PlaceId, arms: &[(ConditionId, PlaceId)], chosen: Option<usize>) {
        if !self.stamp.record {
            return;
        }
        let why = arms.iter().map(|(condition, _)| {
            let condition = &self.program.conditions[condition.index()];
            condition.explain(&self.sight(no), "").to_json()
        });
        let why = why.collect();
        let arm = chosen.and_then(|index| u32::try_from(index).ok());
        self.note(no, What::Decided { place, arm, why });
    }
}
