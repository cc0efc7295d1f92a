//! The promises of a flush, over any messages.

use std::sync::Arc;

use ctxproto_budget::{Kept, Limits, Message, Outcome, Role, Short, Text, Turn, What, flush};
use ctxproto_trim::{Count, Plan, Strategy as How};
use proptest::prelude::*;

/// A token a byte.
struct Bytes;

impl Count for Bytes {
    fn count(&self, text: &[u8]) -> usize {
        text.len()
    }
    fn limit(&self, text: &[u8], most: usize) -> usize {
        text.len().min(most)
    }
    fn limit_back(&self, text: &[u8], most: usize) -> usize {
        text.len() - text.len().min(most)
    }
}

/// A message as the tests make it; it owns what the real one borrows.
#[derive(Clone, Debug)]
struct Made {
    role: Role,
    calls: Vec<&'static str>,
    answers: Option<&'static str>,
    says: String,
    shortens: bool,
    priority: u8,
}

const FRAMING: usize = 3;
const CALL: usize = 10;

impl Made {
    fn message<'t>(&'t self, plan: &'t Plan) -> Message<'t> {
        let text = Text { text: self.says.as_bytes(), tokens: self.says.len(), plan };
        Message {
            role: self.role,
            turn: Turn {
                calls: self.calls.iter().map(|id| id.as_bytes()).collect(),
                answers: self.answers.map(str::as_bytes),
            },
            call_tokens: vec![CALL; self.calls.len()],
            bare: self.says.is_empty(),
            tokens: FRAMING + self.says.len() + CALL * self.calls.len(),
            texts: if self.shortens && self.role != Role::Assistant { vec![text] } else { vec![] },
            priority: self.priority,
        }
    }
}

fn a_message() -> impl Strategy<Value = Made> {
    let id = prop_oneof![Just("a"), Just("b"), Just("c")];
    let kind = prop_oneof![
        1 => Just((Role::System, vec![], None)),
        2 => Just((Role::User, vec![], None)),
        1 => Just((Role::Assistant, vec![], None)),
        3 => proptest::collection::vec(id.clone(), 1..4).prop_map(|calls| (Role::Assistant, calls, None)),
        5 => id.prop_map(|id| (Role::Tool, vec![], Some(id))),
    ];
    (kind, prop_oneof![Just(0usize), 1usize..40, 200usize..900], any::<bool>(), 0u8..4).prop_map(
        |((role, calls, answers), length, shortens, priority)| Made {
            role,
            calls,
            answers,
            says: "word of a line\n".repeat(length / 15 + 1)[..length].to_owned(),
            shortens,
            priority,
        },
    )
}

fn limits() -> impl Strategy<Value = Limits> {
    (
        0usize..3000,
        prop_oneof![3 => Just(0usize), 1 => 50usize..400],
        prop_oneof![3 => Just(0usize), 1 => 0usize..12],
    )
        .prop_map(|(most, stride, cached)| Limits { most, stride, cached })
}

fn run(made: &[Made], limits: Limits) -> Result<Outcome, Short> {
    let plan = Plan::new(How::HeadTail, 0, Arc::new(Bytes));
    let messages: Vec<Message<'_>> = made.iter().map(|one| one.message(&plan)).collect();
    flush(&messages, limits)
}

/// What a kept message is now.
fn now(made: &[Made], kept: &Kept) -> Made {
    let mut one = made[kept.at].clone();
    if let [Some(text)] = &kept.texts[..] {
        one.says = String::from_utf8(text.clone()).expect("ASCII");
    }
    let mut n = 0;
    one.calls.retain(|_| {
        n += 1;
        !kept.cut.contains(&(n - 1))
    });
    one
}

fn size(one: &Made) -> usize {
    FRAMING + one.says.len() + CALL * one.calls.len()
}

