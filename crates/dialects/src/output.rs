//! The output limit of steps that run commands: `max_output` and `truncate`, the same in every dialect.

use std::ops::RangeInclusive;

use branchpoint_core::effect::Response;
use branchpoint_expr::{Located, Shape};

/// The values that `max_output` accepts, in bytes. Commands without it have the runner's default.
pub(crate) const BYTES: RangeInclusive<i64> = 1..=64 * 1024 * 1024;

/// The output limit that a step sets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutputLimit {
    /// How many bytes of each stream are kept.
    pub(crate) bytes: Option<i64>,
    /// Whether output above the limit is cut instead of failing the step.
    pub(crate) truncate: bool,
}

impl OutputLimit {
    /// Reads fields that were checked before.
    pub(crate) fn read(bytes: Option<&Located>, truncate: Option<&Located>) -> Self {
        let bytes = bytes.and_then(|bytes| match bytes.shape {
            Shape::Int(bytes) => Some(bytes),
            _ => None,
        });
        Self { bytes, truncate: truncate.is_some_and(|truncate| matches!(truncate.shape, Shape::Bool(true))) }
    }

    /// Sets the limit of an effect.
    pub(crate) fn add_to(self, response: &mut Response) {
        response.max_output = self.bytes.and_then(|bytes| u64::try_from(bytes).ok());
        response.truncate = self.truncate;
    }
}
