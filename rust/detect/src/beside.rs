//! Secrets that stand beside the id they belong to, with no name of their own: the columns and arguments that hold an
//! access key of AWS and its secret.

use crate::class::{ALNUM, ByteSet};
use crate::decoy;
use crate::engine::Scan;
use crate::random;
use crate::rule::rank;
use crate::window::Look;

/// How far behind its id a secret may begin: a date may stand between them.
const REACH: usize = 64;
/// The length of the secret of an access key.
const SECRET: usize = 40;
const BODY: ByteSet = ALNUM.or(ByteSet::of(b"+/"));

impl Scan<'_, '_> {
    /// The id of an access key may be at `start..end`: its secret, if that comes next on the line.
    pub(crate) fn aws_secret(&mut self, start: usize, end: usize) -> Look<()> {
        let window = self.window;
        let id = matches!(&window.text[start..start + 4], b"AKIA" | b"ASIA");
        let Some(rule) = self.engine.parsers.aws_secret.filter(|_| id) else { return Ok(()) };
        let mut at = end;
        while at < end + REACH {
            let start = window.run(at, &BODY.or(ByteSet::of(b"\n=")).complement(), REACH)?;
            // A name and its sign: what it holds is found by them.
            if window.at(start)?.is_none_or(|b| b == b'\n' || b == b'=') || start >= end + REACH {
                break;
            }
            let stop = window.run(start, &BODY, SECRET + 1)?;
            let token = &window.text[start..stop];
            if token.len() == SECRET {
                if random::is_random(token) && !decoy::is_stand_in(token) && window.at(stop)? != Some(b'=') {
                    self.push(rule, rank::NEAR, start, stop, 0);
                }
                break;
            }
            at = stop;
        }
        Ok(())
    }
}
