//! Personal data by form and checksum: cards, SSN, IBAN; e-mail, telephone, IP and MAC addresses when asked for.

use std::net::Ipv6Addr;

use crate::checks;
use crate::class::{ALNUM, ALPHA, ByteSet, DIGIT, HEX};
use crate::engine::Scan;
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
const SEPARATOR: ByteSet = ByteSet::of(b" -");

fn verify(name: &str, text: &[u8]) -> bool {
    checks::find(name).is_some_and(|check| (check.verify)(text))
}

/// Words before a number of nine digits that say what else it is.
const OTHERS: &[&str] =
    &["phone", "fax", "tel", "mobile", "part", "order", "invoice", "sku", "serial", "model", "ticket"];

/// Whether the words of `before`, as they stand in prose and in names of any case, say that a number is no SSN.
fn is_other(before: &[u8]) -> bool {
    let mut other = false;
    for run in before.split(|b| !b.is_ascii_alphanumeric()) {
        // Letters and digits together are a token, where words stand by chance.
        if !run.iter().all(u8::is_ascii_alphabetic) {
            continue;
        }
        for word in run.chunk_by(|a, b| !(a.is_ascii_lowercase() && b.is_ascii_uppercase())) {
            let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
            if is("ssn") || is("social") {
                return false;
            }
            other |= OTHERS.iter().any(|name| is(name));
        }
    }
    other
}

/// Whether a number that begins at `at` is part of something longer.
fn glued_before(window: Window<'_>, at: usize) -> bool {
    match window.before(at) {
        Some(b) if b.is_ascii_alphanumeric() => crate::token::escape_len(window, at - 1) == 0,
        Some(b'_' | b'.' | b'-' | b'/' | b'+') => true,
        _ => false,
    }
}

fn glued_after(window: Window<'_>, end: usize) -> Look<bool> {
    Ok(match window.at(end)? {
        Some(b'-' | b'.' | b'_') => window.at(end + 1)?.is_some_and(|b| b.is_ascii_alphanumeric()),
        Some(b) => b.is_ascii_alphanumeric(),
        None => false,
    })
}

impl Scan<'_, '_> {
    /// `ddd-dd-dddd` at `at`.
    pub(crate) fn ssn(&mut self, at: usize) -> Look<()> {
        let Some(rule) = self.engine.parsers.ssn else { return Ok(()) };
        let end = at + 11;
        if !glued_before(self.window, at)
            && !glued_after(self.window, end)?
            && verify("ssn", &self.window.text[at..end])
            && !is_other(self.window.back(at, 24))
        {
            self.push(rule, rank::FORM, at, end, 0);
        }
        Ok(())
    }

    /// The name of a social security number ends at `end`: the number, which needs no dashes there.
    pub(crate) fn named_ssn(&mut self, end: usize) -> Look<()> {
        let Some(rule) = self.engine.parsers.ssn else { return Ok(()) };
        let window = self.window;
        let start = window.run(end, &ByteSet::of(b" \t\"'\\:=#"), 8)?;
        let stop = window.run(start, &DIGIT.or(ByteSet::of(b" -.")), 12)?;
        let stop = stop - ByteSet::of(b" -.").run_back(&window.text[start..stop]);
        let groups: Vec<usize> =
            window.text[start..stop].split(|b| !b.is_ascii_digit()).map(<[u8]>::len).collect();
        if start > end
            && (groups == [9] || groups == [3, 2, 4])
            && verify("ssn", &window.text[start..stop])
            && !glued_after(window, stop)?
        {
            self.push(rule, rank::FORM, start, stop, 0);
        }
        Ok(())
    }

    /// Many digits at `at`, perhaps in groups.
    pub(crate) fn card(&mut self, at: usize) -> Look<()> {
        let Some(rule) = self.engine.parsers.card else { return Ok(()) };
        let window = self.window;
        if glued_before(window, at) {
            return Ok(());
        }
        let mut digits = [0u8; 19];
        let mut count = 0;
        // Where each possible number ends: after a group, or after the digits.
        let mut ends = [(0usize, 0usize); 8];
        let mut marks = 0;
        let mut here = at;
        let mut separator = None;
        loop {
            let end = window.run(here, &DIGIT, 20)?;
            if end == here || count + (end - here) > digits.len() {
                break;
            }
            digits[count..count + (end - here)].copy_from_slice(&window.text[here..end]);
            count += end - here;
            if marks < ends.len() {
                ends[marks] = (end, count);
                marks += 1;
            }
            match window.at(end)? {
                // Dots stand in versions and fractions: only groups of four are a card's.
                Some(b'.')
                    if separator.is_none_or(|s| s == b'.') && self.engine.wanted.words && end - here == 4 =>
                {
                    separator = Some(b'.');
                    here = end + 1;
                }
                Some(b) if SEPARATOR.has(b) && separator.is_none_or(|s| s == b) => {
                    separator = Some(b);
                    here = end + 1;
                }
                _ => break,
            }
        }
        for &(end, count) in ends[..marks].iter().rev() {
            let number = &digits[..count];
            // Long constants pass the checksum once in ten times: more than 16 digits in one count only when asked for.
            let lengths = if self.engine.wanted.words {
                12..=19
            } else {
                13..=if separator.is_some() { 19 } else { 16 }
            };
            if lengths.contains(&count)
                && is_card(number)
                && !glued_after(window, end)?
                && verify("luhn", number)
            {
                self.push(rule, rank::FORM, at, end, 0);
                break;
            }
        }
        Ok(())
    }

