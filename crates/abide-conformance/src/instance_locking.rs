//! One instance has one turn at a time.

use crate::suite::area;

area! {
    instance_locking;
}
