//! Which groups stay, which are shortened, which go.
//!
//! Groups go one after the other, in an order that does not depend on the budget: those that no cached prefix holds,
//! then those of the lowest priority, then the oldest. The one at which enough is gone is shortened instead, where it can
//! be. What may not go is shortened when all that may is gone.

use std::cmp::Reverse;

/// A group, as far as choosing goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it takes.
    pub tokens: usize,
    /// What it takes at least when it is shortened; as much as `tokens` when it cannot be.
    pub least: usize,
    /// 0 is the most important.
    pub priority: u8,
    /// It may be shortened, but not go.
    pub stays: bool,
    /// It is part of a prefix that is best left as it is.
    pub cached: bool,
}

/// What becomes of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays as it is.
    Keep,
    /// It stays, with this many tokens at most.
    Shorten(usize),
    /// It goes.
    Drop,
}

/// Makes `items` fit into `most` tokens. With a `stride` above 0, groups go in steps of so many tokens of a priority,
/// and none of them is shortened: a history that grows at its end is cut at the same place for many calls.
///
/// The error is the number of tokens that would have sufficed.
pub fn choose(items: &[Item], most: usize, stride: usize) -> Result<Vec<Fate>, usize> {
    let mut fates = vec![Fate::Keep; items.len()];
    let total: usize = items.iter().map(|item| item.tokens).sum();
    let mut over = total.saturating_sub(most);
    if over == 0 {
        return Ok(fates);
    }
    let mut order: Vec<usize> = (0..items.len()).collect();
    let class = |item: &Item| (item.cached, item.stays, Reverse(item.priority));
    order.sort_by_key(|&at| class(&items[at]));
    // What has gone of a class so far, and how much of it has to go.
    let (mut gone, mut step) = (0, 0);
    let mut last = None;
    for at in order {
        let item = items[at];
        if last != Some(class(&item)) {
            last = Some(class(&item));
            (gone, step) = (0, over.checked_next_multiple_of(stride).unwrap_or(over));
        }
        let in_step = !item.stays && stride > 0 && gone > 0 && gone < step;
        if over == 0 && stride == 0 {
            break;
        }
        // A step ends with its class.
        if over == 0 && !in_step {
            continue;
        }
        if item.stays {
            let tokens = item.least.max(item.tokens.saturating_sub(over));
            if tokens < item.tokens {
                fates[at] = Fate::Shorten(tokens);
                over -= item.tokens - tokens;
            }
        } else if stride == 0
            && item.tokens > over
            && item.tokens - over >= item.least
            && item.least < item.tokens
        {
            fates[at] = Fate::Shorten(item.tokens - over);
            over = 0;
        } else {
            fates[at] = Fate::Drop;
            gone += item.tokens;
            over = over.saturating_sub(item.tokens);
        }
    }
    if over > 0 { Err(most + over) } else { Ok(fates) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Goes through the numbers of groups that may go, from none, until the rest fits.
    fn oracle(items: &[Item], most: usize) -> Option<Vec<Fate>> {
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by_key(|&at| (items[at].cached, items[at].stays, 3 - items[at].priority, at));
        let size = |fates: &[Fate]| -> usize {
            let each = fates.iter().zip(items).map(|(fate, item)| match fate {
                Fate::Keep => item.tokens,
                Fate::Shorten(tokens) => *tokens,
                Fate::Drop => 0,
            });
            each.sum()
        };
        let mut fates = vec![Fate::Keep; items.len()];
        if size(&fates) <= most {
            return Some(fates);
        }
        for at in order {
            // The least change that is enough.
            for tokens in (items[at].least..items[at].tokens).rev() {
                fates[at] = Fate::Shorten(tokens);
                if size(&fates) <= most {
                    return Some(fates);
                }
            }
            if !items[at].stays {
                fates[at] = Fate::Drop;
            } else if items[at].least == items[at].tokens {
                fates[at] = Fate::Keep;
            }
            if size(&fates) <= most {
                return Some(fates);
            }
        }
        None
    }

    fn an_item() -> impl Strategy<Value = Item> {
        (0usize..40, 0usize..40, 0u8..4, any::<bool>(), any::<bool>()).prop_map(
            |(a, b, priority, stays, cached)| Item {
                tokens: a.max(b),
                least: if a < b { a } else { b.max(a) },
                priority,
                stays: stays || priority == 0,
                cached,
            },
        )
    }

    fn left(items: &[Item], fates: &[Fate]) -> Vec<usize> {
        let each = items.iter().zip(fates).map(|(item, fate)| match fate {
            Fate::Keep => item.tokens,
            Fate::Shorten(tokens) => *tokens,
            Fate::Drop => 0,
        });
        each.collect()
    }

    proptest! {
        #[test]
        fn as_the_oracle_chooses(items in proptest::collection::vec(an_item(), 0..12), most in 0usize..300) {
            prop_assert_eq!(choose(&items, most, 0).ok(), oracle(&items, most));
        }

        #[test]
        fn fits_or_says_what_would(items in proptest::collection::vec(an_item(), 0..12), most in 0usize..300, stride in 0usize..60) {
            match choose(&items, most, stride) {
                Ok(fates) => prop_assert!(left(&items, &fates).iter().sum::<usize>() <= most),
                Err(needed) => {
                    prop_assert!(needed > most);
                    prop_assert!(choose(&items, needed, stride).is_ok());
                    prop_assert_eq!(choose(&items, needed - 1, stride), Err(needed));
                }
            }
        }

        #[test]
        fn more_room_never_keeps_less(items in proptest::collection::vec(an_item(), 0..12), most in 0usize..300, more in 0usize..60, stride in 0usize..60) {
            if let Ok(fates) = choose(&items, most, stride) {
                let wider = choose(&items, most + more, stride).expect("what fits less fits more");
                for (few, many) in left(&items, &fates).into_iter().zip(left(&items, &wider)) {
                    prop_assert!(few <= many);
                }
            }
        }

        #[test]
        fn steps_stay_where_they_are(sizes in proptest::collection::vec(1usize..30, 1..40), stride in 30usize..120) {
            let item = |&tokens: &usize| Item { tokens, least: tokens, priority: 3, stays: false, cached: false };
            let items: Vec<Item> = sizes.iter().map(item).collect();
            let most = 200;
            // A history that grows: the cut moves once in a stride at most.
            let cuts: Vec<usize> = (1..=items.len())
                .map(|n| choose(&items[..n], most, stride).expect("all may go").iter().filter(|f| **f == Fate::Drop).count())
                .collect();
            let total: usize = sizes.iter().sum();
            let mut moves = cuts.clone();
            moves.dedup();
            prop_assert!(moves.len() <= 2 + total.saturating_sub(most) / stride, "{:?}", cuts);
            prop_assert!(cuts.is_sorted());
        }
    }
}
