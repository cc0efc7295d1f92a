//! Words looked for by how they begin: four places, eight or sixteen buckets, one lookup a place.
//!
//! The "Teddy" idea of Hyperscan: the words are shared out over buckets, and for each of the first four places a table
//! says to which buckets a byte may belong. Four bytes that have a bucket in common in all four places may begin a
//! word. How often they do without one standing there is decided by who shares a bucket: words are put together so
//! that the sets of each place stay small, and of bytes that are rare in text.

use crate::class::ByteSet;

/// How many bytes are looked at.
pub(crate) const PLACES: usize = 4;
/// More groups than this are joined by their order first: the search for good neighbours is quadratic.
const GROUPS: usize = 200;

/// The first four bytes of a word: in each place any of a set.
type Start = [ByteSet; PLACES];

/// What the lookups need, for all levels. Buckets come eight to a bank: one byte of a vector.
#[derive(Clone, Debug)]
pub(crate) struct Beginnings<const BANKS: usize> {
    /// By place and bank: the buckets of each byte.
    pub(crate) exact: [[[u8; 256]; BANKS]; PLACES],
    /// The same by the byte's low and high half, with more false hits: the buckets that both have.
    pub(crate) low: [[[u8; 16]; BANKS]; PLACES],
    pub(crate) high: [[[u8; 16]; BANKS]; PLACES],
    /// By place and bank: the buckets of bytes beyond ASCII, any of them.
    pub(crate) beyond: [[u8; BANKS]; PLACES],
}

impl<const BANKS: usize> Beginnings<BANKS> {
    /// Tables that find every word in `starts`.
    pub(crate) fn new(starts: impl IntoIterator<Item = Start>) -> Self {
        let mut t = Self {
            exact: [[[0; 256]; BANKS]; PLACES],
            low: [[[0; 16]; BANKS]; PLACES],
            high: [[[0; 16]; BANKS]; PLACES],
            beyond: [[0; BANKS]; PLACES],
        };
        for (n, group) in buckets(starts, BANKS * 8).into_iter().enumerate() {
            let (bank, bucket) = (n / 8, 1u8 << (n % 8));
            for (place, set) in group.sets.iter().enumerate() {
                for b in set.iter() {
                    t.exact[place][bank][usize::from(b)] |= bucket;
                    t.low[place][bank][usize::from(b & 15)] |= bucket;
                    t.high[place][bank][usize::from(b >> 4)] |= bucket;
                    if !b.is_ascii() {
                        t.beyond[place][bank] |= bucket;
                    }
                }
            }
        }
        for place in 0..PLACES {
            for bank in 0..BANKS {
                t.exact[place][bank][128..].fill(t.beyond[place][bank]);
            }
        }
        t
    }

    /// Whether a word may begin with these bytes.
    #[inline]
    pub(crate) fn may(&self, bytes: [u8; PLACES]) -> bool {
        (0..BANKS).any(|bank| {
            (0..PLACES).fold(0xff, |all, i| all & self.exact[i][bank][usize::from(bytes[i])]) != 0
        })
    }
}

/// The beginning of a word: its own bytes, then any of `after`, then anything. With `any_case`, in either case.
pub(crate) fn start(word: &[u8], after: Option<ByteSet>, any_case: bool) -> Start {
    std::array::from_fn(|i| match word.get(i) {
        Some(&b) => ByteSet::letter(b, any_case),
        None if i == word.len() => after.unwrap_or(ByteSet::EMPTY.complement()),
        None => ByteSet::EMPTY.complement(),
    })
}

/// Words that share a bucket.
#[derive(Clone, Copy)]
struct Group {
    sets: Start,
    /// The low and high halves of each place's bytes.
    halves: [(u16, u16); PLACES],
    cost: f32,
}

impl Group {
    fn new(sets: Start) -> Self {
        let halves = sets.map(|set| set.halves());
        Self { sets, halves, cost: cost(halves) }
    }

    fn with(&self, other: &Self) -> Self {
        Self::new(std::array::from_fn(|i| self.sets[i].or(other.sets[i])))
    }

    /// How much more text passes when both share a bucket than when they don't.
    fn price(&self, other: &Self) -> f32 {
        let union = |i: usize| (self.halves[i].0 | other.halves[i].0, self.halves[i].1 | other.halves[i].1);
        cost(std::array::from_fn(union)) - self.cost - other.cost
    }
}

/// How much of ordinary text passes: the product of the shares that each place's halves let through.
fn cost(halves: [(u16, u16); PLACES]) -> f32 {
    halves
        .into_iter()
        .map(|(low, high)| {
            let mut rest = high;
            let mut sum = 0.0;
            while rest != 0 {
                let row = &SUMS[rest.trailing_zeros() as usize];
                sum += (0..4).map(|i| row[i][usize::from(low >> (4 * i) & 15)]).sum::<f32>();
                rest &= rest - 1;
            }
            sum
        })
        .product()
}

