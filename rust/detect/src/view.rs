//! Text as it is meant to be read: escapes decoded, invisible characters and terminal codes gone.
//!
//! A line (or a part of it, for very long ones) that has such signs is written anew without them, scanned again, and
//! what is found is laid back on the bytes it came from. Lines without them cost nothing.

use crate::class::{ALNUM, ByteSet};
use crate::engine::{Candidate, Scan};
use crate::window::{Cut, Look, Window};

/// Long lines are taken in parts of this size, on a grid of the whole text, each with a margin on both sides.
const CELL: usize = 4096;
const MARGIN: usize = 1024;

/// One sign: how many bytes it takes, and what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edit {
    len: usize,
    byte: Option<u8>,
}

impl Scan<'_, '_> {
    /// A sign that may hide something stands at `at`.
    pub(crate) fn mark(&mut self, at: usize) -> Look<()> {
        let window = self.window;
        if at < self.view_end || self.depth >= 3 || edit(window, at)?.is_none() {
            return Ok(());
        }
        let grid = (window.offset + at) / CELL * CELL;
        let earliest = grid.saturating_sub(MARGIN).saturating_sub(window.offset);
        let latest = grid + CELL + MARGIN - window.offset;
        let from = memchr::memrchr(b'\n', &window.text[earliest.min(at)..at])
            .map_or(earliest.min(at), |i| earliest + i + 1);
        let here = &window.text[at..latest.min(window.text.len())];
        let to = match memchr::memchr(b'\n', here) {
            Some(i) => at + i,
            None if window.text.len() < latest && !window.ended => return Err(Cut),
            None => latest.min(window.text.len()),
        };
        let (view, edits) = write(&window.text[from..to]);
        self.view_end = to.min((grid + CELL).saturating_sub(window.offset));
        let mut inner: Vec<Candidate> = vec![];
        self.engine.scan(Window::inner(&view), 0, self.depth + 1, &mut inner);
        // What begins before the word of the first sign was found without it.
        let word = at - word_back(window, at);
        for c in inner {
            let start = from + source(&edits, c.start);
            let end = from + source(&edits, c.end - 1) + last_len(&edits, c.end - 1);
            if start >= word && end <= to {
                self.push(c.rule, c.rank, start, end, 0);
            }
        }
        Ok(())
    }
}

/// How far back from `at` a candidate may begin that a sign at `at` is part of: the word, and the short words of
/// digits before it that may be the first groups of a card number.
pub(crate) fn word_back(window: Window<'_>, at: usize) -> usize {
    const MAX: usize = 512;
    let text = window.back(at, MAX);
    let blank = ByteSet::of(b" \t\r\n\x0b\x0c");
    let mut keep = text.len() - blank.complement().run_back(text);
    // Groups of digits and capitals, one blank apart.
    let group = ALNUM.or(ByteSet::of(b"()+.-"));
    for _ in 0..10 {
        if keep == 0 || !matches!(text[keep - 1], b' ') {
            break;
        }
        let before = &text[..keep - 1];
        let len = group.run_back(before);
        if len == 0 || len > 6 || !before[before.len() - len..].iter().any(u8::is_ascii_digit) && len > 4 {
            break;
        }
        keep = before.len() - len;
    }
    text.len() - keep
}

/// The source text without its signs, and for each sign where the text after it stands in both.
fn write(source: &[u8]) -> (Vec<u8>, Vec<Step>) {
    let window = Window::inner(source);
    let special = ByteSet::of(b"\0\x08\x1b\x7f%&\\\xC2\xCD\xE1\xE2\xEF\xF3");
    let mut view = Vec::with_capacity(source.len());
    let mut steps = vec![Step { view: 0, source: 0, len: 1 }];
    let mut at = 0;
    while at < source.len() {
        let plain = special.complement().run(&source[at..]);
        view.extend_from_slice(&source[at..at + plain]);
        at += plain;
        if at == source.len() {
            break;
        }
        if let Ok(Some(edit)) = edit(window, at) {
            if source[at] == 8 && view.pop().is_some() {
                while steps.len() > 1 && steps.last().is_some_and(|s| s.view > view.len()) {
                    steps.pop();
                }
            }
            if let Some(byte) = edit.byte {
                steps.push(Step { view: view.len(), source: at, len: edit.len });
                view.push(byte);
            }
            at += edit.len;
            steps.push(Step { view: view.len(), source: at, len: 1 });
        } else {
            view.push(source[at]);
            at += 1;
        }
    }
    (view, steps)
}

/// From `view` on, the view's bytes stand at `source` on; the first of them takes `len` bytes there.
#[derive(Clone, Copy, Debug)]
struct Step {
    view: usize,
    source: usize,
    len: usize,
}

