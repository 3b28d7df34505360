//! Values of an instance: what finished executions left, and what the current one changed.

use crate::suite::area;

area! {
    kv_store;
}