/// For each high half and four of the low halves: what the bytes weigh of any choice of those.
static SUMS: [[[f32; 16]; 4]; 16] = {
    let mut t = [[[0.0; 16]; 4]; 16];
    let mut n = 0;
    while n < 16 * 4 * 16 * 4 {
        let (high, four, choice, bit) = (n >> 8, n >> 6 & 3, n >> 2 & 15, n & 3);
        if choice >> bit & 1 != 0 {
            t[high][four][choice] += WEIGHT[high << 4 | four << 2 | bit];
        }
        n += 1;
    }
    t
};

/// Rough shares of bytes in logs, JSON and code.
const WEIGHT: [f32; 256] = {
    let mut t = [0.0005; 256];
    let mut b = 0;
    while b < 128 {
        t[b] = match b as u8 {
            b' ' => 0.12,
            b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 0.045,
            b'a'..=b'z' => 0.015,
            b'0'..=b'9' => 0.012,
            b'A'..=b'Z' => 0.005,
            b'_' | b'-' | b'.' | b'/' | b':' | b'=' | b'"' | b',' => 0.01,
            _ => 0.003,
        };
        b += 1;
    }
    t
};

/// Shares the words out: time and again the two groups are joined that let the least more text through.
fn buckets(starts: impl IntoIterator<Item = Start>, most: usize) -> Vec<Group> {
    let mut sorted: Vec<Start> = starts.into_iter().collect();
    sorted.sort_by_cached_key(|s| s.map(|set| set.iter().next()));
    sorted.dedup();
    let mut groups: Vec<Group> = vec![];
    for sets in sorted {
        match groups.last_mut().filter(|g| g.sets[..2] == sets[..2]) {
            Some(last) => *last = last.with(&Group::new(sets)),
            None => groups.push(Group::new(sets)),
        }
    }
    while groups.len() > GROUPS {
        groups = groups.chunks(2).map(|pair| pair[1..].iter().fold(pair[0], |a, b| a.with(b))).collect();
    }
    let mut groups: Vec<Option<Group>> = groups.into_iter().map(Some).collect();
    // For each group: the best of those after it, and what joining the two would let through.
    let price = |groups: &[Option<Group>], i: usize, j: usize| {
        let (a, b) = (groups[i].as_ref()?, groups[j].as_ref()?);
        Some((a.price(b), j))
    };
    let best = |groups: &[Option<Group>], i: usize| {
        (i + 1..groups.len()).filter_map(|j| price(groups, i, j)).min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let mut next: Vec<_> = (0..groups.len()).map(|i| best(&groups, i)).collect();
    for _ in most..groups.len() {
        let pairs = next.iter().enumerate().filter_map(|(i, n)| n.map(|(cost, j)| (cost, i, j)));
        let Some((_, i, j)) = pairs.min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
        let other = groups[j].take().expect("only living groups are joined");
        groups[i] = groups[i].map(|g| g.with(&other));
        for (k, next) in next.iter_mut().enumerate() {
            if k == i || k == j || next.is_some_and(|n| n.1 == i || n.1 == j) {
                *next = best(&groups, k);
            } else if k < i
                && let Some(new) = price(&groups, k, i)
                && next.is_none_or(|n| new.0 < n.0)
            {
                *next = Some(new);
            }
        }
    }
    groups.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_missed_and_few_others_pass() {
        let words: Vec<[u8; 4]> =
            (0..600u32).map(|n| n.wrapping_mul(0x9E37_79B1).to_le_bytes().map(|b| b'0' + b % 64)).collect();
        let t = Beginnings::<2>::new(words.iter().map(|w| start(w, None, false)));
        assert!(words.iter().all(|w| t.may(*w)));
        let low =
            Beginnings::<1>::new([start(b"key", None, true), start(b"ab", Some(ByteSet::of(b"12")), false)]);
        for (text, want) in
            [(b"KeY\xc3", true), (b"key\0", true), (b"kex=", false), (b"ab1?", true), (b"ab3?", false)]
        {
            assert_eq!(low.may(*text), want, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn words_that_begin_alike_share_a_bucket() {
        let few =
            Beginnings::<2>::new((b'a'..=b'z').flat_map(|c| {
                [[c, b'_', b'x', b'y'], [c, b'-', b'0', b'1']].map(|w| start(&w, None, false))
            }));
        assert!(few.may(*b"q_xy") && !few.may(*b"q_01") && !few.may(*b"qrst"));
    }
}
