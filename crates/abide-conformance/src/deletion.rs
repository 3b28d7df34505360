//! Instances are deleted with everything they have, or not at all.

use crate::suite::area;

area! {
    deletion;
}
