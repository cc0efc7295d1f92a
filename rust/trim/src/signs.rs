//! What makes a line matter: the words that failures, outcomes and warnings are told in.

use std::sync::LazyLock;

use ctxproto_redact::detect::Lexicon;

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
    /// More lines like one that was asked for.
    AskedAgain,
    /// Indented lines under those: a stack, a note.
    Under,
    /// What else stands around them.
    Near,
    /// More lines like an outcome or an error.
    ErrorAgain,
    Warning,
    Plain,
    /// More lines like a warning or a plain one.
    PlainAgain,
    Blank,
}

impl Tier {
    pub(crate) const ALL: [Self; 12] = [
        Self::Asked,
        Self::Last,
        Self::Outcome,
        Self::Error,
        Self::AskedAgain,
        Self::Under,
        Self::Near,
        Self::ErrorAgain,
        Self::Warning,
        Self::Plain,
        Self::PlainAgain,
        Self::Blank,
    ];
    pub(crate) const COUNT: usize = Self::ALL.len();

    /// The tier of a line like one that was seen before.
    pub(crate) fn again(self) -> Self {
        match self {
            Self::Asked => Self::AskedAgain,
            Self::Outcome | Self::Error => Self::ErrorAgain,
            Self::Warning | Self::Plain => Self::PlainAgain,
            other => other,
        }
    }

    /// Whether it is a sign in the line that gives it this tier.
    pub(crate) fn is_told(self) -> bool {
        matches!(self, Self::Outcome | Self::Error | Self::Warning)
    }

    /// Whether what stands around such a line is worth keeping.
    pub(crate) fn has_context(self) -> bool {
        matches!(self, Self::Asked | Self::Outcome | Self::Error)
    }
}

/// What a word must be to be a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum As {
    /// The beginning of a word: `errors`, `ValueError`.
    Start,
    /// A whole word.
    Whole,
    /// A whole word in capitals.
    Capitals,
    /// Anywhere: scripts without blanks or without capitals of ASCII.
    Anywhere,
    /// After a number: a total.
    Counted,
}

/// Words in lower case.
const WORDS: &[(As, Tier, &[&str])] = &[
    (
        As::Start,
        Tier::Error,
        &[
            "error",
            "exception",
            "traceback",
            "failed",
            "failure",
            "failing",
            "fatal",
            "panic",
            "critical",
            "severe",
            "abort",
            "denied",
            "refused",
            "rejected",
            "forbidden",
            "unauthori",
            "invalid",
            "illegal",
            "corrupt",
            "unreachable",
            "timeout",
            "timed out",
            "unable to",
            "cannot ",
            "can't ",
            "could not ",
            "couldn't ",
            "not found",
            "no such ",
            "no space left",
            "out of memory",
            "killed",
            "crash",
            "deadlock",
            "overflow",
            "segfault",
            "segmentation fault",
            "core dumped",
            "caused by",
            "assert",
            "violation",
            "expired",
            "undefined reference",
            "unexpected",
            "reset by peer",
            "broken pipe",
            "fehler",
            "fehlgeschlagen",
            "erreur",
            "echec",
            "fallo",
            "falha",
            "falhou",
            "fallito",
            "mislukt",
        ],
    ),
    (As::Whole, Tier::Error, &["fail", "fails", "err", "emerg", "not ok", "erro", "fout", "hata"]),
    (As::Capitals, Tier::Error, &["crit", "alert"]),
    (
        As::Anywhere,
        Tier::Error,
        &[
            "échec",
            "Échec",
            "échoué",
            "falló",
            "błąd",
            "Błąd",
            "ошибк",
            "Ошибк",
            "ОШИБК",
            "сбой",
            "Сбой",
            "не удалось",
            "Не удалось",
            "исключени",
            "Исключени",
            "başarısız",
            "lỗi",
            "错误",
            "錯誤",
            "失败",
            "失敗",
            "异常",
            "エラー",
            "例外",
            "오류",
            "실패",
        ],
    ),
    (
        As::Start,
        Tier::Outcome,
        &["exit", "returncode", "return code", "test result:", "elapsed", "finished in "],
    ),
    (As::Whole, Tier::Outcome, &["total", "totals"]),
    (
        As::Counted,
        Tier::Outcome,
        &["passed", "failed", "skipped", "errors", "failures", "warnings", "tests", "files changed"],
    ),
    (As::Start, Tier::Warning, &["warn"]),
];

