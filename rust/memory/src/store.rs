//! Records in `SQLite`: one file, one writer at a time, readers that never wait for it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Row, ToSql, Transaction, TransactionBehavior, params};

use crate::cache::Cache;
use crate::record::COLUMNS;
use crate::schema::MIGRATIONS;
use crate::{Change, Error, Moment, Record, Scope};

/// "ctxm": says whose file it is.
const APPLICATION: i64 = 0x6374_786d;

const VERSION: i64 = MIGRATIONS.len().cast_signed() as i64;

/// How long `SQLite` itself waits for another writer: short, for the caller looks for signals and comes again.
const WAIT: Duration = Duration::from_millis(20);

/// Files up to this size are checked from end to end when they are opened: some 50 ms.
const CHECKED_MAX: u64 = 16 << 20;

/// Bytes that the indexes of a store may take, roughly; those of the namespaces that a search asks for it needs in any case.
const ROOM: usize = 512 << 20;

/// Which memories of a scope a read wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// What has expired by then is gone.
    pub now: Moment,
    /// What is true at this time; None for all that was ever written.
    pub at: Option<Moment>,
    /// Of this kind alone.
    pub kind: Option<String>,
    /// At most so many, the latest first.
    pub limit: Option<usize>,
}

/// How much is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "they say it themselves")]
pub struct Stats {
    pub current: i64,
    pub past: i64,
    pub expired: i64,
    pub namespaces: i64,
    pub bytes: i64,
}

/// A store of memories. Any thread may use it; a process that was forked off may not.
#[derive(Debug)]
pub struct Store {
    writer: Mutex<Connection>,
    /// None in memory, where there is but one connection.
    reader: Option<Mutex<Connection>>,
    /// What searches read.
    pub(crate) cache: Cache,
}

impl Store {
    /// Opens the store at `path`, makes it when nothing is there; None is a store in memory.
    pub fn open(path: Option<&Path>) -> Result<Self, Error> {
        let Some(path) = path else {
            let mut connection = Connection::open_in_memory()?;
            settle(&connection)?;
            migrate(&mut connection, 0)?;
            return Ok(Self { writer: connection.into(), reader: None, cache: Cache::new(ROOM) });
        };
        if !path.try_exists()? {
            create(path)?;
        }
        // A file without a byte is one that lost all: ours are never empty, not even for a moment.
        let size = fs::metadata(path)?.len();
        if size == 0 {
            return Err(Error::Damaged("the file is empty".into()));
        }
        let mut writer = connect(path)?;
        let version: i64 = writer.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if size <= CHECKED_MAX {
            checked(&writer)?;
        }
        migrate(&mut writer, version)?;
        let reader = connect(path)?;
        reader.pragma_update(None, "query_only", true)?;
        Ok(Self { writer: writer.into(), reader: Some(reader.into()), cache: Cache::new(ROOM) })
    }

    /// Writes new memories: all of them, or none.
    pub fn insert(&self, records: &[Record]) -> Result<(), Error> {
        self.write(|tx| records.iter().try_for_each(|record| put(tx, record)))
    }

    /// The memory of this id, if it is in the scope.
    pub fn get(&self, scope: &Scope, id: &str, now: Moment) -> Result<Option<Record>, Error> {
        find(&self.reading(), scope, id, now)
    }

    /// Changes a memory and returns it as it is then.
    pub fn update(&self, scope: &Scope, id: &str, change: Change, now: Moment) -> Result<Record, Error> {
        self.write(|tx| {
            let mut record = find(tx, scope, id, now)?.ok_or(Error::Missing)?;
            record.apply(change);
            replace(tx, &record)?;
            Ok(record)
        })
    }

    /// Puts a memory in the place of another, which stays as something that was true until the new one is.
    pub fn supersede(&self, scope: &Scope, id: &str, mut new: Record, now: Moment) -> Result<Record, Error> {
        self.write(|tx| {
            let mut old = find(tx, scope, id, now)?.ok_or(Error::Missing)?;
            if old.superseded_by.is_some() {
                return Err(Error::Superseded);
            }
            old.superseded_by = Some(new.id.clone());
            old.valid_to = Some(old.valid_to.map_or(new.valid_from, |end| end.min(new.valid_from)));
            new.namespace.clone_from(&old.namespace);
            new.supersedes = Some(old.id.clone());
            replace(tx, &old)?;
            put(tx, &new)?;
            Ok(new)
        })
    }

