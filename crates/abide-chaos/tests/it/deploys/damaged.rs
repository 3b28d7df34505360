//! A status that cannot be read: the instance is blocked, keeps its messages, and continues after a repair.

use abide::providers::BlockKind;
use abide_chaos::deploy::Code;

use super::*;
use crate::support::deployment::{Build, Deploy, on_every_store};

/// One is damaged, the other is not.
const DAMAGED: &str = "damaged";
const SOUND: &str = "sound";

#[test]
fn an_order_whose_status_is_damaged_is_blocked_and_continues_after_a_repair() {
    for status in ["Sleeping", ""] {
        on_every_store("damaged", |site| {
            let client = site.client();
            let build = Build::start(site, Deploy::of("old", Code::Right));
            for order in [DAMAGED, SOUND] {
                start(&client, order, "Order", "");
            }
            until("both orders to wait", || {
                let effects = effects_of(site);
                let has_reserved = |order: &&str| effects.contains_key(&format!("{order} reserve"));
                ([DAMAGED, SOUND].iter().all(has_reserved) && site.leases() == 0).then_some(())
            });
            build.end();
            site.set_status_of(DAMAGED, status);

            let build = Build::start(site, Deploy::of("old", Code::Right));
            for order in [DAMAGED, SOUND] {
                block_on(client.enqueue_event(order, "go", "")).unwrap();
            }
            until("a block", || (count_blocked(&client) == 1).then_some(()));
            let blocked = block_on(client.list_blocked(10)).unwrap();
            assert_eq!((blocked[0].instance.as_str(), blocked[0].block.kind), (DAMAGED, BlockKind::Corrupt));
            assert!(blocked[0].block.detail.contains("status"), "{blocked:?}");
            assert_eq!(end_of(&client, SOUND), Ok("ship".to_owned()), "others are not blocked");
            assert_eq!(site.messages_of(DAMAGED), 1, "its message is kept");

            site.set_status_of(DAMAGED, "Running");
            assert!(block_on(client.retry(DAMAGED)).unwrap());
            assert_eq!(end_of(&client, DAMAGED), Ok("ship".to_owned()));
            let effects = effects_of(site);
            assert!(STEPS.iter().all(|step| effects[&format!("{DAMAGED} {step}")] == 1), "{effects:#?}");
            assert_eq!(count_blocked(&client), 0);
            build.end();
            drop(client);
            assert_eq!(site.complaints(), Vec::<String>::new());
        });
    }
}
