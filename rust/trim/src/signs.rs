//! What makes a line matter: the words that failures, outcomes and warnings are told in.

use std::ops::Range;
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
        let word = signs.words[usize::from(word)];
        if stands(text, start, word) {
            found(start, word.1);
        }
    });
}

/// Calls `found` with signs of each line, the best of them among those; what can be no better is not looked at.
pub(crate) fn best(text: &[u8], mut found: impl FnMut(usize, Tier)) {
    let signs = &*SIGNS;
    let (mut end, mut best) = (0, Tier::Blank);
    signs.lexicon.each(text, |start, word| {
        let word = signs.words[usize::from(word)];
        if start < end && word.1 >= best || !stands(text, start, word) {
            return;
        }
        if start >= end {
            end = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |i| start + i);
        }
        best = word.1;
        found(start, best);
    });
}

/// Whether a word is a sign where it stands.
fn stands(text: &[u8], start: usize, (kind, tier, len): (As, Tier, usize)) -> bool {
    // Most of what looks like a sign is a part of another word.
    if kind != As::Anywhere && !begins_word(text, start) {
        return false;
    }
    let end = start + len;
    let from = start - start.min(AROUND);
    let from = memchr::memrchr(b'\n', &text[from..start]).map_or(from, |i| from + i + 1);
    let to = text.len().min(end + AROUND);
    let to = memchr::memchr(b'\n', &text[end..to]).map_or(to, |i| end + i);
    says(&text[from..to], start - from, end - from, kind, tier)
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

/// The exit code that a line tells, 0 where it tells none: the one number in which lines that are alike differ for good.
pub(crate) fn exit_code(line: &[u8]) -> u64 {
    let codes = (0..line.len()).filter_map(|at| {
        let here = &line[at..];
        let is =
            |word: &&str| here.get(..word.len()).is_some_and(|w| w.eq_ignore_ascii_case(word.as_bytes()));
        let word = ["exit", "return"].iter().find(|word| is(word)).filter(|_| begins_word(line, at))?;
        let near = &here[word.len()..here.len().min(word.len() + 24)];
        let digits = near[near.iter().position(u8::is_ascii_digit)?..].iter();
        let digits = digits.take_while(|b| b.is_ascii_digit()).take(9);
        Some(digits.fold(0, |n, b| n * 10 + u64::from(b - b'0')))
    });
    codes.max().unwrap_or(0)
}

/// What a line looks like but for its numbers: lines of one kind have one key. From its first digit on, a word is a
/// number. Where numbers begin and end is told by masks of 64 bytes, what is between them is mixed by sixteen and eight.
pub(crate) fn kind(line: &[u8]) -> u64 {
    const NUMBER: u64 = 0x5BF0_3635;
    let mut key = 0;
    // Where the text after the last number begins; whether a number goes on.
    let mut start = 0;
    let mut inside = false;
    for base in (0..line.len()).step_by(64) {
        let (digits, words) = masks(line, base);
        // A sum carries from a digit to the end of its word.
        let first = digits | (u64::from(inside) & words);
        let numbers = words & !words.wrapping_add(first) | first;
        let mut edges = numbers ^ (numbers << 1 | u64::from(inside));
        while edges != 0 {
            let at = base + edges.trailing_zeros() as usize;
            edges &= edges - 1;
            if !inside {
                key = mix(text(key, line, start..at), NUMBER);
            }
            (start, inside) = (at, !inside);
        }
    }
    if inside { key } else { text(key, line, start..line.len()) }
}

fn mix(key: u64, word: u64) -> u64 {
    (key ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}

/// Mixes in two words by one multiplication, both halves of it.
fn mix_two(key: u64, sixteen: &[u8; 16]) -> u64 {
    let words = u128::from_le_bytes(*sixteen);
    let first = key ^ words as u64 ^ 0x9E37_79B9_7F4A_7C15;
    let product = u128::from(first) * u128::from((words >> 64) as u64 ^ 0xD6E8_FEB8_6659_FD93);
    product as u64 ^ (product >> 64) as u64
}

/// Mixes in what stands between two numbers.
fn text(mut key: u64, line: &[u8], range: Range<usize>) -> u64 {
    let (long, short) = line[range.clone()].as_chunks::<16>();
    for sixteen in long {
        key = mix_two(key, sixteen);
    }
    let mut at = range.end - short.len();
    if short.len() >= 8 {
        key = mix(key, eight(line, at));
        at += 8;
    }
    let rest = range.end - at;
    if rest > 0 { mix(key, eight(line, at) & ((1 << (rest * 8)) - 1) | (rest as u64) << 56) } else { key }
}

/// Which of the 64 bytes from `base` on are digits, and which digits or letters of ASCII.
fn masks(line: &[u8], base: usize) -> (u64, u64) {
    let mut padded = [0; 64];
    let block: &[u8; 64] = line[base..].first_chunk().unwrap_or_else(|| {
        padded[..line.len() - base].copy_from_slice(&line[base..]);
        &padded
    });
    // This loop becomes vector instructions.
    let (mut digits, mut words) = ([0; 64], [0; 64]);
    for ((byte, digit), word) in block.iter().zip(&mut digits).zip(&mut words) {
        *digit = u8::from(byte.wrapping_sub(b'0') < 10);
        *word = *digit | u8::from((byte | 0x20).wrapping_sub(b'a') < 26);
    }
    (bits(&digits), bits(&words))
}

/// A bit of each byte, which is 0 or 1.
fn bits(bytes: &[u8; 64]) -> u64 {
    bytes.as_chunks::<8>().0.iter().enumerate().fold(0, |all, (i, &eight)| {
        let moved = u64::from_le_bytes(eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        all | moved << (i * 8)
    })
}

/// What a line is without each of its words: lines that differ in one word only have one of these in common. Numbers
/// are told apart as [`kind`] does it. Of a line of many words the first ones are looked at.
pub(crate) fn without_each(line: &[u8]) -> impl Iterator<Item = u64> {
    const WORDS: usize = 24;
    let mut words = [(0u64, 0u64); WORDS];
    let mut all = 0u64;
    let mut n = 0;
    for (place, word) in line.split(|&b| b == b' ').filter(|word| !word.is_empty()).enumerate() {
        // Most words are short and no numbers: their kind is what they are.
        let numbered = word.iter().any(u8::is_ascii_digit);
        let kind = if numbered { kind(word) } else { text(0, word, 0..word.len()) };
        // By its place, so that the sum knows the order.
        let key = mix(kind, place as u64);
        all = all.wrapping_add(key);
        // Numbers do not make a kind, so leaving one out makes no other.
        if n < WORDS && !numbered {
            words[n] = (key, place as u64);
            n += 1;
        }
    }
    words.into_iter().take(n).map(move |(key, place)| all.wrapping_sub(key) ^ place)
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
            for (at, length) in [(0, 1), (7, 64), (63, 64), (70, 90), (127, 200)] {
                let mut line = vec![b'-'; length];
                line[at] = b;
                let bit = |is: bool| u64::from(is) << (at % 64);
                let want = (bit(b.is_ascii_digit()), bit(b.is_ascii_alphanumeric()));
                assert_eq!(masks(&line, at / 64 * 64), want, "{b}");
            }
        }
    }

    /// The slow way: every number written as one sign.
    fn without_numbers(line: &[u8]) -> Vec<u8> {
        let mut out = vec![];
        let mut inside = false;
        for &b in line {
            let number = b.is_ascii_digit() || inside && b.is_ascii_alphabetic();
            if !number {
                out.push(b);
            } else if !inside {
                out.extend(b"<number>");
            }
            inside = number;
        }
        out
    }

    proptest! {
        #[test]
        fn kinds_are_lines_without_numbers(parts in prop::collection::vec("[a-c]{0,9}|[0-9]{1,70}[a-z]{0,3}|[ .:é]|[a-z ]{0,70}", 0..12), other in "[0-9a-b]{1,66}") {
            let line = parts.concat();
            let longer = line.replace('1', &format!("1{other}"));
            for (a, b) in [(&line, &longer), (&line, &other), (&line, &line.replace('a', "b"))] {
                let (a, b) = (a.as_bytes(), b.as_bytes());
                prop_assert_eq!(kind(a) == kind(b), without_numbers(a) == without_numbers(b));
            }
        }
    }
}
