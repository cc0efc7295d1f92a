//! The file of a store: made whole, recognised before it is touched, and private.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::collections::hash_map::RandomState;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::Error;

/// "ctxm": says whose file it is.
pub(crate) const APPLICATION: i64 = 0x6374_786d;

/// How long `SQLite` itself waits for another writer: short, for the caller looks for signals and comes again.
const WAIT: Duration = Duration::from_millis(20);

/// Which file it is, whatever its name: device and number.
pub(crate) type Identity = (u64, u64);

pub(crate) fn identity(path: &Path) -> Result<Identity, Error> {
    let about = fs::metadata(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Ok((about.dev(), about.ino()))
    }
    #[cfg(not(unix))]
    {
        drop(about);
        Ok((0, 0))
    }
}

/// Makes a whole store under another name first: at `path` there is nothing, or all of it.
pub(crate) fn create(
    path: &Path,
    fill: impl FnOnce(&mut Connection) -> Result<(), Error>,
) -> Result<(), Error> {
    // A name that no other process has, in whatever container, and none had before it was killed.
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{:016x}.new", RandomState::new().build_hasher().finish()));
    let new = PathBuf::from(name);
    let made = (|| {
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            // What people said is for nobody else to read; SQLite gives its other files the same mode.
            options.mode(0o600);
        }
        drop(options.write(true).create_new(true).open(&new)?);
        let mut connection = Connection::open(&new)?;
        settle(&connection)?;
        fill(&mut connection)?;
        // Nothing may stay in a log: it would have the other name.
        connection.pragma_update(None, "journal_mode", "DELETE")?;
        connection.close().map_err(|(_, error)| error)?;
        File::open(&new)?.sync_all()?;
        match fs::hard_link(&new, path) {
            // Another process was first: its store is as good.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            linked => linked?,
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(())
    })();
    let _ = fs::remove_file(&new);
    made
}

/// A connection to a file, counted among those of this process.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    // After it: what is closed is counted no more. None in memory.
    _counted: Option<Counted>,
}

impl Opened {
    pub(crate) fn in_memory(connection: Connection) -> Self {
        Self { connection, _counted: None }
    }
}

/// How many connections to each file this process has.
static OPEN: Mutex<BTreeMap<Identity, usize>> = Mutex::new(BTreeMap::new());

#[derive(Debug)]
struct Counted(Identity);

impl Drop for Counted {
    fn drop(&mut self) {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut count) = open.entry(self.0) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

/// Connects to a store that is there; one that only `reads`.
pub(crate) fn connect(path: &Path, reads: bool) -> Result<Opened, Error> {
    let opened = open(path)?;
    let connection = &opened.connection;
    settle(connection)?;
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(Error::Io(
            "this file system cannot share memory between processes, as a store needs it".into(),
        ));
    }
    if reads {
        connection.pragma_update(None, "query_only", true)?;
    }
    Ok(opened)
}

/// Opens a file that is one of ours. What is not is not given to `SQLite`, which would write to it what stands in its log.
fn open(path: &Path) -> Result<Opened, Error> {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let identity = identity(path)?;
    // Whoever closes a file gives up all locks that its process holds on it: so only where there are none.
    if !open.contains_key(&identity) {
        recognise(path)?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    *open.entry(identity).or_default() += 1;
    Ok(Opened { connection, _counted: Some(Counted(identity)) })
}

/// Whether the file begins as one of ours does (sqlite.org/fileformat2.html, section 1.3).
fn recognise(path: &Path) -> Result<(), Error> {
    let about = fs::metadata(path)?;
    if !about.is_file() {
        return Err(Error::Io("it is no regular file".into()));
    }
    if about.len() == 0 {
        // One that lost all: ours are never empty, not even for a moment.
        return Err(Error::Damaged("the file is empty".into()));
    }
    let mut header = vec![];
    File::open(path)?.take(72).read_to_end(&mut header)?;
    if header.len() < 72 || !header.starts_with(b"SQLite format 3\0") {
        return Err(Error::Damaged("the file is no database".into()));
    }
    if header[68..72] != APPLICATION.to_be_bytes()[4..] {
        return Err(Error::Damaged("the file is of another application".into()));
    }
    Ok(())
}

pub(crate) fn settle(connection: &Connection) -> Result<(), Error> {
    connection.busy_timeout(WAIT)?;
    // Whoever opens and closes the file beside SQLite makes its process lose the lock that says that it is in use, and
    // the log would be deleted under it. So it never is: `Link` empties it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // FULL: what was acknowledged is on the disk, not only with the system.
    connection
        .execute_batch("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA cell_size_check = ON")?;
    Ok(())
}
