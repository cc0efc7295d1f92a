//! The tokens of an encoding, and the tables to find them by.

use std::sync::LazyLock;

/// A token's number, which is also its rank: the lower, the earlier it is merged.
pub type Id = u32;

pub(crate) const NONE: Id = u32::MAX;

/// A vocabulary, ready for lookups. Built once a process, in some tens of milliseconds.
pub(crate) struct Vocabulary {
    bytes: &'static [u8],
    /// Where each token begins in `bytes`, and the end.
    starts: Vec<u32>,
    /// The two tokens that each was merged from: itself twice for one byte.
    splits: Vec<(Id, Id)>,
    /// Tokens by a hash of their bytes.
    whole: Vec<Id>,
    /// Tokens by a hash of the two that they are merged from.
    pairs: Vec<(Id, Id, Id)>,
    /// Tokens in the order of their bytes, of those that merging can give.
    sorted: Vec<Id>,
    /// For each two first bytes, where in `sorted` they begin.
    heads: Vec<u32>,
    /// For each token, the longest shorter one that it begins with.
    shorter: Vec<Id>,
}

macro_rules! vocabulary {
    ($name:ident, $file:literal) => {
        pub(crate) static $name: LazyLock<Vocabulary> = LazyLock::new(|| {
            Vocabulary::new(
                include_bytes!(concat!(env!("OUT_DIR"), "/", $file, ".bytes")),
                include_bytes!(concat!(env!("OUT_DIR"), "/", $file, ".lengths")),
                include_bytes!(concat!(env!("OUT_DIR"), "/", $file, ".splits")),
            )
        });
    };
}

vocabulary!(O200K, "o200k");
vocabulary!(CL100K, "cl100k");
vocabulary!(P50K, "p50k");
vocabulary!(R50K, "r50k");

impl Vocabulary {
    fn new(bytes: &'static [u8], lengths: &[u8], splits: &[u8]) -> Self {
        let mut starts = vec![0; lengths.len() + 1];
        for (i, &len) in lengths.iter().enumerate() {
            starts[i + 1] = starts[i] + u32::from(len);
        }
        let id = |four: &[u8]| Id::from_le_bytes([four[0], four[1], four[2], four[3]]);
        let splits: Vec<(Id, Id)> = splits.chunks_exact(8).map(|s| (id(&s[..4]), id(&s[4..]))).collect();
        let slots = (lengths.len() * 2).next_power_of_two();
        let mut all = Self {
            bytes,
            starts,
            splits,
            whole: vec![NONE; slots],
            pairs: vec![(NONE, NONE, NONE); slots],
            sorted: vec![],
            heads: vec![],
            shorter: vec![NONE; lengths.len()],
        };
        let mut order: Vec<(u64, Id)> = vec![];
        for id in (0..lengths.len() as Id).filter(|&id| lengths[id as usize] > 0) {
            let token = all.token(id);
            let slot = all.slot(token);
            all.whole[slot] = id;
            let (left, right) = all.splits[id as usize];
            if left == NONE {
                continue;
            }
            if token.len() > 1 {
                let slot = all.pair_slot(left, right);
                all.pairs[slot] = (left, right, id);
            }
            let mut head = [0; 8];
            head[..token.len().min(8)].copy_from_slice(&token[..token.len().min(8)]);
            order.push((u64::from_be_bytes(head), id));
        }
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| all.token(a.1).cmp(all.token(b.1))));
        all.sorted = order.iter().map(|o| o.1).collect();
        all.heads = vec![0; (1 << 16) + 1];
        for (head, _) in &order {
            all.heads[(head >> 48) as usize + 1] += 1;
        }
        for i in 0..1 << 16 {
            all.heads[i + 1] += all.heads[i];
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
        let id = self.whole[self.slot(bytes)];
        (id != NONE).then_some(id)
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
        let id = self.pairs[self.pair_slot(left, right)].2;
        (id != NONE).then_some(id)
    }

    #[inline]
    fn pair_slot(&self, left: Id, right: Id) -> usize {
        let both = u64::from(left) << 32 | u64::from(right);
        let mut at = (both.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize & (self.pairs.len() - 1);
        loop {
            let (l, r, id) = self.pairs[at];
            if id == NONE || (l, r) == (left, right) {
                return at;
            }
            at = (at + 1) & (self.pairs.len() - 1);
        }
    }

    /// The longest token that `text` begins with.
    pub(crate) fn longest(&self, text: &[u8]) -> Id {
        let head = |second: u8| usize::from(u16::from_be_bytes([text[0], second]));
        // Tokens of one byte stand first among those with their byte.
        let mut best = self.sorted[self.heads[head(0)] as usize];
        let Some(&second) = text.get(1) else { return best };
        let (mut from, mut to) = (self.heads[head(second)] as usize, self.heads[head(second) + 1] as usize);
        let mut len = 2;
        while from < to {
            // The tokens in `from..to` share the first `len` bytes with the text.
            let first = self.token(self.sorted[from]);
            if first.len() == len {
                best = self.sorted[from];
            }
            let Some(&next) = text.get(len) else { break };
            let byte = |&id: &Id| self.token(id).get(len).map_or(-1, |&b| i32::from(b));
            let range = &self.sorted[from..to];
            let low = range.partition_point(|id| byte(id) < i32::from(next));
            let high = low + range[low..].partition_point(|id| byte(id) <= i32::from(next));
            (from, to) = (from + low, from + high);
            len += 1;
        }
        best
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
