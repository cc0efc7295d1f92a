//! Which result belongs to which call.
//!
//! Pairing goes by position and turn: ids repeat, also between the calls of one turn. A result belongs to the first
//! call of its id that has none, in the turn it stands in; where that has no such call, in the latest turn before that
//! does.

use std::collections::HashMap;

/// What a message is to the pairing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn<'t> {
    /// The ids of its calls.
    pub calls: Vec<&'t [u8]>,
    /// The id of the call that it is the result of.
    pub answers: Option<&'t [u8]>,
}

/// Messages that stay or go together: calls and their results, or one message alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The message with the calls, then its results; or the one message.
    pub members: Vec<usize>,
    /// The calls without a result.
    pub open: Vec<usize>,
    /// Whether those may still get one: nothing comes after them.
    pub pending: bool,
}

/// What is wrong with a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No call of its id waits for a result: it belongs to no group.
    Orphan,
    /// The calls of its id in its turn have one already: it belongs to no group.
    Duplicate,
    /// It came after its turn was over.
    Late,
}

/// All groups, in the order of their first messages, and what was found wrong, in the order of the messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairing {
    /// Messages that belong together.
    pub groups: Vec<Group>,
    /// Results that do not stand where they belong, by their index.
    pub faults: Vec<(usize, Fault)>,
}

