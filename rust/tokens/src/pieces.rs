//! Splitting text into pieces, before any merging: what the encodings' regular expressions do, without one.
//!
//! Each function gives the end of the piece that begins at `at`. A piece depends only on the text from its beginning on, so
//! a text may be split anew from the beginning of any piece. How far beyond its end a piece may look: [`LOOK_AHEAD`], and
//! to the end of white space.

use crate::classes::{
    BLANK, LEAD, LETTER, LOWER, MARK, NEWLINE, NUMBER, SIGN, SPACE, UNCASED, UPPER, back, class, run,
};

/// Bytes after a piece on which its end may depend, beside white space: the rest of `'re`, or of a character.
pub(crate) const LOOK_AHEAD: usize = 4;

/// The end of the piece that begins at `at`, which is inside the text.
pub(crate) type Next = fn(&[u8], usize) -> usize;

/// `o200k_base`, `o200k_harmony`: words split where a capital follows a small letter, with their contractions.
pub(crate) fn o200k(text: &[u8], at: usize) -> usize {
    let (first, len) = class(text, at);
    if first & NUMBER != 0 {
        return numbers(text, at);
    }
    if first & LETTER != 0 {
        return small(text, at).or_else(|| capital(text, at)).unwrap_or(at + len);
    }
    let after = at + len;
    let marked = first & MARK != 0;
    if first & LEAD != 0 {
        let led = after < text.len() && class(text, after).0 & (LETTER | MARK) != 0;
        // In the order in which the expression tries them, with the lead and without.
        let end = led
            .then(|| small(text, after))
            .flatten()
            .or_else(|| marked.then(|| small(text, at)).flatten())
            .or_else(|| led.then(|| capital(text, after)).flatten());
        if let Some(end) = end {
            return end;
        }
    }
    if let Some(end) = signs(text, at, first, after) {
        return end + text[end..].iter().take_while(|b| matches!(b, b'\r' | b'\n' | b'/')).count();
    }
    let end = run(text, at, SPACE);
    line_end(text, at, end).unwrap_or_else(|| spaces(text, at, end))
}

/// `cl100k_base`: words of any case, contractions by themselves.
pub(crate) fn cl100k(text: &[u8], at: usize) -> usize {
    let (first, len) = class(text, at);
    if let Some(end) = contraction(text, at, true) {
        return end;
    }
    if first & LETTER != 0 {
        return run(text, at, LETTER);
    }
    if first & NUMBER != 0 {
        return numbers(text, at);
    }
    let after = at + len;
    if first & LEAD != 0 {
        let end = run(text, after, LETTER);
        if end > after {
            return end;
        }
    }
    if let Some(end) = signs(text, at, first, after) {
        return end + text[end..].iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
    }
    let end = run(text, at, SPACE);
    if end == text.len() {
        return end;
    }
    line_end(text, at, end).unwrap_or_else(|| spaces(text, at, end))
}

/// `gpt2`, `r50k_base`, `p50k_base`: a blank before words, numbers and signs alike.
pub(crate) fn r50k(text: &[u8], at: usize) -> usize {
    if let Some(end) = contraction(text, at, false) {
        return end;
    }
    let start = at + usize::from(text[at] == b' ');
    if start < text.len() {
        let (first, _) = class(text, start);
        for classes in [LETTER, NUMBER, SIGN] {
            if first & classes != 0 {
                return run(text, start, classes);
            }
        }
    }
    let end = run(text, at, SPACE);
    if end == text.len() { end } else { spaces(text, at, end) }
}

/// Up to three numbers.
fn numbers(text: &[u8], mut at: usize) -> usize {
    for _ in 0..3 {
        match text.get(at).map(|_| class(text, at)) {
            Some((class, len)) if class & NUMBER != 0 => at += len,
            _ => break,
        }
    }
    at
}

/// ` ?[^\s\p{L}\p{N}]+`
fn signs(text: &[u8], at: usize, first: u8, after: usize) -> Option<usize> {
    if first & SIGN != 0 {
        return Some(run(text, after, SIGN));
    }
    let end = run(text, after, SIGN);
    (text[at] == b' ' && end > after).then_some(end)
}

const CAPITALS: u8 = UPPER | UNCASED | MARK;
const SMALL: u8 = LOWER | UNCASED | MARK;

/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` and a contraction.
fn small(text: &[u8], at: usize) -> Option<usize> {
    let capitals = run(text, at, CAPITALS);
    let end = run(text, capitals, LOWER);
    if end > capitals {
        return Some(contracted(text, run(text, end, SMALL)));
    }
    // No small letter follows: the capitals give back all after the last character that has no case.
    let mut end = capitals;
    while end > at {
        let start = back(text, end);
        if class(text, start).0 & SMALL != 0 {
            return Some(contracted(text, end));
        }
        end = start;
    }
    None
}

/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+` and a contraction, where [`small`] found nothing.
fn capital(text: &[u8], at: usize) -> Option<usize> {
    let end = run(text, at, CAPITALS);
    (end > at).then(|| contracted(text, end))
}

fn contracted(text: &[u8], at: usize) -> usize {
    contraction(text, at, true).unwrap_or(at)
}

/// The end of `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d` at `at`. In either case, which for `s` includes the long one.
fn contraction(text: &[u8], at: usize, any_case: bool) -> Option<usize> {
    if text.get(at) != Some(&b'\'') {
        return None;
    }
    let letter = |i: usize| {
        let b = text.get(at + i).copied().unwrap_or(0);
        if any_case { b.to_ascii_lowercase() } else { b }
    };
    match (letter(1), letter(2)) {
        (b's' | b't' | b'm' | b'd', _) => Some(at + 2),
        (b'r' | b'v', b'e') | (b'l', b'l') => Some(at + 3),
        (0xc5, 0xbf) if any_case => Some(at + 3),
        _ => None,
    }
}

/// White space up to its last line end, if it has one.
fn line_end(text: &[u8], at: usize, end: usize) -> Option<usize> {
    text[at..end].iter().rposition(|b| matches!(b, b'\r' | b'\n')).map(|i| at + i + 1)
}

/// White space but for the character before what follows; all of it at the end of the text.
fn spaces(text: &[u8], at: usize, end: usize) -> usize {
    if end == text.len() {
        return end;
    }
    let last = back(text, end);
    if last > at { last } else { end }
}

/// Whether a text that goes on after `at` splits before it as it does here: the piece that begins at `at` does not stand in the
/// midst of white space.
pub(crate) fn is_settled(text: &[u8], at: usize) -> bool {
    at == 0 || class(text, at).0 & SPACE == 0 || class(text, back(text, at)).0 & SPACE == 0
}

const _: () = assert!(BLANK | NEWLINE == SPACE);
