//! Checksums of what is written: `SQLite` does not see a bit that flipped inside a value.

/// Another one for every single word that changes: FNV-1a (Fowler, Noll, Vo) by words of eight bytes, and turned, for
/// what it multiplies only goes up.
#[derive(Clone, Copy)]
pub(crate) struct Sum(u64);

impl Sum {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn word(self, word: u64) -> Self {
        Self((self.0 ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29))
    }

    /// Their length is not counted.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<8>();
        let sum = words.iter().fold(self, |sum, word| sum.word(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        if rest.is_empty() { sum } else { sum.word(u64::from_le_bytes(last)) }
    }

    /// As `SQLite` keeps it.
    pub(crate) fn told(self) -> i64 {
        self.0.cast_signed()
    }
}
