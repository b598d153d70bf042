//! The status of a run.

use serde::{Deserialize, Serialize};

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// The run can continue, or work is in flight.
    Running,
    /// The run waits for people.
    WaitingPeople,
    /// The run waits for a time.
    WaitingTimer,
    /// The run ended successfully.
    Completed,
    /// The run ended with an error.
    Failed,
    /// The run was cancelled.
    Cancelled,
}

impl Status {
    /// All statuses.
    pub const ALL: [Self; 6] =
        [Self::Running, Self::WaitingPeople, Self::WaitingTimer, Self::Completed, Self::Failed, Self::Cancelled];

    /// The name in every output.
    ///
    /// ```
    /// assert_eq!(branchpoint_core::ir::Status::WaitingPeople.as_str(), "waiting_people");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::WaitingPeople => "waiting_people",
            Self::WaitingTimer => "waiting_timer",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether a run of this status has ended.
    ///
    /// ```
    /// use branchpoint_core::ir::Status;
    ///
    /// assert!(Status::Failed.is_final() && !Status::WaitingTimer.is_final());
    /// ```
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}
