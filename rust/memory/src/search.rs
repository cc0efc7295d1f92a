//! What a search does, from the leaves of its scope to the memories it found.

#![expect(clippy::cast_precision_loss, reason = "ages in microseconds are long before 2^52")]

use std::sync::PoisonError;

use crate::bm25::Scores;
use crate::cache::{Finder, GoOn};
use crate::diversity::{Candidate, choose};
use crate::dots::dots_of;
use crate::leaf::View;
use crate::semantic::closest;
use crate::top::Place;
use crate::vectors::{Model, agree, unit};
use crate::words::asked;
use crate::{Error, Filter, Hit, Query, Record, Scope, Store, Vectors};

/// Candidates that each of words and vectors brings, for each memory that is wanted, and at least.
const EACH: usize = 2;
const LEAST: usize = 50;

/// Of more nobody reads each: every one is compared with all that were chosen before it, some 60 ms for these.
const DIVERSE: usize = 1_000;

/// A candidate, with all that a hit tells but the memory itself.
struct Found {
    place: Place,
    bm25: f32,
    cosine: Option<f32>,
    lexical: f64,
    semantic: Option<f64>,
    relevance: f64,
}

impl Store {
    /// The memories of a scope that share words with the query or whose vectors are close to its, the best first.
    pub fn search(&self, scope: &Scope, query: &Query<'_>, filter: &Filter) -> Result<Vec<Hit>, Error> {
        self.search_while(&|| true, scope, query, filter)
    }

    /// The same, as long as one may go on: the first search of a scope reads all that is in it. What was read of whole
    /// namespaces stays read.
    pub fn search_while(
        &self,
        go_on: GoOn<'_>,
        scope: &Scope,
        query: &Query<'_>,
        filter: &Filter,
    ) -> Result<Vec<Hit>, Error> {
        let (leaves, model) = self.cache.leaves(&*self.reading()?, scope, go_on)?;
        // Locked all along: places must mean the same from the first look to the last. The cache is free meanwhile.
        let locked: Vec<_> =
            leaves.iter().map(|leaf| leaf.read().unwrap_or_else(PoisonError::into_inner)).collect();
        let views: Vec<View<'_>> = locked.iter().map(|leaf| View::new(leaf, filter)).collect();
        let most = filter.limit.unwrap_or(usize::MAX);
        let found = candidates(&views, query, model.as_ref(), most)?;
        let new = |one: &Found| {
            let created = views[one.place.leaf].created(one.place.slot);
            0.5_f64.powf(filter.now.saturating_sub(created).max(0) as f64 / query.half_life)
        };
        let worth = |one: &Found| {
            // Most searches do not ask how new or how important a memory is.
            let recency = if query.recency > 0.0 { query.recency * new(one) } else { 0.0 };
            let importance = query.importance * views[one.place.leaf].importance(one.place.slot);
            (one.relevance + recency + importance) / (1.0 + query.recency + query.importance)
        };
        let seq = |one: &Found| views[one.place.leaf].seq(one.place.slot);
        // Sorted by themselves: they are much shorter than what they are of.
        let mut order: Vec<(f64, i64, usize)> =
            found.iter().enumerate().map(|(at, one)| (worth(one), seq(one), at)).collect();
        order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        if query.lambda < 1.0 && most < order.len() && most <= DIVERSE {
            let one = |(score, _, at): &(f64, i64, usize)| {
                let Place { leaf, slot } = found[*at].place;
                Candidate { score: *score, vector: views[leaf].embedded().vector(slot) }
            };
            let all: Vec<Candidate<'_>> = order.iter().map(one).collect();
            let mut chosen = choose(&all, query.lambda, most);
            // Which ones is what it is for; in their order the best comes first.
            chosen.sort_unstable();
            order = chosen.into_iter().map(|at| order[at]).collect();
        }
        order.truncate(most);
        let recency: Vec<f64> = order.iter().map(|(_, _, at)| new(&found[*at])).collect();
        drop(views);
        drop(locked);
        let connection = self.reading()?;
        // One look at the file for all of them.
        let store = connection.unchecked_transaction()?;
        let (mut finder, mut hits) = (Finder::new(&store)?, Vec::with_capacity(order.len()));
        for ((score, seq, at), recency) in order.into_iter().zip(recency) {
            // Deleted or changed since: what is returned is judged as it is.
            if let Some(record) = finder.of_seq(seq)?
                && sees(scope, filter, &record)
            {
                let Found { bm25, lexical, cosine, semantic, relevance, .. } = found[at];
                let (bm25, cosine) = (bm25.into(), cosine.map(f64::from));
                hits.push(Hit { record, score, bm25, lexical, cosine, semantic, relevance, recency });
            }
        }
        Ok(hits)
    }
}

