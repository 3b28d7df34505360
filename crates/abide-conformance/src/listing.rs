//! Instances page by page: filtered, in order, with what a person wants to see.

use crate::suite::area;

area! {
    listing;
}
