//! The beginning and the end of a text, cut where nothing is torn.

use std::ops::Range;

use crate::count::Count;
use crate::loss::mark;
use crate::piece::Piece;

/// Which ends are kept, and how the room is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    First,
    Last,
    Both,
}

/// Where a text is cut: `..head` of the one piece and `tail..` of the other stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) head: usize,
    pub(crate) tail: usize,
}

impl Ends {
    /// Cuts a text, of which `head` and `tail` are the ends, to about `room` tokens.
    pub(crate) fn cut(self, head: &Piece<'_>, tail: &Piece<'_>, room: usize, counter: &dyn Count) -> Cut {
        let (first, last) = match self {
            Self::First => (room, 0),
            Self::Last => (0, room),
            Self::Both => (room - room / 2, room / 2),
        };
        let end = head.cut_before(if first == 0 { 0 } else { counter.limit(&head.text, first) });
        let from = if last == 0 { tail.len() } else { counter.limit_back(&tail.text, last) };
        let mut start = tail.cut_after(from);
        // Where the ends meet, the second begins where the first stops.
        let met = head.source(end);
        if tail.source(start) < met {
            start = tail.cut_after(tail.len() - (tail.source(tail.len()) - met).min(tail.len()));
            while tail.source(start) < met {
                start = tail.cut_after(start + 1);
            }
        }
        Cut { head: end, tail: start }
    }
}

/// What of the source stays.
pub(crate) fn kept(head: &Piece<'_>, tail: &Piece<'_>, cut: Cut) -> [Range<usize>; 2] {
    [head.start..head.source(cut.head), tail.source(cut.tail)..tail.source(tail.len())]
}

/// Writes what stays of a text, with a mark where it was cut; `lines` of its whole lines are gone.
pub(crate) fn write(head: &Piece<'_>, tail: &Piece<'_>, cut: Cut, lines: usize, out: &mut Vec<u8>) {
    let [first, last] = kept(head, tail, cut);
    let rest = &tail.text[cut.tail..];
    out.extend_from_slice(&head.text[..cut.head]);
    // With nothing before it, the marker above says it all.
    if !out.is_empty() {
        out.extend_from_slice(mark(lines, last.start - first.end).as_bytes());
        if lines > 0 && !rest.is_empty() && cut.tail > 0 && tail.text[cut.tail - 1] == b'\n' {
            out.push(b'\n');
        }
    }
    out.extend_from_slice(rest);
}
