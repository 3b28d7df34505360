//! Leases end by time, by ack or by abandon, and last longer by renewal.

use crate::suite::area;

area! {
    lock_expiration;
}
