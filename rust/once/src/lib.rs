//! Values that are made once a process, when they are needed, and never in the midst of a fork.
//!
//! A process that is forked off while a thread makes such a value inherits that it is being made, but no thread that would
//! end it: whoever asks for it there waits for ever. So a fork waits for what is being made, and what is to be made for
//! the fork.

use std::cell::{Cell, RefCell};
use std::ops::Deref;
use std::sync::{OnceLock, PoisonError, RwLock, RwLockWriteGuard};

/// Read while a value is made, written by a fork for as long as it takes.
static GATE: RwLock<()> = RwLock::new(());

thread_local! {
    static MAKING: Cell<bool> = const { Cell::new(false) };
    static FORK: RefCell<Option<RwLockWriteGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// A value that is made when it is first needed, as `LazyLock` has it.
#[derive(Debug)]
pub struct Once<T> {
    value: OnceLock<T>,
    make: fn() -> T,
}

impl<T> Once<T> {
    /// Nothing is made yet.
    pub const fn new(make: fn() -> T) -> Self {
        Self { value: OnceLock::new(), make }
    }

    #[cold]
    fn made(&self) -> &T {
        // What a value is made of may be such a value, too: a thread goes through the gate once, for between the two a
        // fork may have begun to wait for it.
        let Some(_making) = Making::begin() else { return self.value.get_or_init(self.make) };
        let _gate = GATE.read().unwrap_or_else(PoisonError::into_inner);
        self.value.get_or_init(self.make)
    }
}

impl<T> Deref for Once<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match self.value.get() {
            Some(value) => value,
            None => self.made(),
        }
    }
}

/// The outermost value that a thread makes, or its fork.
struct Making;

impl Making {
    fn begin() -> Option<Self> {
        (!MAKING.replace(true)).then_some(Self)
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        MAKING.set(false);
    }
}

/// Waits for the values that are being made; until [`after_fork`] no other thread makes one.
pub fn before_fork() {
    if FORK.with_borrow(Option::is_some) {
        return;
    }
    let gate = GATE.write().unwrap_or_else(PoisonError::into_inner);
    MAKING.set(true);
    FORK.with_borrow_mut(|held| *held = Some(gate));
}

/// Lets values be made, in the process that forked as in the new one.
pub fn after_fork() {
    if FORK.with_borrow_mut(Option::take).is_some() {
        MAKING.set(false);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_fork_waits_for_values_and_values_for_a_fork() {
        static INNER: Once<u32> = Once::new(|| {
            thread::sleep(Duration::from_millis(50));
            3
        });
        static SLOW: Once<u32> = Once::new(|| *INNER + 1);
        static LATER: Once<u32> = Once::new(|| 5);
        let (begun, begins) = channel();
        let maker = thread::spawn(move || {
            begun.send(()).expect("somebody waits");
            *SLOW
        });
        begins.recv().expect("a thread");
        thread::sleep(Duration::from_millis(10));
        before_fork();
        // Made by now, or not begun.
        assert!(INNER.value.get().is_some() == SLOW.value.get().is_some());
        let (told, tells) = channel();
        let later = thread::spawn(move || {
            told.send(()).expect("somebody waits");
            *LATER
        });
        tells.recv().expect("a thread");
        thread::sleep(Duration::from_millis(30));
        assert!(LATER.value.get().is_none());
        before_fork();
        after_fork();
        assert_eq!((maker.join().expect("a value"), later.join().expect("a value")), (4, 5));
    }

    #[test]
    fn who_forks_may_make_values_all_the_while() {
        static VALUE: Once<u32> = Once::new(|| 7);
        before_fork();
        assert_eq!(*VALUE, 7);
        after_fork();
        assert!(!MAKING.get());
    }
}
