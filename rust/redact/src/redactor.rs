//! A policy and an output style, ready to rewrite text.

use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use ctxproto_detect::{Detector, Match, Part, settle};
use hmac::{KeyInit, Mac};
use sha2::Sha256;

use crate::placeholder::Placeholder;
use crate::stream::Stream;
use crate::writer::Writer;

/// How much of a long text is scanned between two questions whether to go on.
const SLICE: usize = 1 << 20;

/// How the bytes are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Text in which lines or the whole may be JSON.
    #[default]
    Auto,
    /// Plain text: no key paths.
    Text,
    /// One JSON document.
    Json,
    /// One JSON document a line.
    JsonLines,
}

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
    /// Keyed HMAC of the value.
    pub fingerprint: [u8; 8],
    /// How many bytes stand in its place in the rewritten text; 0 where none was written.
    pub placed: usize,
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

/// HMAC-SHA-256 (RFC 2104) with the key's half of the work done once.
#[derive(Clone)]
pub(crate) struct Hmac(hmac::Hmac<Sha256>);

impl Hmac {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        Self(KeyInit::new_from_slice(key).expect("HMAC takes keys of any length"))
    }

    /// The first eight bytes.
    pub(crate) fn of(&self, value: &[u8]) -> [u8; 8] {
        let mut mac = self.0.clone();
        mac.update(value);
        let digest = mac.finalize().into_bytes();
        std::array::from_fn(|i| digest[i])
    }
}

/// A policy and a placeholder style, ready to rewrite text. Immutable, shared by threads.
pub struct Redactor {
    detector: Arc<Detector>,
    placeholder: Placeholder,
    hmac: Hmac,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} rules, {:?})", self.detector.rules().len(), self.placeholder)
    }
}

/// Puts findings in order, as [`settle`] does, whichever of equals was found first: a stream finds them in another
/// order than a scan of the whole.
pub(crate) fn in_order(found: &mut Vec<Match>) {
    found.sort_unstable_by_key(|m| (m.start, Reverse(m.end), Reverse(m.rank), m.rule));
    settle(found);
}

impl Redactor {
    /// Joins a detector with its output options.
    pub fn new(detector: Arc<Detector>, options: Options) -> Self {
        Self { detector, placeholder: options.placeholder, hmac: Hmac::new(&options.key) }
    }

    /// The detector in use.
    pub fn detector(&self) -> &Detector {
        &self.detector
    }

    /// Everything found in `text`, which is scanned in slices of `slice` bytes; between them `go_on` is asked whether
    /// to. `None` if it said no.
    fn matches(&self, text: &[u8], slice: usize, mut go_on: impl FnMut() -> bool) -> Option<Vec<Match>> {
        let mut found = vec![];
        let mut done = 0;
        let mut to = 0;
        while to < text.len() {
            if !go_on() {
                return None;
            }
            to = text.len().min(to.saturating_add(slice));
            let offset = done - done.min(Detector::LOOK_BACK);
            let before = found.len();
            let part =
                Part { bytes: &text[offset..to], from: done - offset, offset, ended: to == text.len() };
            done = offset + self.detector.scan_part(part, &mut found);
            for m in &mut found[before..] {
                m.start += offset;
                m.end += offset;
            }
        }
        if found.len() > 1 {
            in_order(&mut found);
        }
        Some(found)
    }

    /// Rewrites `text`; `None` when there is nothing to replace.
    pub fn redact(&self, text: &[u8], format: Format) -> Option<Redaction> {
        let found = self.matches(text, usize::MAX, || true)?;
        self.rewrite(text, format, &found)
    }

    /// As [`Redactor::redact`] for a long text: `go_on` is asked now and then, and `Err` is what comes when it says no.
    #[expect(clippy::result_unit_err, reason = "there is one cause: the caller said so")]
    pub fn redact_while(
        &self,
        text: &[u8],
        format: Format,
        go_on: impl FnMut() -> bool,
    ) -> Result<Option<Redaction>, ()> {
        let found = self.matches(text, SLICE, go_on).ok_or(())?;
        Ok(self.rewrite(text, format, &found))
    }

