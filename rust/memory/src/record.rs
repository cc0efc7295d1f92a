//! A memory as it is kept.

use rusqlite::Row;

use crate::sum::Sum;
use crate::{Error, Vectors};

/// Microseconds since 1970.
pub type Moment = i64;

/// One memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Unique in the store.
    pub id: String,
    /// The key of its namespace.
    pub namespace: Vec<u8>,
    /// What is remembered.
    pub content: String,
    /// Working, long-term, decision or entity.
    pub kind: String,
    /// What it is for.
    pub purpose: String,
    /// 0 to 1.
    pub importance: f64,
    /// Who said it.
    pub provenance: String,
    /// When it was written.
    pub created: Moment,
    /// From when it is true.
    pub valid_from: Moment,
    /// Until when it is true.
    pub valid_to: Option<Moment>,
    /// The id of the memory whose place it took.
    pub supersedes: Option<String>,
    /// The id of the memory that took its place.
    pub superseded_by: Option<String>,
    /// When it is forgotten by itself.
    pub expires: Option<Moment>,
    /// JSON.
    pub metadata: String,
}

/// What of a memory is to be another; the rest stays.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the fields of Record")]
pub struct Change {
    pub content: Option<String>,
    pub kind: Option<String>,
    pub purpose: Option<String>,
    pub importance: Option<f64>,
    pub valid_to: Option<Option<Moment>>,
    pub expires: Option<Option<Moment>>,
    pub metadata: Option<String>,
}

/// Whose memories a call touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The key of a namespace; empty, with `below`, for everything.
    pub key: Vec<u8>,
    /// All below it as well.
    pub below: bool,
}

impl Scope {
    /// The first key that is in, and the first after them that is not.
    pub(crate) fn range(&self) -> (&[u8], Vec<u8>) {
        // No UTF-8 has a byte of 0xFF; and no key lies between one and the same with a NUL at its end.
        (&self.key, [&self.key, &[if self.below { 0xFF } else { 0 }][..]].concat())
    }
}

/// What a search is for, and how it ranks.
#[derive(Clone, Copy, Debug)]
pub struct Query<'q> {
    /// Its words.
    pub text: &'q str,
    /// Its vector: one; None for words alone.
    pub vector: Option<Vectors<'q>>,
    /// The numbers of memories whose vectors are likely to be the closest; of none, all are looked through.
    pub near: &'q [i64],
    /// Whether the relevance is the cosine as it is.
    pub raw: bool,
    /// From 0, not twice the same, to 1, relevance alone.
    pub lambda: f64,
    /// What being new counts, beside 1 for the relevance.
    pub recency: f64,
    /// After how many microseconds a memory is half as new.
    pub half_life: f64,
    /// What being important counts, beside 1 for the relevance.
    pub importance: f64,
}

impl<'q> Query<'q> {
    /// Of words alone, by relevance alone.
    pub fn words(text: &'q str) -> Self {
        Self {
            text,
            vector: None,
            near: &[],
            raw: false,
            lambda: 1.0,
            recency: 0.0,
            half_life: 1.0,
            importance: 0.0,
        }
    }
}

/// A memory that a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The memory.
    pub record: Record,
    /// How well it fits, 0 to 1, all counted.
    pub score: f64,
    /// Its BM25 score.
    pub bm25: f64,
    /// That as relevance, 0 to 1.
    pub lexical: f64,
    /// The cosine between its vector and the query's.
    pub cosine: Option<f64>,
    /// That as relevance, 0 to 1.
    pub semantic: Option<f64>,
    /// Both as one.
    pub relevance: f64,
    /// How new it is: 1, and half as much after each half-life.
    pub recency: f64,
}

/// In the order in which `Record::read` takes them.
pub(crate) const COLUMNS: &str = "id, namespace, content, kind, purpose, importance, provenance, created, valid_from, \
                                  valid_to, supersedes, superseded_by, expires, metadata, checksum";

impl Record {
    pub(crate) fn read(row: &Row<'_>) -> Result<Self, Error> {
        let record = Self {
            id: row.get(0)?,
            namespace: row.get(1)?,
            content: row.get(2)?,
            kind: row.get(3)?,
            purpose: row.get(4)?,
            importance: row.get(5)?,
            provenance: row.get(6)?,
            created: row.get(7)?,
            valid_from: row.get(8)?,
            valid_to: row.get(9)?,
            supersedes: row.get(10)?,
            superseded_by: row.get(11)?,
            expires: row.get(12)?,
            metadata: row.get(13)?,
        };
        // SQLite does not see a bit that flipped inside a value.
        if row.get::<_, i64>(14)? != record.checksum() {
            return Err(Error::Damaged("a record is not as it was written".into()));
        }
        Ok(record)
    }

    /// Another one for every single byte that changes: of all fields, each after its length.
    pub(crate) fn checksum(&self) -> i64 {
        let text = |sum: Sum, bytes: &[u8]| sum.word(bytes.len() as u64).bytes(bytes);
        let maybe = |sum: Sum, bytes: Option<&String>| match bytes {
            Some(bytes) => text(sum, bytes.as_bytes()),
            None => sum.word(u64::MAX),
        };
        let number = |sum: Sum, number: u64| sum.word(8).word(number);
        let moment = |sum: Sum, moment: Option<Moment>| match moment {
            Some(moment) => number(sum, moment.cast_unsigned()),
            None => sum.word(u64::MAX),
        };
        let mut sum = Sum::new();
        for field in [self.id.as_bytes(), &self.namespace, self.content.as_bytes(), self.kind.as_bytes()] {
            sum = text(sum, field);
        }
        sum = number(text(sum, self.purpose.as_bytes()), self.importance.to_bits());
        sum = text(sum, self.provenance.as_bytes());
        for field in [Some(self.created), Some(self.valid_from), self.valid_to] {
            sum = moment(sum, field);
        }
        sum = maybe(maybe(sum, self.supersedes.as_ref()), self.superseded_by.as_ref());
        text(moment(sum, self.expires), self.metadata.as_bytes()).told()
    }

    pub(crate) fn apply(&mut self, change: Change) {
        if let Some(new) = change.content {
            self.content = new;
        }
        if let Some(new) = change.kind {
            self.kind = new;
        }
        if let Some(new) = change.purpose {
            self.purpose = new;
        }
        if let Some(new) = change.importance {
            self.importance = new;
        }
        if let Some(new) = change.valid_to {
            self.valid_to = new;
        }
        if let Some(new) = change.expires {
            self.expires = new;
        }
        if let Some(new) = change.metadata {
            self.metadata = new;
        }
    }
}
