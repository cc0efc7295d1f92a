//! Tables: the values of a column whose head is the name of a secret.
//!
//! Anchored at the head, a check may follow so many bytes and no more: the rows beyond are not looked at.

use crate::assign::{BLANK, NAME, QUOTES, not};
use crate::chosen;
use crate::class::{ByteSet, SPACE};
use crate::engine::Scan;
use crate::keys::{self, Kind};
use crate::sign::Sign;
use crate::value::Value;
use crate::window::Look;
use crate::worth::strong;

/// How far a table is followed.
const TABLE: usize = 16 * 1024;
const ROW: usize = 1024;
/// What heads of columns are made of.
const HEAD: ByteSet = NAME.or(QUOTES).or(BLANK);

impl Scan<'_, '_> {
    /// The name from `start` to `end` may head a column: the cells below it.
    pub(crate) fn column(&mut self, kind: Kind, start: usize, end: usize) -> Look<()> {
        let window = self.window;
        let padded = window.run(window.run(end, &QUOTES, 1)?, &BLANK.or(ByteSet::of(b"\r")), 64)?;
        let after = window.at(padded)?;
        let before = window.back(start, ROW);
        let line = memchr::memrchr(b'\n', before).map_or(before, |i| &before[i + 1..]);
        if line.starts_with(b"COPY ") {
            return self.copied(kind, line, end);
        }
        let lead = line.len() - QUOTES.or(ByteSet::of(b" ")).run_back(line);
        let sign = match (line[..lead].last(), after) {
            (Some(&b), _) | (None, Some(b)) if SIGNS.has(b) => b,
            // A tab is also a blank.
            (None, Some(_)) if window.text[end..padded].contains(&b'\t') => b'\t',
            _ => return Ok(()),
        };
        // Code has lists of names too, but indented, or with blanks and a sign at the end.
        let heads = ByteSet::of(&[sign]).or(if sign == b'|' { HEAD } else { NAME.or(QUOTES) });
        if heads.run(line) < line.len() {
            return Ok(());
        }
        let cell = line.iter().filter(|&&b| b == sign).count();
        let line_end = window.run(end, &not(b"\n"), ROW)?;
        let rest = &window.text[end..line_end];
        let rest = rest.strip_suffix(b"\r").unwrap_or(rest);
        if heads.run(rest) < rest.len()
            || sign != b'|' && (rest.ends_with(&[sign]) || line.starts_with(&[sign]))
        {
            return Ok(());
        }
        let cells = cell + rest.iter().filter(|&&b| b == sign).count();
        if cells == 0 || window.at(line_end)?.is_none() {
            return Ok(());
        }
        let mut at = line_end + 1;
        while at - line_end < TABLE {
            let stop = window.run(at, &not(b"\n"), ROW)?;
            let row = &window.text[at..stop];
            #[cfg(test)]
            tests::ROWS.set(tests::ROWS.get() + 1);
            let rule = row.iter().all(|b| matches!(b, b'-' | b'+' | b'|' | b':' | b' ' | b'\r'));
            if !rule {
                let Some(value) = nth(row, sign, cell, cells) else { break };
                let value = Value { start: at + value.start, end: at + value.end, ..value };
                let text = &window.text[value.start..value.end];
                if kind != Kind::Password || chosen::may_be(text) || sign == b',' && value.quoted {
                    self.judge(kind, Sign::Assign, value);
                }
                // A head of its own: what follows is read from there, and no row from two heads.
                let name = text.trim_ascii();
                let name = &name[QUOTES.run(name)..];
                let name = &name[..name.len() - QUOTES.run_back(name)];
                if heads.run(row.strip_suffix(b"\r").unwrap_or(row))
                    == row.len() - usize::from(row.ends_with(b"\r"))
                    && keys::classify(name).is_some_and(|k| !matches!(k, Kind::Authorization | Kind::Cookie))
                {
                    break;
                }
            } else if row.is_empty() || row == b"\r" {
                break;
            }
            if window.at(stop)? != Some(b'\n') {
                break;
            }
            at = stop + 1;
        }
        Ok(())
    }
}

impl Scan<'_, '_> {
    /// `COPY table (a, password) FROM stdin;`: rows with tabs follow.
    fn copied(&mut self, kind: Kind, line: &[u8], end: usize) -> Look<()> {
        let window = self.window;
        let line_end = window.run(end, &not(b"\n"), ROW)?;
        let rest = &window.text[end..line_end];
        let (Some(open), Some(close)) = (memchr::memchr(b'(', line), memchr::memchr(b')', rest)) else {
            return Ok(());
        };
        if crate::index::find(&rest[close..], b" FROM stdin").is_none() {
            return Ok(());
        }
        let count = |text: &[u8]| text.iter().filter(|b| **b == b',').count();
        let cell = count(&line[open..]);
        let cells = cell + count(&rest[..close]);
        let mut at = line_end + 1;
        while at - line_end < TABLE {
            let stop = window.run(at, &not(b"\n"), ROW)?;
            let Some(value) = nth(&window.text[at..stop], b'\t', cell, cells) else { break };
            self.judge(
                kind,
                Sign::Assign,
                Value { start: at + value.start, end: at + value.end, quoted: true },
            );
            if window.at(stop)? != Some(b'\n') {
                break;
            }
            at = stop + 1;
        }
        Ok(())
    }

