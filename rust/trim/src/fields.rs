//! Only the fields that were asked for.

use std::ops::Range;

use crate::error::TrimError;
use crate::fit::Made;
use crate::json::Document;
use crate::plan::Source;
use crate::tree::{Kind, ROOT, Tree, unescaped};

/// Paths of fields: `name`, `user.name`, `items.id` (of each item), `items[0].id`, `*.id` (under any key). Where a whole
/// path is a key at the top, it is that key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields(pub(crate) Vec<Path>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    /// The path as one key.
    pub(crate) key: [Step; 1],
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(Vec<u8>),
    Index(usize),
    Any,
}

impl Fields {
    /// Reads paths. A key with a dot or a bracket in it stands in quotes: `"a.b".c`.
    pub fn new<P: AsRef<str>>(paths: impl IntoIterator<Item = P>) -> Result<Self, TrimError> {
        let read = |path: &str| Ok(Path { key: [Step::Key(path.into())], steps: steps(path)? });
        paths.into_iter().map(|path| read(path.as_ref())).collect::<Result<_, _>>().map(Self)
    }
}

fn steps(path: &str) -> Result<Vec<Step>, TrimError> {
    let wrong = |what: &str| TrimError::Path(format!("path {path:?}: {what}"));
    let mut steps = vec![];
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let end = inner.find(']').ok_or_else(|| wrong("a bracket is not closed"))?;
            match &inner[..end] {
                "" | "*" => steps.push(Step::Any),
                number => {
                    let index = number.parse().map_err(|_| wrong("a number or * belongs in brackets"))?;
                    steps.push(Step::Index(index));
                }
            }
            rest = &inner[end + 1..];
        } else if let Some(inner) = rest.strip_prefix('"') {
            let end = inner.find('"').ok_or_else(|| wrong("a quote is not closed"))?;
            steps.push(Step::Key(inner[..end].into()));
            rest = &inner[end + 1..];
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            match &rest[..end] {
                "" => return Err(wrong("a name is missing")),
                "*" => steps.push(Step::Any),
                name => steps.push(Step::Key(name.into())),
            }
            rest = &rest[end..];
        }
        if let Some(more) = rest.strip_prefix('.') {
            if more.is_empty() {
                return Err(wrong("a name is missing"));
            }
            rest = more;
        }
    }
    if steps.is_empty() { Err(wrong("it is empty")) } else { Ok(steps) }
}

/// Why a whitelist does nothing.
pub(crate) const NO_JSON: &str = "fields can be chosen in JSON only, and the text is none";

/// What came of a whitelist.
pub(crate) enum Chosen {
    /// It asks for all there is.
    All,
    Some(Box<Made>),
}

/// Keeps the fields; `None` if the text is no JSON with fields.
pub(crate) fn trim(source: &Source<'_>, fields: &Fields) -> Option<Result<Chosen, TrimError>> {
    let mut document = Document::read(source.piece(), &source.plan.patterns)?;
    let tree = document.tree();
    if !matches!(tree.nodes[tree.top()].kind, Kind::Object | Kind::Array) {
        return None;
    }
    let wanted = choose(&source.piece().text, tree, fields);
    if wanted.iter().all(|&w| w) {
        return Some(Ok(Chosen::All));
    }
    document.wanted = Some(wanted);
    // What was not asked for is not missing: a marker only where fields that were asked for are cut.
    let full = document.full(source);
    let fits = source.fit("field_whitelist").plain(full);
    Some(
        fits.map_or_else(|| document.trim(source, "field_whitelist"), Ok)
            .map(|made| Chosen::Some(Box::new(made))),
    )
}

/// The nodes that lie on a path or under its end.
fn choose(text: &[u8], tree: &Tree, fields: &Fields) -> Vec<bool> {
    let mut wanted = vec![false; tree.nodes.len()];
    // A node and the steps that are left of the paths it lies on; a node without steps left is wanted with all it holds.
    let all: Vec<&[Step]> = fields.0.iter().map(|path| path.of(text, tree)).collect();
    let mut todo = vec![(tree.top(), all)];
    wanted[ROOT] = true;
    while let Some((n, paths)) = todo.pop() {
        wanted[n] = true;
        let whole = paths.iter().any(|p| p.is_empty());
        for (index, &child) in tree.inside(n).iter().enumerate() {
            let key = &tree.nodes[child].key;
            let mut next: Vec<&[Step]> = vec![];
            let mut add = |path| {
                // Each once: a list in a list adds nothing new.
                if !next.contains(&path) {
                    next.push(path);
                }
            };
            for &path in &paths {
                // What is wanted is wanted with all it holds.
                if path.is_empty() { add(path) } else { follow(path, text, key, index, &mut add) }
            }
            let container = matches!(tree.nodes[child].kind, Kind::Object | Kind::Array);
            if next.iter().any(|p| p.is_empty()) || container && !next.is_empty() {
                // Under a wanted node all are wanted: one path is enough to say so.
                let next = if whole || next.iter().any(|p| p.is_empty()) { vec![&[][..]] } else { next };
                todo.push((child, next));
            }
        }
    }
    wanted
}

impl Path {
    /// The steps to take in a document: where the whole path is a key at the top, that one.
    pub(crate) fn of(&self, text: &[u8], tree: &Tree) -> &[Step] {
        let [Step::Key(name)] = &self.key else { return &self.steps };
        let under = |n: &usize| is_named(text, &tree.nodes[*n].key, name);
        if tree.inside(tree.top()).iter().any(under) { &self.key } else { &self.steps }
    }
}

/// Gives `add` the steps that are left of a path in the value that stands under `key`, or at `index` of a list.
pub(crate) fn follow<'a>(
    path: &'a [Step],
    text: &[u8],
    key: &Range<usize>,
    index: usize,
    add: &mut impl FnMut(&'a [Step]),
) {
    match path {
        [Step::Any, rest @ ..] => {
            add(rest);
            // It may have meant the keys of the items.
            if key.is_empty() && !rest.is_empty() {
                add(path);
            }
        }
        [Step::Index(i), rest @ ..] if key.is_empty() && *i == index => add(rest),
        [Step::Key(name), rest @ ..] if is_named(text, key, name) => add(rest),
        // A list stands for its items.
        [Step::Key(_), ..] if key.is_empty() => add(path),
        _ => {}
    }
}

/// Whether `key` (its quotes included, empty if there is none) is this name.
fn is_named(text: &[u8], key: &Range<usize>, name: &[u8]) -> bool {
    !key.is_empty() && *unescaped(&text[key.start + 1..key.end - 1]) == *name
}
