//! The vectors of a leaf: whole, and as bits to look through them sooner.

use crate::dots::{BLOCK, bits};

/// A row for each slot of a leaf, as soon as one of them has a vector.
#[derive(Debug, Default)]
pub(crate) struct Embedded {
    dims: usize,
    rows: Vec<f32>,
    blocks: Vec<u64>,
    there: Vec<bool>,
    count: usize,
    /// Whether any of them has many numbers that are 0, which have no sign.
    sparse: bool,
}

impl Embedded {
    /// The vector of a slot, one of `slots`; None when it has none.
    pub(crate) fn set(&mut self, slot: usize, slots: usize, vector: Option<&[f32]>) {
        if let Some(vector) = vector
            && vector.len() != self.dims
        {
            // Those of another model are gone from the store, all of them.
            *self = Self { dims: vector.len(), ..Self::default() };
        }
        if self.dims == 0 {
            return;
        }
        if self.there.len() < slots {
            self.there.resize(slots, false);
            self.rows.resize(slots * self.dims, 0.0);
            self.blocks.resize(slots.div_ceil(BLOCK) * BLOCK * self.words(), 0);
        }
        self.count += usize::from(vector.is_some());
        self.count -= usize::from(self.there[slot]);
        self.there[slot] = vector.is_some();
        if let Some(vector) = vector {
            self.sparse |= vector.iter().filter(|number| **number == 0.0).count() * 4 > vector.len();
            self.rows[slot * self.dims..][..self.dims].copy_from_slice(vector);
            let place = slot / BLOCK * BLOCK * self.words() + slot % BLOCK;
            for (at, word) in bits(vector).into_iter().enumerate() {
                self.blocks[place + at * BLOCK] = word;
            }
        }
    }

    /// The same with fewer slots, in their order.
    pub(crate) fn keep(&mut self, kept: &[usize]) {
        let mut new = Self::default();
        for (slot, old) in kept.iter().enumerate() {
            if let Some(vector) = self.vector(*old) {
                new.set(slot, kept.len(), Some(vector));
            }
        }
        *self = new;
    }

    fn words(&self) -> usize {
        self.dims.div_ceil(64)
    }

    /// The vector of a slot, if it has one.
    pub(crate) fn vector(&self, slot: usize) -> Option<&[f32]> {
        let there = self.there.get(slot).copied().unwrap_or_default();
        there.then(|| &self.rows[slot * self.dims..][..self.dims])
    }

    /// Whether each slot has one; shorter than the leaf when the last ones have none.
    pub(crate) fn there(&self) -> &[bool] {
        &self.there
    }

    /// Whether signs say little of them.
    pub(crate) fn sparse(&self) -> bool {
        self.sparse
    }

    /// Whether the vectors have so many numbers, if there are any.
    pub(crate) fn is_of(&self, dims: usize) -> bool {
        self.count == 0 || self.dims == dims
    }

    /// How many have one.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// All rows, those of slots without a vector as well.
    pub(crate) fn rows(&self) -> &[f32] {
        &self.rows
    }

    /// The bits of all rows, in blocks.
    pub(crate) fn blocks(&self) -> &[u64] {
        &self.blocks
    }

    pub(crate) fn size(&self) -> usize {
        size_of_val(&*self.rows) + size_of_val(&*self.blocks) + self.there.len()
    }
}
