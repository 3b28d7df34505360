//! The same functions as the suite calls them: with a factory, and under the same names.

use crate::suite::area;
use crate::{Polling, ProviderFactory};

area! {
    long_polling;
    test_short_poll_returns_immediately: Need::Polling(Polling::Short);
    test_short_poll_work_item_returns_immediately: Need::Polling(Polling::Short);
    test_long_poll_waits_for_timeout: Need::Polling(Polling::Long);
    test_long_poll_work_item_waits_for_timeout: Need::Polling(Polling::Long);
    test_fetch_respects_timeout_upper_bound;
    test_zero_timeout_returns_immediately;
    test_zero_timeout_work_item_returns_immediately;
    test_fetch_with_mail_does_not_wait;
    test_long_poll_ends_with_new_mail: Need::Polling(Polling::Long);
    test_long_poll_ends_with_new_work: Need::Polling(Polling::Long);
    test_long_poll_ends_when_a_message_is_due: Need::Polling(Polling::Long);
}

/// Calls the functions of the area with a provider of the factory, and the threshold if they ask for it.
macro_rules! with_provider {
    ($($name:ident $(($threshold:ident))?;)*) => {
        $(async fn $name<F: ProviderFactory>(factory: &F) {
            let provider = factory.create_provider_in_real_time().await;
            super::$name(provider.as_ref() $(, factory.$threshold())?).await;
        })*
    };
}

with_provider! {
    test_short_poll_returns_immediately(short_poll_threshold);
    test_short_poll_work_item_returns_immediately(short_poll_threshold);
    test_long_poll_waits_for_timeout;
    test_long_poll_work_item_waits_for_timeout;
    test_fetch_respects_timeout_upper_bound;
    test_zero_timeout_returns_immediately(short_poll_threshold);
    test_zero_timeout_work_item_returns_immediately(short_poll_threshold);
    test_fetch_with_mail_does_not_wait;
    test_long_poll_ends_with_new_mail;
    test_long_poll_ends_with_new_work;
    test_long_poll_ends_when_a_message_is_due;
}
