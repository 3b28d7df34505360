//! The list of bugs: what each is, and who must catch it.

use crate::bug::Bug;
use crate::run::IN_REAL_TIME;

/// One bug.
#[derive(Debug)]
pub struct Planted {
    /// What it is called.
    pub name: &'static str,
    /// What is wrong, in a sentence.
    pub what: &'static str,
    /// The validation that must fail, as `area::function`.
    pub catcher: &'static str,
    pub(crate) plant: fn() -> Box<dyn Bug>,
}

impl Planted {
    /// Whether only who waits can notice.
    #[must_use]
    pub fn is_about_waiting(&self) -> bool {
        IN_REAL_TIME.contains(&self.area())
    }

    /// The area of the validation that must fail.
    pub(crate) fn area(&self) -> &'static str {
        self.catcher.split_once("::").map_or(self.catcher, |(area, _)| area)
    }
}

pub(crate) fn plant<B: Bug + Default + 'static>() -> Box<dyn Bug> {
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

        pub(crate) const BUGS: &[$crate::planted::Planted] = &[$(
            $crate::planted::Planted {
                name: stringify!($name),
                what: $what,
                catcher: $catcher,
                plant: $crate::planted::plant::<$name>,
            },
        )*];
    };
}
pub(crate) use bugs;
