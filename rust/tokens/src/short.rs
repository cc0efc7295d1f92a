//! The tokens that fit into a key: each is found by one look at a line of the processor's cache.

use crate::key::{Key, LONGEST, Set, note};
use crate::vocabulary::{Id, NONE};

/// All short tokens, and which of them begin alike.
pub(crate) struct Short {
    sets: Vec<Set>,
    /// The numbers of the tokens that have no room for it in their entries, four for each set.
    ids: Vec<Id>,
    /// By a hash, the first three and the first four bytes of tokens.
    heads: Vec<Head>,
    /// By a hash of the first six bytes of tokens, a bit for each length that has more.
    sixes: Vec<u16>,
    /// By two bytes, and by one byte, the token of these.
    two: Vec<Id>,
    one: [Id; 256],
}

/// Three or four bytes that tokens begin with. Of tokens that no merges lead to, nothing is said.
#[derive(Clone, Copy)]
struct Head {
    bytes: u32,
    /// How many of them; 0 for none.
    len: u16,
    /// A bit for each length of longer tokens that begin with these four bytes.
    longer: u16,
    /// The token that is nothing more.
    id: Id,
}

/// Tokens of up to so many bytes have their number in the entry, behind the bytes.
const NEAR: usize = 12;

/// What an entry says: whether merges lead to the token.
const MERGED: u8 = 2;
const WHOLE: u8 = 1;

const SIXES: usize = 1 << 17;

#[inline]
fn six(key: Key) -> usize {
    (key.cut(6).hash() >> 20) as usize & (SIXES - 1)
}

impl Short {
    pub(crate) fn new(count: usize) -> Self {
        let sets = (count / 3).next_power_of_two();
        let none = Head { bytes: 0, len: 0, longer: 0, id: NONE };
        Self {
            sets: vec![Set::EMPTY; sets],
            ids: vec![0; sets * 4],
            heads: vec![none; sets * 2],
            sixes: vec![0; SIXES],
            two: vec![NONE; 1 << 16],
            one: [0; 256],
        }
    }

    /// Takes a token of 1 to [`LONGEST`] bytes.
    pub(crate) fn insert(&mut self, token: &[u8], id: Id, merged: bool) {
        let key = Key::new(token, 0, token.len());
        let mut set = self.first(key);
        let free = loop {
            match self.sets[set].0.iter().position(|&entry| entry == 0) {
                Some(free) => break free,
                None => set = self.after(set),
            }
        };
        let mut entry = key.with(if merged { MERGED } else { WHOLE });
        if token.len() <= NEAR {
            entry |= u128::from(id) << (8 * NEAR);
        } else {
            self.ids[set * 4 + free] = id;
        }
        self.sets[set].0[free] = entry;
        if !merged {
            return;
        }
        match *token {
            [one] => self.one[usize::from(one)] = id,
            [one, two] => self.two[usize::from(one) | usize::from(two) << 8] = id,
            _ => {
                let len = token.len().min(4);
                let bytes = key.first(len);
                let slot = self.head_slot(bytes, len);
                let head = &mut self.heads[slot];
                (head.bytes, head.len) = (bytes, len as u16);
                match token.len() {
                    3 | 4 => head.id = id,
                    more => head.longer |= 1 << more,
                }
                if token.len() > 6 {
                    self.sixes[six(key)] |= 1 << token.len();
                }
            }
        }
    }

    #[inline]
    fn first(&self, key: Key) -> usize {
        (key.hash() >> 32) as usize & (self.sets.len() - 1)
    }

    /// Where the token of these bytes stands, but for full sets.
    #[inline]
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn set(&self, key: Key) -> &Set {
        &self.sets[self.first(key)]
    }

    #[inline]
    fn after(&self, set: usize) -> usize {
        (set + 1) & (self.sets.len() - 1)
    }

    #[inline]
    fn head_slot(&self, bytes: u32, len: usize) -> usize {
        let mask = self.heads.len() - 1;
        let mut at = (u64::from(bytes).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize & mask;
        loop {
            let head = &self.heads[at];
            if head.len == 0 || (head.bytes, usize::from(head.len)) == (bytes, len) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// The number of a token, and whether merges lead to it.
    #[inline]
    fn find(&self, key: Key) -> Option<(Id, u8)> {
        let mut at = self.first(key);
        let len = key.len();
        // All but the note, and the number where there is one.
        let unused = 15 << 124 | if len <= NEAR { 0xff_ffff << (8 * NEAR) } else { 0 };
        let wanted = key.with(0) & !unused;
        loop {
            let set = &self.sets[at].0;
            if let Some(way) = (0..4).find(|&way| set[way] & !unused == wanted) {
                let id = if len <= NEAR {
                    (set[way] >> (8 * NEAR)) as Id & 0xff_ffff
                } else {
                    self.ids[at * 4 + way]
                };
                return Some((id, note(set[way])));
            }
            // A set is filled from its front, and overflows only when it is full.
            if set[3] == 0 {
                return None;
            }
            at = self.after(at);
        }
    }

    /// The token of these bytes.
    #[inline]
    pub(crate) fn id(&self, key: Key) -> Option<Id> {
        self.find(key).map(|found| found.0)
    }

    /// The token of these bytes that merges lead to, or [`NONE`]; for two bytes or more.
    #[inline]
    pub(crate) fn merged(&self, key: Key) -> Id {
        let len = key.len();
        if len == 2 {
            return self.two[key.first(2) as usize];
        }
        let head = self.heads[self.head_slot(key.first(len.min(4)), len.min(4))];
        if len <= 4 {
            return head.id;
        }
        if head.longer >> len & 1 == 0 || len > 6 && self.sixes[six(key)] >> len & 1 == 0 {
            return NONE;
        }
        match self.find(key) {
            Some((id, MERGED)) => id,
            _ => NONE,
        }
    }

    /// The longest short token that the text begins with and that merges lead to.
    #[inline]
    pub(crate) fn longest(&self, text: &[u8]) -> Id {
        let most = text.len().min(LONGEST);
        let key = Key::new(text, 0, most);
        if most >= 4 {
            let head = self.heads[self.head_slot(key.first(4), 4)];
            let mut lengths = head.longer & u16::MAX >> (LONGEST - most);
            if lengths >> 7 != 0 {
                lengths &= self.sixes[six(key)] | 0x7f;
            }
            while lengths != 0 {
                let len = lengths.ilog2();
                if let Some((id, MERGED)) = self.find(key.cut(len as usize)) {
                    return id;
                }
                lengths ^= 1 << len;
            }
            if head.id != NONE {
                return head.id;
            }
        }
        if most >= 3 {
            let id = self.heads[self.head_slot(key.first(3), 3)].id;
            if id != NONE {
                return id;
            }
        }
        if most >= 2 {
            let id = self.two[key.first(2) as usize];
            if id != NONE {
                return id;
            }
        }
        self.one[usize::from(text[0])]
    }
}