    fn rewrite(&self, text: &[u8], format: Format, found: &[Match]) -> Option<Redaction> {
        if found.is_empty() {
            return None;
        }
        let mut out = Vec::with_capacity(text.len() + 16);
        let mut writer = Writer::new(format);
        let mut findings = Vec::with_capacity(found.len());
        let mut at = 0;
        self.each(text, found, 0, &mut writer, |writer, m| {
            out.extend_from_slice(&text[at..m.start]);
            findings.push(writer.replace(self, text, m, 0, &mut out));
            at = m.end;
        });
        out.extend_from_slice(&text[at..]);
        Some(Redaction { text: out, findings })
    }

    /// Finds without rewriting.
    pub fn scan(&self, text: &[u8], format: Format) -> Vec<Finding> {
        let mut writer = Writer::new(format);
        let found = self.matches(text, usize::MAX, || true).unwrap_or_default();
        let mut findings = Vec::with_capacity(found.len());
        self.each(text, &found, 0, &mut writer, |writer, m| findings.push(writer.finding(self, text, m, 0)));
        findings
    }

    /// Calls `write` with what of each match can go without harm to the JSON it stands in. A match that went beyond
    /// the end of its string hid what stands there: that is looked for again. `text` begins at `offset` of the whole.
    pub(crate) fn each(
        &self,
        text: &[u8],
        found: &[Match],
        offset: usize,
        writer: &mut Writer,
        mut write: impl FnMut(&mut Writer, &Match),
    ) {
        let mut hidden = vec![];
        for m in found {
            let mut next = Some(*m);
            while let Some(m) = next {
                let fitted = writer.fit(text, &m, offset);
                if fitted.start < fitted.end {
                    write(writer, &fitted);
                }
                if let Some(quote) = memchr::memchr(b'"', &text[fitted.end..m.end]) {
                    let rest = fitted.end + quote + 1;
                    let again = self.matches(&text[rest..m.end], usize::MAX, || true).unwrap_or_default();
                    let again = again.into_iter().rev();
                    hidden.extend(again.map(|m| Match { start: m.start + rest, end: m.end + rest, ..m }));
                }
                next = hidden.pop();
            }
        }
    }

    /// Whether the value that stands under `key` in a parsed document must go: by which rule, and which of its bytes
    /// (`Bearer ` and quotes stay). `None` when the key's name says nothing about `value`.
    pub fn judge_value(&self, key: &str, value: &[u8]) -> Option<(u16, Range<usize>)> {
        self.detector.judge_value(key, value)
    }

    /// The replacement for `value`, found by `rule`.
    pub fn placeholder(&self, rule: u16, value: &[u8]) -> Vec<u8> {
        let mut out = vec![];
        self.write_placeholder(&mut out, rule, value, 0, 0);
        out
    }

    pub(crate) fn write_placeholder(
        &self,
        out: &mut Vec<u8>,
        rule: u16,
        value: &[u8],
        public: usize,
        strings: usize,
    ) {
        let label = &self.detector.rules()[usize::from(rule)].label;
        self.placeholder.write(out, label, value, public, strings, || self.hmac.of(value));
    }

    /// Keyed fingerprint of a value.
    pub fn fingerprint(&self, value: &[u8]) -> [u8; 8] {
        self.hmac.of(value)
    }

    /// A redactor for text that arrives in pieces.
    pub fn stream(self: &Arc<Self>, format: Format) -> Stream {
        Stream::new(Arc::clone(self), format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctxproto_detect::Policy;

    #[test]
    fn slices_of_any_size_find_the_same() {
        let detector = Arc::new(Detector::new(&Policy::default()).expect("the built-in rules compile"));
        let redactor = Redactor::new(detector, Options::default());
        let token = format!("ghp_{}", "aB3dE6gH9jK1".repeat(3));
        let key =
            format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n", "MIIEpAIBAAKCAQEA/+aB3dE6gH9j\n".repeat(9));
        let text = format!(
            "x {token}\n password=hunter2 \u{1b}[31m{token}\u{1b}[0m\n{key}card 4111 1111 1111 1111.\n"
        );
        let text = text.repeat(3).into_bytes();
        let whole = redactor.matches(&text, usize::MAX, || true).expect("goes on");
        assert_eq!(whole.len(), 15);
        for slice in 1..400 {
            assert_eq!(redactor.matches(&text, slice, || true).as_ref(), Some(&whole), "{slice}");
        }
        assert!(redactor.matches(&text, 10, || false).is_none());
    }
}
