//! The ways to shorten a text.

use crate::fields::Fields;

/// How a text is shortened.
#[derive(Clone, Debug, Default)]
pub enum Strategy {
    /// By what the text is: JSON, a table, a diff, else lines.
    #[default]
    Auto,
    /// The beginning.
    FirstN,
    /// The end.
    LastN,
    /// The beginning and the end, half of the room each.
    HeadTail,
    /// Errors, exit codes, the last lines and what was asked for, then what stands around them, then the rest from
    /// both ends; lines that differ in numbers only are told apart last.
    Lines,
    /// A skeleton that is valid JSON: keys and shape stay, long strings and arrays are sampled.
    Json,
    /// The header and rows, the odd ones first.
    Table,
    /// File and hunk headers, then changed lines, then context.
    Diff,
    /// Only these fields of JSON, whether or not the whole would fit.
    FieldWhitelist(Fields),
    /// What the text is, in one line, unless the text itself is as short.
    Summary,
}

impl Strategy {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::FirstN => "first_n",
            Self::LastN => "last_n",
            Self::HeadTail => "head_tail",
            Self::Lines => "lines",
            Self::Json => "json",
            Self::Table => "table",
            Self::Diff => "diff",
            Self::FieldWhitelist(_) => "field_whitelist",
            Self::Summary => "summary",
        }
    }
}
