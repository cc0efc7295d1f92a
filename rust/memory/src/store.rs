//! Records in `SQLite`: one file, one writer at a time, readers that never wait for it.

use std::fs;
use std::path::Path;

use rusqlite::{Connection, Row, ToSql, Transaction, TransactionBehavior, params};

use crate::cache::Cache;
use crate::file;
use crate::link::{Held, Link};
use crate::record::COLUMNS;
use crate::schema::MIGRATIONS;
use crate::vectors::put_of;
use crate::{Change, Error, Moment, Record, Scope, Vectors};

const VERSION: i64 = MIGRATIONS.len().cast_signed() as i64;

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

/// A store of memories. Any thread may use it; a process that forks calls `before_fork` and `after_fork`.
#[derive(Debug)]
pub struct Store {
    writer: Link,
    /// None in memory, where there is but one connection.
    reader: Option<Link>,
    /// What searches read.
    pub(crate) cache: Cache,
}

impl Store {
    /// Opens the store at `path`, makes it when nothing is there; None is a store in memory.
    pub fn open(path: Option<&Path>) -> Result<Self, Error> {
        let Some(path) = path else {
            let writer = Link::to_memory(reference()?);
            return Ok(Self { writer, reader: None, cache: Cache::new(ROOM) });
        };
        if !path.try_exists()? {
            file::create(path, |new| migrate(new, 0))?;
        }
        let writer = Link::to_file(path, false)?;
        let mut connection = writer.hold()?;
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version > VERSION {
            return Err(Error::Newer(version));
        }
        if fs::metadata(path)?.len() <= CHECKED_MAX {
            checked(&connection)?;
        }
        migrate(&mut connection, version)?;
        // A trigger or a view in the place of a table would do what nobody asked for, or not do what was.
        if schema(&connection)? != schema(&reference()?)? {
            return Err(Error::Damaged("its tables are not those of a store".into()));
        }
        drop(connection);
        let reader = Link::to_file(path, true)?;
        Ok(Self { writer, reader: Some(reader), cache: Cache::new(ROOM) })
    }

    /// Writes new memories: all of them, or none.
    pub fn insert(&self, records: &[Record]) -> Result<(), Error> {
        self.write(|tx| records.iter().try_for_each(|record| put(tx, record)))
    }

    /// The memory of this id, if it is in the scope.
    pub fn get(&self, scope: &Scope, id: &str, now: Moment) -> Result<Option<Record>, Error> {
        find(&*self.reading()?, scope, id, now)
    }

    /// Changes a memory and returns it as it is then; its content with its vector, or not at all.
    pub fn update(
        &self,
        scope: &Scope,
        id: &str,
        change: Change,
        vector: Option<&Vectors<'_>>,
        now: Moment,
    ) -> Result<Record, Error> {
        self.write(|tx| {
            let mut record = find(tx, scope, id, now)?.ok_or(Error::Missing)?;
            if let Some(end) = change.valid_to {
                // Its end is where that of the new one begins.
                if record.superseded_by.is_some() {
                    return Err(Error::Superseded);
                }
                if end.is_some_and(|end| end <= record.valid_from) {
                    return Err(Error::Never);
                }
            }
            record.apply(change);
            replace(tx, &record)?;
            embed(tx, &record, vector)?;
            Ok(record)
        })
    }

