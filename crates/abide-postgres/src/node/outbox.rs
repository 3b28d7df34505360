//! News for the other nodes, gathered until they are told; or not even gathered, while there is nobody to tell.
//!
//! News of many commits are told at once: a transaction that notifies takes a lock of the whole database to commit.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::company::Company;
use super::notice::{Untold, hash};
use crate::news::News;

/// More changed instances or stolen leases than this are not told one by one.
const MANY: usize = 2_000;

/// Notices that could not be told and are told again; more are forgotten.
const UNHEARD: usize = 1_000;

/// News for the other nodes.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    gathered: Mutex<Gathered>,
    bell: Notify,
}

/// How soon something is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    AtOnce,
    /// With what is told next, or after a moment.
    InTime,
}

#[derive(Debug, Default)]
struct Gathered {
    untold: Untold,
    /// Something of it is to be told at once.
    is_urgent: bool,
    /// Notices that nobody may have heard, because the connection broke.
    unheard: Vec<String>,
    /// There is nobody to tell. Of what there would be to tell, only that there was something is kept: who comes later, and may have looked
    /// before it happened, has to look again.
    is_silent: bool,
}

impl Outbox {
    /// To be told at once.
    pub(crate) fn put(&self, news: News) {
        self.put_with(news, Pace::AtOnce);
    }

    pub(crate) fn put_with(&self, news: News, pace: Pace) {
        let mut gathered = self.lock();
        let must_be_told = if gathered.is_silent {
            gathered.untold.everything |= news != News::default();
            false
        } else {
            let is_new = gathered.untold.add(news);
            gathered.is_urgent |= is_new && pace == Pace::AtOnce;
            is_new
        };
        drop(gathered);
        if must_be_told {
            self.bell.notify_one();
        }
    }

    /// These may not have been heard: they are told again. Hearing one twice does no harm.
    pub(crate) fn put_back(&self, mut notices: Vec<String>) {
        notices.truncate(UNHEARD);
        let mut gathered = self.lock();
        gathered.unheard = notices;
        gathered.is_urgent = true;
        drop(gathered);
        self.bell.notify_one();
    }

    /// Nobody is there to be told anything.
    pub(crate) fn fall_silent(&self) {
        let mut gathered = self.lock();
        // Somebody may have come since nobody was seen.
        let everything = !gathered.is_empty();
        *gathered = Gathered { is_silent: true, ..Gathered::default() };
        gathered.untold.everything = everything;
    }

    /// Somebody may be there. If anything happened while nobody was, that is told.
    pub(crate) fn speak_up(&self) {
        let mut gathered = self.lock();
        let must_be_told = std::mem::take(&mut gathered.is_silent) && !gathered.is_empty();
        gathered.is_urgent |= must_be_told;
        drop(gathered);
        if must_be_told {
            self.bell.notify_one();
        }
    }

    /// Whether nobody is told anything.
    pub(crate) fn is_silent(&self) -> bool {
        self.lock().is_silent
    }

    /// Who else there is, as far as this node knows.
    pub(crate) fn company(&self) -> Company {
        if self.is_silent() { Company::Nobody } else { Company::Somebody }
    }

    /// Whether there is something to tell, and none of it at once.
    pub(crate) fn can_wait(&self) -> bool {
        let gathered = self.lock();
        !gathered.is_silent && !gathered.is_urgent && !gathered.is_empty()
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
        let mut gathered = self.lock();
        // The bell may have been rung before.
        if gathered.is_silent {
            return Vec::new();
        }
        let Gathered { untold, unheard, .. } = std::mem::take(&mut *gathered);
        drop(gathered);
        let mut texts = unheard;
        texts.extend(untold.into_texts());
        texts
    }