    /// `INSERT INTO table (a, password) VALUES (1, 'x'), …`: the columns stand before the word, the rows behind it.
    pub(crate) fn inserted(&mut self, start: usize, end: usize) -> Look<()> {
        let window = self.window;
        let before = window.back(start, ROW).trim_ascii_end();
        let Some(before) = before.strip_suffix(b")") else { return Ok(()) };
        let Some(open) = memchr::memrchr(b'(', before) else { return Ok(()) };
        let mut kinds = [None; 64];
        let mut columns = 0;
        for (kind, name) in kinds.iter_mut().zip(before[open + 1..].split(|b| *b == b',')) {
            let name = name.trim_ascii();
            let marks = QUOTES.or(ByteSet::of(b"[]"));
            let name = &name[marks.run(name)..];
            let name = &name[..name.len() - marks.run_back(name)];
            *kind = keys::classify(name).filter(|k| !matches!(k, Kind::Authorization | Kind::Cookie));
            columns += usize::from(kind.is_some());
        }
        let mut at = end;
        while columns > 0 && at - end < TABLE {
            at = window.run(at, &SPACE, 64)?;
            if window.at(at)? != Some(b'(') {
                break;
            }
            for kind in kinds {
                at = window.run(at + 1, &SPACE, 64)?;
                let bare = window.run(at, &not(b"(),'\n"), ROW)?;
                at = if window.at(bare)? == Some(b'\'') {
                    let Some(value) = self.value(Sign::Pair, bare)? else { return Ok(()) };
                    if let Some(kind) = kind {
                        self.judge(kind, Sign::Assign, value);
                    }
                    window.run(value.end + 1, &SPACE, 64)?
                } else {
                    bare
                };
                if window.at(at)? != Some(b',') {
                    break;
                }
            }
            if window.at(at)? != Some(b')') {
                break;
            }
            at = window.run(at + 1, &SPACE, 64)?;
            if window.at(at)? != Some(b',') {
                break;
            }
            at += 1;
        }
        Ok(())
    }
}

impl Scan<'_, '_> {
    /// `| DB_PASSWORD | x |`: the name is a cell, and the one beside it holds the value.
    pub(crate) fn beside_cell(&mut self, kind: Kind, start: usize, end: usize) -> Look<bool> {
        let window = self.window;
        let before = window.back(start, 48);
        let before = &before[..before.len() - QUOTES.or(BLANK).or(ByteSet::of(b"*")).run_back(before)];
        let sign = window.run(end, &BLANK, 64)?;
        if before.last() != Some(&b'|') || window.at(sign)? != Some(b'|') {
            return Ok(false);
        }
        let marks = BLANK.or(QUOTES).or(ByteSet::of(b"*"));
        let at = window.run(sign + 1, &marks, 64)?;
        let stop = window.run(at, &not(b" \t\r\n\"'`"), 256)?;
        let word = &window.text[at..stop];
        let close = window.run(stop, &marks, 256)?;
        let fits = match kind {
            Kind::Password => chosen::may_be(word),
            _ => word.len() >= 12 && strong(word),
        };
        let fits = fits && window.at(close)? == Some(b'|');
        if fits {
            self.judge(kind, Sign::Assign, Value { start: at, end: stop, quoted: false });
        }
        Ok(fits)
    }
}

/// What may stand between cells.
const SIGNS: ByteSet = ByteSet::of(b",;|\t");

/// The cell number `wanted` of a row, if it has as many signs as its head; quotes may hold signs.
fn nth(row: &[u8], sign: u8, wanted: usize, signs: usize) -> Option<Value> {
    let (mut n, mut start, mut quoted) = (0, 0, false);
    let mut found = None;
    for (i, &b) in row.iter().chain([&sign]).enumerate() {
        if b == b'"' {
            quoted = !quoted;
        } else if b == sign && (!quoted || i == row.len()) {
            if n == wanted {
                found = Some((start, i));
            }
            n += 1;
            start = i + 1;
        }
    }
    let (start, end) = found.filter(|_| n == signs + 1)?;
    let cell = &row[start..end];
    let lead = BLANK.run(cell);
    let tail = BLANK.or(ByteSet::of(b"\r")).run_back(&cell[lead..]);
    let cell = &cell[lead..cell.len() - tail];
    let quoted = cell.len() >= 2 && cell.starts_with(b"\"") && cell.ends_with(b"\"");
    let inner = usize::from(quoted);
    let value = Value { start: start + lead + inner, end: start + lead + cell.len() - inner, quoted };
    (value.start < value.end).then_some(value)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use crate::{Detector, Policy};

    thread_local! {
        /// Rows that were read.
        pub(super) static ROWS: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn rows_are_read_once() {
        let detector = Detector::new(&Policy::default()).unwrap_or_else(|e| panic!("{e}"));
        for row in [
            "a,password\n",
            "| a | password |\n",
            "\"a\",\"password\"\n",
            "a\tpasswd\r\n",
            "a,'password'\n",
            "a,b,password\na,token,c\n",
        ] {
            let text = row.repeat(2000);
            ROWS.set(0);
            detector.scan(text.as_bytes());
            let (rows, lines) = (ROWS.get(), text.matches('\n').count());
            assert!(rows <= 2 * lines, "{rows} rows of {lines} lines: {row:?}");
        }
    }
}
