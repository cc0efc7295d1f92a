//! Sets of bytes: the alphabets that tokens are written in.

/// A set of bytes, one bit each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteSet([u64; 4]);

impl std::fmt::Debug for ByteSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text: String = self.iter().map(|b| b.escape_ascii().to_string()).collect();
        write!(f, "[{text}]")
    }
}

impl ByteSet {
    pub(crate) const EMPTY: Self = Self([0; 4]);

    /// The set of the bytes in `bytes`.
    pub(crate) const fn of(bytes: &[u8]) -> Self {
        let mut set = [0u64; 4];
        let mut i = 0;
        while i < bytes.len() {
            set[(bytes[i] >> 6) as usize] |= 1 << (bytes[i] & 63);
            i += 1;
        }
        Self(set)
    }

    /// One byte; with `any_case`, a letter in either case.
    pub(crate) const fn letter(b: u8, any_case: bool) -> Self {
        if any_case { Self::of(&[b.to_ascii_lowercase(), b.to_ascii_uppercase()]) } else { Self::of(&[b]) }
    }

    pub(crate) const fn or(self, other: Self) -> Self {
        Self([self.0[0] | other.0[0], self.0[1] | other.0[1], self.0[2] | other.0[2], self.0[3] | other.0[3]])
    }

    pub(crate) const fn complement(self) -> Self {
        Self([!self.0[0], !self.0[1], !self.0[2], !self.0[3]])
    }

    pub(crate) const fn has(&self, b: u8) -> bool {
        self.0[(b >> 6) as usize] >> (b & 63) & 1 != 0
    }

    pub(crate) fn insert_range(&mut self, from: u8, to: u8) {
        for b in from..=to {
            self.0[(b >> 6) as usize] |= 1 << (b & 63);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u8> + '_ {
        self.0.iter().zip([0, 64, 128, 192]).flat_map(|(&word, base)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as u8)?;
                rest &= rest - 1;
                Some(base + bit)
            })
        })
    }

    /// The low and the high halves that the set's bytes have, a bit each.
    pub(crate) fn halves(&self) -> (u16, u16) {
        (0..16).fold((0, 0), |(low, high), h| {
            let row = (self.0[h / 4] >> (16 * (h % 4))) as u16;
            (low | row, high | u16::from(row != 0) << h)
        })
    }

    pub(crate) fn intersects(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    pub(crate) fn is_subset(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & !b == 0)
    }

    /// How many bytes at the beginning of `text` are in the set.
    pub(crate) fn run(&self, text: &[u8]) -> usize {
        text.iter().position(|&b| !self.has(b)).unwrap_or(text.len())
    }

    /// How many bytes at the end of `text` are in the set.
    pub(crate) fn run_back(&self, text: &[u8]) -> usize {
        text.iter().rev().position(|&b| !self.has(b)).unwrap_or(text.len())
    }
}

pub(crate) const DIGIT: ByteSet = ByteSet::of(b"0123456789");
pub(crate) const LOWER: ByteSet = ByteSet::of(b"abcdefghijklmnopqrstuvwxyz");
pub(crate) const UPPER: ByteSet = ByteSet::of(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ");
pub(crate) const ALPHA: ByteSet = LOWER.or(UPPER);
pub(crate) const ALNUM: ByteSet = ALPHA.or(DIGIT);
pub(crate) const HEX: ByteSet = ByteSet::of(b"0123456789abcdefABCDEF");
/// The bytes that runs are made of: every run of 16 or more of them is looked at.
pub(crate) const TOKEN: ByteSet = ALNUM.or(ByteSet::of(b"_-"));
pub(crate) const BASE64: ByteSet = ALNUM.or(ByteSet::of(b"+/"));
/// What ends a word: blanks and line ends.
pub(crate) const SPACE: ByteSet = ByteSet::of(b" \t\r\n\x0b\x0c");

/// The alphabet a rule file calls `name`.
pub(crate) fn named(name: &str) -> Option<ByteSet> {
    Some(match name {
        "digit" => DIGIT,
        "lower" => LOWER,
        "upper" => UPPER,
        "alpha" => ALPHA,
        "alnum" => ALNUM,
        "loweralnum" => LOWER.or(DIGIT),
        "upperalnum" => UPPER.or(DIGIT),
        "hex" => ByteSet::of(b"0123456789abcdef"),
        "HEX" => ByteSet::of(b"0123456789ABCDEF"),
        "xhex" => HEX,
        "b32" => UPPER.or(ByteSet::of(b"234567")),
        "b58" => ByteSet::of(b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"),
        "b64" => BASE64,
        "b64url" => TOKEN,
        "word" => ALNUM.or(ByteSet::of(b"_")),
        "bech32" => ByteSet::of(b"023456789acdefghjklmnpqrstuvwxyz"),
        _ => return None,
    })
}

/// Parses a bracket set such as `[A-Za-z0-9=_-]` (with its brackets).
pub(crate) fn bracket(text: &str) -> Option<ByteSet> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?.as_bytes();
    let mut set = ByteSet::EMPTY;
    let mut i = 0;
    let byte = |i: &mut usize| -> Option<u8> {
        let mut b = *inner.get(*i)?;
        if b == b'\\' {
            *i += 1;
            b = *inner.get(*i)?;
        }
        *i += 1;
        b.is_ascii().then_some(b)
    };
    while i < inner.len() {
        let from = byte(&mut i)?;
        if inner.get(i) == Some(&b'-') && i + 1 < inner.len() {
            i += 1;
            let to = byte(&mut i)?;
            if to < from {
                return None;
            }
            set.insert_range(from, to);
        } else {
            set.insert_range(from, from);
        }
    }
    (set != ByteSet::EMPTY).then_some(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bracket_sets() {
        let set = bracket("[A-Ca0-9=_-]").expect("parses");
        assert_eq!(set.iter().map(char::from).collect::<String>(), "-0123456789=ABC_a");
        assert_eq!(bracket(r"[\]\\]").expect("parses").iter().collect::<Vec<_>>(), b"\\]");
        for bad in ["[]", "[z-a]", "abc", "[é]", "[a\\"] {
            assert!(bracket(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn runs() {
        assert_eq!(DIGIT.run(b"123a"), 3);
        assert_eq!(DIGIT.run(b"12"), 2);
        assert_eq!(DIGIT.run_back(b"a12"), 2);
        assert!(DIGIT.is_subset(&ALNUM) && !ALNUM.is_subset(&DIGIT));
    }
}