    /// The memories of a scope, the latest first.
    pub fn list(&self, scope: &Scope, filter: &Filter) -> Result<Vec<Record>, Error> {
        let (from, to) = scope.range();
        let sql = format!(
            "SELECT {COLUMNS} FROM memories WHERE namespace >= ?1 AND namespace < ?2
             AND (expires IS NULL OR expires > ?3)
             AND (?4 IS NULL OR (valid_from <= ?4 AND (valid_to IS NULL OR valid_to > ?4)))
             AND (?5 IS NULL OR kind = ?5) ORDER BY seq DESC LIMIT ?6"
        );
        let limit = filter.limit.map_or(-1, |n| i64::try_from(n).unwrap_or(i64::MAX));
        rows(&self.reading(), &sql, params![from, to, filter.now, filter.at, filter.kind, limit])
    }

    /// Deletes one memory; whether it was there. `purge` removes what the files still hold of it.
    pub fn delete(&self, scope: &Scope, id: &str) -> Result<bool, Error> {
        let (from, to) = scope.range();
        let sql = "DELETE FROM memories WHERE id = ?3 AND namespace >= ?1 AND namespace < ?2";
        self.write(|tx| Ok(tx.execute(sql, params![from, to, id])? > 0))
    }

    /// Deletes all memories of a scope; how many there were. `purge` removes what the files still hold of them.
    pub fn forget(&self, scope: &Scope) -> Result<usize, Error> {
        let (from, to) = scope.range();
        let sql = "DELETE FROM memories WHERE namespace >= ?1 AND namespace < ?2";
        self.write(|tx| Ok(tx.execute(sql, params![from, to])?))
    }

    /// Deletes what has expired; how many there were.
    pub fn sweep(&self, now: Moment) -> Result<usize, Error> {
        self.write(|tx| Ok(tx.execute("DELETE FROM memories WHERE expires <= ?1", [now])?))
    }

    /// Empties the log that still holds what was deleted; with `all`, also writes the file anew without its free pages.
    ///
    /// Fails as busy while another connection reads what was there before.
    pub fn purge(&self, all: bool) -> Result<(), Error> {
        let writer = lock(&self.writer);
        if all {
            // Pages that were split may hold copies that no delete overwrites.
            writer.execute_batch("VACUUM")?;
        }
        let busy: i64 = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if busy == 0 { Ok(()) } else { Err(Error::Busy) }
    }

    /// The keys of the namespaces of a scope that hold something, in their order.
    pub fn namespaces(&self, scope: &Scope, now: Moment) -> Result<Vec<Vec<u8>>, Error> {
        let (from, to) = scope.range();
        let reader = self.reading();
        let mut statement = reader.prepare_cached(
            "SELECT DISTINCT namespace FROM memories WHERE namespace >= ?1 AND namespace < ?2
             AND (expires IS NULL OR expires > ?3) ORDER BY namespace",
        )?;
        let found = statement.query_map(params![from, to, now], |row| row.get(0))?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// How much a scope holds; `bytes` is the size of the whole file.
    pub fn stats(&self, scope: &Scope, now: Moment) -> Result<Stats, Error> {
        let (from, to) = scope.range();
        let sql = "SELECT
            count(*) FILTER (WHERE alive AND ongoing), count(*) FILTER (WHERE alive AND NOT ongoing),
            count(*) FILTER (WHERE NOT alive), count(DISTINCT namespace),
            (SELECT page_count * page_size FROM pragma_page_count, pragma_page_size)
            FROM (SELECT namespace, (expires IS NULL OR expires > ?3) AS alive,
                  (valid_from <= ?3 AND (valid_to IS NULL OR valid_to > ?3)) AS ongoing
                  FROM memories WHERE namespace >= ?1 AND namespace < ?2)";
        let read = |row: &Row<'_>| {
            Ok(Stats {
                current: row.get(0)?,
                past: row.get(1)?,
                expired: row.get(2)?,
                namespaces: row.get(3)?,
                bytes: row.get(4)?,
            })
        };
        Ok(self.reading().query_row(sql, params![from, to, now], read)?)
    }

    /// Reads everything and compares it with what was written.
    pub fn check(&self) -> Result<(), Error> {
        checked(&self.reading())
    }

