//! Findings become rewritten text: placeholders, streams, the vault.
//!
//! ```
//! use std::sync::Arc;
//! use ctxproto_redact::{Format, Options, Redactor, detect::{Detector, Policy}};
//!
//! let detector = Arc::new(Detector::new(&Policy::default()).unwrap());
//! let redactor = Redactor::new(detector, Options::default());
//! let text = br#"{"user": "ada", "password": "hunter2"}"#;
//! let redaction = redactor.redact(text, Format::Auto).unwrap();
//! assert_eq!(redaction.text, br#"{"user": "ada", "password": "[PASSWORD:REDACTED]"}"#);
//! ```

mod clean;
mod excerpt;
mod placeholder;
mod redactor;
mod stream;
mod vault;
mod writer;

pub use clean::{Clean, Name};
pub use ctxproto_detect as detect;
pub use excerpt::Excerpt;
pub use placeholder::Placeholder;
pub use redactor::{Finding, Format, Options, Redaction, Redactor};
pub use stream::Stream;
pub use vault::Vault;
