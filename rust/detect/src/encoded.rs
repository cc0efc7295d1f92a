//! Texts inside base64 and hex: opened, scanned, and taken out whole when they hold something.

use crate::class::{BASE64, ByteSet, HEX};
use crate::engine::{Candidate, Scan};
use crate::window::{Look, Window};

/// The longest encoded text that is opened. Data beyond it are files, not credentials.
const MAX: usize = 16 * 1024;
/// Shorter texts cannot hold a token.
const MIN: usize = 20;

impl Scan<'_, '_> {
    /// The run at `start` may be an encoded text.
    #[inline(never)]
    pub(crate) fn encoded(&mut self, start: usize, end: usize) -> Look<()> {
        let window = self.window;
        let text = window.text;
        if end - start >= 32 && hex_text(&text[start..start + 12]) {
            let stop = window.run(start, &HEX, MAX)?;
            if let Some(plain) = hex(&text[start..stop - (stop - start) % 2]) {
                self.open(start, stop, &plain);
            }
            return Ok(());
        }
        // The text may have begun before the run, with `+` or `/`.
        let alphabet = BASE64.or(ByteSet::of(b"-_"));
        let mut from = start;
        if window.before(start).is_some_and(|b| b == b'+' || b == b'/') {
            from -= alphabet.run_back(window.back(start, 64));
        }
        let wide = is_wide(&text[from..end]);
        if !wide && !is_text(&text[from..end]) {
            return Ok(());
        }
        let stop = window.run(from, &alphabet, MAX)?;
        if stop - from < MIN {
            return Ok(());
        }
        let lines = lines(window, from, stop, &alphabet)?;
        let stop = lines.last().map_or(stop, |l| l.1);
        let padded = window.run(stop, &ByteSet::of(b"="), 2)?;
        let joined: Vec<u8> = lines.iter().flat_map(|l| &text[l.0..l.1]).copied().collect();
        let Some(bytes) = bytes(&joined) else { return Ok(()) };
        if wide {
            // UTF-16, of which only ASCII is of interest.
            let plain: Vec<u8> = bytes.chunks_exact(2).map(|c| if c[1] == 0 { c[0] } else { b'?' }).collect();
            self.open(from, padded, &plain);
        } else if let Some(plain) = readable(bytes) {
            self.open(from, padded, &plain);
        }
        Ok(())
    }

    /// Scans what an encoded text says; if it holds something, the whole goes.
    fn open(&mut self, start: usize, end: usize, plain: &[u8]) {
        let mut inner: Vec<Candidate> = vec![];
        self.engine.scan(Window::inner(plain), 0, self.depth + 1, &mut inner);
        if let Some(best) = inner.iter().max_by_key(|c| c.rank) {
            self.push(best.rule, best.rank, start, end, 0);
        }
    }
}

/// The lines of a wrapped text, of which `from..stop` is the first: the next ones are as long, but for the last.
fn lines(window: Window<'_>, from: usize, stop: usize, alphabet: &ByteSet) -> Look<Vec<(usize, usize)>> {
    let mut lines = vec![(from, stop)];
    let width = stop - from;
    let mut end = stop;
    // A first line has whole groups of four.
    while width >= LINE && width.is_multiple_of(4) && end - from < MAX {
        let carriage = usize::from(window.at(end)? == Some(b'\r'));
        if window.at(end + carriage)? != Some(b'\n') {
            break;
        }
        let start = window.run(end + carriage + 1, &ByteSet::of(b" \t>|"), 64)?;
        let next = window.run(start, alphabet, width + 1)?;
        let len = next - start;
        // What goes on in words is another text.
        if len == 0
            || len > width
            || len < width && window.at(next)?.is_some_and(|b| !matches!(b, b'=' | b'\n' | b'\r' | b'"'))
        {
            break;
        }
        lines.push((start, next));
        end = next;
        if len < width {
            break;
        }
    }
    Ok(lines)
}

/// The shortest line at which base64 is wrapped.
const LINE: usize = 40;

/// Whether the first characters decode to ASCII in UTF-16, low bytes first.
fn is_wide(run: &[u8]) -> bool {
    run.len() >= RUN
        && matches!(run[2], b'A' | b'B')
        && bytes(&run[..16]).is_some_and(|b| b.chunks_exact(2).all(|c| is_plain(c[0]) && c[1] == 0))
}

/// Whether twelve hexadecimal digits are six printable bytes.
fn hex_text(digits: &[u8]) -> bool {
    digits.chunks_exact(2).all(|p| matches!(p, [b'2'..=b'7', b] if HEX.has(*b)) && p != b"7f" && p != b"7F")
}

/// Whether the first twelve characters decode to printable text: nine bytes that data at random rarely give.
fn is_text(run: &[u8]) -> bool {
    run.len() >= RUN
        && run[..12].chunks_exact(4).all(|four| {
            let bits = four.iter().try_fold(0u32, |bits, &b| Some(bits << 6 | u32::from(sextet(b)?)));
            bits.is_some_and(|bits| bits.to_be_bytes()[1..].iter().all(|&b| is_plain(b)))
        })
}

const RUN: usize = 16;

fn is_plain(b: u8) -> bool {
    (0x20..0x7f).contains(&b) || matches!(b, b'\n' | b'\r' | b'\t')
}

fn sextet(b: u8) -> Option<u8> {
    Some(match b {
        b'A'..=b'Z' => b - b'A',
        b'a'..=b'z' => b - b'a' + 26,
        b'0'..=b'9' => b - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

/// Decodes standard or URL-safe base64 (RFC 4648), padding optional; `None` if it is not text in the main.
pub(crate) fn base64(text: &[u8]) -> Option<Vec<u8>> {
    readable(bytes(text)?)
}

/// Decodes base64.
fn bytes(text: &[u8]) -> Option<Vec<u8>> {
    let text = &text[..text.len() - ByteSet::of(b"=").run_back(text)];
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut have) = (0u32, 0);
    for &b in text {
        bits = bits << 6 | u32::from(sextet(b)?);
        have += 6;
        if have >= 8 {
            have -= 8;
            out.push((bits >> have) as u8);
        }
    }
    Some(out)
}

fn hex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
    readable(
        text.chunks_exact(2).map(|p| Some(digit(p[0])? << 4 | digit(p[1])?)).collect::<Option<Vec<u8>>>()?,
    )
}

/// The bytes, if nine in ten are printable or parts of UTF-8 characters.
fn readable(bytes: Vec<u8>) -> Option<Vec<u8>> {
    let odd = bytes.iter().filter(|&&b| !is_plain(b) && b < 0x80).count();
    (odd * 10 <= bytes.len()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes() {
        assert_eq!(base64(b"aGVsbG8gd29ybGQ=").as_deref(), Some(&b"hello world"[..]));
        assert_eq!(base64(b"aGVsbG8gd29ybGQ").as_deref(), Some(&b"hello world"[..]));
        assert!(base64(b"aGVs bG8").is_none());
        assert!(is_text(b"aGVsbG8gd29ybGQ=") && !is_text(b"iVBORw0KGgoAAAANSUhEUg"));
        assert!(hex_text(b"68656c6c6f20") && !hex_text(b"00656c6c6f20"));
        assert_eq!(hex(b"68656c6c6f").as_deref(), Some(&b"hello"[..]));
    }
}
