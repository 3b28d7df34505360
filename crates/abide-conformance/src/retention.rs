//! Finished instances are removed after their time.

use crate::suite::area;

area! {
    retention;
}
