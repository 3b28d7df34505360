//! Mail for instances that do not exist harms nobody.

use crate::suite::area;

area! {
    orphan_mail;
}
