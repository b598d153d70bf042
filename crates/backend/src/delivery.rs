//! Deliveries: notices that are on their way to mail boxes and other systems.

use std::sync::Arc;

/// A notice for one receiver, to store until it is delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct NewDelivery {
    /// Where it goes, such as `mail` or `webhook:NAME`.
    pub target: String,
    /// The person; none if the receiver is a program.
    pub user: Option<Arc<str>>,
    /// What happened, such as `approval.requested`.
    pub event: String,
    /// The id of the run; none for a test.
    pub run: Option<String>,
    /// The number of the request to people, if it is about one.
    pub request: Option<u64>,
    /// What is sent, if it is not composed when it is sent. It is removed when the delivery is settled.
    pub body: Option<String>,
}

/// A stored delivery.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// Its number.
    pub number: i64,
    /// The stable id, by which receivers recognise repetitions.
    pub id: String,
    /// What is delivered.
    pub notice: NewDelivery,
    /// When it was created.
    pub created_ms: i64,
    /// When the next attempt is due; none if the delivery is settled.
    pub due_ms: Option<i64>,
    /// The number of attempts.
    pub attempts: u32,
    /// When the last attempt ended.
    pub last_ms: Option<i64>,
    /// The state.
    pub status: DeliveryStatus,
    /// What came of the last attempt, such as the status of a response.
    pub response: Option<String>,
}

/// The state of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryStatus {
    /// It waits for its first or its next attempt.
    Pending,
    /// The receiver has accepted it.
    Delivered,
    /// There are no more attempts.
    Failed,
    /// It was not necessary any more.
    Skipped,
}

impl DeliveryStatus {
    /// The name.
    ///
    /// ```
    /// use branchpoint_backend::DeliveryStatus;
    ///
    /// assert_eq!(DeliveryStatus::named(DeliveryStatus::Skipped.as_str()), Some(DeliveryStatus::Skipped));
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    /// The state of a name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Pending, Self::Delivered, Self::Failed, Self::Skipped].into_iter().find(|status| status.as_str() == name)
    }
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempted {
    /// The state after the attempt.
    pub status: DeliveryStatus,
    /// When the next attempt is due, if the delivery is still pending.
    pub due_ms: Option<i64>,
    /// What came of it, without secrets.
    pub response: String,
}
