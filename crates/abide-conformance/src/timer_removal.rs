//! Timers that nobody waits for are removed.

use crate::suite::area;

area! {
    timer_removal;
}