struct Signs {
    lexicon: Lexicon,
    /// For each word what it must be, its tier and its length.
    words: Vec<(As, Tier, usize)>,
}

static SIGNS: LazyLock<Signs> = LazyLock::new(|| {
    let each = || WORDS.iter().flat_map(|&(kind, tier, words)| words.iter().map(move |w| (kind, tier, *w)));
    Signs {
        lexicon: Lexicon::new(each().map(|(.., word)| word)),
        words: each().map(|(kind, tier, word)| (kind, tier, word.len())).collect(),
    }
});

/// Calls `found` with every sign in `text`, a line or many, in order: where it stands, and its tier.
pub(crate) fn each(text: &[u8], mut found: impl FnMut(usize, Tier)) {
    let signs = &*SIGNS;
    signs.lexicon.each(text, |start, word| {
        let (kind, tier, len) = signs.words[usize::from(word)];
        let end = start + len;
        // Most of what looks like a sign is a part of another word.
        if kind != As::Anywhere && !begins_word(text, start) {
            return;
        }
        let from = start - text[..start].iter().rev().take(AROUND).take_while(|&&b| b != b'\n').count();
        let to = text.len().min(end + AROUND);
        let to = memchr::memchr(b'\n', &text[end..to]).map_or(to, |i| end + i);
        if says(&text[from..to], start - from, end - from, kind, tier) {
            found(start, tier);
        }
    });
}

/// How much of a line around a sign tells what it means.
const AROUND: usize = 32;

/// Whether a word is a sign in its line.
fn says(line: &[u8], start: usize, end: usize, kind: As, tier: Tier) -> bool {
    let ends = !line.get(end).is_some_and(u8::is_ascii_alphanumeric);
    match kind {
        As::Anywhere => true,
        As::Counted => ends && counted(&line[..start]),
        As::Whole if !ends => false,
        As::Capitals if !ends || !line[start..end].iter().all(u8::is_ascii_uppercase) => false,
        _ if tier == Tier::Outcome => tells_number(line, start, end),
        _ => !is_denied(line, start, end),
    }
}

/// Whether a number stands before: `3 failed`, `1,204 tests`.
fn counted(before: &[u8]) -> bool {
    let Some(rest) = before.strip_suffix(b" ") else { return false };
    if !rest.last().is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let digits = rest.iter().rev().take_while(|b| b.is_ascii_digit() || **b == b',').count();
    rest.len() == digits || !rest[rest.len() - digits - 1].is_ascii_alphanumeric()
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

/// Whether a number is told: `exit code 1`, `exited with 137`, `returncode=0`, `Total: 12`, `12 lines total`.
fn tells_number(line: &[u8], start: usize, end: usize) -> bool {
    let near = &line[end..line.len().min(end + 24)];
    let total = line[start..end].eq_ignore_ascii_case(b"total")
        && line[start.saturating_sub(16)..start].iter().any(u8::is_ascii_digit);
    line[start..end].ends_with(b":") || total || near.iter().any(u8::is_ascii_digit)
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
        let word = eight(line, at);
        let plain = first_digit(word).min(line.len() - at);
        if plain == 8 {
            mix(word);
            at += 8;
            continue;
        }
        if plain > 0 {
            mix(word & ((1 << (plain * 8)) - 1) | (plain as u64) << 56);
        }
        at += plain;
        let from = at;
        loop {
            let run = alphanumeric(eight(line, at));
            at += run;
            if run < 8 {
                break;
            }
        }
        if at > from {
            mix(NUMBER);
        }
    }
    key
}

/// What a line is without each of its words: lines that differ in one word only have one of these in common. Numbers
/// are told apart as [`kind`] does it. Of a line of many words the first ones are looked at.
pub(crate) fn without_each(line: &[u8]) -> impl Iterator<Item = u64> {
    const WORDS: usize = 24;
    let mut words = [0u64; WORDS];
    let mut all = 0u64;
    let mut n = 0;
    for word in line.split(|&b| b == b' ').filter(|word| !word.is_empty()) {
        // By its place, so that the sum knows the order.
        let word = (kind(word) ^ n as u64).wrapping_mul(0xD6E8_FEB8_6659_FD93).rotate_left(32);
        if n < WORDS {
            words[n] = word;
        }
        all = all.wrapping_add(word);
        n += 1;
    }
    words.into_iter().take(n).enumerate().map(move |(at, word)| all.wrapping_sub(word) ^ at as u64)
}

