//! Which of two or three durable futures was ready first.
//!
//! Deliberately absent: larger races. Their winner is a number, which `ctx.select_all` gives with its output.

/// The winner of a race of two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Either2<A, B> {
    /// The first future won, with this output.
    First(A),
    /// The second future won, with this output.
    Second(B),
}

impl<A, B> Either2<A, B> {
    /// Whether the first future won.
    pub fn is_first(&self) -> bool {
        match self {
            Self::First(_) => true,
            Self::Second(_) => false,
        }
    }

    /// Whether the second future won.
    pub fn is_second(&self) -> bool {
        !self.is_first()
    }

    /// The winner's position, from zero.
    pub fn index(&self) -> usize {
        match self {
            Self::First(_) => 0,
            Self::Second(_) => 1,
        }
    }
}

impl<T> Either2<T, T> {
    /// The winner's position and its output.
    pub fn into_tuple(self) -> (usize, T) {
        match self {
            Self::First(output) => (0, output),
            Self::Second(output) => (1, output),
        }
    }
}

/// The winner of a race of three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Either3<A, B, C> {
    /// The first future won, with this output.
    First(A),
    /// The second future won, with this output.
    Second(B),
    /// The third future won, with this output.
    Third(C),
}

impl<A, B, C> Either3<A, B, C> {
    /// The winner's position, from zero.
    pub fn index(&self) -> usize {
        match self {
            Self::First(_) => 0,
            Self::Second(_) => 1,
            Self::Third(_) => 2,
        }
    }
}

impl<T> Either3<T, T, T> {
    /// The winner's position and its output.
    pub fn into_tuple(self) -> (usize, T) {
        match self {
            Self::First(output) => (0, output),
            Self::Second(output) => (1, output),
            Self::Third(output) => (2, output),
        }
    }
}
