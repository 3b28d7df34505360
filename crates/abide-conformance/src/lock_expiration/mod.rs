//! Leases end by time, by ack or by abandon, and last longer by renewal.

mod instances;
mod renewal;
mod work;
mod work_renewal;

pub use instances::*;
pub use renewal::*;
pub use work::*;
pub use work_renewal::*;

use crate::suite::area;

area! {
    lock_expiration;
    test_lock_expires_after_timeout;
    test_abandon_releases_lock_immediately;
    test_lock_renewal_on_ack;
    test_concurrent_lock_attempts_respect_expiration;
    test_worker_lock_renewal_success;
    test_worker_lock_renewal_invalid_token;
    test_worker_lock_renewal_after_expiration;
    test_worker_lock_renewal_extends_timeout;
    test_worker_lock_renewal_after_ack;
    test_abandon_work_item_releases_lock;
    test_abandon_work_item_with_delay;
    test_worker_ack_fails_after_lock_expiry;
    test_orchestration_lock_renewal_after_expiration;
    test_orchestration_lock_renewal_success;
    test_orchestration_lock_renewal_extends_timeout;
    test_orchestration_lock_renewal_invalid_token;
    test_orchestration_lock_renewal_after_ack;
    test_orchestration_lock_renewal_after_abandon;
    test_orchestration_lock_renewal_extends_one_lease_only;
    test_abandon_orchestration_item_with_delay;
    test_abandon_orchestration_item_ends_the_lease;
    test_expired_lease_cannot_be_abandoned;
    test_lease_lasts_as_long_as_asked;
    test_worker_lock_expires_after_timeout;
    test_worker_lock_renewal_extends_one_lease_only;
    test_expired_work_lease_cannot_be_abandoned;
    test_work_lease_lasts_as_long_as_asked;
}