/// As the API looks at it: every result right after its calls, every call answered, but for the last.
fn accepted(messages: &[Made]) -> Result<(), String> {
    let mut waiting: Vec<&str> = vec![];
    for (at, one) in messages.iter().enumerate() {
        if let Some(id) = one.answers {
            let place = waiting.iter().position(|w| *w == id).ok_or(format!("{at}: a result of no call"))?;
            waiting.remove(place);
        } else {
            if !waiting.is_empty() {
                return Err(format!("{at}: a call without a result before it"));
            }
            waiting.clone_from(&one.calls);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn fits_pairs_and_tells(made in proptest::collection::vec(a_message(), 0..14), limits in limits()) {
        let Ok(outcome) = run(&made, limits) else { return Ok(()) };
        let left: Vec<Made> = outcome.kept.iter().map(|kept| now(&made, kept)).collect();
        let total: usize = left.iter().map(size).sum();
        prop_assert_eq!(total, outcome.after);
        prop_assert!(total <= limits.most);
        prop_assert_eq!(accepted(&left), Ok(()));
        // Everything that is not there as it was is told, once.
        let mut told: Vec<usize> = outcome.changes.iter().filter(|c| c.after == 0).flat_map(|c| c.at.clone()).collect();
        told.sort_unstable();
        let gone: Vec<usize> = (0..made.len()).filter(|at| outcome.kept.iter().all(|kept| kept.at != *at)).collect();
        prop_assert_eq!(&told, &gone);
        for kept in &outcome.kept {
            let what = |what| outcome.changes.iter().any(|c| c.what == what && c.at.contains(&kept.at));
            prop_assert!(kept.texts.is_empty() || what(What::Shortened));
            prop_assert_eq!(!kept.cut.is_empty(), what(What::Cut));
        }
        let before: usize = made.iter().map(size).sum();
        let saved: usize = outcome.changes.iter().map(|c| c.before - c.after).sum();
        prop_assert_eq!((outcome.before, before - saved), (before, total));
        // Critical messages stay, unless nothing can be done about them.
        for change in &outcome.changes {
            if matches!(change.what, What::OverBudget | What::Leading) {
                prop_assert!(change.at.iter().all(|&at| made[at].priority > 0));
            }
        }
        let first = outcome.first_changed(made.len()).unwrap_or(made.len());
        prop_assert!(outcome.kept[..first].iter().enumerate().all(|(n, kept)| kept.at == n && kept.is_untouched()));
    }

    #[test]
    fn the_same_again_and_nothing_to_do_twice(made in proptest::collection::vec(a_message(), 0..14), limits in limits()) {
        let (one, two) = (run(&made, limits), run(&made, limits));
        match (one, two) {
            (Ok(one), Ok(two)) => {
                prop_assert_eq!(&one.kept, &two.kept);
                let left: Vec<Made> = one.kept.iter().map(|kept| now(&made, kept)).collect();
                let again = run(&left, limits).expect("it fits already");
                prop_assert_eq!(again.first_changed(left.len()), None);
                prop_assert_eq!(again.changes, vec![]);
            }
            (Err(one), Err(two)) => prop_assert_eq!(one, two),
            _ => prop_assert!(false, "it depends on something else"),
        }
    }

    #[test]
    fn more_room_never_keeps_fewer(made in proptest::collection::vec(a_message(), 0..14), limits in limits(), more in 0usize..900) {
        let Ok(narrow) = run(&made, limits) else { return Ok(()) };
        let wide = run(&made, Limits { most: limits.most + more, ..limits }).expect("what fits less fits more");
        let kept: Vec<usize> = wide.kept.iter().map(|kept| kept.at).collect();
        for one in &narrow.kept {
            prop_assert!(kept.contains(&one.at), "{} stays in {} but not in {}", one.at, limits.most, limits.most + more);
        }
    }

    #[test]
    fn what_is_said_to_be_needed_is_needed(made in proptest::collection::vec(a_message(), 0..14), limits in limits()) {
        if let Err(short) = run(&made, limits) {
            prop_assert!(short.needed > limits.most);
            prop_assert_eq!(short.stays.iter().map(|(_, tokens)| tokens).sum::<usize>(), short.needed);
            let less = Limits { most: short.needed - 1, ..limits };
            prop_assert!(run(&made, less).is_err());
        }
    }

    #[test]
    fn a_user_begins(made in proptest::collection::vec(a_message(), 1..14), limits in limits()) {
        let begins = |messages: &[Made]| messages.iter().map(|m| m.role).find(|role| *role != Role::System);
        let Ok(whole) = run(&made, Limits { most: usize::MAX, ..limits }) else { return Ok(()) };
        let whole: Vec<Made> = whole.kept.iter().map(|kept| now(&made, kept)).collect();
        let Ok(outcome) = run(&made, limits) else { return Ok(()) };
        let left: Vec<Made> = outcome.kept.iter().map(|kept| now(&made, kept)).collect();
        if begins(&whole) != Some(Role::User) || begins(&left).is_none_or(|role| role == Role::User) {
            return Ok(());
        }
        // Only what cannot go may stand there: a critical group, or the last one.
        let first = left.iter().position(|m| m.role != Role::System).expect("it has a role");
        let end = left[first + 1..].iter().position(|m| m.answers.is_none()).map_or(left.len(), |n| first + 1 + n);
        let critical = left[first..end].iter().any(|m| m.priority == 0);
        prop_assert!(critical || left[end..].iter().all(|m| m.role == Role::System), "{:?}", left);
    }
}
