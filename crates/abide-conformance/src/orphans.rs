//! Finished children that nobody waits for are removed.

use crate::suite::area;

area! {
    orphans;
}
