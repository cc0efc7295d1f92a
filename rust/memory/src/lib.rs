//! Memories that last: records in `SQLite`, isolated by the range of keys that a call touches, and their search.
//!
//! A namespace comes here as its key: components in UTF-8, each ended by a NUL, which none of them holds. The keys of a
//! namespace and of all below it are one range, `key .. key 0xFF`, and no other namespace's key is in it.

mod bm25;
mod cache;
mod diversity;
mod dots;
mod embedded;
mod error;
mod file;
mod judge;
mod leaf;
mod link;
mod record;
mod schema;
mod search;
mod semantic;
mod store;
mod sum;
mod top;
mod vectors;
mod words;

pub use cache::GoOn;
pub use error::Error;
pub use judge::{Judgement, LEAST_LETTERS, judge, length};
pub use link::{after_fork, at_work, before_fork};
pub use record::{Change, Hit, Moment, Query, Record, Scope};
pub use search::pool;
pub use store::{Filter, Stats, Store};
pub use vectors::{Changes, Model, Vectors, background};
pub use words::{query_words, words};
