//! How strictly an execution is replayed.
//!
//! The version that started an execution pins its rules for life. Executions pinned at 0.2.0 or later are
//! replayed strictly: every recorded field is compared. Older ones were recorded by the reference system,
//! whose engine let some differences pass; each such leniency has a number here that is never reused, and
//! one paragraph. A future change of replay behaviour becomes the next number, with the version that ends
//! it, and two recorded histories: one from before and one from after.

use abide_model::codec::Codec;
use semver::Version;

use crate::notice::Notice;

/// A difference between code and history that executions of an older pin may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leniency {
    /// 1. Asks may be recorded later than the arrivals that followed them. The reference delivered a whole
    ///    batch first and recorded what the code had asked at the end of the turn, so its histories hold
    ///    arrivals between a poll and the asks of that poll. Until they are recorded such asks are unbound:
    ///    a signal that arrives meanwhile does not reach them, and each arrival is polled for before they are
    ///    bound. The drops of all polls of a turn stand at its end.
    LateBinding = 1,
    /// 2. The deadline of a timer is not compared. The reference took the time twice, once for the deadline
    ///    and once for the event, so the delay cannot be computed back from its records.
    TimerDeadline = 2,
    /// 3. The instance id of a child is not compared; the recorded one is used. Old releases named
    ///    children differently.
    ChildInstance = 3,
    /// 4. The value of a custom status is not compared, only that one was set.
    StatusValue = 4,
    /// 5. Rows for custom status and key-value writes that the code does not ask for are passed over.
    UnaskedState = 5,
    /// 6. Code may return before it reaches recorded asks; the rest of the history is not read.
    EarlyReturn = 6,
    /// 7. Code may drop futures that no row says were dropped; they count as dropped from the end of the
    ///    history on. A future that has its answer but was never asked for it may be recorded as dropped.
    AdditionalDrop = 7,
    /// 8. Consecutive clears of single keys may be recorded in any order. One release pruned keys in the
    ///    order of a hash map.
    ClearOrder = 8,
    /// 9. Typed payloads are encoded as the reference did: a string is always stored bare, although some
    ///    strings then decode to something else. The error about a payload that cannot be decoded is serde's
    ///    text alone, because code may have recorded it.
    LossyCodec = 9,
    /// 10. The ids an event repeats (instance, execution) are not compared with the execution's own.
    EventIdentity = 10,
    /// 11. A completion that names no source is passed over.
    MissingSource = 11,
    /// 12. Rows may follow the terminal one. The reference recorded the activities that the end cancelled
    ///     behind it.
    RowsAfterEnd = 12,
}

/// The rules one execution lives by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Policy {
    lenient: bool,
}

impl Policy {
    /// The rules of executions that this build starts.
    pub(crate) const STRICT: Self = Self { lenient: false };

    /// The rules for an execution whose first event carries `stamp`.
    pub(crate) fn pinned_by(stamp: &str) -> (Self, Option<Notice>) {
        match Version::parse(stamp) {
            Ok(pin) => (Self { lenient: pin < Version::new(0, 2, 0) }, None),
            Err(_) => {
                (Self { lenient: true }, Some(Notice::InvalidPinnedVersion { stamp: stamp.to_owned() }))
            }
        }
    }

    /// Whether executions under these rules may differ from their history in this way.
    pub(crate) const fn allows(self, leniency: Leniency) -> bool {
        match leniency {
            Leniency::LateBinding
            | Leniency::TimerDeadline
            | Leniency::ChildInstance
            | Leniency::StatusValue
            | Leniency::UnaskedState
            | Leniency::EarlyReturn
            | Leniency::AdditionalDrop
            | Leniency::ClearOrder
            | Leniency::LossyCodec
            | Leniency::EventIdentity
            | Leniency::MissingSource
            | Leniency::RowsAfterEnd => self.lenient,
        }
    }

    /// How typed payloads are written.
    pub(crate) const fn codec(self) -> Codec {
        if self.allows(Leniency::LossyCodec) { Codec::Reference } else { Codec::Lossless }
    }
}
