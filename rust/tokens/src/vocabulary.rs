//! The tokens of an encoding, and the tables to find them by.

use crate::key::{Key, LONGEST};
use crate::short::Short;
use ctxproto_once::Once;

/// A token's number, which is also its rank: the lower, the earlier it is merged.
pub type Id = u32;

/// Bits for the beginnings of long tokens: few enough to stay near.
const LONG_BITS: usize = 1 << 18;

pub(crate) const NONE: Id = u32::MAX;

/// A vocabulary, ready for lookups. Built once a process, in some tens of milliseconds.
pub(crate) struct Vocabulary {
    bytes: &'static [u8],
    /// Where each token begins in `bytes`, and the end.
    starts: Vec<u32>,
    /// The two tokens that each was merged from: itself twice for one byte.
    splits: Vec<(Id, Id)>,
    /// Tokens that fit into a key.
    short: Short,
    /// Longer tokens by a hash of their bytes.
    whole: Vec<Id>,
    /// A bit for each hash of what a longer token may begin with.
    long: Vec<u64>,
    /// Tokens by a hash of the two that they are merged from.
    pairs: Vec<(Id, Id, Id)>,
    /// A bit for each hash that some pair has, small enough to stay near: most pairs merge to nothing.
    merging: Vec<u64>,
    /// Tokens in the order of their bytes, of those that merging can give: the first eight bytes as a number, and the
    /// token.
    heads: Vec<u64>,
    sorted: Vec<Id>,
    /// For each two first bytes, where in `sorted` they begin.
    pages: Vec<u32>,
    /// For each token, the longest shorter one that it begins with.
    shorter: Vec<Id>,
}

macro_rules! vocabulary {
    ($name:ident, $file:literal) => {
        pub(crate) static $name: Once<Vocabulary> = Once::new(|| {
            Vocabulary::new(
                include_bytes!(concat!(env!("OUT_DIR"), "/", $file, ".bytes")),
                include_bytes!(concat!(env!("OUT_DIR"), "/", $file, ".lengths")),
                include_bytes!(concat!(env!("OUT_DIR"), "/", $file, ".splits")),
                include_bytes!(concat!(env!("OUT_DIR"), "/", $file, ".sorted")),
            )
        });
    };
}

vocabulary!(O200K, "o200k");
vocabulary!(CL100K, "cl100k");
vocabulary!(P50K, "p50k");
vocabulary!(R50K, "r50k");

impl Vocabulary {
    fn new(bytes: &'static [u8], lengths: &[u8], splits: &[u8], sorted: &[u8]) -> Self {
        let mut starts = vec![0; lengths.len() + 1];
        for (i, &len) in lengths.iter().enumerate() {
            starts[i + 1] = starts[i] + u32::from(len);
        }
        let id = |four: &[u8]| Id::from_le_bytes([four[0], four[1], four[2], four[3]]);
        let splits: Vec<(Id, Id)> = splits.chunks_exact(8).map(|s| (id(&s[..4]), id(&s[4..]))).collect();
        let slots = (lengths.len() * 2).next_power_of_two();
        let fits = |len: &&u8| (1..=LONGEST as u8).contains(*len);
        let short = lengths.iter().filter(fits).count();
        let mut all = Self {
            bytes,
            starts,
            splits,
            short: Short::new(short),
            whole: vec![NONE; ((lengths.len() - short) * 2).next_power_of_two()],
            long: vec![0; LONG_BITS / 64],
            pairs: vec![(NONE, NONE, NONE); slots],
            merging: vec![0; slots / 8],
            heads: vec![],
            sorted: sorted.chunks_exact(4).map(id).collect(),
            pages: vec![0; (1 << 16) + 1],
            shorter: vec![NONE; lengths.len()],
        };
        for id in (0..lengths.len() as Id).filter(|&id| lengths[id as usize] > 0) {
            let token = all.token(id);
            let (left, right) = all.splits[id as usize];
            if token.len() <= LONGEST {
                all.short.insert(token, id, left != NONE);
            } else {
                let slot = all.slot(token);
                all.whole[slot] = id;
                let bit = long_bit(token);
                all.long[bit / 64] |= 1 << (bit % 64);
            }
            if left != NONE && token.len() > 1 {
                let slot = all.pair_slot(left, right);
                all.pairs[slot] = (left, right, id);
                let bit = pair_hash(left, right) >> 42 & (slots * 8 - 1) as u64;
                all.merging[bit as usize / 64] |= 1 << (bit % 64);
            }
        }
        all.heads = all.sorted.iter().map(|&id| head(all.token(id))).collect();
        for head in &all.heads {
            all.pages[(head >> 48) as usize + 1] += 1;
        }
        for i in 0..1 << 16 {
            all.pages[i + 1] += all.pages[i];
        }
        // In this order, the tokens that one begins with are the last ones before it.
        let mut open: Vec<Id> = vec![];
        for &id in &all.sorted {
            let token = all.token(id);
            while open.last().is_some_and(|&o| !token.starts_with(all.token(o))) {
                open.pop();
            }
            all.shorter[id as usize] = open.last().copied().unwrap_or(NONE);
            open.push(id);
        }
        all
    }

