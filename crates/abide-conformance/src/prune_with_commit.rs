//! Past executions are deleted by the commit that asks for it.

use crate::suite::area;

area! {
    prune_with_commit;
}
