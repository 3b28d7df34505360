//! A lease call that finds nothing waits in the store, and is served when there is something.

use crate::suite::area;

area! {
    parking;
}
