//! Values the caller knows to be secret, found as they are and in the encodings they travel in.

use aho_corasick::{AhoCorasick, MatchKind};

use crate::engine::Candidate;
use crate::policy::PolicyError;
use crate::rule::rank;
use crate::window::Window;

/// The shortest value that may be declared: shorter ones would be found in ordinary text.
const MIN: usize = 6;
const MAX: usize = 4096;

#[derive(Debug)]
pub(crate) struct Known {
    automaton: AhoCorasick,
    /// For each pattern: its rule.
    rules: Vec<u16>,
    patterns: Vec<Vec<u8>>,
    longest: usize,
}

impl Known {
    /// Patterns for `values`, each with the number of its rule.
    pub(crate) fn new(values: &[(u16, &[u8])]) -> Result<Option<Self>, PolicyError> {
        let mut patterns: Vec<Vec<u8>> = vec![];
        let mut rules = vec![];
        for (n, &(rule, value)) in values.iter().enumerate() {
            if !(MIN..=MAX).contains(&value.len()) {
                return Err(PolicyError::new(format!(
                    "known value {} is {} bytes long; it must have {MIN} to {MAX}",
                    n + 1,
                    value.len()
                )));
            }
            for form in forms(value) {
                if !patterns.contains(&form) {
                    patterns.push(form);
                    rules.push(rule);
                }
            }
        }
        if patterns.is_empty() {
            return Ok(None);
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&patterns)
            .map_err(|e| PolicyError::new(format!("known values: {e}")))?;
        let longest = patterns.iter().map(Vec::len).max().unwrap_or(0);
        Ok(Some(Self { automaton, rules, patterns, longest }))
    }

    /// Adds what stands at `from` or later; returns the place from which the rest of the window may still become one.
    pub(crate) fn scan(&self, window: Window<'_>, from: usize, out: &mut Vec<Candidate>) -> usize {
        let text = window.text;
        let mut open = if window.ended { text.len() } else { self.open(text, from) };
        for hit in self.automaton.find_iter(&text[from..]) {
            let start = from + hit.start();
            if start >= open {
                break;
            }
            if window.lines && window.line_end(from + hit.end()).is_err() {
                open = start;
                break;
            }
            let rule = self.rules[hit.pattern().as_usize()];
            out.push(Candidate { start, end: from + hit.end(), rule, rank: rank::KNOWN, public: 0 });
        }
        open
    }

    /// The first place whose bytes up to the end are the beginning of a pattern.
    fn open(&self, text: &[u8], from: usize) -> usize {
        let first = text.len().saturating_sub(self.longest - 1).max(from);
        (first..text.len())
            .find(|&at| self.patterns.iter().any(|p| p.len() > text.len() - at && p.starts_with(&text[at..])))
            .unwrap_or(text.len())
    }
}

/// A value as it is, JSON-escaped (once and twice, with `\/` too), as Python prints it, in HTML, percent-encoded (once
/// and twice), in hex and in base64 at each of the three places it can have in a longer text.
fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![value.to_vec()];
    for (ascii, upper) in [(false, false), (true, false), (true, true)] {
        let once = json(value, ascii, upper);
        forms.push(json(&once, ascii, upper));
        forms.push(each(&once, |b| (b == b'/').then_some("\\/")));
        forms.push(once);
    }
    // In single quotes, as `repr()` writes a str that has both kinds.
    forms.push(each(value, |b| match b {
        b'\\' => Some("\\\\"),
        b'\'' => Some("\\'"),
        b'\n' => Some("\\n"),
        b'\r' => Some("\\r"),
        b'\t' => Some("\\t"),
        _ => None,
    }));
    for apostrophe in ["&#39;", "&#x27;", "&apos;", "'"] {
        forms.push(each(value, |b| match b {
            b'&' => Some("&amp;"),
            b'<' => Some("&lt;"),
            b'>' => Some("&gt;"),
            b'"' => Some("&quot;"),
            b'\'' => Some(apostrophe),
            _ => None,
        }));
    }
    for upper in [true, false] {
        let hex = |b: u8| if upper { format!("{b:02X}") } else { format!("{b:02x}") };
        // What is left as it is differs: nothing, the slashes of a path, or spaces written as a form does.
        for (slash, plus) in [(false, false), (true, false), (false, true)] {
            let mut percent = vec![];
            for &b in value {
                match b {
                    b'/' if slash => percent.push(b),
                    b' ' if plus => percent.push(b'+'),
                    _ if b.is_ascii_alphanumeric() || b"-._~".contains(&b) => percent.push(b),
                    _ => percent.extend(format!("%{}", hex(b)).into_bytes()),
                }
            }
            forms.push(each(&percent, |b| (b == b'%').then_some("%25")));
            forms.push(percent);
        }
        forms.push(value.iter().map(|&b| hex(b)).collect::<String>().into_bytes());
    }
    for url_safe in [false, true] {
        for lead in 0..3usize {
            let mut padded = vec![0u8; lead];
            padded.extend_from_slice(value);
            let text = encode(&padded, url_safe);
            // The characters that only this value's bits decide.
            let from = [0, 2, 3][lead];
            let to = padded.len() * 8 / 6;
            if to > from + 8 {
                forms.push(text[from..to].to_vec());
            }
        }
    }
    forms
}

/// `text` with other text for some of its bytes.
fn each(text: &[u8], other: impl Fn(u8) -> Option<&'static str>) -> Vec<u8> {
    text.iter().fold(vec![], |mut out, &b| {
        match other(b) {
            Some(other) => out.extend_from_slice(other.as_bytes()),
            None => out.push(b),
        }
        out
    })
}

/// The inside of a JSON string; `ascii` escapes what is beyond ASCII too, as many writers do.
fn json(value: &[u8], ascii: bool, upper: bool) -> Vec<u8> {
    let mut out = vec![];
    for chunk in value.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' | '\\' => out.extend([b'\\', c as u8]),
                '\n' => out.extend(b"\\n"),
                '\r' => out.extend(b"\\r"),
                '\t' => out.extend(b"\\t"),
                '\u{8}' => out.extend(b"\\b"),
                '\u{c}' => out.extend(b"\\f"),
                _ if c < ' ' || ascii && c > '~' => {
                    for &unit in c.encode_utf16(&mut [0; 2]).iter() {
                        let escape = if upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") };
                        out.extend(escape.into_bytes());
                    }
                }
                _ => out.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        out.extend(chunk.invalid());
    }
    out
}

fn encode(bytes: &[u8], url_safe: bool) -> Vec<u8> {
    let table: &[u8; 64] = if url_safe {
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    } else {
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    };
    let mut out = vec![];
    let (mut bits, mut have) = (0u32, 0);
    for &b in bytes {
        bits = (bits << 8 | u32::from(b)) & 0xFFFF;
        have += 8;
        while have >= 6 {
            have -= 6;
            out.push(table[(bits >> have & 63) as usize]);
        }
    }
    if have > 0 {
        out.push(table[(bits << (6 - have) & 63) as usize]);
    }
    out
}
