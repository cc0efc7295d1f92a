//! The memories of one namespace, in memory, as a search needs them: no texts, but who holds which word.
//!
//! A memory has a slot. Slots come in the order in which memories came; one that is gone leaves its slot empty, until
//! there are so many that the others close up.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::mem::size_of;

use smallvec::SmallVec;

use crate::embedded::Embedded;
use crate::words::{Term, terms};
use crate::{Filter, Moment, Record};

/// A hash already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("terms are numbers");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// That a memory holds a word, and how often.
#[derive(Clone, Copy, Debug)]
struct Posting {
    slot: u32,
    count: u32,
}

/// Most words are in one memory or two: no list of their own for them.
type Postings = SmallVec<[Posting; 2]>;

/// A memory of a leaf.
#[derive(Debug)]
struct Slot {
    seq: i64,
    content: u64,
    created: Moment,
    importance: f64,
}

/// When a memory is there; all three in lists of their own, for a search looks at every one.
#[derive(Debug, Default)]
struct Times {
    from: Vec<Moment>,
    to: Vec<Moment>,
    expires: Vec<Moment>,
    /// No slot begins later or ends earlier: most searches need not look at each.
    latest: Moment,
    earliest: Moment,
}

impl Times {
    fn push(&mut self, record: &Record) {
        self.from.push(0);
        self.to.push(0);
        self.expires.push(0);
        self.set(self.from.len() - 1, record);
    }

    fn set(&mut self, slot: usize, record: &Record) {
        if slot == 0 && self.from.len() == 1 {
            (self.latest, self.earliest) = (Moment::MIN, Moment::MAX);
        }
        self.from[slot] = record.valid_from;
        self.to[slot] = record.valid_to.unwrap_or(Moment::MAX);
        self.expires[slot] = record.expires.unwrap_or(Moment::MAX);
        self.latest = self.latest.max(self.from[slot]);
        self.earliest = self.earliest.min(self.to[slot]).min(self.expires[slot]);
    }

    /// Not there at any time.
    fn clear(&mut self, slot: usize) {
        self.expires[slot] = Moment::MIN;
        self.earliest = Moment::MIN;
    }
}

/// One namespace's index.
#[derive(Debug, Default)]
pub(crate) struct Leaf {
    slots: Vec<Slot>,
    /// The number of words of each: in a list of their own, like the times, for a search looks at many.
    lengths: Vec<u32>,
    times: Times,
    kinds: Vec<u8>,
    kind_names: Vec<String>,
    places: HashMap<i64, u32>,
    postings: HashMap<Term, Postings, BuildHasherDefault<AsIs>>,
    embedded: Embedded,
    /// Words of all that is there.
    words: u64,
    entries: usize,
}

impl Leaf {
    /// A memory as it is now, whether it was there or not.
    pub(crate) fn put(&mut self, seq: i64, record: &Record, vector: Option<&[f32]>) {
        let content = fingerprint(&record.content);
        let kind = self.kind(&record.kind);
        if let Some(&place) = self.places.get(&seq) {
            let place = place as usize;
            if self.slots[place].content == content {
                self.times.set(place, record);
                self.kinds[place] = kind;
                self.slots[place].importance = record.importance;
                self.embedded.set(place, self.slots.len(), vector);
                return;
            }
            self.remove(seq);
        }
        let slot = u32::try_from(self.slots.len()).expect("no namespace has 2^32 memories");
        let mut found = vec![];
        terms(&record.content, |term| found.push(term));
        let words = found.len() as u64;
        found.sort_unstable();
        for same in found.chunk_by(Term::eq) {
            let postings = self.postings.entry(same[0]).or_default();
            postings.push(Posting { slot, count: same.len() as u32 });
            self.entries += 1;
        }
        self.words += words;
        self.slots.push(Slot { seq, content, created: record.created, importance: record.importance });
        self.lengths.push(words as u32);
        self.times.push(record);
        self.kinds.push(kind);
        self.places.insert(seq, slot);
        self.embedded.set(slot as usize, self.slots.len(), vector);
    }

    /// A memory is gone.
    pub(crate) fn remove(&mut self, seq: i64) {
        let Some(slot) = self.places.remove(&seq) else { return };
        self.words -= u64::from(self.lengths[slot as usize]);
        self.times.clear(slot as usize);
        self.embedded.set(slot as usize, self.slots.len(), None);
        let empty = self.slots.len() - self.places.len();
        if empty > 64 && empty * 4 > self.slots.len() {
            self.close_up();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Bytes, roughly.
    pub(crate) fn size(&self) -> usize {
        let slot =
            size_of::<Slot>() + size_of::<u32>() + 3 * size_of::<Moment>() + 1 + 2 * size_of::<(i64, u32)>();
        let term = 2 * size_of::<(Term, Postings)>();
        self.slots.len() * slot
            + self.postings.len() * term
            + self.entries * size_of::<Posting>()
            + self.embedded.size()
    }

    fn kind(&mut self, name: &str) -> u8 {
        let at = self.kind_names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.kind_names.push(name.into());
            self.kind_names.len() - 1
        });
        u8::try_from(at).expect("there are four kinds")
    }

    fn there(&self, slot: usize) -> bool {
        self.places.get(&self.slots[slot].seq).is_some_and(|&place| place as usize == slot)
    }

