//! Messages that a turn did not consume stay.

use crate::suite::area;

area! {
    unread_mail;
}
