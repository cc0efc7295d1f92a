//! What makes a line matter: the words that failures, outcomes and warnings are told in.

use std::sync::LazyLock;

use aho_corasick::packed::Searcher;

/// How much a line matters, the most first. Lines that are alike but for numbers are told apart from the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    /// What the caller's patterns match, or what the rest cannot be read without.
    Asked,
    /// The last lines.
    Last,
    /// Exit codes and totals.
    Outcome,
    /// Errors.
    Error,
    /// Indented lines under those: a stack, a note.
    Under,
    /// What else stands around them.
    Near,
    /// More lines like one that was asked for, an outcome or an error.
    AskedAgain,
    ErrorAgain,
    Warning,
    Plain,
    /// More lines like a warning or a plain one.
    PlainAgain,
    Blank,
}

impl Tier {
    pub(crate) const COUNT: usize = Self::Blank as usize + 1;

    /// The tier of a line like one that was seen before.
    pub(crate) fn again(self) -> Self {
        match self {
            Self::Asked => Self::AskedAgain,
            Self::Outcome | Self::Error => Self::ErrorAgain,
            Self::Warning | Self::Plain => Self::PlainAgain,
            other => other,
        }
    }

    /// Whether what stands around such a line is worth keeping.
    pub(crate) fn has_context(self) -> bool {
        matches!(self, Self::Asked | Self::Outcome | Self::Error)
    }
}

/// Words in lower case; looked for as they are, with a capital, and in capitals, at the beginning of a word.
const WORDS: [(&str, Tier); 24] = [
    ("error", Tier::Error),
    ("exception", Tier::Error),
    ("traceback", Tier::Error),
    ("failed", Tier::Error),
    ("failure", Tier::Error),
    ("fatal", Tier::Error),
    ("panic", Tier::Error),
    ("critical", Tier::Error),
    ("severe", Tier::Error),
    ("abort", Tier::Error),
    ("denied", Tier::Error),
    ("refused", Tier::Error),
    ("timeout", Tier::Error),
    ("timed out", Tier::Error),
    ("unable to", Tier::Error),
    ("cannot ", Tier::Error),
    ("not found", Tier::Error),
    ("no such file", Tier::Error),
    ("out of memory", Tier::Error),
    ("killed", Tier::Error),
    ("caused by", Tier::Error),
    ("assert", Tier::Error),
    ("exit", Tier::Outcome),
    ("warn", Tier::Warning),
];

/// Looked for exactly so.
const EXACT: [(&str, Tier); 9] = [
    ("FAIL", Tier::Error),
    ("ERR!", Tier::Error),
    ("not ok ", Tier::Error),
    ("egmentation fault", Tier::Error),
    ("core dumped", Tier::Error),
    ("returncode", Tier::Outcome),
    ("return code", Tier::Outcome),
    ("test result:", Tier::Outcome),
    (" passed", Tier::Outcome),
];

struct Signs {
    searcher: Searcher,
    /// For each needle: its tier, and the first letter of the word that it is the rest of.
    tiers: Vec<(Tier, Option<u8>)>,
}

static SIGNS: LazyLock<Signs> = LazyLock::new(|| {
    let mut needles = vec![];
    let mut tiers = vec![];
    // Without its first letter, a word with a capital and one without are the same: few enough needles for the
    // processor to look for all at once.
    for (word, tier) in WORDS {
        for form in [word.to_owned(), word.to_ascii_uppercase()] {
            needles.push(form[1..].to_owned());
            tiers.push((tier, Some(word.as_bytes()[0])));
        }
    }
    for (word, tier) in EXACT {
        needles.push(word.to_owned());
        tiers.push((tier, None));
    }
    let searcher = Searcher::new(&needles).expect("fifty short words compile");
    Signs { searcher, tiers }
});

/// Calls `found` with every sign in `text`, a line or many, in order: where it stands, and its tier.
pub(crate) fn each(text: &[u8], mut found: impl FnMut(usize, Tier)) {
    let signs = &*SIGNS;
    for hit in signs.searcher.find_iter(text) {
        let (tier, first) = signs.tiers[hit.pattern().as_usize()];
        let start = hit.start();
        let from = start - text[..start].iter().rev().take(AROUND).take_while(|&&b| b != b'\n').count();
        let to = text.len().min(hit.end() + AROUND);
        let to = memchr::memchr(b'\n', &text[hit.end()..to]).map_or(to, |i| hit.end() + i);
        let line = &text[from..to];
        if let Some(tier) = judge(line, start - from, hit.end() - from, tier, first) {
            found(start, tier);
        }
    }
}

/// How much of a line around a sign tells what it means.
const AROUND: usize = 32;

/// What a sign says in its line.
fn judge(line: &[u8], start: usize, end: usize, tier: Tier, first: Option<u8>) -> Option<Tier> {
    if let Some(first) = first {
        let start = start.checked_sub(1)?;
        if line[start].to_ascii_lowercase() != first || !begins_word(line, start) {
            return None;
        }
        // A number of failures is an outcome.
        let counted =
            line[..start].strip_suffix(b" ").is_some_and(|l| l.last().is_some_and(u8::is_ascii_digit));
        if counted && line[start..end].eq_ignore_ascii_case(b"failed") {
            return Some(Tier::Outcome);
        }
        if is_denied(line, start, end) {
            return None;
        }
    }
    (tier != Tier::Outcome || is_outcome(line, start, end)).then_some(tier)
}

/// The best sign in a line.
pub(crate) fn sign(line: &[u8]) -> Option<Tier> {
    let mut best: Option<Tier> = None;
    each(line, |_, tier| best = Some(best.map_or(tier, |b| b.min(tier))));
    best
}

