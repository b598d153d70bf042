//! The output limit of steps that run commands: `max_output` and `truncate`, the same in every dialect.

use std::ops::RangeInclusive;

use branchpoint_core::effect::Response;
use branchpoint_expr::Located;

use crate::fields::{Access, Content, Table, Type, field};

/// The values that `max_output` accepts, in bytes. Commands without it have the runner's default.
pub(crate) const BYTES: RangeInclusive<i64> = 1..=64 * 1024 * 1024;

/// The fields of the limit.
pub(crate) const FIELDS: Table = &[
    field(
        "max_output",
        Type::Int(*BYTES.start(), *BYTES.end()),
        "How many bytes of its output are kept; more is a failure.",
    )
    .or("4194304")
    .content(Content::Fixed),
    field("truncate", Type::Flag, "Keep the beginning of output above `max_output` instead of failing.")
        .or("false")
        .content(Content::Fixed),
];

/// The output limit that a step sets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutputLimit {
    /// The number of bytes of each stream that are kept.
    pub(crate) bytes: Option<i64>,
    /// Whether output above the limit is cut instead of failing the step.
    pub(crate) truncate: bool,
}

impl OutputLimit {
    /// Reads the limit of an object that was checked.
    pub(crate) fn read(object: &Located) -> Self {
        Self { bytes: object.int("max_output"), truncate: object.flag("truncate").unwrap_or(false) }
    }

    /// Sets the limit of an effect.
    pub(crate) fn add_to(self, response: &mut Response) {
        response.max_output = self.bytes.and_then(|bytes| u64::try_from(bytes).ok());
        response.truncate = self.truncate;
    }
}
