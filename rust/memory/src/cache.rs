//! The leaves that searches read: filled from the store when they are asked for, kept up with what was written since.
//!
//! The store logs each memory that is written, changed or deleted, whoever does it. A search first reads what the log
//! says since the last one, its own process's writes and others' alike, and never a leaf as it was before.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, RwLock};

use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use crate::leaf::Leaf;
use crate::record::COLUMNS;
use crate::vectors::{self, Model, model, numbers};
use crate::{Error, Record, Scope};

/// The column after those of a record.
const SEQ: usize = 15;

/// A leaf that searches share; it changes only while the cache is locked.
pub(crate) type Shared = Arc<RwLock<Leaf>>;

/// Asked for every memory that is read: whether to go on.
pub type GoOn<'g> = &'g (dyn Fn() -> bool + Sync);

/// The leaves of a store: those that the last search asked for, and as many others as there is room for.
#[derive(Debug)]
pub(crate) struct Cache {
    state: Mutex<State>,
    /// Bytes, roughly.
    room: usize,
}

#[derive(Debug, Default)]
struct State {
    /// The last line of the log that the leaves know of.
    read: i64,
    leaves: HashMap<i64, Entry>,
    size: usize,
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    leaf: Shared,
    size: usize,
    used: u64,
}

impl Cache {
    pub(crate) fn new(room: usize) -> Self {
        Self { state: Mutex::default(), room }
    }

    /// The leaves of a scope, as the store is now; what is not among them is not read.
    pub(crate) fn leaves(
        &self,
        connection: &Connection,
        scope: &Scope,
        go_on: GoOn<'_>,
    ) -> Result<(Vec<Shared>, Option<Model>), Error> {
        // One state of the store for the log, the namespaces and the memories.
        let store = connection.unchecked_transaction()?;
        let mut state = self.state.lock().unwrap_or_else(|poisoned| {
            // A panic may have left a leaf half changed.
            self.state.clear_poison();
            let mut state = poisoned.into_inner();
            *state = State::default();
            state
        });
        let model = model(&store)?;
        let dims = model.as_ref().map_or(0, |model| model.dims);
        if let Err(error) = state.catch_up(&store, dims) {
            // Some of it may have been read: begin anew.
            *state = State::default();
            return Err(error);
        }
        let (from, to) = scope.range();
        let (mut found, before) = (vec![], state.clock);
        let sql = "SELECT number FROM partitions WHERE namespace >= ?1 AND namespace < ?2 ORDER BY namespace";
        let mut statement = store.prepare_cached(sql)?;
        let mut rows = statement.query(params![from, to])?;
        while let Some(row) = rows.next()? {
            found.push(state.leaf(&store, row.get(0)?, dims, go_on)?);
        }
        state.make_room(self.room, before);
        Ok((found, model))
    }
}

impl State {
    fn catch_up(&mut self, store: &Connection, dims: usize) -> Result<(), Error> {
        if self.leaves.is_empty() {
            // Nothing to keep up: what is read later is read as it is now.
            let last = "SELECT max(counter) FROM changes";
            self.read =
                store.prepare_cached(last)?.query_row([], |row| row.get::<_, Option<_>>(0))?.unwrap_or(0);
            return Ok(());
        }
        let sql = "SELECT counter, partition, seq FROM changes WHERE counter > ?1 ORDER BY counter";
        let mut statement = store.prepare_cached(sql)?;
        let mut rows = statement.query([self.read])?;
        let mut changed = BTreeSet::new();
        while let Some(row) = rows.next()? {
            let (counter, partition, seq): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            if counter != self.read + 1 {
                // The log was cut since: nobody knows what else changed.
                *self = Self { read: counter, clock: self.clock, ..Self::default() };
            }
            self.read = counter;
            if self.leaves.contains_key(&partition) {
                changed.insert((partition, seq));
            }
        }
        let mut finder = Finder::new(store)?;
        for (partition, seq) in changed {
            if let Some(entry) = self.leaves.get_mut(&partition) {
                let record = finder.of_seq(seq)?;
                let mut leaf = entry.leaf.write().expect("a panic with it locked poisons the cache, too");
                match record {
                    Some(record) => leaf.put(seq, &record, vectors::of_seq(store, seq, dims)?.as_deref()),
                    None => leaf.remove(seq),
                }
                self.size -= entry.size;
                entry.size = leaf.size();
                self.size += entry.size;
                if leaf.is_empty() {
                    // Its namespace is gone; written again, it is another partition.
                    drop(leaf);
                    self.size -= self.leaves.remove(&partition).map_or(0, |entry| entry.size);
                }
            }
        }
        Ok(())
    }

