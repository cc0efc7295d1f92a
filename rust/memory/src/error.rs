//! What can go wrong with a store. No message holds a value.

use std::fmt;

use rusqlite::ErrorCode;

/// Why a call did not succeed. Nothing was changed then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Another connection is writing: worth another try.
    Busy,
    /// Who asked does not want it any more, or not in this way.
    Stopped,
    /// No memory of this id is there.
    Missing,
    /// The memory was superseded already.
    Superseded,
    /// A memory of this id is there already.
    Exists,
    /// It would end before it begins.
    Never,
    /// The vectors of the store are of this model, and have so many numbers; of none, when it has none.
    Model(String, usize),
    /// A vector that has no direction: all its numbers are 0, or one is none.
    Vector,
    /// The file is no store, or not the whole of one.
    Damaged(String),
    /// The file is of a later version of the schema.
    Newer(i64),
    /// The operating system refuses: a full disk, no permission, no such directory.
    Io(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => write!(f, "another process is writing"),
            Self::Stopped => write!(f, "it was ended before it was done"),
            Self::Missing => write!(f, "there is no memory of this id in this namespace"),
            Self::Superseded => write!(f, "the memory of this id was superseded already"),
            Self::Exists => write!(f, "there is a memory of this id already"),
            Self::Never => write!(f, "valid_to is not after valid_from: it would never be true"),
            Self::Model(_, 0) => write!(f, "the store has no embedding model yet"),
            Self::Model(name, dims) => {
                write!(
                    f,
                    "the vectors of the store are of the model {name:?}, {dims} numbers each, not of this one"
                )
            }
            Self::Vector => {
                write!(f, "a vector has no direction: its numbers are all 0, or one is not finite")
            }
            Self::Damaged(why) => write!(f, "damaged, or no memory store: {why}"),
            Self::Newer(version) => write!(f, "written by a later version of ctxproto (schema {version})"),
            Self::Io(why) => write!(f, "{why}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error as E;
        match &error {
            E::SqliteFailure(failure, _) => match failure.code {
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Busy,
                ErrorCode::ConstraintViolation => Self::Exists,
                // In words of people who look after disks.
                ErrorCode::DiskFull => Self::Io("the disk is full, or the file as large as it may be".into()),
                ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
                    Self::Io("the file, or those beside it, may not be opened for reading and writing".into())
                }
                ErrorCode::ReadOnly => Self::Io("the file or its folder is read-only".into()),
                ErrorCode::SystemIoFailure => Self::Io("the disk failed to read or write".into()),
                ErrorCode::OutOfMemory => Self::Io("there is no memory left".into()),
                // A schema that is not ours any more fails as SQL does.
                _ => Self::Damaged(failure.to_string()),
            },
            E::SqlInputError { error, .. } => Self::Damaged(error.to_string()),
            _ => Self::Damaged("a record is not as it was written".into()),
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error.to_string())
    }
}
