//! Messages within a budget of tokens: whole groups go, the least important first, and never half of a tool call.
//!
//! [`pair`] says which result belongs to which call, [`choose`] which groups stay, [`flush`] does both, shortens what is
//! to be shortened, and tells what was done.

mod choose;
mod flush;
mod pair;
mod shorten;

pub use choose::{Fate, Item, choose};
pub use flush::{Change, Kept, Limits, Message, Outcome, Role, Short, What, flush};
pub use pair::{Fault, Group, Pairing, Turn, pair};
pub use shorten::Text;
