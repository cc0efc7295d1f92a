//! From messages to those that fit.

use crate::choose::{Fate, Item, choose};
use crate::pair::{Fault, Group, Turn, pair};
use crate::shorten::{Shorter, Stuck, Text, floors, shorten};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Instructions, and what is told beside the conversation: memory, the state of a task.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

/// A message, counted.
#[derive(Clone, Debug)]
pub struct Message<'t> {
    /// Who speaks.
    pub role: Role,
    /// Its calls, or the one that it is the result of.
    pub turn: Turn<'t>,
    /// What each of its calls takes.
    pub call_tokens: Vec<usize>,
    /// It says nothing but its calls.
    pub bare: bool,
    /// What all of it takes, framing included.
    pub tokens: usize,
    /// What of it may be shortened.
    pub texts: Vec<Text<'t>>,
    /// 0 is the most important, and never goes.
    pub priority: u8,
}

/// What the messages have to keep to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Tokens of all of them.
    pub most: usize,
    /// In what steps groups go; see [`choose`].
    pub stride: usize,
    /// Messages before this one are a cached prefix: touched when nothing else is left.
    pub cached: usize,
}

/// What was done to some messages, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// They went for want of room.
    OverBudget,
    /// They went as what they reply to went: a conversation begins with its user.
    Leading,
    /// A result went that belongs to no call.
    Orphan,
    /// A second result of a call went.
    Duplicate,
    /// Calls went with their message: they have no result, and will not get one.
    Unanswered,
    /// The same, but the message has more to say, or other calls.
    Cut,
    /// Their texts were shortened.
    Shortened,
    /// A result was moved to its call.
    Moved,
}

impl What {
    /// Whether messages went.
    pub fn is_drop(self) -> bool {
        matches!(self, Self::OverBudget | Self::Leading | Self::Orphan | Self::Duplicate | Self::Unanswered)
    }
}

/// A change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What was done.
    pub what: What,
    /// To which messages.
    pub at: Vec<usize>,
    /// What they took.
    pub before: usize,
    /// What they take now.
    pub after: usize,
}

/// A message that stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Which.
    pub at: usize,
    /// Its new texts; none for one that stays as it is.
    pub texts: Vec<Option<Vec<u8>>>,
    /// The calls to cut out.
    pub cut: Vec<usize>,
}

impl Kept {
    /// Whether it is as it was.
    pub fn is_untouched(&self) -> bool {
        self.texts.is_empty() && self.cut.is_empty()
    }
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What stays, in order.
    pub kept: Vec<Kept>,
    /// What was done.
    pub changes: Vec<Change>,
    /// What all messages took.
    pub before: usize,
    /// What they take now.
    pub after: usize,
}

impl Outcome {
    /// The first of `count` messages that is not what stood there before.
    pub fn first_changed(&self, count: usize) -> Option<usize> {
        let same = self.kept.iter().enumerate().take_while(|(n, kept)| kept.at == *n && kept.is_untouched());
        Some(same.count()).filter(|&same| same < count)
    }
}

/// What must stay does not fit: the tokens that it takes at least, and for each group its first message and what that
/// group takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Short {
    /// Tokens that are needed at least.
    pub needed: usize,
    /// What stays, group by group.
    pub stays: Vec<(usize, usize)>,
}

/// A group on its way.
struct Unit<'t> {
    group: Group,
    tokens: usize,
    texts: Vec<Text<'t>>,
    floors: Vec<usize>,
}

/// How a group ends.
enum End {
    Kept,
    Shortened(Vec<Option<Shorter>>),
    Gone(What),
}