/// Pairs calls and results.
pub fn pair<'m, 't: 'm>(turns: impl Iterator<Item = &'m Turn<'t>>) -> Pairing {
    let mut pairing = Pairing::default();
    let groups = &mut pairing.groups;
    // The turn that goes on: its group, and for each of its calls whether it has a result.
    let mut now: Option<(usize, &[&[u8]])> = None;
    // Calls of turns before that have none, the first ones of the latest turn last.
    let mut before: HashMap<&[u8], Vec<(usize, usize)>> = HashMap::new();
    for (at, turn) in turns.enumerate() {
        let Some(id) = turn.answers else {
            if let Some((group, calls)) = now.take() {
                for &call in groups[group].open.iter().rev() {
                    before.entry(calls[call]).or_default().push((group, call));
                }
            }
            if !turn.calls.is_empty() {
                now = Some((groups.len(), &turn.calls));
            }
            groups.push(Group { members: vec![at], open: (0..turn.calls.len()).collect(), pending: false });
            continue;
        };
        let here = now.and_then(|(group, calls)| {
            let call = groups[group].open.iter().copied().find(|&call| calls[call] == id)?;
            Some((group, call))
        });
        let (group, call) = if let Some(found) = here {
            found
        } else if now.is_some_and(|(_, calls)| calls.contains(&id)) {
            pairing.faults.push((at, Fault::Duplicate));
            continue;
        } else if let Some(found) = before.get_mut(id).and_then(Vec::pop) {
            pairing.faults.push((at, Fault::Late));
            found
        } else {
            pairing.faults.push((at, Fault::Orphan));
            continue;
        };
        groups[group].members.push(at);
        groups[group].open.retain(|&open| open != call);
    }
    if let Some(last) = groups.last_mut() {
        last.pending = !last.open.is_empty();
    }
    pairing
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn calls<'t>(ids: &[&'t str]) -> Turn<'t> {
        Turn { calls: ids.iter().map(|id| id.as_bytes()).collect(), answers: None }
    }

    fn result(id: &str) -> Turn<'_> {
        Turn { calls: vec![], answers: Some(id.as_bytes()) }
    }

    fn text<'t>() -> Turn<'t> {
        Turn::default()
    }

    fn members(pairing: &Pairing) -> Vec<&[usize]> {
        pairing.groups.iter().map(|group| &group.members[..]).collect()
    }

    #[test]
    fn results_in_any_order_stay_with_their_calls() {
        let turns = [text(), calls(&["a", "b"]), result("b"), result("a"), text()];
        let pairing = pair(turns.iter());
        assert_eq!(members(&pairing), [&[0][..], &[1, 2, 3], &[4]]);
        assert_eq!(pairing.faults, []);
    }

    #[test]
    fn the_same_id_again_is_another_call() {
        let turns = [
            calls(&["a"]),
            result("a"),
            calls(&["a"]),
            result("a"),
            calls(&["a", "a"]),
            result("a"),
            result("a"),
        ];
        let pairing = pair(turns.iter());
        assert_eq!(members(&pairing), [&[0, 1][..], &[2, 3], &[4, 5, 6]]);
    }

    #[test]
    fn strays_have_names() {
        let turns =
            [result("x"), calls(&["a"]), result("a"), result("a"), calls(&["b"]), text(), result("b")];
        let pairing = pair(turns.iter());
        assert_eq!(pairing.faults, [(0, Fault::Orphan), (3, Fault::Duplicate), (6, Fault::Late)]);
        assert_eq!(members(&pairing), [&[1, 2][..], &[4, 6], &[5]]);
    }

    #[test]
    fn a_call_is_pending_at_the_end_and_dead_before() {
        let turns = [calls(&["a", "b"]), result("a"), text(), calls(&["c", "d"]), result("d")];
        let pairing = pair(turns.iter());
        let [first, _, last] = &pairing.groups[..] else { unreachable!("three groups") };
        assert_eq!((&first.open[..], first.pending), (&[1][..], false));
        assert_eq!((&last.open[..], last.pending), (&[0][..], true));
    }

    /// The message and the call that a result belongs to.
    type Owner = Option<(usize, usize)>;

    /// The same by looking at everything again for each result.
    fn oracle(turns: &[Turn<'_>]) -> (Vec<Owner>, Vec<(usize, Fault)>) {
        let mut owner: Vec<Owner> = vec![None; turns.len()];
        let mut faults = vec![];
        for (at, turn) in turns.iter().enumerate() {
            let Some(id) = turn.answers else { continue };
            let free = |owner: &[Owner], message: usize| {
                (0..turns[message].calls.len())
                    .find(|&c| turns[message].calls[c] == id && !owner.contains(&Some((message, c))))
            };
            let turn_start = (0..at).rev().find(|&b| turns[b].answers.is_none());
            if let Some(start) = turn_start {
                if let Some(c) = free(&owner, start) {
                    owner[at] = Some((start, c));
                    continue;
                }
                if turns[start].calls.contains(&id) {
                    faults.push((at, Fault::Duplicate));
                    continue;
                }
            }
            match (0..at).rev().find_map(|b| Some((b, free(&owner, b)?))) {
                Some(found) => {
                    owner[at] = Some(found);
                    faults.push((at, Fault::Late));
                }
                None => faults.push((at, Fault::Orphan)),
            }
        }
        (owner, faults)
    }

    fn a_turn() -> impl Strategy<Value = Turn<'static>> {
        let id = prop_oneof![Just(&b"a"[..]), Just(&b"b"[..]), Just(&b"c"[..])];
        prop_oneof![
            2 => Just(Turn::default()),
            3 => proptest::collection::vec(id.clone(), 1..4).prop_map(|calls| Turn { calls, answers: None }),
            6 => id.prop_map(|id| Turn { calls: vec![], answers: Some(id) }),
        ]
    }

    proptest! {
        #[test]
        fn as_the_oracle_pairs(turns in proptest::collection::vec(a_turn(), 0..24)) {
            let pairing = pair(turns.iter());
            let (owner, faults) = oracle(&turns);
            prop_assert_eq!(&pairing.faults, &faults);
            let mut seen = vec![false; turns.len()];
            for group in &pairing.groups {
                let first = group.members[0];
                for (n, &member) in group.members.iter().enumerate() {
                    prop_assert!(!seen[member]);
                    seen[member] = true;
                    prop_assert_eq!(owner[member].map(|(message, _)| message), (n > 0).then_some(first));
                }
                let open: Vec<usize> = (0..turns[first].calls.len()).filter(|&c| !owner.contains(&Some((first, c)))).collect();
                prop_assert_eq!(&group.open, &open);
                prop_assert_eq!(group.pending, !open.is_empty() && turns[first + 1..].iter().all(|t| t.answers.is_some()));
            }
            for (at, seen) in seen.into_iter().enumerate() {
                prop_assert_eq!(seen, turns[at].answers.is_none() || owner[at].is_some());
            }
        }
    }
}
