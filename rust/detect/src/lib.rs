//! Secrets and PII in bytes: rules as data, one scanner over all of them.
//!
//! [`Detector::scan`] finds everything a [`Policy`] asks for in one text; [`Detector::scan_part`] does the same for a
//! text that arrives in parts. How it works, and why, is told in `DESIGN.md` beside this crate.
//!
//! ```
//! use ctxproto_detect::{Detector, Policy};
//!
//! let detector = Detector::new(&Policy::default()).unwrap();
//! let text = format!("password={}", "hunter2");
//! let found = detector.scan(text.as_bytes());
//! assert_eq!(detector.rules()[usize::from(found[0].rule)].label, "PASSWORD");
//! ```

mod address;
mod assign;
mod authorization;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod beginnings;
mod beside;
mod call;
mod checks;
mod chosen;
mod class;
mod column;
mod command;
mod decoy;
mod detector;
mod encoded;
mod engine;
mod example;
mod gitleaks;
mod index;
mod keys;
mod known;
mod lexicon;
mod login;
mod masks;
mod pairs;
mod pattern;
mod pem;

mod pii;
mod policy;
mod prose;
mod random;
mod rule;
mod shape;
mod shorthand;
mod sign;
mod signed;
mod stems;
mod token;
mod triggers;
mod url;
mod value;
mod view;
mod window;
mod words;
mod worth;
mod wrapped;

pub use detector::{Detector, Match, Part, settle};
pub use lexicon::Lexicon;
pub use pairs::{holds_value, names_member};
pub use policy::{Allow, Pii, Policy, PolicyError};
pub use rule::RuleInfo;