    pub(crate) fn reading(&self) -> MutexGuard<'_, Connection> {
        lock(self.reader.as_ref().unwrap_or(&self.writer))
    }

    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut writer = lock(&self.writer);
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }
}

/// A panic elsewhere leaves the connection as good as it was: its transaction was rolled back.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a whole store under another name first: at `path` there is nothing, or all of it.
fn create(path: &Path) -> Result<(), Error> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}-{number}.new", std::process::id()));
    let new = PathBuf::from(name);
    let made = (|| {
        let mut connection = Connection::open(&new)?;
        settle(&connection)?;
        migrate(&mut connection, 0)?;
        // Nothing may stay in a log: it would have the other name.
        connection.pragma_update(None, "journal_mode", "DELETE")?;
        connection.close().map_err(|(_, error)| error)?;
        File::open(&new)?.sync_all()?;
        match fs::hard_link(&new, path) {
            // Another process was first: its store is as good.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            linked => linked?,
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(())
    })();
    let _ = fs::remove_file(&new);
    made
}

fn connect(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    let pragma = |name| connection.pragma_query_value::<i64, _>(None, name, |row| row.get(0));
    // First of all: nothing is written to a file of somebody else's.
    if pragma("application_id")? != APPLICATION {
        return Err(Error::Damaged("the file is of another application".into()));
    }
    let version = pragma("user_version")?;
    if version > VERSION {
        return Err(Error::Newer(version));
    }
    settle(&connection)?;
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(Error::Io(
            "this file system cannot share memory between processes, as a store needs it".into(),
        ));
    }
    Ok(connection)
}

fn settle(connection: &Connection) -> Result<(), Error> {
    connection.busy_timeout(WAIT)?;
    // A process forked off shares our locks without holding them; closing must not take the log away from it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // FULL: what was acknowledged is on the disk, not only with the system.
    connection
        .execute_batch("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA cell_size_check = ON")?;
    Ok(())
}

fn migrate(connection: &mut Connection, from: i64) -> Result<(), Error> {
    let steps = usize::try_from(from).ok().and_then(|from| MIGRATIONS.get(from..)).unwrap_or_default();
    if steps.is_empty() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been here meanwhile.
    let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for step in usize::try_from(version).ok().and_then(|from| MIGRATIONS.get(from..)).unwrap_or_default() {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(transaction.commit()?)
}

fn checked(connection: &Connection) -> Result<(), Error> {
    let said: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if said != "ok" {
        // What it says may quote nothing but names of pages and indexes.
        return Err(Error::Damaged("its pages contradict each other".into()));
    }
    rows(connection, &format!("SELECT {COLUMNS} FROM memories"), params![]).map(drop)
}

fn rows(connection: &Connection, sql: &str, params: &[&dyn ToSql]) -> Result<Vec<Record>, Error> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query(params)?;
    let mut records = vec![];
    while let Some(row) = found.next()? {
        records.push(Record::read(row)?);
    }
    Ok(records)
}

fn find(connection: &Connection, scope: &Scope, id: &str, now: Moment) -> Result<Option<Record>, Error> {
    let (from, to) = scope.range();
    let sql = format!(
        "SELECT {COLUMNS} FROM memories WHERE id = ?3 AND namespace >= ?1 AND namespace < ?2
         AND (expires IS NULL OR expires > ?4)"
    );
    Ok(rows(connection, &sql, params![from, to, id, now])?.pop())
}

pub(crate) fn put(tx: &Transaction<'_>, record: &Record) -> Result<(), Error> {
    let sql =
        format!("INSERT INTO memories ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    execute(tx, &sql, record)
}

fn replace(tx: &Transaction<'_>, record: &Record) -> Result<(), Error> {
    let sql = format!(
        "UPDATE memories SET ({COLUMNS}) = (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
         WHERE id = ?1"
    );
    execute(tx, &sql, record)
}

fn execute(tx: &Transaction<'_>, sql: &str, record: &Record) -> Result<(), Error> {
    tx.prepare_cached(sql)?.execute(params![
        record.id,
        record.namespace,
        record.content,
        record.kind,
        record.purpose,
        record.importance,
        record.provenance,
        record.created,
        record.valid_from,
        record.valid_to,
        record.supersedes,
        record.superseded_by,
        record.expires,
        record.metadata,
        record.checksum(),
    ])?;
    Ok(())
}
