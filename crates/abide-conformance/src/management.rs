//! Looking at instances, executions and queues.

use crate::suite::area;

area! {
    management;
}
