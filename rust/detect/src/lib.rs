//! Secrets and PII in bytes: rules as data, one scanner over all of them.

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
    /// Contents of the user's rule files: (source name, TOML text), ctxproto's own or gitleaks' form.
    pub rule_files: Vec<(String, String)>,
    /// PII selection.
    pub pii: Pii,
    /// Allowlist.
    pub allow: Allow,
    /// Values known to be secret, with the label to show for each.
    pub known_values: Vec<(String, Vec<u8>)>,
}

/// Why a policy could not be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError(pub(crate) String);

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PolicyError {}

/// One place in the text that must not be seen: `start..end` in bytes, found by rule number `rule`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Index into [`Detector::rules`].
    pub rule: u16,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// What users see of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleInfo {
    /// Unique name.
    pub id: String,
    /// What a placeholder shows.
    pub label: String,
    /// A short description.
    pub name: String,
    /// The rule file it came from.
    pub source: String,
    /// Personal data rather than a secret.
    pub pii: bool,
}

/// A compiled policy: immutable, shared by threads.
#[derive(Debug)]
pub struct Detector {
    rules: Vec<RuleInfo>,
}

impl Detector {
    /// Compiles a policy.
    pub fn new(_policy: &Policy) -> Result<Self, PolicyError> {
        Ok(Self {
            rules: vec![RuleInfo {
                id: "github-pat".into(),
                label: "GITHUB_TOKEN".into(),
                name: "GitHub personal access token".into(),
                source: "vcs_ci.toml".into(),
                pii: false,
            }],
        })
    }

    /// The active rules.
    pub fn rules(&self) -> &[RuleInfo] {
        &self.rules
    }

    /// What could not be honoured of the user's rule files, one sentence each.
    pub fn warnings(&self) -> &[String] {
        &[]
    }

    /// All findings in order, none overlapping another.
    pub fn scan(&self, text: &[u8]) -> Vec<Match> {
        let mut out = vec![];
        let mut at = 0;
        while let Some(p) = memchr::memmem::find(&text[at..], b"ghp_") {
            let start = at + p;
            let end = start + 4 + text[start + 4..].iter().take_while(|b| b.is_ascii_alphanumeric()).count();
            if end - start == 40 {
                out.push(Match { rule: 0, start, end });
            }
            at = end;
        }
        out
    }
}
