//! What code says about its progress, with a version.

use crate::suite::area;

area! {
    custom_status;
}
