//! Fields taken out of JSON, and nothing else read of it.

use std::fmt::Write;

use crate::fields::{Fields, Path, Step, follow};
use crate::tree::{Kind, ROOT, Tree};

/// A JSON text, or several documents on lines of their own, to look fields up in. Nothing of it is decoded.
#[derive(Debug)]
pub struct Lookup {
    text: Vec<u8>,
    tree: Tree,
}

/// What a path led to.
#[derive(Debug, PartialEq, Eq)]
pub struct Found<'a> {
    /// The values as they are written, in their order.
    pub values: Vec<&'a [u8]>,
    /// Whether the path stands for all of them, not for one.
    pub many: bool,
    /// Where the first one stands, such as `items[0].id`.
    pub place: String,
}

impl Lookup {
    /// Reads a text; `None` if it is no JSON.
    #[must_use]
    pub fn new(text: Vec<u8>) -> Option<Self> {
        let tree = Tree::read(&text)?;
        Some(Self { text, tree })
    }

    /// What each path leads to, in the order of the paths.
    ///
    /// A path with a `*`, or one of several steps that goes through a list, stands for all values it leads to. A bare
    /// name stands for one: the key at the top, or that of the first item which has it in a list that is the top or
    /// stands right under it. Of equal keys in one object the last one counts, as for parsers.
    #[must_use]
    pub fn find(&self, fields: &Fields) -> Vec<Option<Found<'_>>> {
        fields.0.iter().map(|path| self.one(path)).collect()
    }

    fn one(&self, path: &Path) -> Option<Found<'_>> {
        let steps = path.of(&self.text, &self.tree);
        let top = self.tree.top();
        let mut nodes = self.under(top, steps);
        let name = matches!(steps, [Step::Key(_)]);
        if name {
            if nodes.is_empty() && self.tree.nodes[top].kind == Kind::Object {
                let lists = self.last_of_each(top).filter(|&n| self.tree.nodes[n].kind == Kind::Array);
                nodes = lists.map(|list| self.under(list, steps)).find(|found| !found.is_empty())?;
            }
            nodes.truncate(1);
        }
        let first = *nodes.first()?;
        let indices = steps.iter().filter(|step| matches!(step, Step::Index(_))).count();
        let many = !name && (steps.contains(&Step::Any) || self.lists_above(first) > indices);
        let values = nodes.iter().map(|&n| &self.text[self.tree.nodes[n].span.clone()]).collect();
        Some(Found { values, many, place: self.place(first) })
    }

    /// The values that steps lead to from a value, in their order.
    fn under(&self, from: usize, steps: &[Step]) -> Vec<usize> {
        let mut found = vec![];
        let mut todo = vec![(from, vec![steps])];
        while let Some((n, paths)) = todo.pop() {
            if paths.iter().any(|path| path.is_empty()) {
                found.push(n);
                continue;
            }
            let mut below = vec![];
            for (index, child) in self.last_of_each(n).enumerate() {
                let mut next: Vec<&[Step]> = vec![];
                let key = &self.tree.nodes[child].key;
                for path in &paths {
                    follow(path, &self.text, key, index, &mut |rest| {
                        if !next.contains(&rest) {
                            next.push(rest);
                        }
                    });
                }
                if !next.is_empty() {
                    below.push((child, next));
                }
            }
            todo.extend(below.into_iter().rev());
        }
        found
    }

    /// The values in a value, of equal keys the last.
    fn last_of_each(&self, n: usize) -> impl Iterator<Item = usize> {
        let inside = self.tree.inside(n);
        let name = move |child: usize| &self.text[self.tree.nodes[child].key.clone()];
        let object = self.tree.nodes[n].kind == Kind::Object;
        let mut order: Vec<usize> = inside.to_vec();
        if object {
            order.sort_by(|&a, &b| name(a).cmp(name(b)).then(b.cmp(&a)));
            order.dedup_by(|b, a| name(*a) == name(*b));
            order.sort_unstable();
        }
        order.into_iter()
    }

    fn lists_above(&self, n: usize) -> usize {
        let list = |&n: &usize| self.tree.nodes[n].kind == Kind::Array && (n != ROOT || self.tree.lines);
        self.above(n).iter().filter(|n| list(n)).count()
    }

    /// The values that hold a value, the top first.
    fn above(&self, mut n: usize) -> Vec<usize> {
        let mut above = vec![];
        while n != self.tree.top() {
            n = self.tree.nodes[n].parent;
            above.push(n);
        }
        above.reverse();
        above
    }

    fn place(&self, n: usize) -> String {
        let mut place = String::new();
        let above = self.above(n);
        let inner = above.iter().skip(1).copied().chain([n]);
        for (holder, child) in above.iter().zip(inner) {
            let key = &self.tree.nodes[child].key;
            if key.is_empty() {
                let index =
                    self.tree.inside(*holder).iter().position(|&one| one == child).unwrap_or_default();
                let _ = write!(place, "[{index}]");
            } else {
                let name = String::from_utf8_lossy(&self.text[key.start + 1..key.end - 1]);
                let plain =
                    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-$@".contains(c));
                let dot = if place.is_empty() { "" } else { "." };
                let _ = if plain { write!(place, "{dot}{name}") } else { write!(place, "{dot}\"{name}\"") };
            }
        }
        place
    }
}
