//! Connections that a fork does not take along.
//!
//! `SQLite` remembers for each file which locks its process holds. A process that is forked off inherits that memory and
//! none of the locks: it would read and write as if it held them, while others take them. So every connection is closed
//! before a fork, and made anew when it is needed again, on both sides.

use std::cell::RefCell;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};
use std::{mem, process};

use rusqlite::Connection;

use crate::Error;
use crate::file::{self, Opened};

/// The connection of a link, and the process that made it.
type Slot = Mutex<Option<(u32, Opened)>>;

/// Read while a call is at work, written by a fork for as long as it takes.
static GATE: RwLock<()> = RwLock::new(());
static LINKS: Mutex<Vec<Weak<Slot>>> = Mutex::new(vec![]);

thread_local! {
    static FORK: RefCell<Option<RwLockWriteGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// Does work that a fork must not come in between: all calls of stores, where the process may fork.
pub fn at_work<T>(work: impl FnOnce() -> T) -> T {
    let _gate: RwLockReadGuard<'_, ()> = GATE.read().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// Waits for the calls at work and closes all files; until [`after_fork`] there are no others.
pub fn before_fork() {
    if FORK.with_borrow(Option::is_some) {
        return;
    }
    let gate = GATE.write().unwrap_or_else(PoisonError::into_inner);
    let mut links = lock(&LINKS);
    links.retain(|link| link.strong_count() > 0);
    for link in links.iter().filter_map(Weak::upgrade) {
        let open = lock(&link).take();
        // Of a process before this one: closing it would give up locks that this one has.
        if let Some((owner, inherited)) = open
            && owner != process::id()
        {
            mem::forget(inherited);
        }
    }
    drop(links);
    FORK.with_borrow_mut(|held| *held = Some(gate));
}

/// Lets calls go on, in the process that forked as in the new one.
pub fn after_fork() {
    FORK.with_borrow_mut(Option::take);
}

/// A connection to a file, or the only one to what is in memory.
#[derive(Debug)]
pub(crate) struct Link {
    /// None in memory.
    file: Option<(PathBuf, file::Identity)>,
    reads: bool,
    slot: Arc<Slot>,
}

impl Link {
    /// To nothing but memory, which a fork copies.
    pub(crate) fn to_memory(connection: Connection) -> Self {
        Self {
            file: None,
            reads: false,
            slot: Arc::new(Mutex::new(Some((0, Opened::in_memory(connection))))),
        }
    }

    /// To the file at `path`; one that only `reads`.
    pub(crate) fn to_file(path: &Path, reads: bool) -> Result<Self, Error> {
        let identity = file::identity(path)?;
        let connection = file::connect(path, reads)?;
        let slot = Arc::new(Mutex::new(Some((process::id(), connection))));
        lock(&LINKS).push(Arc::downgrade(&slot));
        Ok(Self { file: Some((path.to_owned(), identity)), reads, slot })
    }

    /// The connection, for one call.
    pub(crate) fn hold(&self) -> Result<Held<'_>, Error> {
        let mut slot = lock(&self.slot);
        if let Some((path, identity)) = &self.file {
            // Whoever goes on with a file that has no name any more writes where nobody will look.
            if file::identity(path).ok() != Some(*identity) {
                return Err(Error::Io(
                    "the file was moved, deleted or replaced while it was open; open it anew".into(),
                ));
            }
            // A fork that nobody announced.
            if slot.as_ref().is_some_and(|(owner, _)| *owner != process::id()) {
                mem::forget(slot.take());
            }
            if slot.is_none() {
                *slot = Some((process::id(), file::connect(path, self.reads)?));
            }
        }
        Ok(Held(slot))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        match lock(&self.slot).take() {
            Some((owner, opened)) if owner == process::id() && !self.reads => {
                // So that a copy of the file alone has it all. When somebody still reads, it is done the next time.
                let _ = opened.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            }
            Some((owner, inherited)) if owner != process::id() && self.file.is_some() => {
                mem::forget(inherited);
            }
            _ => {}
        }
    }
}

/// A connection that nobody else uses meanwhile.
pub(crate) struct Held<'l>(MutexGuard<'l, Option<(u32, Opened)>>);

impl Deref for Held<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.0.as_ref().expect("connected when it was taken").1.connection
    }
}

impl std::ops::DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.0.as_mut().expect("connected when it was taken").1.connection
    }
}

/// A panic elsewhere leaves a connection as good as it was: its transaction was rolled back.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
