//! Attempts are counted, for each message and each activity.

use crate::suite::area;

area! {
    poison_message;
}
