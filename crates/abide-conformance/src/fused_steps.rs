//! A finished activity and the turn that takes its result, in one commit.

use crate::suite::area;

area! {
    fused_steps;
}