fn step(steps: &[Step], at: usize) -> Step {
    steps[steps.partition_point(|s| s.view <= at).saturating_sub(1)]
}

fn source(steps: &[Step], at: usize) -> usize {
    let s = step(steps, at);
    s.source + (at - s.view)
}

fn last_len(steps: &[Step], at: usize) -> usize {
    let s = step(steps, at);
    if at == s.view { s.len } else { 1 }
}

/// The sign at `at`, if there is one.
fn edit(window: Window<'_>, at: usize) -> Look<Option<Edit>> {
    let gone = |len: usize| Ok(Some(Edit { len, byte: None }));
    let stands = |len: usize, value: u32| {
        Ok(u8::try_from(value)
            .ok()
            .filter(|b| (0x20..0x7f).contains(b))
            .map(|byte| Edit { len, byte: Some(byte) }))
    };
    match window.text[at] {
        0x1b => terminal(window, at, 1),
        // A backspace takes the character before it too: see `write`.
        8 | 0x7f => gone(1),
        // Every other byte, as in UTF-16; elsewhere it ends what stands before it.
        0 => {
            let wide = at >= 2 && window.text[at - 2] == 0 || window.at(at + 2)? == Some(0);
            if wide { gone(1) } else { Ok(None) }
        }
        // U+034F, U+180E, and the tags of U+E0000
        0xCD if window.at(at + 1)? == Some(0x8F) => gone(2),
        0xE1 if window.starts_with(at, b"\xE1\xA0\x8E")? => gone(3),
        0xF3 if window.starts_with(at, b"\xF3\xA0")? => match window.at(at + 2)? {
            Some(0x80 | 0x81) if window.at(at + 3)?.is_some() => gone(4),
            _ => Ok(None),
        },
        0xC2 => match window.at(at + 1)? {
            Some(0xAD) => gone(2),
            // A blank that breaks no line, between the groups of a number.
            Some(0xA0) if grouped(window, at, 2)? => stands(2, 0x20),
            _ => Ok(None),
        },
        0xE2 => match (window.at(at + 1)?, window.at(at + 2)?) {
            // U+200B-200F, U+202A-202E, U+2060-206F
            (Some(0x80), Some(0x8B..=0x8F | 0xAA..=0xAE)) | (Some(0x81), Some(0xA0..=0xAF)) => gone(3),
            // U+202F, and the dashes U+2010-2013
            (Some(0x80), Some(0xAF)) if grouped(window, at, 3)? => stands(3, 0x20),
            (Some(0x80), Some(0x90..=0x93)) if grouped(window, at, 3)? => stands(3, 0x2D),
            _ => Ok(None),
        },
        0xEF => match (window.at(at + 1)?, window.at(at + 2)?) {
            // U+FEFF, U+FE00-FE0F; U+FF01-FF5E are the full-width forms of ASCII.
            (Some(0xBB), Some(0xBF)) | (Some(0xB8), Some(0x80..=0x8F)) => gone(3),
            (Some(0xBC), Some(c @ 0x81..=0xBF)) => stands(3, u32::from(c) - 0x81 + 0x21),
            (Some(0xBD), Some(c @ 0x80..=0x9E)) => stands(3, u32::from(c) - 0x80 + 0x60),
            _ => Ok(None),
        },
        b'%' => match number(window, at + 1, 2)? {
            Some(value) => stands(3, value),
            None => Ok(None),
        },
        b'&' => entity(window, at),
        b'\\' => {
            let slashes = window.run(at, &ByteSet::of(b"\\"), 8)?;
            let letter = window.at(slashes)?;
            let len = slashes - at;
            let (digits, from) = match letter {
                Some(b'u') if window.at(slashes + 1)? == Some(b'{') => {
                    let end = window.run(slashes + 2, &crate::class::HEX, 6)?;
                    if window.at(end)? != Some(b'}') || end == slashes + 2 {
                        return Ok(None);
                    }
                    let value = number(window, slashes + 2, end - slashes - 2)?.unwrap_or(0);
                    return stands(len + end + 2 - slashes - 1, value);
                }
                Some(b'u') => (4, slashes + 1),
                Some(b'U') => (8, slashes + 1),
                Some(b'x') => (2, slashes + 1),
                _ => return Ok(None),
            };
            match number(window, from, digits)? {
                Some(0x1b) => terminal(window, at, len + 1 + digits),
                Some(0x200B..=0x200F | 0x2060..=0x206F | 0xFEFF | 0xAD) => gone(len + 1 + digits),
                Some(value @ 0xFF01..=0xFF5E) => stands(len + 1 + digits, value - 0xFF01 + 0x21),
                // Quotes and backslashes stay as they are: they are the text's structure.
                Some(0x22 | 0x5c) | None => Ok(None),
                Some(value) => stands(len + 1 + digits, value),
            }
        }
        _ => Ok(None),
    }
}

