//! Addresses of persons and machines, when asked for: e-mail, telephone, IP and MAC.

use std::net::Ipv6Addr;

use crate::class::{ALNUM, ALPHA, ByteSet, DIGIT, HEX};
use crate::engine::Scan;
use crate::pii::{glued_after, glued_before};
use crate::rule::rank;
use crate::window::{Look, Window};

/// Letters with marks, as Latin-1 and its neighbours have: their bytes.
const LATIN: ByteSet = {
    let mut bytes = [0; 67];
    let mut i = 0;
    while i < 64 {
        bytes[i] = 0x80 + i as u8;
        i += 1;
    }
    bytes[64] = 0xC3;
    bytes[65] = 0xC4;
    bytes[66] = 0xC5;
    ByteSet::of(&bytes)
};
impl Scan<'_, '_> {
    /// `@` at `at`: an address (RFC 5322 dot-atom, RFC 1035 names).
    pub(crate) fn email(&mut self, at: usize) -> Look<()> {
        let Some(rule) = self.engine.parsers.email else { return Ok(()) };
        let window = self.window;
        let local = ALNUM.or(LATIN).or(ByteSet::of(b"._%+'-"));
        let mut start = at - local.run_back(window.back(at, 64));
        start += crate::token::escape_len(window, start);
        // Bytes of a character that began before are of another script.
        while start < at && matches!(window.text[start], b'.' | b'\'' | b'-' | b'%' | 0x80..=0xBF) {
            start += 1;
        }
        if start == at && window.before(at) == Some(b'"') {
            start = quoted_local(window, at).unwrap_or(at);
        }
        let mut end = window.run(at + 1, &ALNUM.or(LATIN).or(ByteSet::of(b".-")), 255)?;
        while end > at && matches!(window.text[end - 1], b'.' | b'-') {
            end -= 1;
        }
        let domain = &window.text[at + 1..end];
        let mut labels = domain.rsplit(|&b| b == b'.');
        let top = labels.next().unwrap_or_default();
        let named = top.len() >= 2 && top.iter().all(u8::is_ascii_alphabetic) || top.starts_with(b"xn--");
        let mut rest = labels.peekable();
        // `git@host:path`, and the pictures for screens of several densities: `icon@2x.png`.
        let remote = &window.text[start..at] == b"git" && window.at(end)? == Some(b':');
        let image = domain.len() > 3 && domain[0].is_ascii_digit() && &domain[1..3] == b"x.";
        if start < at && named && !remote && !image && rest.peek().is_some() && rest.all(|l| !l.is_empty()) {
            self.push(rule, rank::FORM, start, end, 0);
        }
        Ok(())
    }

    /// A word begins at `at`: addresses and numbers that have no sign of their own.
    pub(crate) fn word(&mut self, at: usize) -> Look<()> {
        let window = self.window;
        let engine = self.engine;
        for &n in &engine.index.words {
            let rule = &engine.index.rules[usize::from(n)];
            if !glued_before(window, at) && self.shape(rule, at, true)? {
                return Ok(());
            }
        }
        let first = window.text[at];
        if first.is_ascii_digit() && window.run(at, &DIGIT, 5)? == at + 4 && window.at(at + 4)? == Some(b'.')
        {
            self.card(at)?;
        }
        // `::ffff:192.0.2.1`
        if window.back(at, 2) == b"::"
            && window.before(at - 2).is_none_or(|b| !b.is_ascii_alphanumeric() && b != b':')
            && let Some(rule) = engine.parsers.ip
            && let Some(end) = ip(window, at - 2)?
        {
            self.push(rule, rank::FORM, at - 2, end, 0);
            return Ok(());
        }
        if HEX.has(first) && window.before(at) != Some(b':') {
            if let Some(rule) = engine.parsers.mac
                && let Some(end) = mac(window, at)?
            {
                self.push(rule, rank::FORM, at, end, 0);
                return Ok(());
            }
            if let Some(rule) = engine.parsers.ip
                && let Some(end) = ip(window, at)?
            {
                self.push(rule, rank::FORM, at, end, 0);
                return Ok(());
            }
        } else if first.is_ascii_digit()
            && let Some(rule) = engine.parsers.ip
            && let Some(end) = ip(window, at)?
            && !window.text[at..end].contains(&b':')
        {
            // `client:192.0.2.1`
            self.push(rule, rank::FORM, at, end, 0);
            return Ok(());
        }
        if first.is_ascii_digit()
            && let Some(rule) = engine.parsers.phone
            && let Some((start, end)) = phone(window, at)?
        {
            self.push(rule, rank::FORM, start, end, 0);
        }
        Ok(())
    }
}

fn mac(window: Window<'_>, at: usize) -> Look<Option<usize>> {
    let mut here = at;
    let mut sign = None;
    for pair in 0..6 {
        if window.run(here, &HEX, 3)? != here + 2 {
            return Ok(None);
        }
        here += 2;
        if pair < 5 {
            match window.at(here)? {
                Some(b @ (b':' | b'-')) if sign.is_none_or(|s| s == b) => sign = Some(b),
                _ => return Ok(None),
            }
            here += 1;
        }
    }
    Ok((!window.at(here)?.is_some_and(|b| b == b':' || b == b'-' || b.is_ascii_alphanumeric()))
        .then_some(here))
}

