//! Instances are leased by those that can replay them.

use crate::suite::area;

area! {
    capability_filtering;
}
