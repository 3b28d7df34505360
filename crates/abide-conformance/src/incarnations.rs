//! A deleted instance is not the next one of its name.

use crate::suite::area;

area! {
    incarnations;
}
