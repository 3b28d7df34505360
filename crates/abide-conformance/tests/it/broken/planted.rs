//! The list of bugs: what each is, and who must catch it.

use super::bug::Bug;
use super::run::IN_REAL_TIME;

/// One bug.
pub(super) struct Planted {
    /// What is wrong, in a sentence.
    pub(super) what: &'static str,
    /// The validation that must fail, as `area::function`.
    pub(super) catcher: &'static str,
    pub(super) name: &'static str,
    pub(super) plant: fn() -> Box<dyn Bug>,
}

impl Planted {
    /// Whether only who waits can notice.
    pub(super) fn is_about_waiting(&self) -> bool {
        IN_REAL_TIME.contains(&self.area())
    }

    /// The area of the validation that must fail.
    pub(super) fn area(&self) -> &'static str {
        self.catcher.split_once("::").map_or(self.catcher, |(area, _)| area)
    }
}

pub(super) fn plant<B: Bug + Default + 'static>() -> Box<dyn Bug> {
    Box::new(B::default())
}

/// Declares the bugs of a file: a sentence, a name, what it remembers, and the validation that must fail.
macro_rules! bugs {
    ($(
        #[doc = $what:literal]
        $name:ident $({ $($field:ident: $kind:ty),* $(,)? })? => $catcher:literal;
    )*) => {
        $(
            #[doc = $what]
            #[derive(Default)]
            struct $name { $($($field: $kind),*)? }
        )*

        pub(crate) const BUGS: &[$crate::broken::planted::Planted] = &[$(
            $crate::broken::planted::Planted {
                what: $what,
                catcher: $catcher,
                name: stringify!($name),
                plant: $crate::broken::planted::plant::<$name>,
            },
        )*];
    };
}
pub(crate) use bugs;
