//! Word of leases that were taken away.

use crate::suite::area;

area! {
    pushed_cancellations;
}
