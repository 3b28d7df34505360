//! A repeated request is done once.

use crate::suite::area;

area! {
    keyed_requests;
}
