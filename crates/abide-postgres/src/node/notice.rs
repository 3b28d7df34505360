//! What the nodes tell each other: hints, on which nothing depends.
//!
//! A notice is JSON of less than 8,000 bytes. Instances are named by a hash, which is short, and says nothing to those who listen in.

use std::collections::BTreeSet;

use abide_provider::StolenLease;
use serde::{Deserialize, Serialize};

use crate::encode::{because_column, because_of};
use crate::news::News;

/// What a node says to those who do not know of it yet. That it says anything is all it says.
pub(crate) const HELLO: &str = "{}";

/// A notice must be shorter than this many bytes.
const LONGEST: usize = 7_900;

/// A number has at most so many digits, with a comma.
const LONGEST_NUMBER: usize = 21;

/// What a notice says.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Notice {
    /// An instance can be leased under these routes.
    #[serde(rename = "i", skip_serializing_if = "Vec::is_empty")]
    instances: Vec<i64>,
    #[serde(rename = "j", skip_serializing_if = "Option::is_none")]
    instances_due: Option<i64>,
    /// There is work under these routes.
    #[serde(rename = "w", skip_serializing_if = "Vec::is_empty")]
    work: Vec<i64>,
    #[serde(rename = "x", skip_serializing_if = "Option::is_none")]
    work_due: Option<i64>,
    /// Leases that were taken away, and why.
    #[serde(rename = "s", skip_serializing_if = "Vec::is_empty")]
    stolen: Vec<(String, String)>,
    /// Hashes of instances that look different.
    #[serde(rename = "c", skip_serializing_if = "Vec::is_empty")]
    changed: Vec<u64>,
    /// So many look different that they are not named.
    #[serde(rename = "a", skip_serializing_if = "is_false")]
    all_changed: bool,
    /// Anything may have happened while nobody was told: whoever hears it looks for everything.
    #[serde(rename = "e", skip_serializing_if = "is_false")]
    everything: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde wants")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// What there is to tell, before it is cut into notices.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Untold {
    /// But for the instances that look different.
    pub(crate) news: News,
    /// Hashes of those.
    pub(crate) changed: BTreeSet<u64>,
    pub(crate) all_changed: bool,
    pub(crate) everything: bool,
}

impl Untold {
    /// As notices that are each short enough.
    pub(crate) fn into_texts(self) -> Vec<String> {
        let Self { news, changed, all_changed, everything } = self;
        let mut pieces = Pieces::default();
        let first = pieces.with_room(120);
        (first.all_changed, first.everything) = (all_changed, everything);
        (first.instances_due, first.work_due) = (news.instances_due, news.work_due);
        for route in news.instances {
            pieces.with_room(LONGEST_NUMBER).instances.push(route);
        }
        for route in news.work {
            pieces.with_room(LONGEST_NUMBER).work.push(route);
        }
        for StolenLease { token, because } in news.stolen {
            let because = because_column(&because);
            pieces.with_room(token.len() + because.len() + 10).stolen.push((token, because));
        }
        for instance in changed {
            pieces.with_room(LONGEST_NUMBER).changed.push(instance);
        }
        pieces.into_texts()
    }
}

/// Notices that are each short enough.
#[derive(Debug, Default)]
struct Pieces {
    full: Vec<Notice>,
    last: Notice,
    used: usize,
}

impl Pieces {
    /// A notice with room for so many bytes.
    fn with_room(&mut self, bytes: usize) -> &mut Notice {
        if self.used + bytes > LONGEST {
            self.full.push(std::mem::take(&mut self.last));
            self.used = 0;
        }
        self.used += bytes;
        &mut self.last
    }

    fn into_texts(self) -> Vec<String> {
        let pieces = self.full.into_iter().chain([self.last]).filter(|notice| *notice != Notice::default());
        pieces
            .filter_map(|notice| serde_json::to_string(&notice).ok())
            .filter(|text| text.len() < 8_000)
            .collect()
    }
}

impl Notice {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// What it says, but for the instances that changed.
    pub(crate) fn news(&self) -> News {
        let stolen = self
            .stolen
            .iter()
            .map(|(token, because)| StolenLease { token: token.clone(), because: because_of(because) });
        News {
            instances: self.instances.iter().copied().collect(),
            instances_due: self.instances_due,
            work: self.work.iter().copied().collect(),
            work_due: self.work_due,
            stolen: stolen.collect(),
            changed: BTreeSet::new(),
        }
    }

    /// Whether it says that this instance may look different.
    pub(crate) fn is_about(&self, instance: &str) -> bool {
        self.all_changed || self.changed.contains(&hash(instance))
    }

    /// Whether it says so of any.
    pub(crate) fn tells_of_changes(&self) -> bool {
        self.all_changed || !self.changed.is_empty()
    }

    /// Whether anything may have happened that nobody was told.
    pub(crate) const fn is_about_everything(&self) -> bool {
        self.everything
    }
}

/// The same for every node and every version: FNV-1a.
pub(crate) fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use abide_provider::StolenBecause;

    use super::*;

    #[test]
    fn what_a_newer_node_says_is_understood_in_part() {
        let notice = Notice::parse(r#"{"i":[4],"s":[["lock_w.1.2.3","eaten by wolves"]],"z":[1]}"#).unwrap();
        assert_eq!(notice.news().instances, BTreeSet::from([4]));
        assert_eq!(notice.news().stolen[0].because, StolenBecause::Unknown);
    }

    #[test]
    fn a_greeting_is_a_notice_that_says_nothing() {
        assert_eq!(Notice::parse(HELLO).unwrap(), Notice::default());
    }
}
