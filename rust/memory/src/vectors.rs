//! Vectors in the store: unit vectors of one model, as blobs beside the memories whose texts they are of.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::dots::dots;
use crate::store::put as insert;
use crate::sum::Sum;
use crate::{Error, Moment, Record, Scope, Store};

/// What made the vectors of a store.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Its name, as whoever embeds calls it.
    pub name: String,
    /// Numbers that a vector has.
    pub dims: usize,
    /// The cosine that unrelated texts have; three of four pairs have more.
    pub low: f64,
    /// The cosine that hardly any unrelated texts have.
    pub high: f64,
}

/// Vectors of a model, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Vectors<'v> {
    /// The name of the model.
    pub model: &'v str,
    /// Numbers that one has.
    pub dims: usize,
    /// The numbers of all.
    pub numbers: &'v [f32],
}

impl Vectors<'_> {
    pub(crate) fn each(&self) -> impl Iterator<Item = &[f32]> {
        self.numbers.chunks_exact(self.dims.max(1))
    }
}

impl Store {
    /// The model whose vectors are here, if any are.
    pub fn model(&self) -> Result<Option<Model>, Error> {
        model(&*self.reading()?)
    }

    /// Says what makes the vectors from now on. Those of another model are deleted to `replace` them, and what is known of
    /// the same model stays.
    pub fn introduce(&self, new: &Model, replace: bool) -> Result<(), Error> {
        self.write(|tx| match model(tx)? {
            Some(old) if old.name == new.name && old.dims == new.dims => Ok(()),
            // Another process was first.
            Some(old) if !replace => Err(Error::Model(old.name, old.dims)),
            _ => {
                tx.execute("DELETE FROM vectors", [])?;
                know(tx, new)
            }
        })
    }

    /// Says what the cosines of unrelated texts are by the model whose vectors are here.
    pub fn calibrate(&self, new: &Model) -> Result<(), Error> {
        self.write(|tx| match model(tx)? {
            Some(old) if old.name == new.name && old.dims == new.dims => know(tx, new),
            old => Err(old.map_or(Error::Model(String::new(), 0), |old| Error::Model(old.name, old.dims))),
        })
    }

    /// Writes new memories with their vectors: all of them, or none.
    pub fn insert_embedded(&self, records: &[Record], vectors: &Vectors<'_>) -> Result<(), Error> {
        self.write(|tx| {
            records.iter().zip(vectors.each()).try_for_each(|(record, vector)| {
                insert(tx, record)?;
                put(tx, tx.last_insert_rowid(), vectors, vector)
            })
        })
    }

    /// Gives memories their vectors; those that are gone meanwhile, or have another content, are left out.
    pub fn embed(&self, texts: &[(String, String)], vectors: &Vectors<'_>) -> Result<usize, Error> {
        self.write(|tx| {
            // Of what is left out, too.
            agree(model(tx)?.as_ref(), vectors)?;
            vectors.each().try_for_each(|vector| unit(vector).map(drop))?;
            let mut done = 0;
            for ((id, content), vector) in texts.iter().zip(vectors.each()) {
                done += usize::from(put_of(tx, id, content, vectors, vector)?);
            }
            Ok(done)
        })
    }

