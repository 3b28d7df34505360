//! Activities of a session run where the session is.

use crate::suite::area;

area! {
    sessions;
}
