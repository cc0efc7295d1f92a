//! Personal numbers by form and checksum: cards, SSN, IBAN.

use crate::checks;
use crate::class::{ALNUM, ByteSet, DIGIT};
use crate::engine::Scan;
use crate::rule::rank;
use crate::window::{Look, Window};

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
pub(crate) fn glued_before(window: Window<'_>, at: usize) -> bool {
    match window.before(at) {
        Some(b) if b.is_ascii_alphanumeric() => crate::token::escape_len(window, at - 1) == 0,
        Some(b'_' | b'.' | b'-' | b'/' | b'+') => true,
        _ => false,
    }
}

pub(crate) fn glued_after(window: Window<'_>, end: usize) -> Look<bool> {
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
