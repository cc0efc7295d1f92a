//! Private key blocks: PEM (RFC 7468), OpenSSH, PGP (RFC 9580), `PuTTY`; whole, cut short, escaped, in quoted pieces.

use crate::class::{BASE64, ByteSet, SPACE, UPPER};
use crate::engine::Scan;
use crate::rule::rank;
use crate::window::Look;

/// What may stand between BEGIN and END: base64, headers such as `Proc-Type: 4,ENCRYPTED`, blanks, escapes.
const BODY: ByteSet = BASE64.or(SPACE).or(ByteSet::of(b"=\\:,-.;_@()#|>*"));
/// The longest block. A 16,384-bit RSA key takes 13 kB.
const MAX: usize = 32 * 1024;
/// The shortest line that is taken for key material when no END follows.
const LINE: usize = 16;
/// A key in quoted pieces: how many, how long, how far apart.
const PIECES: usize = 256;
const PIECE: usize = 512;
const GAP: usize = 96;
/// How far behind its trigger a block may end. Nothing else that is found reaches as far.
pub(crate) const REACH: usize = 2 * MAX + PIECES * (PIECE + GAP) + 1024;

impl Scan<'_, '_> {
    /// Dashes begin at `at`.
    pub(crate) fn dashes(&mut self, at: usize) -> Look<()> {
        let Some(rule) = self.engine.parsers.pem else { return Ok(()) };
        let window = self.window;
        let dashes = window.run(at, &ByteSet::of(b"-"), 128)?;
        let label = dashes + 6;
        if !window.starts_with(dashes, b"BEGIN ")? {
            return Ok(());
        }
        let label_end = window.run(label, &UPPER.or(ByteSet::of(b" 0123456789")), 64)?;
        let name = &window.text[label..label_end];
        let private = memchr::memmem::find(name, b"PRIVATE KEY").is_some();
        if !private {
            return Ok(());
        }
        let start = dashes - 5;
        let mut head = window.run(label_end, &ByteSet::of(b"-"), 5)?;
        if head == label_end && window.at(head)?.is_some() {
            head = label_end;
        }
        let span = window.run(head, &BODY, MAX)?;
        if let Some(end) = crate::index::find(&window.text[head..span], b"-----END") {
            let end = head + end + 8;
            let end = window.run(end, &UPPER.or(ByteSet::of(b" 0123456789")), 64)?;
            let end = window.run(end, &ByteSet::of(b"-"), 5)?;
            self.push(rule, rank::FORM, start, end, head - start);
            return Ok(());
        }
        let end = head + material(&window.text[head..span]);
        let found = self.out.len();
        self.pieces(rule, end)?;
        // A header alone hides nothing: code has it to look for keys.
        if end > head || self.out.len() > found {
            self.push(rule, rank::FORM, start, end, head - start);
        }
        Ok(())
    }

    /// A key written as quoted lines, one after another: each piece of base64 goes, the quotes stay.
    fn pieces(&mut self, rule: u16, end: usize) -> Look<()> {
        let window = self.window;
        let between = SPACE.or(ByteSet::of(b"\\\"'`+,.nr&()"));
        let mut at = end;
        for _ in 0..PIECES {
            let gap = window.run(at, &between, GAP)?;
            // The letters n and r of an escape may be the beginning of the next piece.
            let back = BASE64.run_back(&window.text[at..gap]);
            let escape = usize::from(window.before(gap - back) == Some(b'\\'));
            let from = gap - back + escape.min(back);
            let quoted = window.text[at..from].iter().any(|b| matches!(b, b'"' | b'\'' | b'`'));
            if !quoted || from == at {
                break;
            }
            let stop = window.run(from, &BASE64.or(ByteSet::of(b"=")), PIECE)?;
            if window.starts_with(stop, b"-----END")?
                || stop - from < LINE && !window.text[from..stop].ends_with(b"=")
            {
                break;
            }
            self.push(rule, rank::FORM, from, stop, 0);
            at = stop;
        }
        Ok(())
    }

    /// A `PuTTY` key file begins; `at` is after its first name.
    pub(crate) fn putty(&mut self, at: usize) -> Look<()> {
        let Some(rule) = self.engine.parsers.pem else { return Ok(()) };
        let window = self.window;
        let body = BODY.or(ByteSet::of(b"\"'<>![]{}~`$%^&?"));
        let end = window.run(at, &body, MAX)?;
        let text = &window.text[at..end];
        let Some(lines) = crate::index::find(text, b"Private-Lines:") else { return Ok(()) };
        let from = at + lines + 14;
        let number = window.run(from, &ByteSet::of(b" 0123456789"), 8)?;
        let block = window.run(number, &BASE64.or(SPACE).or(ByteSet::of(b"=\\")), MAX)?;
        let block = match crate::index::find(&window.text[number..block], b"Private") {
            Some(mac) => number + mac,
            None => block,
        };
        let start = number + SPACE.or(ByteSet::of(b"\\")).run(&window.text[number..block]);
        let start = start + crate::token::escape_len(window, start);
        let mut stop = block - SPACE.run_back(&window.text[start..block]);
        while stop >= start + 2 && window.text[stop - 2] == b'\\' {
            stop -= 2;
        }
        if stop > start {
            self.push(rule, rank::FORM, start, stop, 0);
        }
        Ok(())
    }
}

/// How far key material goes at the beginning of `text`: headers, then lines of base64.
fn material(text: &[u8]) -> usize {
    let mut at = 0;
    let mut taken = 0;
    let line_end = ByteSet::of(b"\r\n");
    while at < text.len() {
        let skip = (SPACE.or(ByteSet::of(b"\\|>"))).run(&text[at..]);
        let mut from = at + skip;
        // `\n` and `\r` of an escaped text, at any depth.
        while from > 0
            && from < text.len()
            && text[from - 1] == b'\\'
            && matches!(text[from], b'n' | b'r' | b't')
        {
            from += 1;
            from += SPACE.or(ByteSet::of(b"\\")).run(&text[from..]);
        }
        let len = BASE64.or(ByteSet::of(b"=")).run(&text[from..]);
        let stop = from + len;
        if len == 0 {
            break;
        }
        let closes = stop == text.len() || line_end.has(text[stop]) || matches!(text[stop], b'\\' | b' ');
        if len >= LINE || closes && (text[stop - 1] == b'=' || stop == text.len()) {
            at = stop;
            taken = stop;
            continue;
        }
        // A header: `Name: value` up to the end of its line.
        let line =
            text[from..].iter().position(|&b| line_end.has(b) || b == b'\\').unwrap_or(text.len() - from);
        if memchr::memchr(b':', &text[from..from + line]).is_some() {
            at = from + line;
            continue;
        }
        break;
    }
    taken
}