fn ip(window: Window<'_>, at: usize) -> Look<Option<usize>> {
    let end = window.run(at, &HEX.or(ByteSet::of(b":.")), 64)?;
    let text = &window.text[at..end];
    let mut text = &text[..text.len() - ByteSet::of(b".").run_back(text)];
    while text.ends_with(b":") && (!text.ends_with(b"::") || text.ends_with(b":::")) {
        text = &text[..text.len() - 1];
    }
    let end = at + text.len();
    if glued_before(window, at) && window.before(at) != Some(b'/') {
        return Ok(None);
    }
    let Ok(text) = std::str::from_utf8(text) else { return Ok(None) };
    let six = text.bytes().filter(|&b| b == b':').count() >= 2;
    if six {
        let free = !window.at(end)?.is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_');
        // Of two words with `::` between them, as code has, the first must be that of a network in use.
        let groups: Vec<&str> = text.split(':').filter(|g| !g.is_empty()).collect();
        let network = groups.len() > 2
            || groups.iter().any(|g| g.contains('.'))
            || groups.first().is_some_and(|g| g.len() == 4 && g.starts_with(['2', '3', 'f', 'F']));
        let digits = text.bytes().any(|b| b.is_ascii_digit());
        return Ok(
            (free && digits && network && text.len() > 5 && text.parse::<Ipv6Addr>().is_ok()).then_some(end)
        );
    }
    // Four numbers below 256; a port may follow.
    let text = text.split(':').next().unwrap_or("");
    let end = at + text.len();
    let parts: Vec<&str> = text.split('.').collect();
    let four = parts.len() == 4
        && parts
            .iter()
            .all(|p| p.len() <= 3 && p.bytes().all(|b| b.is_ascii_digit()) && p.parse::<u8>().is_ok());
    if !four || is_version(window.back(at, 16)) {
        return Ok(None);
    }
    let free = match window.at(end)? {
        Some(b'.') => !window.at(end + 1)?.is_some_and(|b| b.is_ascii_digit()),
        Some(b) => !b.is_ascii_alphanumeric(),
        None => true,
    };
    Ok(free.then_some(end))
}

/// Whether the words before four numbers say that they are a version or a chapter.
fn is_version(before: &[u8]) -> bool {
    let before = &before[..before.len() - ByteSet::of(b" :=\"'").run_back(before)];
    let word = &before[before.len() - ALPHA.run_back(before)..];
    ["version", "ver", "section", "chapter", "release", "build"]
        .iter()
        .any(|w| word.eq_ignore_ascii_case(w.as_bytes()))
}

/// Where the local part in quotes begins that ends before `at`: `"john doe"@example.com`.
fn quoted_local(window: Window<'_>, at: usize) -> Option<usize> {
    let before = window.back(at - 1, 64);
    let open = memchr::memrchr(b'"', before)?;
    let inner = &before[open + 1..];
    let plain = inner.iter().all(|&b| ALNUM.has(b) || matches!(b, b' ' | b'.' | b'_' | b'-'));
    (!inner.is_empty() && plain && inner.len() < 40).then(|| at - 1 - before.len() + open)
}

/// A telephone number: international (E.164), or national with the separators that people write.
fn phone(window: Window<'_>, at: usize) -> Look<Option<(usize, usize)>> {
    let mut start = at;
    let signs = ByteSet::of(b"(+");
    start -= signs.run_back(window.back(at, 3));
    if start == at && glued_before(window, at)
        || window.before(start).is_some_and(|b| b.is_ascii_alphanumeric())
    {
        return Ok(None);
    }
    let plus = window.text[start..at].contains(&b'+');
    let mut end = at;
    let mut digits = 0;
    let mut groups = 0;
    let mut odd = false;
    loop {
        let stop = window.run(end, &DIGIT, 16)?;
        if stop == end {
            break;
        }
        digits += stop - end;
        groups += 1;
        odd |= stop - end > 6 && groups > 1 && !plus;
        end = stop;
        let next = window.run(end, &ByteSet::of(b" -.()"), 3)?;
        if next == end || !window.at(next)?.is_some_and(|b| b.is_ascii_digit()) {
            break;
        }
        end = next;
    }
    let text = &window.text[start..end];
    let form = if plus {
        (8..=15).contains(&digits)
    } else {
        let area = text.starts_with(b"(") && groups >= 2 && (7..=11).contains(&digits);
        // 415-555-2671, 1-800-555-0199
        let parts = || text.split(|b| *b == b'-').rev().map(<[u8]>::len);
        let dashed =
            parts().take(3).eq([4, 3, 3]) && (groups == 3 || groups == 4 && text[0] == b'1' && digits == 11);
        let dotted = text.split(|b| *b == b'.').map(<[u8]>::len).eq([3, 3, 4]);
        // The exit code is a plus.
        let most = if text.starts_with(b"00") { 15 } else { 11 };
        let trunk =
            text.starts_with(b"0") && groups >= 2 && (9..=most).contains(&digits) && !text.contains(&b'.');
        area || dashed || dotted || trunk
    };
    let date = groups == 3 && text.len() == 10 && digits == 8;
    Ok((form && !date && !odd && !glued_after(window, end)?).then_some((start, end)))
}
