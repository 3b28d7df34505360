//! Many finished instances are deleted by a filter.

use crate::suite::area;

area! {
    bulk_deletion;
}