/// Whether the sign of `len` bytes at `at` stands between the groups of a number or an account: a digit and more.
fn grouped(window: Window<'_>, at: usize, len: usize) -> Look<bool> {
    Ok(window.before(at).is_some_and(|b| b.is_ascii_alphanumeric())
        && window.at(at + len)?.is_some_and(|b| b.is_ascii_digit() || b.is_ascii_uppercase()))
}

/// A terminal's control sequence (ECMA-48 section 5.4), or an operating system command such as a link.
fn terminal(window: Window<'_>, at: usize, escape: usize) -> Look<Option<Edit>> {
    let open = at + escape;
    match window.at(open)? {
        Some(b'[') => {
            let end = window.run(open + 1, &ByteSet::of(b"0123456789;:<=>? !\"#$%&'()*+,-./"), 32)?;
            Ok(window
                .at(end)?
                .filter(|b| (0x40..0x7f).contains(b))
                .map(|_| Edit { len: end + 1 - at, byte: None }))
        }
        Some(b']') => {
            let end = window.run(open + 1, &ByteSet::of(b"\x07\x1b\n").complement(), 512)?;
            match window.at(end)? {
                Some(7) => Ok(Some(Edit { len: end + 1 - at, byte: None })),
                Some(0x1b) => Ok(Some(Edit { len: end + 2 - at, byte: None })),
                _ => Ok(None),
            }
        }
        _ => Ok(None),
    }
}

/// A character reference of HTML.
fn entity(window: Window<'_>, at: usize) -> Look<Option<Edit>> {
    let named: [(&[u8], u8); 6] = [
        (b"&amp;", b'&'),
        (b"&lt;", b'<'),
        (b"&gt;", b'>'),
        (b"&apos;", b'\''),
        (b"&lowbar;", b'_'),
        (b"&dash;", b'-'),
    ];
    if window.at(at + 1)? != Some(b'#') {
        for (name, byte) in named {
            if window.starts_with(at, name)? {
                return Ok(Some(Edit { len: name.len(), byte: Some(byte) }));
            }
        }
        return Ok(None);
    }
    let hex = window.at(at + 2)?.is_some_and(|b| b == b'x' || b == b'X');
    let from = at + 2 + usize::from(hex);
    let set = if hex { crate::class::HEX } else { crate::class::DIGIT };
    let end = window.run(from, &set, 7)?;
    if end == from {
        return Ok(None);
    }
    let value = window.text[from..end]
        .iter()
        .fold(0u32, |n, &b| n * if hex { 16 } else { 10 } + char::from(b).to_digit(16).unwrap_or(0));
    let len = end - at + usize::from(window.at(end)? == Some(b';'));
    Ok(u8::try_from(value)
        .ok()
        .filter(|b| (0x20..0x7f).contains(b))
        .map(|byte| Edit { len, byte: Some(byte) }))
}

/// The hexadecimal number of exactly `digits` digits at `at`.
fn number(window: Window<'_>, at: usize, digits: usize) -> Look<Option<u32>> {
    let end = window.run(at, &crate::class::HEX, digits)?;
    if end - at < digits {
        return Ok(None);
    }
    Ok(Some(window.text[at..end].iter().fold(0, |n, &b| n << 4 | char::from(b).to_digit(16).unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(text: &str) -> String {
        String::from_utf8(write(text.as_bytes()).0).expect("stays UTF-8")
    }

    #[test]
    fn signs_are_read() {
        for (text, plain) in [
            ("gh\u{200b}p_", "ghp_"),
            ("\u{1b}[1;31mghp_\u{1b}[0mx", "ghp_x"),
            ("sk%2Dant", "sk-ant"),
            (r"sk\u002dant", "sk-ant"),
            (r"sk\\u002dant", "sk-ant"),
            (r"sk\x2dant", "sk-ant"),
            ("sk&#45;ant&#x2d;a", "sk-ant-a"),
            ("ｓｋ－ａ", "sk-a"),
            (r"\u001b[31mred", "red"),
            ("100% of 5%zz & co", "100% of 5%zz & co"),
            ("日本語", "日本語"),
        ] {
            assert_eq!(view(text), plain, "{text}");
        }
    }

    #[test]
    fn places_are_laid_back() {
        let text = "ab%2Dcd\u{200b}ef";
        let (v, steps) = write(text.as_bytes());
        assert_eq!(v, b"ab-cdef");
        for (i, want) in [(0, 0), (2, 2), (3, 5), (5, 10), (6, 11)] {
            assert_eq!(source(&steps, i), want, "{i}");
        }
        assert_eq!(source(&steps, 2) + last_len(&steps, 2), 5);
    }
}
