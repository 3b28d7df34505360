//! Executions of one instance keep apart.

use crate::suite::area;

area! {
    multi_execution;
}