    /// The bytes of a token; empty for one that does not exist.
    #[inline]
    pub(crate) fn token(&self, id: Id) -> &'static [u8] {
        let i = id as usize;
        match (self.starts.get(i), self.starts.get(i + 1)) {
            (Some(&from), Some(&to)) => &self.bytes[from as usize..to as usize],
            _ => &[],
        }
    }

    /// One more than the highest number.
    pub(crate) fn end(&self) -> Id {
        self.splits.len() as Id
    }

    /// How long a token is.
    #[inline]
    pub(crate) fn len_of(&self, id: Id) -> usize {
        (self.starts[id as usize + 1] - self.starts[id as usize]) as usize
    }

    /// The token that has these bytes.
    #[inline]
    pub(crate) fn whole(&self, bytes: &[u8]) -> Option<Id> {
        if bytes.is_empty() {
            return None;
        }
        if bytes.len() <= LONGEST {
            return self.short.id(Key::new(bytes, 0, bytes.len()));
        }
        let id = self.whole[self.slot(bytes)];
        (id != NONE).then_some(id)
    }

    /// Where a token of these bytes stands, if it is one.
    #[inline]
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn set(&self, key: Key) -> &crate::key::Set {
        self.short.set(key)
    }

    /// Whether these bytes are a token.
    #[inline]
    pub(crate) fn has(&self, key: Key) -> bool {
        self.short.id(key).is_some()
    }

    /// The token that merges lead to and that has these bytes, two or more, or [`NONE`].
    #[inline]
    pub(crate) fn merged(&self, key: Key) -> Id {
        self.short.merged(key)
    }

    fn slot(&self, bytes: &[u8]) -> usize {
        let mut at = hash(bytes) & (self.whole.len() - 1);
        while self.whole[at] != NONE && self.token(self.whole[at]) != bytes {
            at = (at + 1) & (self.whole.len() - 1);
        }
        at
    }

    /// The token that two are merged to.
    #[inline]
    fn pair(&self, left: Id, right: Id) -> Option<Id> {
        let bit = pair_hash(left, right) >> 42 & (self.merging.len() * 64 - 1) as u64;
        if self.merging[bit as usize / 64] >> (bit % 64) & 1 == 0 {
            return None;
        }
        let id = self.pairs[self.pair_slot(left, right)].2;
        (id != NONE).then_some(id)
    }

    fn pair_slot(&self, left: Id, right: Id) -> usize {
        let mut at = (pair_hash(left, right) >> 40) as usize & (self.pairs.len() - 1);
        loop {
            let (l, r, id) = self.pairs[at];
            if id == NONE || (l, r) == (left, right) {
                return at;
            }
            at = (at + 1) & (self.pairs.len() - 1);
        }
    }

    /// The longest token that `text` begins with.
    #[inline]
    pub(crate) fn longest(&self, text: &[u8]) -> Id {
        if text.len() > LONGEST {
            let bit = long_bit(text);
            if self.long[bit / 64] >> (bit % 64) & 1 != 0 {
                return self.longest_of_all(text);
            }
        }
        self.short.longest(text)
    }

    /// The same, by a search in all tokens.
    fn longest_of_all(&self, text: &[u8]) -> Id {
        let key = head(text);
        let page = (key >> 48) as usize;
        let (from, to) = (self.pages[page] as usize, self.pages[page + 1] as usize);
        // The last token that is not behind the text: what the text begins with, this one begins with too.
        let mut at = from + self.heads[from..to].partition_point(|&head| head <= key);
        while at > from && self.heads[at - 1] == key && self.token(self.sorted[at - 1]) > text {
            at -= 1;
        }
        if at == 0 {
            return self.sorted[0];
        }
        let mut id = self.sorted[at - 1];
        let same = (self.heads[at - 1] ^ key).leading_zeros() as usize / 8;
        while self.len_of(id) > same.min(text.len()) && !text.starts_with(self.token(id)) {
            id = self.shorter[id as usize];
        }
        id
    }

    /// The longest token that `id` begins with and is not.
    #[inline]
    pub(crate) fn shorter(&self, id: Id) -> Option<Id> {
        let id = self.shorter[id as usize];
        (id != NONE).then_some(id)
    }

    /// Whether merging the bytes of both gives these two tokens: nothing is merged across the border between them earlier than they
    /// themselves are made.
    pub(crate) fn stay_apart(&self, mut left: Id, mut right: Id) -> bool {
        // Both are taken apart again, the later merge first; what stands at the border then must not merge before
        // that which was undone.
        let mut limit = NONE;
        loop {
            if self.pair(left, right).is_some_and(|merged| merged < limit) {
                return false;
            }
            let (l, r) = (self.splits[left as usize].1, self.splits[right as usize].0);
            let (whole_left, whole_right) = (l == left, r == right);
            // At equal ranks the left one is merged first.
            if whole_left && whole_right {
                return true;
            }
            if !whole_left && (whole_right || left > right) {
                limit = left;
                left = l;
            } else {
                limit = right + 1;
                right = r;
            }
        }
    }
}

/// The bit for what a text longer than keys begins with.
#[inline]
fn long_bit(text: &[u8]) -> usize {
    (Key::new(text, 0, LONGEST).hash() >> 20) as usize & (LONG_BITS - 1)
}

#[inline]
fn pair_hash(left: Id, right: Id) -> u64 {
    let x = (u64::from(left) << 32 | u64::from(right)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x ^ x >> 32).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// The first eight bytes as a number that sorts as they do.
#[inline]
fn head(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.first_chunk().copied().unwrap_or_else(|| {
        let mut head = [0; 8];
        head[..bytes.len()].copy_from_slice(bytes);
        head
    }))
}

/// A hash of up to 128 bytes, eight at a time.
#[inline]
fn hash(bytes: &[u8]) -> usize {
    const K: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut x = bytes.len() as u64;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let eight = u64::from_le_bytes(chunk.try_into().expect("chunks of eight"));
        x = (x.rotate_left(23) ^ eight).wrapping_mul(K);
    }
    let rest = chunks.remainder().iter().rev().fold(0, |rest, &b| rest << 8 | u64::from(b));
    x = (x.rotate_left(23) ^ rest).wrapping_mul(K);
    (x >> 36) as usize
}
