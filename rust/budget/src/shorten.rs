//! Several texts that share an allowance.

use ctxproto_trim::{Plan, TrimError};

/// A text that may be shortened.
#[derive(Clone, Copy, Debug)]
pub struct Text<'t> {
    /// The text.
    pub text: &'t [u8],
    /// What it takes.
    pub tokens: usize,
    /// How it is shortened; its budget is of no meaning.
    pub plan: &'t Plan,
}

/// A text that was shortened, and what it takes now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shorter {
    pub(crate) text: Vec<u8>,
    pub(crate) tokens: usize,
}

/// Below this, little more than the marker would be left.
const LEAST: usize = 64;

/// The least that each text is shortened to.
pub(crate) fn floors(texts: &[Text<'_>]) -> Vec<usize> {
    texts.iter().map(|text| text.tokens.min(LEAST)).collect()
}

/// Shortens the longest of the texts until they share `most` tokens: those that were shortened, with what they take now.
/// None goes below its floor. When one cannot be made as short as that, its floor rises, and the error says so.
pub(crate) fn shorten(
    texts: &[Text<'_>],
    floors: &mut [usize],
    most: usize,
) -> Result<Vec<Option<Shorter>>, Stuck> {
    let at = |level: usize, n: usize| texts[n].tokens.min(level.max(floors[n]));
    let fits = |level: usize| (0..texts.len()).map(|n| at(level, n)).sum::<usize>() <= most;
    // The highest level that fits; the floors themselves do.
    let (mut low, mut high) = (0, texts.iter().map(|text| text.tokens).max().unwrap_or(0));
    while low < high {
        let level = low + (high - low).div_ceil(2);
        if fits(level) { low = level } else { high = level - 1 }
    }
    let budgets: Vec<usize> = (0..texts.len()).map(|n| at(low, n)).collect();
    let mut shortened = vec![];
    for (n, (text, budget)) in texts.iter().zip(budgets).enumerate() {
        if budget == text.tokens {
            shortened.push(None);
            continue;
        }
        let plan = Plan { budget, ..text.plan.clone() };
        match plan.trim(text.text) {
            Ok(trimmed) => {
                shortened
                    .push(Some(Shorter { tokens: trimmed.loss.tokens, text: trimmed.text.into_owned() }));
            }
            Err(TrimError::TooSmall { needed, .. }) => {
                floors[n] = text.tokens.min(needed.max(budget + 1));
                return Err(Stuck);
            }
            Err(_) => {
                floors[n] = text.tokens;
                return Err(Stuck);
            }
        }
    }
    Ok(shortened)
}

/// A text cannot be made as short as its floor said.
#[derive(Debug)]
pub(crate) struct Stuck;
