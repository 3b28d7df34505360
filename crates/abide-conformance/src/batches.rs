//! Several leases, commits and acks in one call.

use crate::suite::area;

area! {
    batches;
}
