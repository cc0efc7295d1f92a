//! What can be wrong with what was asked.

use std::fmt;

/// Why nothing could be trimmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrimError {
    /// Not even the marker that says what is missing fits.
    TooSmall {
        /// Tokens that were allowed.
        budget: usize,
        /// Tokens that the least output takes.
        needed: usize,
    },
    /// A pattern of the caller is no regular expression.
    Pattern(String),
    /// A path of a whitelist is none.
    Path(String),
}

impl fmt::Display for TrimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSmall { budget, needed } => write!(
                f,
                "a budget of {budget} tokens is too small: the marker alone that says what was left out takes {needed}"
            ),
            Self::Pattern(why) | Self::Path(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for TrimError {}
