//! The status of a run.

use serde::{Deserialize, Serialize};

/// The status of a run, one set everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// Something can go on, or work is in flight.
    Running,
    /// Only people can make it go on.
    WaitingPeople,
    /// Only time can make it go on.
    WaitingTimer,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
    /// Ended by order.
    Cancelled,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Running, Self::WaitingPeople, Self::WaitingTimer, Self::Completed, Self::Failed, Self::Cancelled];

    /// The word for it, the same everywhere.
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
