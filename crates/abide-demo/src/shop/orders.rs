//! The orders of a day: a few kinds, mixed by a seed. The same seed gives the same day.

use serde::{Deserialize, Serialize};

/// More than these nobody can ask for.
pub(crate) const MOST_ORDERS: usize = 200;

/// What the orchestration is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) id: String,
    pub(crate) items: Vec<String>,
    pub(crate) total: u32,
    pub(crate) card: Card,
    pub(crate) address: Address,
}

/// How the card terminal is going to behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Card {
    Good,
    /// The terminal is busy this many times.
    BusyAtFirst(usize),
    Declined,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Address {
    Known,
    Unknown,
}

impl Order {
    /// From this sum on the manager is asked.
    const BIG: u32 = 500;

    pub(crate) fn needs_approval(&self) -> bool {
        self.total >= Self::BIG
    }
}

/// What makes an order special. The orchestration is not told: it finds out as it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    FlakyPayment,
    /// The manager says yes, and the card terminal is busy once: everything an order can go through and be shipped.
    Approved,
    Refused,
    Declined,
    Undeliverable,
}

impl Kind {
    /// The mix of a day. A day with a single order has one that goes through everything.
    const MIX: [Self; 12] = [
        Self::Approved,
        Self::FlakyPayment,
        Self::Plain,
        Self::Declined,
        Self::Plain,
        Self::Refused,
        Self::FlakyPayment,
        Self::Undeliverable,
        Self::Plain,
        Self::Approved,
        Self::Plain,
        Self::FlakyPayment,
    ];

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::FlakyPayment => "flaky payment",
            Self::Approved => "needs approval",
            Self::Refused => "not approved",
            Self::Declined => "bad card",
            Self::Undeliverable => "bad address",
        }
    }

    fn is_big(self) -> bool {
        match self {
            Self::Approved | Self::Refused => true,
            Self::Plain | Self::FlakyPayment | Self::Declined | Self::Undeliverable => false,
        }
    }

    fn card(self) -> Card {
        match self {
            Self::Plain | Self::Refused | Self::Undeliverable => Card::Good,
            Self::FlakyPayment => Card::BusyAtFirst(2),
            Self::Approved => Card::BusyAtFirst(1),
            Self::Declined => Card::Declined,
        }
    }

    fn address(self) -> Address {
        match self {
            Self::Undeliverable => Address::Unknown,
            Self::Plain | Self::FlakyPayment | Self::Approved | Self::Refused | Self::Declined => {
                Address::Known
            }
        }
    }
}

/// An order, and what is going to become of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Purchase {
    pub(crate) kind: Kind,
    pub(crate) order: Order,
}

/// The orders of the day that this seed stands for.
pub(crate) fn purchases(count: usize, seed: u64) -> Vec<Purchase> {
    let mut dice = Dice(seed);
    (0..count).map(|index| purchase(index, &mut dice)).collect()
}

fn purchase(index: usize, dice: &mut Dice) -> Purchase {
    const GOODS: [&str; 8] = ["tea", "cup", "spoon", "kettle", "honey", "biscuits", "teapot", "saucer"];
    let kind = Kind::MIX[index % Kind::MIX.len()];
    let first = dice.below(8);
    let count = 2 + dice.below(2);
    let items = (first..first + count).map(|item| GOODS[item % GOODS.len()].to_owned()).collect();
    let price = u32::try_from(10 + dice.below(400)).unwrap_or(10);
    let total = if kind.is_big() { Order::BIG + price } else { price };
    let id = format!("order-{:02}", index + 1);
    Purchase { kind, order: Order { id, items, total, card: kind.card(), address: kind.address() } }
}

/// Numbers that look random (`SplitMix64`).
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        usize::try_from(bits >> 33).unwrap_or(0) % limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_day() {
        assert_eq!(purchases(20, 7), purchases(20, 7));
        assert_ne!(purchases(20, 7), purchases(20, 8));
    }

    #[test]
    fn a_short_day_is_the_beginning_of_a_long_one() {
        assert_eq!(purchases(5, 7), purchases(200, 7)[..5]);
    }

    #[test]
    fn only_big_orders_need_approval() {
        for Purchase { kind, order } in purchases(100, 3) {
            assert_eq!(order.needs_approval(), kind.is_big());
        }
    }
}