    /// Puts a memory in the place of another, which stays as something that was true until the new one is.
    pub fn supersede(
        &self,
        scope: &Scope,
        id: &str,
        mut new: Record,
        vector: Option<&Vectors<'_>>,
        now: Moment,
    ) -> Result<Record, Error> {
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
            embed(tx, &new, vector)?;
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
        rows(&*self.reading()?, scope, &sql, params![from, to, filter.now, filter.at, filter.kind, limit])
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

    /// Writes the file anew, without the pages and parts of pages that hold what was deleted.
    pub fn rewrite(&self) -> Result<(), Error> {
        Ok(self.writer.hold()?.execute_batch("VACUUM")?)
    }

    /// Empties the log that still holds what was deleted. Fails as busy while another connection reads what was there.
    pub fn empty_log(&self) -> Result<(), Error> {
        let busy: i64 =
            self.writer.hold()?.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if busy == 0 { Ok(()) } else { Err(Error::Busy) }
    }

    /// The keys of the namespaces of a scope that hold something, in their order.
    pub fn namespaces(&self, scope: &Scope, now: Moment) -> Result<Vec<Vec<u8>>, Error> {
        let (from, to) = scope.range();
        let reader = self.reading()?;
        let mut statement = reader.prepare_cached(
            "SELECT DISTINCT namespace FROM memories WHERE namespace >= ?1 AND namespace < ?2
             AND (expires IS NULL OR expires > ?3) ORDER BY namespace",
        )?;
        let found = statement.query_map(params![from, to, now], |row| row.get(0))?;
        let keys: Vec<Vec<u8>> = found.collect::<Result<_, _>>()?;
        // They may come out of the index alone, and have no checksum there.
        let whole = |key: &Vec<u8>| key.ends_with(b"\0") && str::from_utf8(key).is_ok();
        if keys.iter().all(whole) { Ok(keys) } else { Err(Error::Damaged("a namespace is none".into())) }
    }

    /// How much a scope holds.
    pub fn stats(&self, scope: &Scope, now: Moment) -> Result<Stats, Error> {
        let (from, to) = scope.range();
        let sql = "SELECT
            count(*) FILTER (WHERE alive AND ongoing), count(*) FILTER (WHERE alive AND NOT ongoing),
            count(*) FILTER (WHERE NOT alive), count(DISTINCT namespace),
            coalesce(sum(bytes), 0)
            FROM (SELECT namespace, octet_length(content) + octet_length(metadata) AS bytes, (expires IS NULL OR expires > ?3) AS alive,
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
        Ok(self.reading()?.query_row(sql, params![from, to, now], read)?)
    }

    /// Reads everything and compares it with what was written.
    pub fn check(&self) -> Result<(), Error> {
        checked(&*self.reading()?)
    }

    pub(crate) fn reading(&self) -> Result<Held<'_>, Error> {
        self.reader.as_ref().unwrap_or(&self.writer).hold()
    }

    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut writer = self.writer.hold()?;
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }
}

/// A new store in memory.
fn reference() -> Result<Connection, Error> {
    let mut connection = Connection::open_in_memory()?;
    file::settle(&connection)?;
    migrate(&mut connection, 0)?;
    Ok(connection)
}

/// What makes the tables, indexes, views and triggers of a database.
fn schema(connection: &Connection) -> Result<Vec<(String, Option<String>)>, Error> {
    let mut all = connection.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name")?;
    let rows = all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
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
    transaction.pragma_update(None, "application_id", file::APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(transaction.commit()?)
}

fn checked(connection: &Connection) -> Result<(), Error> {
    let said: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if said != "ok" {
        // What it says may quote nothing but names of pages and indexes.
        return Err(Error::Damaged("its pages contradict each other".into()));
    }
    let all = Scope { key: vec![], below: true };
    rows(connection, &all, &format!("SELECT {COLUMNS} FROM memories"), params![]).map(drop)
}

/// The records of a query, all of which have to be in the scope.
fn rows(
    connection: &Connection,
    scope: &Scope,
    sql: &str,
    params: &[&dyn ToSql],
) -> Result<Vec<Record>, Error> {
    let (from, to) = scope.range();
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query(params)?;
    let mut records = vec![];
    while let Some(row) = found.next()? {
        let record = Record::read(row)?;
        // An index that is damaged finds what is somebody else's.
        if *record.namespace < *from || record.namespace >= to {
            return Err(Error::Damaged("an index does not fit its table".into()));
        }
        records.push(record);
    }
    Ok(records)
}

fn find(connection: &Connection, scope: &Scope, id: &str, now: Moment) -> Result<Option<Record>, Error> {
    let (from, to) = scope.range();
    let sql = format!(
        "SELECT {COLUMNS} FROM memories WHERE id = ?3 AND namespace >= ?1 AND namespace < ?2
         AND (expires IS NULL OR expires > ?4)"
    );
    Ok(rows(connection, scope, &sql, params![from, to, id, now])?.pop())
}

pub(crate) fn put(tx: &Transaction<'_>, record: &Record) -> Result<(), Error> {
    let sql =
        format!("INSERT INTO memories ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    execute(tx, &sql, record)
}

fn embed(tx: &Transaction<'_>, record: &Record, vector: Option<&Vectors<'_>>) -> Result<(), Error> {
    if let Some(vector) = vector {
        put_of(tx, &record.id, &record.content, vector, vector.numbers)?;
    }
    Ok(())
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