    fn leaf(
        &mut self,
        store: &Connection,
        number: i64,
        dims: usize,
        go_on: GoOn<'_>,
    ) -> Result<Shared, Error> {
        self.clock += 1;
        if let Some(entry) = self.leaves.get_mut(&number) {
            entry.used = self.clock;
            return Ok(Arc::clone(&entry.leaf));
        }
        let mut leaf = Leaf::default();
        let sql = format!(
            "SELECT {COLUMNS}, m.seq, v.vector, v.sum FROM memories m LEFT JOIN vectors v ON v.seq = m.seq
             WHERE namespace = (SELECT namespace FROM partitions WHERE number = ?1) ORDER BY m.seq"
        );
        let mut statement = store.prepare_cached(&sql)?;
        let mut rows = statement.query([number])?;
        while let Some(row) = rows.next()? {
            let (seq, sum): (i64, Option<i64>) = (row.get(SEQ)?, row.get(SEQ + 2)?);
            let vector = match sum {
                Some(sum) => {
                    Some(numbers(seq, row.get_ref(SEQ + 1)?.as_blob().unwrap_or_default(), sum, dims)?)
                }
                None => None,
            };
            leaf.put(seq, &Record::read(row)?, vector.as_deref());
            if !go_on() {
                return Err(Error::Stopped);
            }
        }
        let size = leaf.size();
        let leaf = Arc::new(RwLock::new(leaf));
        self.leaves.insert(number, Entry { leaf: Arc::clone(&leaf), size, used: self.clock });
        self.size += size;
        Ok(leaf)
    }

    /// Drops those that were not asked for the longest, an eighth more than it must: it looks at all of them. What was
    /// asked for after `before` stays: who searches a large scope searches it again.
    fn make_room(&mut self, room: usize, before: u64) {
        if self.size <= room {
            return;
        }
        let mut by_use: Vec<(u64, i64)> =
            self.leaves.iter().map(|(number, entry)| (entry.used, *number)).collect();
        by_use.retain(|(used, _)| *used <= before);
        by_use.sort_unstable();
        for (_, number) in by_use {
            if self.size <= room - room / 8 {
                break;
            }
            self.size -= self.leaves.remove(&number).map_or(0, |entry| entry.size);
        }
    }
}

/// Reads memories by their numbers, one after the other.
pub(crate) struct Finder<'s>(CachedStatement<'s>);

impl<'s> Finder<'s> {
    pub(crate) fn new(store: &'s Connection) -> Result<Self, Error> {
        Ok(Self(store.prepare_cached(&format!("SELECT {COLUMNS} FROM memories WHERE seq = ?1"))?))
    }

    /// The memory of a number, if it is there still.
    pub(crate) fn of_seq(&mut self, seq: i64) -> Result<Option<Record>, Error> {
        self.0.query_row([seq], |row| Ok(Record::read(row))).optional()?.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Filter, Query, Store};

    fn record(id: String, namespace: &str) -> Record {
        Record {
            content: format!("tea of {id}"),
            id,
            namespace: [namespace.as_bytes(), b"\0"].concat(),
            kind: "decision".into(),
            importance: 0.5,
            provenance: "agent".into(),
            metadata: "{}".into(),
            ..Record::default()
        }
    }

    fn found(store: &Store, scope: &Scope) -> Vec<String> {
        let hits = store.search(scope, &Query::words("tea"), &Filter::default()).expect("hits");
        hits.into_iter().map(|hit| hit.record.id).collect()
    }

    /// However little room there is: leaves come and go, and what is found stays the same.
    #[test]
    fn without_room_all_is_found() {
        for (room, most) in [(0, 1), (8_000, 39), (1 << 30, 40)] {
            let mut store = Store::open(None).expect("a store");
            store.cache = Cache::new(room);
            let scope = |at: usize| Scope { key: format!("user_{at}\0").into_bytes(), below: true };
            for round in 0..3 {
                for at in 0..40 {
                    store.insert(&[record(format!("{at}-{round}"), &format!("user_{at}"))]).expect("a write");
                    if round == 2 {
                        store.delete(&scope(at), &format!("{at}-0")).expect("a write");
                    }
                    let first = usize::from(round == 2);
                    let want: Vec<String> =
                        (first..=round).rev().map(|round| format!("{at}-{round}")).collect();
                    assert_eq!(found(&store, &scope(at)), want);
                    let state = store.cache.state.lock().expect("no panic");
                    assert!((state.size <= room || most == 1) && (1..=most).contains(&state.leaves.len()));
                    assert_eq!(state.size, state.leaves.values().map(|entry| entry.size).sum::<usize>());
                }
            }
            assert_eq!(found(&store, &Scope { key: vec![], below: true }).len(), 80);
            // A search keeps what it needs, whatever room there is, and the next one of something else does not.
            assert_eq!(store.cache.state.lock().expect("no panic").leaves.len(), 40);
            found(&store, &scope(7));
            let left = store.cache.state.lock().expect("no panic").leaves.len();
            assert!(left == 40 || (most < 40 && left <= most));
        }
    }

    /// Nothing of a namespace that was read by half is kept, and all of those before it.
    #[test]
    fn what_was_stopped_is_found_later() {
        for stop in 0..=30 {
            let store = Store::open(None).expect("a store");
            let all = Scope { key: vec![], below: true };
            let records = (0..30).map(|at| record(format!("{at:02}"), &format!("user_{}", at / 10)));
            store.insert(&records.collect::<Vec<_>>()).expect("a write");
            let left = std::sync::atomic::AtomicI32::new(stop);
            let go_on = || left.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) > 0;
            let hits = store.search_while(&go_on, &all, &Query::words("tea"), &Filter::default());
            assert_eq!(hits.map(|hits| hits.len()), if stop < 30 { Err(Error::Stopped) } else { Ok(30) });
            let whole = usize::try_from(stop).expect("not below 0") / 10;
            assert_eq!(store.cache.state.lock().expect("no panic").leaves.len(), whole);
            assert_eq!(found(&store, &all).len(), 30);
        }
    }
}
