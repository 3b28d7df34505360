//! Activities with a tag go to workers that serve it.

use crate::suite::area;

area! {
    tag_filtering;
}
