//! What is wrong is refused, and changes nothing.

use crate::suite::area;

area! {
    error_handling;
}
