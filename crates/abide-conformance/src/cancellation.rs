//! Activities that are taken back, and instances that are deleted under them.

use crate::suite::area;

area! {
    cancellation;
}
