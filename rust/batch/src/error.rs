//! What went wrong with one file: said once, with the file's name left to the caller.

use std::{fmt, io};

use crate::Control;

/// Why a file could not be processed.
#[derive(Debug)]
pub enum Error {
    /// The input could not be opened or read.
    Read(io::Error),
    /// The output could not be written; nothing of it was left behind.
    Write(io::Error),
    /// The job itself makes no sense; the text says why.
    Refused(&'static str),
    /// The caller asked to stop.
    Stopped,
    /// Nobody reads the output any more.
    BrokenPipe,
}

impl Error {
    pub(crate) fn read(error: io::Error, control: Control<'_>) -> Self {
        if control.stopped() { Self::Stopped } else { Self::Read(error) }
    }

    pub(crate) fn write(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::BrokenPipe } else { Self::Write(error) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(e) => write!(f, "cannot read: {}", Plain(e)),
            Self::Write(e) => write!(f, "cannot write the output: {}", Plain(e)),
            Self::Refused(why) => f.write_str(why),
            Self::Stopped => f.write_str("stopped"),
            Self::BrokenPipe => f.write_str("the reader of the output went away"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(e) | Self::Write(e) => Some(e),
            _ => None,
        }
    }
}

/// An I/O error without the `(os error 28)` that the standard library appends.
struct Plain<'a>(&'a io::Error);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        f.write_str(text.split(" (os error").next().unwrap_or(&text))
    }
}
