//! A heap of lines that keeps those that matter most, however many go by.
//!
//! Lines fall into tiers. Of each tier the first ones and the last ones stay, as many as could ever be shown: that is
//! why a text that arrives in pieces gives the result of the whole, in memory that does not grow.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use crate::piece::Piece;
use crate::signs::{self, Tier};

/// A line of the redacted text, with its line break.
#[derive(Clone, Debug)]
pub(crate) struct Line<'t> {
    /// The number of its first line in the source, from 0.
    pub(crate) row: usize,
    /// How many lines of the source it stands for: more than one where a placeholder took the place of several.
    pub(crate) lines: usize,
    /// Its beginning: all of it, but for a very long one.
    pub(crate) head: Piece<'t>,
    /// The end of a very long one.
    pub(crate) tail: Option<Box<Piece<'t>>>,
    /// What it looks like but for numbers.
    pub(crate) kind: u64,
}

impl Line<'_> {
    pub(crate) fn len(&self) -> usize {
        self.head.len() + self.tail.as_ref().map_or(0, |tail| tail.len())
    }
}

/// How many lines around one that matters are worth keeping.
const AROUND: usize = 2;
/// How many indented lines after it.
const INDENTED: usize = 40;
/// How many of the last lines matter.
const FINAL: usize = 3;
/// So many kinds of lines that differ in one word are shown as kinds of their own.
const FAMILY: u8 = 3;
/// As many kinds as a text of some tens of kilobytes has: room for them from the start, and for some words of each.
const FEW: usize = 448;
/// How many kinds of lines are told apart.
const KINDS: usize = 1 << 16;
/// The most bytes that a token is thought to stand for.
pub(crate) const BYTES: usize = 64;

/// The first and the last lines of a tier.
#[derive(Debug, Default)]
struct Shelf<'t> {
    first: Vec<Line<'t>>,
    first_bytes: usize,
    last: VecDeque<Line<'t>>,
    last_bytes: usize,
}

impl<'t> Shelf<'t> {
    fn put(&mut self, line: Line<'t>, most: usize) {
        if self.last.is_empty() && self.first.len() < most && self.first_bytes < most * BYTES {
            self.first_bytes += line.len();
            self.first.push(line);
            return;
        }
        self.last_bytes += line.len();
        self.last.push_back(line);
        while self.last.len() > most || self.last.len() > 1 && self.last_bytes > most * BYTES {
            let gone = self.last.pop_front().expect("more than one");
            self.last_bytes -= gone.len();
        }
    }

    fn into_lines(self) -> Vec<Line<'t>> {
        self.first.into_iter().chain(self.last).collect()
    }
}