    fn close_up(&mut self) {
        let mut next = 0;
        let moved: Vec<Option<u32>> = (0..self.slots.len())
            .map(|slot| {
                let place = self.there(slot).then_some(next);
                next += u32::from(place.is_some());
                place
            })
            .collect();
        let kept: Vec<usize> = (0..moved.len()).filter(|slot| moved[*slot].is_some()).collect();
        self.embedded.keep(&kept);
        keep(&mut self.slots, &moved);
        keep(&mut self.lengths, &moved);
        keep(&mut self.kinds, &moved);
        for times in [&mut self.times.from, &mut self.times.to, &mut self.times.expires] {
            keep(times, &moved);
        }
        self.times.latest = self.times.from.iter().copied().max().unwrap_or(Moment::MIN);
        let ends = self.times.to.iter().chain(&self.times.expires);
        self.times.earliest = ends.copied().min().unwrap_or(Moment::MAX);
        self.postings.retain(|_, postings| {
            postings.retain(|posting| moved[posting.slot as usize].is_some());
            for posting in postings.iter_mut() {
                posting.slot = moved[posting.slot as usize].expect("the others are gone");
            }
            !postings.is_empty()
        });
        self.entries = self.postings.values().map(SmallVec::len).sum();
        for place in self.places.values_mut() {
            *place = moved[*place as usize].expect("it is there");
        }
    }
}

fn keep<T>(list: &mut Vec<T>, moved: &[Option<u32>]) {
    let mut place = moved.iter();
    list.retain(|_| place.next().is_some_and(Option::is_some));
}

fn fingerprint(content: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash};
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

/// What a search sees of a leaf.
pub(crate) struct View<'l> {
    leaf: &'l Leaf,
    /// For each slot whether it is seen; None when all are.
    seen: Option<Vec<bool>>,
    count: usize,
    words: u64,
}

impl<'l> View<'l> {
    pub(crate) fn new(leaf: &'l Leaf, filter: &Filter) -> Self {
        let Times { from, to, expires, latest, earliest } = &leaf.times;
        let all = filter.kind.is_none()
            && filter.now < *earliest
            && filter.at.is_none_or(|at| at >= *latest && at < *earliest);
        if all {
            return Self { leaf, seen: None, count: leaf.slots.len(), words: leaf.words };
        }
        let mut seen: Vec<bool> = expires.iter().map(|end| *end > filter.now).collect();
        if let Some(at) = filter.at {
            for ((seen, from), to) in seen.iter_mut().zip(from).zip(to) {
                *seen &= *from <= at && at < *to;
            }
        }
        if let Some(kind) = &filter.kind {
            let kind = leaf.kind_names.iter().position(|name| name == kind);
            for (seen, of) in seen.iter_mut().zip(&leaf.kinds) {
                *seen &= kind == Some(usize::from(*of));
            }
        }
        let (mut count, mut words) = (0, 0);
        for (seen, length) in seen.iter().zip(&leaf.lengths) {
            count += usize::from(*seen);
            words += u64::from(*length) * u64::from(*seen);
        }
        Self { leaf, seen: Some(seen), count, words }
    }

    /// How many memories are seen.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The words of those that are seen.
    pub(crate) fn words(&self) -> u64 {
        self.words
    }

    /// One more than the last slot.
    pub(crate) fn slots(&self) -> usize {
        self.leaf.slots.len()
    }

    /// The number of the memory in the store.
    pub(crate) fn seq(&self, slot: usize) -> i64 {
        self.leaf.slots[slot].seq
    }

    /// How many that are seen hold the word.
    pub(crate) fn holders(&self, term: Term) -> usize {
        let Some(postings) = self.leaf.postings.get(&term) else { return 0 };
        match &self.seen {
            None => postings.len(),
            Some(seen) => postings.iter().filter(|posting| seen[posting.slot as usize]).count(),
        }
    }

    /// Each that holds the word and is seen: its slot, how often it holds it, and how many words it has.
    #[expect(clippy::cast_precision_loss, reason = "a score needs no more")]
    pub(crate) fn each_holder(&self, term: Term, mut found: impl FnMut(usize, f32, f32)) {
        for posting in self.leaf.postings.get(&term).into_iter().flatten() {
            let slot = posting.slot as usize;
            if self.seen.as_ref().is_none_or(|seen| seen[slot]) {
                found(slot, posting.count as f32, self.leaf.lengths[slot] as f32);
            }
        }
    }

    /// Whether the memory of a slot holds the word.
    pub(crate) fn holds(&self, term: Term, slot: usize) -> bool {
        let postings = self.leaf.postings.get(&term);
        postings.is_some_and(|list| list.binary_search_by_key(&slot, |posting| posting.slot as usize).is_ok())
    }

    /// The vectors of all slots, those that are not seen as well.
    pub(crate) fn embedded(&self) -> &Embedded {
        &self.leaf.embedded
    }

    /// Whether the slot has a vector and is seen.
    pub(crate) fn sees_vector(&self, slot: usize) -> bool {
        self.leaf.embedded.there()[slot] && self.seen.as_ref().is_none_or(|seen| seen[slot])
    }

    /// Whether each slot has, and is.
    pub(crate) fn sees_all_vectors(&self) -> bool {
        self.seen.is_none() && self.leaf.embedded.count() == self.leaf.embedded.there().len()
    }

    /// The slot of a memory that has a vector and is seen.
    pub(crate) fn slot(&self, seq: i64) -> Option<usize> {
        let slot = *self.leaf.places.get(&seq)? as usize;
        (slot < self.leaf.embedded.there().len() && self.sees_vector(slot)).then_some(slot)
    }

    /// When the memory of a slot was written.
    pub(crate) fn created(&self, slot: usize) -> Moment {
        self.leaf.slots[slot].created
    }

    /// Its importance.
    pub(crate) fn importance(&self, slot: usize) -> f64 {
        self.leaf.slots[slot].importance
    }
}
