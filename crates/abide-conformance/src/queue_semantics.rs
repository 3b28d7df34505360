//! Both queues: order, peek-lock, visibility, and mail for nobody.

use crate::suite::area;

area! {
    queue_semantics;
}