    /// Two letters and two digits begin an IBAN, in groups or in one.
    pub(crate) fn iban(&mut self, at: usize) -> Look<()> {
        let Some(rule) = self.engine.parsers.iban else { return Ok(()) };
        let window = self.window;
        if glued_before(window, at) {
            return Ok(());
        }
        let mut ends = vec![];
        let mut here = at;
        while ends.len() < 12 && here - at < 48 {
            let end = window.run(here, &ALNUM, 36)?;
            if end == here {
                break;
            }
            ends.push(end);
            match window.at(end)? {
                Some(b' ' | b'-') => here = end + 1,
                _ => break,
            }
        }
        for &end in ends.iter().rev() {
            let text = &window.text[at..end];
            if text.len() >= 15 && verify("iban", text) && !glued_after(window, end)? {
                self.push(rule, rank::FORM, at, end, 0);
                break;
            }
        }
        Ok(())
    }

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

/// Whether the first digits and the length are those of a card network (ISO/IEC 7812).
fn is_card(number: &[u8]) -> bool {
    let head = |n: usize| number[..n].iter().fold(0u32, |x, b| x * 10 + u32::from(b - b'0'));
    let len = number.len();
    match head(4) {
        // Visa; Mastercard, Troy; American Express; Diners Club
        4000..=4999 => matches!(len, 13 | 16 | 18 | 19),
        5100..=5599 | 2221..=2720 | 9792 => len == 16,
        3400..=3499 | 3700..=3799 | 1800 | 2131 | 2100 => len == 15,
        3000..=3059 | 3095 | 3600..=3699 | 3800..=3999 => (14..=19).contains(&len),
        // JCB, Discover, UnionPay, RuPay, Mir
        3500..=3599 | 6011 | 6200..=6299 | 6440..=6599 | 8100..=8171 | 2200..=2204 => {
            (16..=19).contains(&len)
        }
        // Maestro and its like
        5000..=5099 | 5600..=5899 | 6000..=6999 => (12..=19).contains(&len),
        _ => false,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_say_what_they_are() {
        for text in
            ["phone ", "Part no ", "part number: ", "invoice #", "SKU: ", "homePhone=", "PART_NO ", "tel."]
        {
            assert!(is_other(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "ssn ",
            "id ",
            "phone 1, SSN: ",
            "patient ",
            "x9Fax8 ",
            "aFaXzz ",
            "border ",
            "order: SocialSecurity ",
        ] {
            assert!(!is_other(text.as_bytes()), "{text}");
        }
    }

    /// What of `text` is found with every rule for personal data.
    fn found(text: &str) -> Vec<&str> {
        let policy = crate::Policy { pii: crate::Pii::All, ..crate::Policy::default() };
        let detector = crate::Detector::new(&policy).unwrap_or_else(|e| panic!("{e}"));
        detector.scan(text.as_bytes()).iter().map(|m| &text[m.start..m.end]).collect()
    }

    #[test]
    fn addresses_in_the_ways_they_are_written() {
        for address in [
            "::ffff:192.0.2.128",
            "2001:db8::",
            "64:ff9b::192.0.2.33",
            "fd12:3456:789a:1::1",
            "203.0.113.77",
            "josé@example.test",
            "bob@bücher.example",
            "\"john doe\"@example.test",
            "1-800-555-0199",
            "415.555.2671",
            "001 415 555 2671",
        ] {
            assert_eq!(found(&format!("x {address} y")), [address]);
            assert_eq!(found(&format!("client={address}, y")), [address]);
        }
        for text in [
            "abc::def::ghi",
            "cafe::babe::object",
            "face::beef()",
            "version 1.2.3.4 of x",
            "section 1.2.3.4",
            "git@github.test:a/b.git",
            "icon@2x.png",
            "id 123-45-67890",
            "联系我@例",
        ] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }

    #[test]
    fn numbers_in_the_ways_they_are_grouped() {
        let complete = |name: &str, digits: &str| {
            let mut number = digits.as_bytes().to_vec();
            (checks::find(name).expect("is there").complete)(&mut number);
            String::from_utf8(number).expect("digits")
        };
        let iban = complete("iban", "DE00123456781234567890");
        let card = complete("luhn", "4357267937980718");
        let groups = |number: &str, sign: &str| {
            let parts: Vec<&str> =
                number.as_bytes().chunks(4).filter_map(|c| std::str::from_utf8(c).ok()).collect();
            parts.join(sign)
        };
        for number in [&iban, &card] {
            for sign in ["", " ", "-", "\u{a0}", "\u{202f}"] {
                let written = groups(number, sign);
                assert_eq!(found(&format!("no {written}, y")), [written.as_str()]);
            }
        }
        let dotted = groups(&card, ".");
        assert_eq!(found(&format!("no {dotted} y")), [dotted.as_str()]);
        let ssn = complete("ssn", "512345678");
        let named = [
            format!("\"ssn\":\"{ssn}\""),
            format!("SSN: {} {} {}", &ssn[..3], &ssn[3..5], &ssn[5..]),
            format!("socialSecurityNumber={ssn}"),
        ];
        for text in &named {
            assert_eq!(found(text).len(), 1, "{text}");
        }
        assert!(found("ssn: 000123456, class_ssn 1234").is_empty());
    }
}