/// Whether a word begins at `at`: `ValueError` has one inside, `terror` has none.
fn begins_word(text: &[u8], at: usize) -> bool {
    let Some(&before) = at.checked_sub(1).and_then(|i| text.get(i)) else { return true };
    if text[at].is_ascii_lowercase() {
        !before.is_ascii_alphabetic()
    } else {
        !before.is_ascii_uppercase() || text.get(at + 1).is_some_and(u8::is_ascii_lowercase)
    }
}

/// Whether the text says that there was none: `0 errors`, `no error`, `errors=0`, `"error": null`.
fn is_denied(text: &[u8], start: usize, end: usize) -> bool {
    let before = text[..start].trim_ascii_end();
    let word = &before
        [before.len() - before.iter().rev().take(8).take_while(|b| b.is_ascii_alphanumeric()).count()..];
    if matches!(word, b"0" | b"no" | b"No" | b"without" | b"zero") {
        return true;
    }
    let after = &text[end..text.len().min(end + 16)];
    let plural = after.iter().take_while(|b| b.is_ascii_alphabetic()).count();
    let after = after[plural..].trim_ascii_start();
    let sign = after.iter().take_while(|b| matches!(b, b'"' | b'\'' | b'\\' | b':' | b'=' | b' ')).count();
    let value = &after[sign..];
    let none = [&b"null"[..], b"None", b"none", b"false", b"nil", b"[]", b"{}"];
    let zero = value.first() == Some(&b'0')
        && !value.get(1).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'.');
    sign > 0
        && after[..sign].iter().any(|b| matches!(b, b':' | b'='))
        && (zero || none.iter().any(|n| value.starts_with(n)))
}

/// Whether a number is told: `exit code 1`, `exited with 137`, `returncode=0`, `3 failed`.
fn is_outcome(text: &[u8], start: usize, end: usize) -> bool {
    if text[start] == b' ' {
        return start > 0 && text[start - 1].is_ascii_digit();
    }
    let after = &text[end..text.len().min(end + 24)];
    let line = &after[..memchr::memchr(b'\n', after).unwrap_or(after.len())];
    text[start..end].ends_with(b":") || line.iter().any(u8::is_ascii_digit)
}

/// What a line looks like but for its numbers: lines of one kind have one key. From its first digit on, a word is a
/// number. Eight bytes are taken at a time, from the end of the last number on.
pub(crate) fn kind(line: &[u8]) -> u64 {
    const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
    const NUMBER: u64 = 0x5BF0_3635;
    let mut key = 0u64;
    let mut mix = |word: u64| key = (key ^ word).wrapping_mul(MIX).rotate_left(29);
    let mut at = 0;
    while at < line.len() {
        let here = &line[at..line.len().min(at + 8)];
        let mut bytes = [0; 8];
        bytes[..here.len()].copy_from_slice(here);
        let word = u64::from_le_bytes(bytes);
        let plain = (first_digit(word)).min(here.len());
        if plain == 8 {
            mix(word);
            at += 8;
            continue;
        }
        if plain > 0 {
            mix(word & ((1 << (plain * 8)) - 1) | (plain as u64) << 56);
        }
        at += plain;
        let number = line[at..].iter().take_while(|b| b.is_ascii_alphanumeric()).count();
        if number > 0 {
            mix(NUMBER);
        }
        at += number;
    }
    key
}

/// Which of eight bytes is the first that is a digit; 8 if none is.
fn first_digit(word: u64) -> usize {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let apart = word ^ (EACH * 0x30);
    // The upper bit of a byte stays clear where what is left is less than ten.
    let digits = !(((apart & (EACH * 0x7F)) + EACH * 0x76) | apart) & (EACH * 0x80);
    digits.trailing_zeros() as usize / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters() {
        let best = |line: &str| sign(line.as_bytes());
        for (line, want) in [
            ("ERROR: no space", Some(Tier::Error)),
            ("ValueError: x", Some(Tier::Error)),
            ("java.lang.NullPointerException", Some(Tier::Error)),
            ("--- FAIL: TestX", Some(Tier::Error)),
            ("a mirror of terror", None),
            ("0 errors, no failures", None),
            ("errors=0, failed: 0", None),
            (r#"{"error": null}"#, None),
            (r#"{"error": "x"}"#, Some(Tier::Error)),
            ("exit code 1", Some(Tier::Outcome)),
            ("exited with status 137", Some(Tier::Outcome)),
            ("2 passed, 3 failed in 0.1s", Some(Tier::Outcome)),
            ("on exit we leave", None),
            ("test result: ok. 3 passed", Some(Tier::Outcome)),
            ("WARN disk", Some(Tier::Warning)),
            ("plain", None),
        ] {
            assert_eq!(best(line), want, "{line}");
        }
    }

    #[test]
    fn alike_but_for_numbers() {
        let same = |a: &str, b: &str| kind(a.as_bytes()) == kind(b.as_bytes());
        assert!(same("2024-01-02 10:00:00 took 12 ms", "2025-11-30 23:59:59 took 7 ms"));
        assert!(same("id 3fa9 done", "id 77 done"));
        assert!(!same("took 12 ms", "took 12 us"));
        assert!(!same("", " "));
        for text in ["", "7", "abcdefgh", "abcdefg1", "abcdefghi 1", "a1b2 c3/d4", "日本 5"] {
            for more in ["", "12345678901234567890", "1", "0x"] {
                let with = |number: &str| format!("{text} {number}{more} end of the line");
                assert!(same(&with("1"), &with("123456789")), "{text} {more}");
            }
        }
        assert_eq!((first_digit(u64::from_le_bytes(*b"abc/:9xx")), first_digit(u64::MAX)), (5, 8));
    }
}