    /// Memories of a scope that have no vector: their ids and contents, at most so many, the latest first.
    pub fn without_vector(
        &self,
        scope: &Scope,
        now: Moment,
        most: usize,
    ) -> Result<Vec<(String, String)>, Error> {
        let (from, to) = scope.range();
        let store = self.reading()?;
        let mut statement = store.prepare_cached(
            "SELECT id, content FROM memories WHERE namespace >= ?1 AND namespace < ?2
             AND (expires IS NULL OR expires > ?3) AND seq NOT IN (SELECT seq FROM vectors) ORDER BY seq DESC LIMIT ?4",
        )?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let found =
            statement.query_map(params![from, to, now, most], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(found.collect::<Result<_, _>>()?)
    }
}

/// What changed of the vectors of a scope.
#[derive(Debug, Default, PartialEq)]
pub struct Changes {
    /// Up to where in the log: what is to be said when asked again.
    pub counter: i64,
    /// Whether these are all vectors there are: the log does not go back so far.
    pub all: bool,
    /// The numbers of memories that have a vector, and had another one or none before.
    pub new: Vec<i64>,
    /// Their vectors, one after the other.
    pub rows: Vec<f32>,
    /// Those that have none any more, or never had, or are of another scope.
    pub gone: Vec<i64>,
}

impl Store {
    /// How many memories a scope has, past and expired ones too.
    pub fn count(&self, scope: &Scope) -> Result<usize, Error> {
        let (from, to) = scope.range();
        let sql = "SELECT count(*) FROM memories WHERE namespace >= ?1 AND namespace < ?2";
        let count: i64 =
            self.reading()?.prepare_cached(sql)?.query_row(params![from, to], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// What changed of the vectors of a scope since an earlier call; all there are, without one.
    pub fn vector_changes(&self, scope: &Scope, since: Option<i64>) -> Result<Changes, Error> {
        let connection = self.reading()?;
        let store = connection.unchecked_transaction()?;
        let (from, to) = scope.range();
        // Two looks at the ends; both in one would read all of it.
        let last = "SELECT (SELECT min(counter) FROM changes), (SELECT max(counter) FROM changes)";
        let read =
            |row: &rusqlite::Row<'_>| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?));
        let (first, last) = store.prepare_cached(last)?.query_row([], read)?;
        let mut changes = Changes { counter: last.unwrap_or(0), ..Changes::default() };
        if since == Some(changes.counter) {
            return Ok(changes);
        }
        let dims = model(&store)?.map_or(0, |model| model.dims);
        let whole = "SELECT v.seq, v.vector, v.sum FROM memories m JOIN vectors v ON v.seq = m.seq
                     WHERE m.namespace >= ?1 AND m.namespace < ?2 ORDER BY v.seq";
        let since = since.filter(|since| first.is_none_or(|first| first <= since + 1));
        let Some(since) = since else {
            changes.all = true;
            let mut statement = store.prepare_cached(whole)?;
            let mut rows = statement.query(params![from, to])?;
            while let Some(row) = rows.next()? {
                let seq = row.get(0)?;
                let blob = row.get_ref(1)?.as_blob().unwrap_or_default();
                changes.rows.extend(numbers(seq, blob, row.get(2)?, dims)?);
                changes.new.push(seq);
            }
            return Ok(changes);
        };
        let mut statement = store.prepare_cached(
            "SELECT DISTINCT c.seq, m.seq IS NOT NULL FROM changes c LEFT JOIN memories m
             ON m.seq = c.seq AND m.namespace >= ?1 AND m.namespace < ?2 WHERE c.counter > ?3 ORDER BY c.seq",
        )?;
        let mut rows = statement.query(params![from, to, since])?;
        while let Some(row) = rows.next()? {
            let (seq, there): (i64, bool) = (row.get(0)?, row.get(1)?);
            match if there { of_seq(&store, seq, dims)? } else { None } {
                Some(vector) => {
                    changes.rows.extend(vector);
                    changes.new.push(seq);
                }
                None => changes.gone.push(seq),
            }
        }
        Ok(changes)
    }
}

/// The model of a store.
pub(crate) fn model(store: &Connection) -> Result<Option<Model>, Error> {
    let read = |row: &rusqlite::Row<'_>| {
        let dims: i64 = row.get(1)?;
        let dims = usize::try_from(dims).unwrap_or_default();
        Ok(Model { name: row.get(0)?, dims, low: row.get(2)?, high: row.get(3)? })
    };
    let sql = "SELECT name, dims, low, high FROM model";
    Ok(store.prepare_cached(sql)?.query_row([], read).optional()?)
}

/// Vectors of another model say nothing beside those that are here.
pub(crate) fn agree(model: Option<&Model>, vectors: &Vectors<'_>) -> Result<(), Error> {
    match model {
        Some(model) if model.name == vectors.model && model.dims == vectors.dims => Ok(()),
        Some(model) => Err(Error::Model(model.name.clone(), model.dims)),
        None => Err(Error::Model(String::new(), 0)),
    }
}

fn know(tx: &Transaction<'_>, new: &Model) -> Result<(), Error> {
    let dims = i64::try_from(new.dims).unwrap_or(i64::MAX);
    let sql = "INSERT OR REPLACE INTO model VALUES (1, ?, ?, ?, ?)";
    tx.execute(sql, params![new.name, dims, new.low, new.high])?;
    Ok(())
}

/// Writes the vector of the memory of an id, if it has this content.
pub(crate) fn put_of(
    tx: &Transaction<'_>,
    id: &str,
    content: &str,
    of: &Vectors<'_>,
    vector: &[f32],
) -> Result<bool, Error> {
    let sql = "SELECT seq FROM memories WHERE id = ?1 AND content = ?2";
    let seq = tx.prepare_cached(sql)?.query_row([id, content], |row| row.get(0)).optional()?;
    seq.map(|seq| put(tx, seq, of, vector)).transpose().map(|done| done.is_some())
}

/// Writes the vector of a memory, at length 1.
pub(crate) fn put(tx: &Transaction<'_>, seq: i64, of: &Vectors<'_>, vector: &[f32]) -> Result<(), Error> {
    agree(model(tx)?.as_ref(), of)?;
    let blob: Vec<u8> = unit(vector)?.iter().flat_map(|number| number.to_le_bytes()).collect();
    let sql = "INSERT OR REPLACE INTO vectors (seq, vector, sum) VALUES (?, ?, ?)";
    tx.prepare_cached(sql)?.execute(params![seq, blob, checksum(seq, &blob)])?;
    Ok(())
}

/// The vector of a memory.
pub(crate) fn of_seq(store: &Connection, seq: i64, dims: usize) -> Result<Option<Vec<f32>>, Error> {
    let sql = "SELECT vector, sum FROM vectors WHERE seq = ?1";
    let read = |row: &rusqlite::Row<'_>| {
        Ok(numbers(seq, row.get_ref(0)?.as_blob().unwrap_or_default(), row.get(1)?, dims))
    };
    store.prepare_cached(sql)?.query_row([seq], read).optional()?.transpose()
}

/// The numbers of a blob, when it is as it was written.
pub(crate) fn numbers(seq: i64, blob: &[u8], sum: i64, dims: usize) -> Result<Vec<f32>, Error> {
    let (words, rest) = blob.as_chunks::<4>();
    if words.len() != dims || !rest.is_empty() || sum != checksum(seq, blob) {
        return Err(Error::Damaged("a vector is not as it was written".into()));
    }
    Ok(words.iter().map(|word| f32::from_le_bytes(*word)).collect())
}

/// A vector at length 1; without a direction there is nothing to compare.
pub(crate) fn unit(vector: &[f32]) -> Result<Vec<f32>, Error> {
    let square: f64 = vector.iter().map(|number| f64::from(*number).powi(2)).sum();
    let length = square.sqrt();
    if !(length > 1e-30 && length.is_finite()) {
        return Err(Error::Vector);
    }
    Ok(vector.iter().map(|number| (f64::from(*number) / length) as f32).collect())
}

/// The cosines that texts have which have nothing to do with each other, from vectors of such texts: each of `one` with
/// each of `other`. The lower has a quarter of the pairs below it, the higher all but a twentieth.
pub fn background(one: &[f32], other: &[f32], dims: usize) -> Result<(f64, f64), Error> {
    let sides = |numbers: &[f32]| numbers.chunks_exact(dims.max(1)).map(unit).collect::<Result<Vec<_>, _>>();
    let (one, other) = (sides(one)?, sides(other)?.concat());
    let mut cosines = vec![];
    for vector in &one {
        let mut found = vec![];
        dots(vector, &other, &mut found);
        cosines.extend(found);
    }
    cosines.sort_unstable_by(f32::total_cmp);
    let at = |share: usize| cosines.get(cosines.len() * share / 100).copied().map_or(0.0, f64::from);
    Ok((at(25), at(95)))
}

fn checksum(seq: i64, blob: &[u8]) -> i64 {
    Sum::new().word(seq.cast_unsigned()).bytes(blob).told()
}
