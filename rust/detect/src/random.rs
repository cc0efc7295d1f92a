//! Tells strings drawn at random from names, words, paths and numbers that people write.
//!
//! A name is cheaper to write down with the pairs of neighbouring characters that names have than a character at a
//! time from its alphabet; a random string is not. `bigrams.bin` holds what each pair costs, in eighths of a bit;
//! `ci/train_randomness.py` counts it.

/// The cost of each pair: a row of 64 for each symbol before, so that six bits of each make the index.
static COST: &[u8; 64 << 6] = include_bytes!("bigrams.bin");

const DIGIT: u8 = 52;
const OTHER: u8 = 53;

/// Each byte's symbol: 26 small letters, 26 capitals, any digit, anything else.
static SYMBOL: [u8; 256] = {
    let mut table = [OTHER; 256];
    let mut i = 0;
    while i < 26 {
        table[b'a' as usize + i] = i as u8;
        table[b'A' as usize + i] = 26 + i as u8;
        i += 1;
    }
    let mut i = 0;
    while i < 10 {
        table[b'0' as usize + i] = DIGIT;
        i += 1;
    }
    table
};

const LETTERS: u64 = (1 << 26) - 1;
const NOT_HEX: u64 = LETTERS & !0x3f;

/// Short of this no string is random.
const SHORTEST: usize = 8;
/// Letters alone must be so many: a short one may be a word of any language.
const LETTERS_ONLY: usize = 20;
/// By how much a random string must cost more than its alphabet, in eighths of a bit.
const MARGIN: u32 = 16;

/// Whether `text` looks drawn at random.
pub(crate) fn is_random(text: &[u8]) -> bool {
    if text.len() < SHORTEST {
        return false;
    }
    let mut cost = 0;
    let mut characters = 0;
    let mut seen = 0_u64;
    let mut before = OTHER;
    for &b in text {
        let symbol = SYMBOL[usize::from(b)];
        cost += u32::from(COST[usize::from(before & 63) << 6 | usize::from(symbol & 63)]);
        characters += u32::from(symbol != OTHER);
        seen |= 1 << symbol;
        before = symbol;
    }
    let small = seen & LETTERS;
    let capital = seen >> 26 & LETTERS;
    let digits = seen >> DIGIT & 1 == 1;
    let mixed = small != 0 && capital != 0;
    let hex = !mixed && (small | capital) & NOT_HEX == 0;
    // Numbers, dates and versions have few letters; only of hexadecimal can chance take so few.
    let letters = (small | capital).count_ones();
    if letters < if hex { 1 } else { 3 } || !digits && text.len() < LETTERS_ONLY {
        return false;
    }
    // A number in hexadecimal, as addresses are written.
    if let [b'0', b'x' | b'X', number @ ..] = text
        && number.len() <= 16
        && number.iter().all(u8::is_ascii_hexdigit)
    {
        return false;
    }
    // log2 of the alphabet's size, in eighths of a bit. For both cases it would be 48, but the tokens that people make
    // up change case by groups: `abc123DEF456ghi789`.
    let each = match (hex, mixed, digits) {
        (true, ..) => 32,
        (_, true, _) => 45,
        (.., true) => 41,
        (.., false) => 38,
    };
    cost > characters * each + MARGIN
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_not_random() {
        for name in [
            "configuration_settings_v2",
            "org.apache.hadoop.mapreduce.v2",
            "Package31bf3856ad364e35amd64",
            "blk_-1608999687919862906",
            "attempt_201706092018_0024_m_000004_1026",
            "AbstractSingletonProxyFactoryBeanImpl",
            "getElementsByTagNameNSResolver",
            "mysql-connector-java-8.0.11",
            "2024-01-02T03:04:05Z",
            "2005-06-11-19.55.42.506216",
            "0x7fffdeadbeef1234",
            "............................1",
            "xxxxxxxxxxxxxxxxxxxxxxx1",
        ] {
            assert!(!is_random(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn made_up_tokens_are_random() {
        for token in [
            "abc123def456ghi789jkl",
            "abc123DEF456ghi789",
            "proj-abc123DEF456ghi789jkl012",
            "a1b2c3d4e5f6g7h8",
            "abcdef1234567890abcdef12",
            "AbCdEf123456GhIjKl",
        ] {
            assert!(is_random(token.as_bytes()), "{token}");
        }
    }

    /// How many of 1000 strings drawn from `alphabet` count as random.
    fn recognised(alphabet: &[u8], len: usize) -> usize {
        let mut state = 1_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            alphabet[(state >> 33) as usize % alphabet.len()]
        };
        (0..1000).filter(|_| is_random(&(0..len).map(|_| draw()).collect::<Vec<_>>())).count()
    }

    #[test]
    fn drawn_strings_are_random() {
        let all = b"abcdef0123456789ghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        // Of 16 characters of 62, one string in 17 has no digit and is too short to count without.
        for (alphabet, len) in [(&all[..16], 16), (&all[..36], 16), (&all[..62], 20), (&all[36..], 24)] {
            let n = recognised(alphabet, len);
            assert!(n >= 990, "{n} of 1000 with {} characters", alphabet.len());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(text in proptest::collection::vec(any::<u8>(), 0..600)) {
            is_random(&text);
        }

        #[test]
        fn numbers_and_short_texts_are_not_random(
            number in "[-+]?[0-9]{1,40}([.:/-][0-9]{1,12}){0,4}",
            short in "[!-~]{0,7}",
        ) {
            prop_assert!(!is_random(number.as_bytes()));
            prop_assert!(!is_random(short.as_bytes()));
        }
    }
}
