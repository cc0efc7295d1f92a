//! JSON inside a string of JSON: opened, shortened, closed again.

use std::borrow::Cow;
use std::ops::Range;

use crate::piece::Piece;

/// The inside of a string, shortened.
pub(crate) struct Short {
    pub(crate) text: Vec<u8>,
    /// What of the inside it holds, in order.
    pub(crate) kept: Vec<Range<usize>>,
}

/// Shortens the inside of a string that holds an object or an array, with what shortens that.
pub(crate) fn shorten(
    inside: &[u8],
    shorten: impl FnOnce(&Piece<'_>) -> Option<(Vec<u8>, Vec<Range<usize>>)>,
) -> Option<Short> {
    if !matches!(inside.trim_ascii_start().first()?, b'{' | b'[') {
        return None;
    }
    let (text, from) = open(inside)?;
    let piece = Piece { text: Cow::Borrowed(&text), start: 0, swaps: vec![] };
    let (short, kept) = shorten(&piece)?;
    let kept = kept.into_iter().map(|r| from[r.start]..from[r.end]).collect();
    Some(Short { text: close(&short), kept })
}

/// Takes one level of escapes off; also where each byte comes from. What is written as a number and is no ASCII stays
/// so: it stands in a string within, where it means the same.
pub(crate) fn open(inside: &[u8]) -> Option<(Vec<u8>, Vec<usize>)> {
    let mut text = Vec::with_capacity(inside.len());
    let mut from = Vec::with_capacity(inside.len() + 1);
    let mut at = 0;
    while at < inside.len() {
        let (byte, len) = match (inside[at], inside.get(at + 1)) {
            (b'\\', Some(&b)) => match b {
                b'"' | b'\\' | b'/' => (b, 2),
                b'n' => (b'\n', 2),
                b't' => (b'\t', 2),
                b'r' => (b'\r', 2),
                b'u' => {
                    let digits = std::str::from_utf8(inside.get(at + 2..at + 6)?).ok()?;
                    match u8::try_from(u32::from_str_radix(digits, 16).ok()?) {
                        Ok(b) if (0x20..0x7F).contains(&b) => (b, 6),
                        _ => (b'\\', 1),
                    }
                }
                _ => return None,
            },
            (b, _) => (b, 1),
        };
        text.push(byte);
        from.push(at);
        at += len;
    }
    from.push(inside.len());
    Some((text, from))
}

/// Puts one level of escapes on.
fn close(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 8);
    for &b in text {
        match b {
            b'"' | b'\\' => out.extend([b'\\', b]),
            b'\n' => out.extend(b"\\n"),
            b'\t' => out.extend(b"\\t"),
            b'\r' => out.extend(b"\\r"),
            b => out.push(b),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_undoes_opening() {
        for inside in [r#"{\"a\": \"b\\n\\\"c\"}"#, r"[1,\n2]", r#"{\"k\": \"caf\\u00e9\"}"#] {
            let (text, from) = open(inside.as_bytes()).expect("opens");
            assert_eq!(from.len(), text.len() + 1);
            assert_eq!(close(&text), inside.as_bytes());
        }
        // An escape that stands for a character beyond ASCII becomes one of the string within.
        assert_eq!(open(br#"[\"\u00e9\"]"#).map(|o| o.0), Some(br#"["\u00e9"]"#.to_vec()));
    }
}
