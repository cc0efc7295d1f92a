//! Exact token counts for the encodings of `tiktoken`, with the vocabularies inside: see `DESIGN.md`.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod cache;
mod classes;
mod counter;
mod encoding;
mod estimate;
mod image;
mod key;
mod limit;
mod memo;
mod merge;
mod pieces;
mod short;
mod special;
mod vocabulary;
mod walk;
#[cfg(any(test, target_arch = "x86_64"))]
mod windows;

pub use counter::Counter;
pub use encoding::{Encoding, Id, UnknownEncoding};
pub use estimate::{Characters, Estimate, Weights};
pub use image::{IMAGE_LEAST, IMAGE_MOST, image_tokens};
