//! What the nodes tell each other: hints, on which nothing depends.
//!
//! A notice is JSON of less than 8,000 bytes. News of many commits are gathered and told at once: a transaction that notifies takes a lock of
//! the whole database to commit. Instances are named by a hash, which is short, and says nothing to those who listen in.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use abide_provider::{StolenBecause, StolenLease};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::encode::because_of;
use crate::news::News;

/// A notice must be shorter than this many bytes.
const LONGEST: usize = 7_900;

/// More changed instances, tags or stolen leases than this are not told one by one.
const MANY: usize = 2_000;

/// What a notice says.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Notice {
    /// An instance can be leased.
    #[serde(rename = "i", skip_serializing_if = "is_false")]
    instances: bool,
    #[serde(rename = "j", skip_serializing_if = "Option::is_none")]
    instances_due: Option<i64>,
    /// There is work under these tags.
    #[serde(rename = "w", skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
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
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde wants")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// Notices that could not be told and are told again; more are forgotten.
const UNTOLD: usize = 1_000;

/// News for the other nodes, gathered until they are told.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    gathered: Mutex<Gathered>,
    bell: Notify,
}

#[derive(Debug, Default)]
struct Gathered {
    news: News,
    changed: BTreeSet<u64>,
    all_changed: bool,
    /// What nobody may have heard, because the connection broke.
    untold: Vec<String>,
}

impl Outbox {
    pub(crate) fn put(&self, news: News) {
        let News { instances, instances_due, tags, work_due, stolen, changed } = news;
        let is_urgent = instances || !tags.is_empty() || !stolen.is_empty() || !changed.is_empty();
        let mut gathered = self.lock();
        let is_earlier = earlier(&mut gathered.news.instances_due, instances_due)
            | earlier(&mut gathered.news.work_due, work_due);
        gathered.news.instances |= instances;
        gathered.news.tags.extend(tags);
        gathered.news.stolen.extend(stolen);
        gathered.news.stolen.truncate(MANY); // the rest is found out by renewing
        gathered.changed.extend(changed.iter().map(|instance| hash(instance)));
        if gathered.changed.len() > MANY {
            gathered.all_changed = true;
            gathered.changed.clear();
        }
        drop(gathered);
        if is_urgent || is_earlier {
            self.bell.notify_one();
        }
    }

    /// These may not have been heard: they are told again. Hearing one twice does no harm.
    pub(crate) fn put_back(&self, mut notices: Vec<String>) {
        notices.truncate(UNTOLD);
        self.lock().untold = notices;
        self.bell.notify_one();
    }

    /// Calls whoever waits for something to tell, though there may be nothing.
    pub(crate) fn ring(&self) {
        self.bell.notify_one();
    }

    /// Waits until there is something to tell.
    pub(crate) async fn filled(&self) {
        self.bell.notified().await;
    }

    /// What there is to tell, as notices.
    pub(crate) fn take(&self) -> Vec<String> {
        let Gathered { news, changed, all_changed, untold } = std::mem::take(&mut *self.lock());
        let mut pieces = Pieces::default();
        let first = pieces.with_room(100);
        (first.instances, first.all_changed) = (news.instances, all_changed);
        (first.instances_due, first.work_due) = (news.instances_due, news.work_due);
        for tag in news.tags {
            pieces.with_room(json_length(&tag)).tags.push(tag);
        }
        for StolenLease { token, because } in news.stolen {
            let because = because_text(&because);
            pieces.with_room(token.len() + because.len() + 10).stolen.push((token, because));
        }
        for instance in changed {
            pieces.with_room(21).changed.push(instance);
        }
        let mut texts = untold;
        texts.extend(pieces.into_texts());
        texts
    }

    fn lock(&self) -> MutexGuard<'_, Gathered> {
        // Nothing can panic while it is held, and what it guards cannot be half changed.
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
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
            instances: self.instances,
            instances_due: self.instances_due,
            tags: self.tags.iter().cloned().collect(),
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
}

fn because_text(because: &StolenBecause) -> String {
    crate::encode::because_column(because)
}

fn json_length(text: &str) -> usize {
    serde_json::to_string(text).map_or(LONGEST, |json| json.len() + 1)
}

/// Takes the earlier time; says whether that changed anything.
fn earlier(known: &mut Option<i64>, new: Option<i64>) -> bool {
    let is_earlier = new.is_some_and(|new| known.is_none_or(|known| new < known));
    if is_earlier {
        *known = new;
    }
    is_earlier
}

/// The same for every node and every version: FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_told_in_pieces_that_fit() {
        let outbox = Outbox::default();
        let stolen = (0..500).map(|number| StolenLease {
            token: format!("lock_w.1.{number}.{}", i64::MAX),
            because: StolenBecause::Dropped,
        });
        let tags = (0..30).map(|number| format!("={}\u{1}{number}", "x".repeat(900))).collect();
        let changed = (0..700).map(|number| format!("instance-{number}")).collect();
        let news = News {
            instances: true,
            instances_due: Some(5),
            tags,
            stolen: stolen.collect(),
            changed,
            work_due: None,
        };
        outbox.put(news.clone());
        let notices = outbox.take();
        assert!(notices.len() > 5 && notices.iter().all(|text| text.len() < 8_000), "{}", notices.len());
        let notices: Vec<Notice> = notices.iter().map(|text| Notice::parse(text).unwrap()).collect();
        let heard: Vec<News> = notices.iter().map(Notice::news).collect();
        assert_eq!(heard.iter().flat_map(|news| &news.tags).cloned().collect::<BTreeSet<_>>(), news.tags);
        assert_eq!(heard.iter().flat_map(|news| &news.stolen).cloned().collect::<Vec<_>>(), news.stolen);
        assert!(heard.iter().any(|news| news.instances && news.instances_due == Some(5)));
        for instance in &news.changed {
            assert!(notices.iter().any(|notice| notice.is_about(instance)), "{instance}");
        }
        assert_eq!(outbox.take(), Vec::<String>::new());
    }

    #[test]
    fn what_was_not_heard_is_told_again_before_what_is_new() {
        let outbox = Outbox::default();
        outbox.put(News { instances: true, ..News::default() });
        let lost = outbox.take();
        outbox.put(News { instances_due: Some(7), ..News::default() });
        outbox.put_back(lost.clone());
        let again = outbox.take();
        assert_eq!((again.len(), &again[..1]), (2, &lost[..]));
        assert_eq!(outbox.take(), Vec::<String>::new());
    }

    #[test]
    fn many_changes_are_told_as_all() {
        let outbox = Outbox::default();
        outbox
            .put(News { changed: (0..5_000).map(|number| number.to_string()).collect(), ..News::default() });
        let notices = outbox.take();
        assert_eq!(notices.len(), 1);
        assert!(Notice::parse(&notices[0]).unwrap().is_about("anything"));
    }

    #[test]
    fn what_a_newer_node_says_is_understood_in_part() {
        let notice = Notice::parse(r#"{"i":true,"s":[["lock_w.1.2.3","eaten by wolves"]],"z":[1]}"#).unwrap();
        assert!(notice.news().instances);
        assert_eq!(notice.news().stolen[0].because, StolenBecause::Unknown);
    }
}
