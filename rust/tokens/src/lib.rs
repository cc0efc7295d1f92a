//! Exact token counts for the encodings of `tiktoken`, with the vocabularies inside: see `DESIGN.md`.

mod cache;
mod classes;
mod encoding;
mod merge;
mod pieces;
mod special;
mod vocabulary;

pub use encoding::{Encoding, Id, UnknownEncoding};