/// See the top.
#[derive(Debug)]
pub(crate) struct Sieve<'t> {
    most: usize,
    shelves: [Shelf<'t>; Tier::COUNT],
    /// Lines whose tier the next ones may still raise.
    waiting: VecDeque<(Tier, Line<'t>)>,
    /// For how many more lines a line that mattered gives context, and for how many indented ones.
    around: usize,
    indented: usize,
    kinds: Kinds,
    /// The kinds of lines that were asked for.
    asked: HashSet<u64, BuildHasherDefault<Same>>,
    /// How many kinds of lines that matter there were, by what they are without one of their words.
    families: HashMap<u64, u8, BuildHasherDefault<Same>>,
}

/// How many lines of each kind there were.
pub(crate) type Kinds = HashMap<u64, usize, BuildHasherDefault<Same>>;

/// The key is a hash already.
#[derive(Debug, Default)]
pub(crate) struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers");
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

impl<'t> Sieve<'t> {
    /// A sieve for `most` tokens.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            shelves: Default::default(),
            waiting: VecDeque::new(),
            around: 0,
            indented: 0,
            kinds: HashMap::with_capacity_and_hasher(FEW, BuildHasherDefault::default()),
            asked: HashSet::default(),
            families: HashMap::with_capacity_and_hasher(4 * FEW, BuildHasherDefault::default()),
        }
    }

    /// Takes the next line, of which `sign` is known: what is said in it, if anything.
    pub(crate) fn put(&mut self, mut line: Line<'t>, sign: Option<Tier>) {
        let text = &line.head.text;
        let blank = text.trim_ascii().is_empty();
        let indented = text.first().is_some_and(|b| matches!(b, b' ' | b'\t'));
        line.kind = signs::kind(text.trim_ascii_end());
        if sign == Some(Tier::Outcome) {
            line.kind ^= signs::exit_code(text);
        }
        let mut tier = match sign {
            Some(tier) => tier,
            None if blank => Tier::Blank,
            None => Tier::Plain,
        };
        if tier.has_context() {
            for (before, _) in self.waiting.iter_mut().rev().take(AROUND) {
                *before = (*before).min(Tier::Near);
            }
            (self.around, self.indented) = (AROUND, INDENTED);
        } else {
            self.indented = if indented { self.indented.saturating_sub(1) } else { 0 };
            if !blank && self.indented > 0 {
                tier = tier.min(Tier::Under);
            } else if !blank && self.around > 0 {
                tier = tier.min(Tier::Near);
            }
            self.around = self.around.saturating_sub(1);
        }
        if blank {
            // Nothing raises it, and it is not one of the last.
            return self.settle(tier, line);
        }
        self.waiting.push_back((tier, line));
        if self.waiting.len() > FINAL.max(AROUND) {
            let (tier, line) = self.waiting.pop_front().expect("just counted");
            self.settle(tier, line);
        }
    }

    /// Puts a line where the caller says.
    pub(crate) fn shelve(&mut self, tier: Tier, line: Line<'t>) {
        self.shelves[tier as usize].put(line, self.most);
    }

    fn settle(&mut self, tier: Tier, line: Line<'t>) {
        let room = self.kinds.len() < KINDS;
        let count = self.kinds.get_mut(&line.kind);
        // What was asked for is compared with what was asked for: it may look like any line.
        let seen = if tier == Tier::Asked { !self.asked.insert(line.kind) } else { count.is_some() };
        match count {
            Some(count) => *count += 1,
            None if room => drop(self.kinds.insert(line.kind, 1)),
            None => {}
        }
        let again = seen || tier.is_told() && self.is_one_of_many(&line);
        self.shelve(if again { tier.again() } else { tier }, line);
    }

    /// Whether there were lines enough that differ from this one in the same word only: its values then tell no more
    /// than numbers do.
    fn is_one_of_many(&mut self, line: &Line<'_>) -> bool {
        let room = self.families.len() < KINDS;
        let mut many = false;
        for key in signs::without_each(line.head.text.trim_ascii_end()) {
            match self.families.get_mut(&key) {
                Some(count) => {
                    many |= *count >= FAMILY;
                    *count = count.saturating_add(1);
                }
                None if room => drop(self.families.insert(key, 1)),
                None => {}
            }
        }
        many
    }

    /// Ends the text: the lines of each tier, and how many lines there were of each kind.
    pub(crate) fn finish(mut self) -> Sorted<'t> {
        for (tier, line) in std::mem::take(&mut self.waiting) {
            self.settle(tier.min(Tier::Last), line);
        }
        Sorted { tiers: self.shelves.map(Shelf::into_lines), kinds: self.kinds }
    }
}

/// What a sieve kept.
#[derive(Debug)]
pub(crate) struct Sorted<'t> {
    /// By [`Tier`], each in the order of the text.
    pub(crate) tiers: [Vec<Line<'t>>; Tier::COUNT],
    /// How many lines of each kind went by.
    pub(crate) kinds: Kinds,
}

impl<'t> Sorted<'t> {
    /// The lines by what they matter: tier after tier, from both ends of each, the last lines from the end.
    pub(crate) fn ranked(&self) -> impl Iterator<Item = (Tier, &Line<'t>)> {
        Tier::ALL.into_iter().zip(&self.tiers).flat_map(|(tier, lines)| {
            let n = lines.len();
            let place = move |i| match tier {
                Tier::Last => n - 1 - i,
                _ if i % 2 == 0 => i / 2,
                _ => n - 1 - i / 2,
            };
            (0..n).map(move |i| (tier, &lines[place(i)]))
        })
    }
}
