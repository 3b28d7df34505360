//! Past executions are deleted; the current one never is.

use crate::suite::area;

area! {
    prune;
}