/// Makes messages fit, whole groups at a time. Also when all of them fit, no result stays without its call, and no call
/// without its result but at the end.
pub fn flush(messages: &[Message<'_>], limits: Limits) -> Result<Outcome, Short> {
    let pairing = pair(messages.iter().map(|message| &message.turn));
    let mut outcome = Outcome { before: messages.iter().map(|m| m.tokens).sum(), ..Outcome::default() };
    for (at, fault) in pairing.faults {
        let before = messages[at].tokens;
        let (what, after) = match fault {
            Fault::Orphan => (What::Orphan, 0),
            Fault::Duplicate => (What::Duplicate, 0),
            Fault::Late => (What::Moved, before),
        };
        outcome.changes.push(Change { what, at: vec![at], before, after });
    }
    let units = pairing.groups.into_iter();
    let mut units: Vec<Unit<'_>> =
        units.filter_map(|group| Unit::of(messages, group, &mut outcome.changes)).collect();
    let ends = ends(messages, &mut units, limits)?;
    for (unit, end) in units.into_iter().zip(ends) {
        unit.settle(messages, end, &mut outcome);
    }
    outcome.changes.sort_by_key(|change| change.at[0]);
    Ok(outcome)
}

impl<'t> Unit<'t> {
    /// A group without the calls that nobody will answer; nothing when that leaves nothing.
    fn of(messages: &[Message<'t>], group: Group, changes: &mut Vec<Change>) -> Option<Self> {
        let first = group.members[0];
        let message = &messages[first];
        let mut tokens = group.members.iter().map(|&at| messages[at].tokens).sum();
        if !group.open.is_empty() && !group.pending {
            let before = message.tokens;
            let at = vec![first];
            if message.bare && group.open.len() == message.turn.calls.len() {
                changes.push(Change { what: What::Unanswered, at, before, after: 0 });
                return None;
            }
            let dead: usize = group.open.iter().map(|&call| message.call_tokens[call]).sum();
            changes.push(Change { what: What::Cut, at, before, after: before - dead });
            tokens -= dead;
        }
        let texts: Vec<Text<'t>> =
            group.members.iter().flat_map(|&at| &messages[at].texts).copied().collect();
        let floors = floors(&texts);
        Some(Self { group, tokens, texts, floors })
    }

    /// What it takes when it is as short as it can be.
    fn least(&self) -> usize {
        let spare: usize = self.texts.iter().zip(&self.floors).map(|(text, floor)| text.tokens - floor).sum();
        self.tokens - spare
    }

    /// Its texts, shortened until all of it takes `most` tokens.
    fn shorten(&mut self, most: usize) -> Result<Vec<Option<Shorter>>, Stuck> {
        let texts: usize = self.texts.iter().map(|text| text.tokens).sum();
        shorten(&self.texts, &mut self.floors, most - (self.tokens - texts))
    }

    /// Tells how it ended.
    fn settle(self, messages: &[Message<'_>], end: End, outcome: &mut Outcome) {
        let (before, mut after) = (self.tokens, self.tokens);
        let mut shortened = match end {
            End::Kept => vec![],
            End::Shortened(texts) => texts,
            End::Gone(what) => {
                outcome.changes.push(Change { what, at: self.group.members, before, after: 0 });
                return;
            }
        };
        for (text, shorter) in self.texts.iter().zip(&shortened) {
            after -= shorter.as_ref().map_or(0, |shorter| text.tokens - shorter.tokens);
        }
        if before != after {
            let at = self.group.members.clone();
            outcome.changes.push(Change { what: What::Shortened, at, before, after });
        }
        outcome.after += after;
        let mut cut = if self.group.pending { vec![] } else { self.group.open };
        for at in self.group.members {
            let own = shortened.drain(..messages[at].texts.len().min(shortened.len()));
            let mut texts: Vec<Option<Vec<u8>>> = own.map(|shorter| shorter.map(|s| s.text)).collect();
            if texts.iter().all(Option::is_none) {
                texts.clear();
            }
            // Only the first one has calls.
            outcome.kept.push(Kept { at, texts, cut: std::mem::take(&mut cut) });
        }
    }
}

/// How each group ends.
fn ends(messages: &[Message<'_>], units: &mut [Unit<'_>], limits: Limits) -> Result<Vec<End>, Short> {
    let role = |unit: &Unit<'_>| messages[unit.group.members[0]].role;
    // What the model is to go on from: without it, it would only ask again.
    let last = units.iter().rposition(|unit| role(unit) != Role::System);
    'again: loop {
        let items: Vec<Item> =
            units.iter().enumerate().map(|(n, unit)| item(messages, unit, last == Some(n), limits)).collect();
        let fates = choose(&items, limits.most, limits.stride).map_err(|needed| {
            let stays = items.iter().zip(&*units).filter(|(item, _)| item.stays);
            Short { needed, stays: stays.map(|(item, unit)| (unit.group.members[0], item.least)).collect() }
        })?;
        // A conversation that began with its user still does.
        let mut leads = units.iter().map(role).find(|&role| role != Role::System) == Some(Role::User);
        let mut ends = Vec::with_capacity(units.len());
        for ((unit, fate), item) in units.iter_mut().zip(fates).zip(&items) {
            let speaks = messages[unit.group.members[0]].role;
            leads &= fate == Fate::Drop || speaks == Role::System || (speaks != Role::User && !item.stays);
            ends.push(match fate {
                Fate::Drop => End::Gone(What::OverBudget),
                _ if leads && speaks != Role::System => End::Gone(What::Leading),
                Fate::Keep => End::Kept,
                Fate::Shorten(tokens) => match unit.shorten(tokens) {
                    Ok(texts) => End::Shortened(texts),
                    // It knows now how short it can be.
                    Err(Stuck) => continue 'again,
                },
            });
        }
        return Ok(ends);
    }
}

/// A group as choosing sees it.
fn item(messages: &[Message<'_>], unit: &Unit<'_>, last: bool, limits: Limits) -> Item {
    let members = unit.group.members.iter();
    let priority = members.map(|&at| messages[at].priority).min().unwrap_or(0);
    Item {
        tokens: unit.tokens,
        least: unit.least(),
        priority,
        stays: last || unit.group.pending || priority == 0,
        cached: unit.group.members[0] < limits.cached,
    }
}
