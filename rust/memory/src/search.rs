//! What a search does, from the leaves of its scope to the memories it found.

use std::sync::PoisonError;

use crate::bm25::Scores;
use crate::cache::of_seq;
use crate::leaf::View;
use crate::words::asked;
use crate::{Error, Filter, Hit, Record, Scope, Store};

impl Store {
    /// The memories of a scope that share words with the query, the best first.
    pub fn search(&self, scope: &Scope, query: &str, filter: &Filter) -> Result<Vec<Hit>, Error> {
        let leaves = self.cache.leaves(&self.reading(), scope)?;
        // Locked all along: places must mean the same from the first look to the last. The cache is free meanwhile.
        let locked: Vec<_> =
            leaves.iter().map(|leaf| leaf.read().unwrap_or_else(PoisonError::into_inner)).collect();
        let views: Vec<View<'_>> = locked.iter().map(|leaf| View::new(leaf, filter)).collect();
        let scores = Scores::of(&views, &asked(query));
        let best = scores.top(&views, filter.limit.unwrap_or(usize::MAX));
        let store = self.reading();
        let mut hits = vec![];
        for (place, bm25) in best {
            // Deleted or changed since: what is returned is judged as it is.
            if let Some(record) = of_seq(&store, views[place.leaf].seq(place.slot))?
                && sees(scope, filter, &record)
            {
                hits.push(Hit { record, relevance: scores.relevance(bm25), bm25: bm25.into() });
            }
        }
        Ok(hits)
    }
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