    fn lock(&self) -> MutexGuard<'_, Gathered> {
        // Nothing can panic while it is held, and what it guards cannot be half changed.
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gathered {
    fn is_empty(&self) -> bool {
        self.unheard.is_empty() && self.untold == Untold::default()
    }
}

impl Untold {
    /// Adds to it; says whether that must be told now.
    fn add(&mut self, news: News) -> bool {
        let News { instances, instances_due, work, work_due, stolen, changed } = news;
        let is_urgent =
            !instances.is_empty() || !work.is_empty() || !stolen.is_empty() || !changed.is_empty();
        let is_earlier =
            earlier(&mut self.news.instances_due, instances_due) | earlier(&mut self.news.work_due, work_due);
        self.news.instances.extend(instances);
        self.news.work.extend(work);
        self.news.stolen.extend(stolen);
        self.news.stolen.truncate(MANY); // the rest is found out by renewing
        self.changed.extend(changed.iter().map(|instance| hash(instance)));
        if self.changed.len() > MANY {
            self.all_changed = true;
            self.changed.clear();
        }
        is_urgent || is_earlier
    }
}

/// Takes the earlier time; says whether that changed anything.
fn earlier(known: &mut Option<i64>, new: Option<i64>) -> bool {
    let is_earlier = new.is_some_and(|new| known.is_none_or(|known| new < known));
    if is_earlier {
        *known = new;
    }
    is_earlier
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use abide_provider::{StolenBecause, StolenLease};

    use super::super::notice::Notice;
    use super::*;

    #[test]
    fn what_is_put_is_told_in_pieces_that_fit() {
        let outbox = Outbox::default();
        let stolen = (0..500).map(|number| StolenLease {
            token: format!("lock_w.1.{number}.{}", i64::MAX),
            because: StolenBecause::Dropped,
        });
        let work = (i64::MAX - 900..i64::MAX).collect();
        let changed = (0..700).map(|number| format!("instance-{number}")).collect();
        let news = News {
            instances: BTreeSet::from([4]),
            instances_due: Some(5),
            work,
            stolen: stolen.collect(),
            changed,
            work_due: None,
        };
        outbox.put(news.clone());
        let notices = outbox.take();
        assert!(notices.len() > 5 && notices.iter().all(|text| text.len() < 8_000), "{}", notices.len());
        let notices: Vec<Notice> = notices.iter().map(|text| Notice::parse(text).unwrap()).collect();
        let heard: Vec<News> = notices.iter().map(Notice::news).collect();
        assert_eq!(heard.iter().flat_map(|news| &news.work).copied().collect::<BTreeSet<_>>(), news.work);
        assert_eq!(heard.iter().flat_map(|news| &news.stolen).cloned().collect::<Vec<_>>(), news.stolen);
        assert!(heard.iter().any(|news| !news.instances.is_empty() && news.instances_due == Some(5)));
        for instance in &news.changed {
            assert!(notices.iter().any(|notice| notice.is_about(instance)), "{instance}");
        }
        assert_eq!(outbox.take(), Vec::<String>::new());
    }

    #[test]
    fn what_was_not_heard_is_told_again_before_what_is_new() {
        let outbox = Outbox::default();
        outbox.put(News { instances: BTreeSet::from([4]), ..News::default() });
        let lost = outbox.take();
        outbox.put(News { instances_due: Some(7), ..News::default() });
        outbox.put_back(lost.clone());
        let again = outbox.take();
        assert_eq!((again.len(), &again[..1]), (2, &lost[..]));
        assert_eq!(outbox.take(), Vec::<String>::new());
    }

    #[test]
    fn what_can_wait_is_told_with_what_cannot() {
        let outbox = Outbox::default();
        let work = || News { work: BTreeSet::from([2]), ..News::default() };
        assert!(!outbox.can_wait(), "there is nothing");
        outbox.put_with(work(), Pace::InTime);
        assert!(outbox.can_wait());
        outbox.put(News::default());
        assert!(outbox.can_wait(), "nothing was added");
        outbox.put(News { changed: BTreeSet::from(["a".to_owned()]), ..News::default() });
        assert!(!outbox.can_wait());
        assert_eq!(outbox.take().len(), 1);
        outbox.put_with(work(), Pace::InTime);
        assert!(outbox.can_wait(), "what is told is forgotten");
        outbox.put_back(vec!["lost".to_owned()]);
        assert!(!outbox.can_wait());
        outbox.fall_silent();
        outbox.put_with(work(), Pace::InTime);
        assert!(!outbox.can_wait(), "nobody is there");
        outbox.speak_up();
        assert!(!outbox.can_wait(), "somebody is there who may have missed something");
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
    fn of_what_happens_while_nobody_is_there_only_that_is_told() {
        let outbox = Outbox::default();
        outbox.fall_silent();
        outbox.put(News::default());
        outbox.speak_up();
        assert_eq!(outbox.take(), Vec::<String>::new(), "nothing happened");
        outbox.fall_silent();
        outbox.put(News { instances_due: Some(7), ..News::default() });
        outbox.put(News { changed: BTreeSet::from(["a".to_owned()]), ..News::default() });
        assert_eq!(outbox.take(), Vec::<String>::new(), "nobody is there");
        outbox.speak_up();
        assert_eq!(outbox.take(), [r#"{"e":true}"#]);
        assert_eq!(outbox.take(), Vec::<String>::new());
    }

    #[test]
    fn what_was_gathered_before_nobody_was_seen_is_not_forgotten() {
        let outbox = Outbox::default();
        outbox.put(News { instances: BTreeSet::from([4]), ..News::default() });
        outbox.put_back(vec!["lost".to_owned()]);
        outbox.fall_silent();
        outbox.speak_up();
        // Somebody who came since, and had looked before it happened, looks again.
        assert_eq!(outbox.take(), [r#"{"e":true}"#]);
    }

    #[test]
    fn what_happens_once_somebody_is_there_is_told_as_ever() {
        let outbox = Outbox::default();
        outbox.fall_silent();
        outbox.speak_up();
        outbox.put(News { instances: BTreeSet::from([4]), ..News::default() });
        outbox.speak_up();
        assert_eq!(outbox.take(), [r#"{"i":[4]}"#]);
    }
}
