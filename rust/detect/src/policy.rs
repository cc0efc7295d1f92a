//! What a detector is built from.

use std::fmt;

/// Which PII a policy looks for beside secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Pii {
    /// The PII that is dangerous by itself and has a checksum or a fixed form: card, SSN, IBAN.
    #[default]
    Dangerous,
    /// None at all.
    None,
    /// Every PII rule there is.
    All,
    /// The named labels or rule ids, beside nothing else.
    Named(Vec<String>),
}

/// What a caller declares harmless.
#[derive(Clone, Debug, Default)]
pub struct Allow {
    /// Exact values.
    pub values: Vec<Vec<u8>>,
    /// Regular expressions that a value must match from end to end.
    pub patterns: Vec<String>,
    /// Rule ids or labels.
    pub rules: Vec<String>,
    /// Key names whose values are never findings (case-insensitive).
    pub keys: Vec<String>,
    /// Honour `ctxproto:allow` comments in the text itself. Off for redaction: the text is not to be trusted.
    pub inline: bool,
}

/// Everything a detector is built from.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Leave the built-in rules out.
    pub no_builtin: bool,
    /// The user's rule files: (source name, TOML text), in ctxproto's own form or in gitleaks'.
    pub rule_files: Vec<(String, String)>,
    /// PII selection.
    pub pii: Pii,
    /// Allowlist.
    pub allow: Allow,
    /// Values known to be secret, each with the label to show for it.
    pub known_values: Vec<(String, Vec<u8>)>,
}

/// Why a policy could not be compiled: what was wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError(String);

impl PolicyError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PolicyError {}
