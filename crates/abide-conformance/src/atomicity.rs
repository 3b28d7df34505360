//! A commit happens as a whole or not at all.

use crate::suite::area;

area! {
    atomicity;
}
