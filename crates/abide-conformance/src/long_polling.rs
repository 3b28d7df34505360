//! Whether a fetch that finds nothing waits, and how long.

use crate::suite::area;

area! {
    long_polling;
}
