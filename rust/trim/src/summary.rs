//! What a text is, in one line: its type, its size, its keys or the number and the keys of its items.

use std::fmt::Write;

use crate::error::TrimError;
use crate::fit::{Draft, Made};
use crate::loss::Loss;
use crate::plan::Source;
use crate::tree::{Kind, Tree};

/// The most keys that are named of an object, and of an item.
const KEYS: usize = 10;
const ITEM_KEYS: usize = 5;
/// A longer key is no name.
const KEY: usize = 64;

/// The summary; `None` where the text itself is no longer.
pub(crate) fn trim(source: &Source<'_>) -> Result<Option<Made>, TrimError> {
    let text = &*source.piece().text;
    let counter = &*source.plan.counter;
    let tree = Tree::read(text).filter(|t| !t.lines);
    let mut needed = usize::MAX;
    for keys in (0..=KEYS).rev() {
        let summary = summary(text, source.size.lines, tree.as_ref(), keys).into_bytes();
        let tokens = counter.count(&summary);
        let fits = source.plan.fits(text);
        if fits.is_some_and(|all| all <= tokens) {
            return Ok(None);
        }
        if tokens <= source.plan.budget {
            let mut loss = Loss::new("summary", source.size, &[], 0, None);
            loss.tokens = tokens;
            loss.source_tokens.exact = fits.is_some();
            loss.source_tokens.count = fits.unwrap_or_else(|| estimate(source));
            return Ok(Some((summary, loss, Draft::default())));
        }
        needed = tokens;
    }
    Err(TrimError::TooSmall { budget: source.plan.budget, needed })
}

/// What the text would take, in proportion to its first part.
fn estimate(source: &Source<'_>) -> usize {
    let piece = source.piece();
    let sample = piece.cut_before(piece.len().min(4096)).max(1).min(piece.len());
    (source.plan.counter.count(&piece.text[..sample]) as u128 * piece.len() as u128 / sample.max(1) as u128)
        as usize
}

fn summary(text: &[u8], lines: usize, tree: Option<&Tree>, keys: usize) -> String {
    let kind = tree.map(|tree| &tree.nodes[tree.top()]);
    let name = match kind.map(|node| (node.kind, text[node.span.start])) {
        Some((Kind::Object, _)) => "dict",
        Some((Kind::Array, _)) => "list",
        Some((Kind::Number, _)) => "number",
        Some((Kind::Word, b'n')) => "null",
        Some((Kind::Word, _)) => "bool",
        Some((Kind::String, _)) | None => "str",
    };
    // Every byte but the continuation bytes of UTF-8 begins a character.
    let chars = text.iter().filter(|&&b| b & 0xC0 != 0x80).count();
    let mut out = format!("type={name} | size={chars} chars");
    let Some(tree) = tree else {
        let _ = write!(out, " | lines={lines}");
        return out;
    };
    let inside = tree.inside(tree.top());
    match name {
        "dict" => list(&mut out, "keys", text, tree, tree.top(), keys),
        "list" => {
            let _ = write!(out, " | count={}", inside.len());
            if let Some(&first) = inside.first()
                && tree.nodes[first].kind == Kind::Object
            {
                list(&mut out, "item_keys", text, tree, first, keys.min(ITEM_KEYS));
            }
        }
        _ => {}
    }
    out
}

fn list(out: &mut String, name: &str, text: &[u8], tree: &Tree, object: usize, most: usize) {
    if most == 0 {
        return;
    }
    let inside = tree.inside(object);
    let key = |&n: &usize| {
        let span = &tree.nodes[n].key;
        String::from_utf8_lossy(&text[span.start + 1..span.end - 1]).into_owned()
    };
    let keys: Vec<String> =
        inside.iter().map(key).filter(|k| k.len() <= KEY).take(most).map(|k| format!("'{k}'")).collect();
    let _ = write!(out, " | {name}=[{}]", keys.join(", "));
    if inside.len() > keys.len() {
        let _ = write!(out, " of {}", inside.len());
    }
}