/// Eight bytes from `at` on, with zeros where the line has ended.
fn eight(line: &[u8], at: usize) -> u64 {
    if let Some(&bytes) = line.get(at..).and_then(|rest| rest.first_chunk()) {
        return u64::from_le_bytes(bytes);
    }
    if let Some(&bytes) = line.last_chunk() {
        let gone = at + 8 - line.len();
        return u64::from_le_bytes(bytes).checked_shr(gone as u32 * 8).unwrap_or(0);
    }
    line.get(at..).unwrap_or(&[]).iter().rev().fold(0, |word, &b| word << 8 | u64::from(b))
}

const EACH: u64 = 0x0101_0101_0101_0101;
const UPPER: u64 = EACH * 0x80;

/// Which of eight bytes are digits, in their upper bits.
fn digits(word: u64) -> u64 {
    let apart = word ^ (EACH * 0x30);
    // The upper bit of a byte stays clear where what is left is less than ten.
    !(((apart & !UPPER) + EACH * 0x76) | apart) & UPPER
}

/// Which of eight bytes is the first that is a digit; 8 if none is.
fn first_digit(word: u64) -> usize {
    digits(word).trailing_zeros() as usize / 8
}

/// How many of eight bytes are digits and letters of ASCII, from the first on.
fn alphanumeric(word: u64) -> usize {
    // Letters of either case are 1 to 26.
    let apart = (word | (EACH * 0x20)) ^ (EACH * 0x60);
    let low = apart & !UPPER;
    let letters = !((low + EACH * (0x80 - 27)) | apart) & (low + EACH * 0x7F) & UPPER;
    ((digits(word) | letters) ^ UPPER).trailing_zeros() as usize / 8
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
            ("0 errors, no failures", Some(Tier::Outcome)),
            ("no errors", None),
            ("errors=0, failed: 0", None),
            (r#"{"error": null}"#, None),
            (r#"{"error": "x"}"#, Some(Tier::Error)),
            ("exit code 1", Some(Tier::Outcome)),
            ("exited with status 137", Some(Tier::Outcome)),
            ("2 passed, 3 failed in 0.1s", Some(Tier::Outcome)),
            ("on exit we leave", None),
            ("test result: ok. 3 passed", Some(Tier::Outcome)),
            ("Total: 12 items", Some(Tier::Outcome)),
            ("1,204 tests in 3 files", Some(Tier::Outcome)),
            ("x86 tests", None),
            ("total loss", None),
            ("a failover, a criticism, merrily", None),
            ("java.net.ConnectException: Connection refused", Some(Tier::Error)),
            ("[crit] and [CRIT]", Some(Tier::Error)),
            ("[crit]", None),
            ("Fehler: Datei fehlt", Some(Tier::Error)),
            ("ошибка: файл", Some(Tier::Error)),
            ("错误：文件", Some(Tier::Error)),
            ("ファイルのエラー", Some(Tier::Error)),
            ("Échec de la connexion", Some(Tier::Error)),
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
        let beside = |a: &str, b: &str| {
            without_each(a.as_bytes()).any(|key| without_each(b.as_bytes()).any(|k| k == key))
        };
        assert!(beside("09:16 invalid user ann from 1.2.3.4", "10:17 invalid user bob from 5.6.7.8"));
        assert!(!beside("invalid user ann from here", "invalid user bob from there"));
        assert!(!beside("a b", "b a") && !beside("a b c", "a c"));
        for text in ["", "7", "abcdefgh", "abcdefg1", "abcdefghi 1", "a1b2 c3/d4", "日本 5"] {
            for more in ["", "12345678901234567890", "1", "0x"] {
                let with = |number: &str| format!("{text} {number}{more} end of the line");
                assert!(same(&with("1"), &with("123456789")), "{text} {more}");
            }
        }
        for b in 0..=u8::MAX {
            let word = u64::from_le_bytes([b'a', b'Z', b'0', b'9', b, b'z', b'A', b'_']);
            assert_eq!(alphanumeric(word), if b.is_ascii_alphanumeric() { 7 } else { 4 }, "{b}");
        }
        assert_eq!((first_digit(u64::from_le_bytes(*b"abc/:9xx")), first_digit(u64::MAX)), (5, 8));
    }
}
