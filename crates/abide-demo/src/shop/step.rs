//! Where an order stands. Orders say it as their custom status; the board reads it there.

/// A step in the life of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Reserving,
    Charging,
    CoolingOff,
    AwaitingApproval,
    Delivering,
    Undoing,
    Writing,
}

impl Step {
    const ALL: [Self; 7] = [
        Self::Reserving,
        Self::Charging,
        Self::CoolingOff,
        Self::AwaitingApproval,
        Self::Delivering,
        Self::Undoing,
        Self::Writing,
    ];

    /// The text that is stored as the custom status, for people and for [`Step::from_text`].
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Reserving => "reserving the goods",
            Self::Charging => "charging the card",
            Self::CoolingOff => "cooling-off time",
            Self::AwaitingApproval => "waiting for approval",
            Self::Delivering => "out for delivery",
            Self::Undoing => "undoing what was done",
            Self::Writing => "writing to the customer",
        }
    }

    pub(crate) fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.text() == text)
    }

    /// How far an order is, in percent.
    pub(crate) fn percent(self) -> usize {
        match self {
            Self::Reserving => 10,
            Self::Charging => 25,
            Self::CoolingOff => 40,
            Self::AwaitingApproval => 55,
            Self::Delivering | Self::Undoing => 70,
            Self::Writing => 90,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_known_by_its_text() {
        for step in Step::ALL {
            assert_eq!(Step::from_text(step.text()), Some(step));
        }
        assert_eq!(Step::from_text("on holiday"), None);
    }
}