impl Store {
    /// The memories of a scope whose vectors are closest to one: their numbers in the store, and the cosines.
    pub fn nearest(
        &self,
        scope: &Scope,
        vector: &Vectors<'_>,
        near: &[i64],
        filter: &Filter,
    ) -> Result<Vec<(i64, f32)>, Error> {
        let (leaves, model) = self.cache.leaves(&*self.reading()?, scope, &|| true)?;
        let Some(model) = model else { return Ok(vec![]) };
        agree(Some(&model), vector)?;
        let locked: Vec<_> =
            leaves.iter().map(|leaf| leaf.read().unwrap_or_else(PoisonError::into_inner)).collect();
        let views: Vec<View<'_>> = locked.iter().map(|leaf| View::new(leaf, filter)).collect();
        unchanged(&views, &model)?;
        let found = closest(&views, &unit(vector.numbers)?, near, filter.limit.unwrap_or(usize::MAX));
        Ok(found.into_iter().map(|(place, cosine)| (views[place.leaf].seq(place.slot), cosine)).collect())
    }
}

/// The best by words and the best by vectors, with their relevance; not in order.
fn candidates(
    views: &[View<'_>],
    query: &Query<'_>,
    model: Option<&Model>,
    most: usize,
) -> Result<Vec<Found>, Error> {
    let scores = Scores::of(views, &asked(query.text));
    let alike = query.lambda < 1.0 && model.is_some();
    let Some((model, vector)) = model.zip(query.vector.as_ref()) else {
        if query.raw {
            return Ok(vec![]);
        }
        let one = |(place, bm25)| {
            let lexical = scores.relevance(bm25);
            found(place, bm25, None, lexical, None, lexical)
        };
        let most = if alike || query.recency + query.importance > 0.0 { pool(most) } else { most };
        return Ok(scores.top(views, most).into_iter().map(one).collect());
    };
    agree(Some(model), vector)?;
    unchanged(views, model)?;
    let vector = unit(vector.numbers)?;
    let most = pool(most);
    let close = closest(views, &vector, query.near, most);
    let highest = close.first().map_or(0.0, |(_, cosine)| f64::from(*cosine));
    let by_words = if query.raw { vec![] } else { scores.top(views, most) };
    let cosines = cosines(views, &vector, by_words, close);
    let mut all: Vec<Found> = cosines
        .into_iter()
        .map(|(place, cosine)| {
            let bm25 = scores.at(place);
            let lexical = scores.relevance(bm25);
            let semantic = cosine.map(|cosine| background_corrected(cosine.into(), highest, model));
            // Where nobody holds a word, or nothing is embedded, the other says all there is to say.
            let fused = match semantic {
                None => lexical,
                Some(semantic) if scores.none() => semantic,
                Some(semantic) => f64::midpoint(lexical, semantic),
            };
            found(place, bm25, cosine, lexical, semantic, fused)
        })
        .collect();
    if query.raw {
        for one in &mut all {
            one.relevance = one.cosine.map_or(0.0, |cosine| f64::from(cosine).clamp(0.0, 1.0));
        }
    } else {
        let best = all.iter().map(|one| one.relevance).fold(0.0, f64::max);
        all.retain(|one| one.relevance > 0.0);
        for one in &mut all {
            // Between how well it fits by itself and how well beside the best.
            one.relevance = (one.relevance / best.sqrt()).clamp(0.0, 1.0);
        }
    }
    Ok(all)
}

/// Each that words or vectors brought, once, with the cosine of its vector if it has one.
fn cosines(
    views: &[View<'_>],
    query: &[f32],
    by_words: Vec<(Place, f32)>,
    close: Vec<(Place, f32)>,
) -> Vec<(Place, Option<f32>)> {
    let known = close.into_iter().map(|(place, cosine)| (place, Some(cosine)));
    let mut all: Vec<_> = known.chain(by_words.into_iter().map(|(place, _)| (place, None))).collect();
    // What is known of the same place comes first, and stays.
    all.sort_unstable_by_key(|(place, cosine)| (*place, cosine.is_none()));
    all.dedup_by_key(|(place, _)| *place);
    let mut found = vec![];
    for one in all.chunk_by_mut(|(one, _), (next, _)| one.leaf == next.leaf) {
        let embedded = views[one[0].0.leaf].embedded();
        let open = |(place, cosine): &&mut (Place, Option<f32>)| {
            cosine.is_none() && embedded.vector(place.slot).is_some()
        };
        let slots: Vec<usize> = one.iter_mut().filter(open).map(|(place, _)| place.slot).collect();
        dots_of(query, embedded.rows(), &slots, &mut found);
        for ((_, cosine), found) in one.iter_mut().filter(open).zip(&found) {
            *cosine = Some(*found);
        }
    }
    all
}

/// The leaves were free for a moment since the model was read: another search may have seen it replaced. Then all begins
/// anew, as for any write that comes in between.
fn unchanged(views: &[View<'_>], model: &Model) -> Result<(), Error> {
    if views.iter().all(|view| view.embedded().is_of(model.dims)) { Ok(()) } else { Err(Error::Busy) }
}

fn found(
    place: Place,
    bm25: f32,
    cosine: Option<f32>,
    lexical: f64,
    semantic: Option<f64>,
    relevance: f64,
) -> Found {
    Found { place, bm25, cosine, lexical, semantic, relevance }
}

/// A cosine as relevance: what unrelated texts have is nothing, the best is 1, if it is more than they ever have.
fn background_corrected(cosine: f64, highest: f64, model: &Model) -> f64 {
    let range = highest.max(model.high) - model.low;
    if range > 0.0 { ((cosine - model.low) / range).clamp(0.0, 1.0) } else { 0.0 }
}

/// How many candidates each of words and vectors brings.
pub fn pool(most: usize) -> usize {
    most.saturating_mul(EACH).max(LEAST)
}

fn sees(scope: &Scope, filter: &Filter, record: &Record) -> bool {
    let (from, to) = scope.range();
    let there = record.expires.is_none_or(|end| end > filter.now);
    let ongoing = |at| record.valid_from <= at && record.valid_to.is_none_or(|end| end > at);
    from <= &record.namespace[..]
        && record.namespace < to
        && there
        && filter.at.is_none_or(ongoing)
        && filter.kind.as_ref().is_none_or(|kind| *kind == record.kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leaf::Leaf;

    /// The model was replaced after it was read, and another search has brought the leaf up to date since.
    #[test]
    fn no_vector_is_compared_with_one_of_another_length() {
        let mut leaf = Leaf::default();
        let record = Record {
            id: "one".into(),
            namespace: b"u\0".to_vec(),
            content: "tea".into(),
            kind: "decision".into(),
            importance: 0.5,
            provenance: "agent".into(),
            metadata: "{}".into(),
            ..Record::default()
        };
        leaf.put(1, &record, Some(&[0.5; 4]));
        let (model, numbers) = (Model { name: "m".into(), dims: 2, low: 0.0, high: 0.5 }, [1.0; 2]);
        let vector = Some(Vectors { model: "m", dims: 2, numbers: &numbers });
        let find = |leaf: &Leaf| {
            let views = [View::new(leaf, &Filter::default())];
            candidates(&views, &Query { vector, ..Query::words("tea") }, Some(&model), 5).map(|all| all.len())
        };
        assert_eq!(find(&leaf), Err(Error::Busy));
        // None is left of the others: words are.
        leaf.put(1, &record, None);
        assert_eq!(find(&leaf), Ok(1));
    }
}
