//! A line of text with a tone for each part, so that what is shown can be tested without colours.

/// How a part of a line is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Normal,
    Dim,
    Bold,
    Good,
    Bad,
    Active,
    Undone,
}

impl Tone {
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Normal => None,
            Self::Dim => Some("2"),
            Self::Bold => Some("1"),
            Self::Good => Some("32"),
            Self::Bad => Some("1;31"),
            Self::Active => Some("36"),
            Self::Undone => Some("33"),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line {
    parts: Vec<(Tone, String)>,
}

impl Tone {
    /// A line in this tone.
    pub(crate) fn line(self, text: impl Into<String>) -> Line {
        Line::default().and(self, text)
    }
}

impl Line {
    /// The line with more at its end.
    #[must_use]
    pub(crate) fn and(mut self, tone: Tone, text: impl Into<String>) -> Self {
        self.parts.push((tone, text.into()));
        self
    }

    pub(crate) fn width(&self) -> usize {
        self.parts.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// Cut to this many columns; the last one says that something is missing.
    #[must_use]
    pub(crate) fn fit(self, columns: usize) -> Self {
        if self.width() <= columns {
            return self;
        }
        let mut left = columns.saturating_sub(1);
        let mut parts = Vec::new();
        for (tone, text) in self.parts {
            let cut: String = text.chars().take(left).collect();
            left -= cut.chars().count();
            parts.push((tone, cut));
        }
        if columns > 0 {
            parts.push((Tone::Dim, "…".to_owned()));
        }
        Self { parts }
    }

    /// The line without its tones and without blanks at its end.
    pub(crate) fn plain(&self) -> String {
        let text: String = self.parts.iter().map(|(_, text)| text.as_str()).collect();
        text.trim_end().to_owned()
    }

    /// The line with the colours of a terminal.
    pub(crate) fn coloured(&self) -> String {
        let part = |(tone, text): &(Tone, String)| match tone.code() {
            Some(code) if !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            Some(_) | None => text.clone(),
        };
        self.parts.iter().map(part).collect()
    }
}

/// The text, at least this wide and at most, too.
pub(crate) fn column(text: &str, width: usize) -> String {
    let fitted = Tone::Normal.line(text).fit(width).parts.into_iter().map(|(_, text)| text);
    let fitted: String = fitted.collect();
    format!("{fitted:<width$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_where_the_terminal_ends() {
        let line = Tone::Bold.line("order").and(Tone::Dim, " is long");
        assert_eq!(line.clone().fit(80).plain(), "order is long");
        assert_eq!(line.clone().fit(8).plain(), "order i…");
        assert_eq!(line.clone().fit(3).plain(), "or…");
        assert_eq!(line.clone().fit(1).plain(), "…");
        assert_eq!(line.fit(0).plain(), "");
    }

    #[test]
    fn a_column_has_its_width() {
        assert_eq!(column("tea", 5), "tea  ");
        assert_eq!(column("kettle", 5), "kett…");
    }

    #[test]
    fn colours_end_where_they_should() {
        let line = Tone::Good.line("yes").and(Tone::Normal, " or ").and(Tone::Bad, "no");
        assert_eq!(line.coloured(), "\x1b[32myes\x1b[0m or \x1b[1;31mno\x1b[0m");
    }
}
