//! Files in, files out: the same bytes with nothing dangerous left in them.
//!
//! A file is read in blocks, decoded by its magic bytes, redacted as one stream and written with the codec it came
//! in to a temporary file, which takes the target's place only when it is complete. Memory is bounded whatever the
//! size of a file or a line. Many files run on several threads; results come in the order of the jobs and the bytes
//! do not depend on the number of threads.
//!
//! ```
//! use std::sync::Arc;
//! use ctxproto_batch::{Batch, Control, Job, Progress, Status, process, run};
//! use ctxproto_redact::{Options, Redactor, detect::{Detector, Policy}};
//!
//! let dir = std::env::temp_dir().join(format!("ctxproto-doc-{}", std::process::id()));
//! std::fs::create_dir_all(&dir)?;
//! std::fs::write(dir.join("in.log"), "nothing to hide\n")?;
//! let redactor = Arc::new(Redactor::new(Arc::new(Detector::new(&Policy::default())?), Options::default()));
//! let job = Job::write(dir.join("in.log"), dir.join("out.log"));
//! let progress = Progress::new();
//! let control = Control::new(&progress, &|| false);
//! let batch = Batch::new(redactor);
//! run(4, &[job], |job| process(&batch, job, control), |_, report| assert_eq!(report.status, Status::Clean));
//! assert_eq!(std::fs::read(dir.join("out.log"))?, b"nothing to hide\n");
//! # std::fs::remove_dir_all(&dir)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod atomic;
mod codec;
mod control;
mod error;
mod file;
mod filter;
mod pump;
mod read;
mod run;
mod stdio;
mod utf16;

pub use ctxproto_redact as redact;

pub use control::{Control, Progress};
pub use error::Error;
pub use file::{Action, Batch, Job, Report, Status, process};
pub use filter::{filter, find};
pub use read::{read, read_file};
pub use run::run;
pub use stdio::{Stdin, stdout};
