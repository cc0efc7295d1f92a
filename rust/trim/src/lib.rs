//! Tool results cut to a budget of tokens, with an account of what was lost.
//!
//! A [`Plan`] says how; [`Plan::trim`] takes a whole text, [`Plan::stream`] one that arrives in pieces. Secrets are
//! redacted before anything is cut, so no cut can leave half of one. How it works, and why, is told in `DESIGN.md`
//! beside this crate.
//!
//! ```
//! use std::sync::Arc;
//! use ctxproto_trim::{Count, Plan, Strategy};
//!
//! /// A token a byte.
//! struct Bytes;
//!
//! impl Count for Bytes {
//!     fn count(&self, text: &[u8]) -> usize {
//!         text.len()
//!     }
//!     fn limit(&self, text: &[u8], most: usize) -> usize {
//!         text.len().min(most)
//!     }
//!     fn limit_back(&self, text: &[u8], most: usize) -> usize {
//!         text.len() - text.len().min(most)
//!     }
//! }
//!
//! let plan = Plan::new(Strategy::default(), 160, Arc::new(Bytes));
//! let log = format!("{}ERROR: disk full\n{}exit code 1\n", "all is well\n".repeat(99), "going on\n".repeat(99));
//! let trimmed = plan.trim(log.as_bytes()).unwrap();
//! let text = String::from_utf8_lossy(&trimmed.text);
//! assert!(text.len() <= 160 && text.contains("ERROR: disk full\n") && text.contains("exit code 1\n"));
//! assert!(text.starts_with("[trimmed: "));
//! assert_eq!(trimmed.loss.kept.lines + trimmed.loss.dropped.lines, 200);
//! ```

mod count;
mod diff;
mod ends;
mod error;
mod fields;
mod fit;
mod json;
mod lines;
mod log;
mod lookup;
mod loss;
mod nested;
#[cfg(test)]
mod oracle;
mod piece;
mod plan;
mod sieve;
mod signs;
mod strategy;
mod stream;
mod summary;
mod table;
mod tree;
mod view;

pub use count::Count;
pub use error::TrimError;
pub use fields::Fields;
pub use lines::Patterns;
pub use lookup::{Found, Lookup};
pub use loss::{Loss, Size, Tokens, Units};
pub use plan::{Plan, Replaced, Trimmed};
pub use strategy::Strategy;
pub use stream::{Need, Trimmer};
