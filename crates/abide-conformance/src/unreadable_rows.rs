//! Rows that cannot be read harm nobody else.

use crate::suite::area;

area! {
    unreadable_rows;
}
