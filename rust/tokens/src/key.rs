//! Short pieces and tokens as numbers: compared and hashed as one.

/// Bytes that fit into a key.
pub(crate) const LONGEST: usize = 15;

/// Up to 15 bytes, and in the last byte how many: four bits of it, the other four are free.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(u128);

/// Where the free bits begin.
const FREE: u32 = 124;

/// The bits of the last eight bytes that are not free.
#[cfg(target_arch = "x86_64")]
pub(crate) const USED: i64 = i64::MAX >> 3;

impl Key {
    /// The key of `text[at..end]`, of 1 to [`LONGEST`] bytes.
    #[inline]
    pub(crate) fn new(text: &[u8], at: usize, end: usize) -> Self {
        let len = end - at;
        let bytes = text[at..].first_chunk().copied().unwrap_or_else(|| {
            let mut bytes = [0; 16];
            bytes[..len].copy_from_slice(&text[at..end]);
            bytes
        });
        Self(u128::from_le_bytes(bytes)).cut(len)
    }

    /// The key of its first `len` bytes.
    #[inline]
    pub(crate) fn cut(self, len: usize) -> Self {
        let mask = u128::MAX >> (128 - 8 * len);
        Self(self.0 & mask | (len as u128) << 120)
    }

    /// The key of its bytes from one place to another.
    #[inline]
    pub(crate) fn part(self, from: usize, to: usize) -> Self {
        Self(self.0 >> (8 * from)).cut(to - from)
    }

    /// The first bytes, at most four.
    #[inline]
    pub(crate) fn first(self, len: usize) -> u32 {
        self.0 as u32 & u32::MAX >> (32 - 8 * len)
    }

    #[inline]
    pub(crate) fn len(self) -> usize {
        (self.0 >> 120) as usize & 15
    }

    /// A well-mixed number; places in tables are some bits of it.
    #[inline]
    pub(crate) fn hash(self) -> u64 {
        let (low, high) = (self.0 as u64, (self.0 >> 64) as u64);
        let x = u128::from(low ^ 0x9E37_79B9_7F4A_7C15) * u128::from(high ^ 0xBF58_476D_1CE4_E5B9);
        x as u64 ^ (x >> 64) as u64
    }

    /// The first and the last eight bytes.
    #[inline]
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn halves(self) -> (i64, i64) {
        ((self.0 as u64).cast_signed(), ((self.0 >> 64) as u64).cast_signed())
    }

    /// An entry of a [`Set`].
    #[inline]
    pub(crate) fn with(self, note: u8) -> u128 {
        self.0 | u128::from(note) << FREE
    }
}

/// Four entries in a line of the processor's cache: keys with a number of four bits in what is free; 0 for none.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Set(pub(crate) [u128; 4]);

impl Set {
    pub(crate) const EMPTY: Self = Self([0; 4]);

    /// The place of a key, and its number.
    #[inline]
    pub(crate) fn find(&self, key: Key) -> Option<(usize, u8)> {
        (0..4).find(|&i| (self.0[i] ^ key.0) << (128 - FREE) == 0).map(|i| (i, note(self.0[i])))
    }
}

/// The number that an entry has.
#[inline]
pub(crate) fn note(entry: u128) -> u8 {
    (entry >> FREE) as u8
}
