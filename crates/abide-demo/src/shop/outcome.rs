//! How an order can end. Both ways are right: a cancelled order is one whose traces were removed.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    Shipped { parcel: String },
    Cancelled { reason: Reason },
}

/// Why an order was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reason {
    CardDeclined,
    ApprovalRefused,
    BadAddress,
}

/// What the manager says about a big order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Decision {
    Approved,
    Refused,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shipped { parcel } => write!(f, "shipped as {parcel}"),
            Self::Cancelled { reason } => write!(f, "cancelled: {reason}"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CardDeclined => "card declined",
            Self::ApprovalRefused => "not approved",
            Self::BadAddress => "bad address",
        })
    }
}
