//! When something becomes leasable by the passing of time alone.

use crate::suite::area;

area! {
    due_times;
}
